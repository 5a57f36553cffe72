# SPDX-License-Identifier: MIT
# kind: image conversion with OpenMP threads
# packages: imagemagick
# users: root nobody
program() {
    convert -seed 7 -size 400x300 plasma:red-blue -define png:exclude-chunks=date,time one.png
    convert one.png -blur 0x4 -rotate 13 -resize 150% -define png:exclude-chunks=date,time two.png
    convert one.png two.png +append -quality 80 made.jpg
    identify -format '%m %w %h\n' one.png two.png made.jpg
    compare -metric RMSE one.png one.png null:; echo " $?"
}
