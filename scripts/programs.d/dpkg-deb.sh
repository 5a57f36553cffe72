# SPDX-License-Identifier: MIT
# kind: package manager: builds, lists and unpacks packages, with threads of xz
# packages: dpkg
# users: root nobody
prepare() {
    for package in one two three; do
        mkdir -p $package/DEBIAN $package/usr/share/$package
        printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: nobody <n@example.org>\nDescription: none\n' \
            $package >$package/DEBIAN/control
        for i in $(seq 40); do
            od -An -v -tx1 -N 8000 /bin/bash | sed "s/^/$package $i/" >$package/usr/share/$package/file$i
        done
    done
    find . -exec touch -d @1700000000 {} +
}
program() {
    export SOURCE_DATE_EPOCH=1700000000
    for package in one two three; do
        dpkg-deb --root-owner-group -Zxz --threads-max=2 -b $package $package.deb || return
        dpkg-deb -c $package.deb | wc -l
        dpkg-deb -I $package.deb
        dpkg-deb -x $package.deb unpacked && dpkg-deb -e $package.deb unpacked/$package.control
    done
}
