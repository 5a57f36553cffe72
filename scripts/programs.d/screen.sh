# SPDX-License-Identifier: MIT
# kind: terminal multiplexer: a daemon with a login record
# packages: screen
# users: root nobody
program() {
    mkdir -m 700 screens
    export SCREENDIR=$PWD/screens
    screen -dmS a sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo $i >one; stty size >>one; echo end >two'
    until [ -s two ]; do sleep 0.05; done
    while ls screens/* >/dev/null 2>&1; do sleep 0.05; done
    cat one
}
# leave: screens
