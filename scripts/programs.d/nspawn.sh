# SPDX-License-Identifier: MIT
# kind: container: namespaces of all kinds, with a small system as its root
# packages: systemd-container dbus
prepare() {
    mkdir -p root/usr/bin root/usr/lib/x86_64-linux-gnu root/usr/lib64 root/tmp root/etc
    ln -s usr/bin root/bin; ln -s usr/lib root/lib; ln -s usr/lib64 root/lib64
    cp /bin/sh /bin/ls /bin/cat /usr/bin/sort /usr/bin/wc /usr/bin/seq /usr/bin/md5sum root/bin
    cp /lib/x86_64-linux-gnu/*.so.* root/lib/x86_64-linux-gnu 2>/dev/null
    cp /lib64/ld-linux-x86-64.so.2 root/lib64
    echo ID=test >root/etc/os-release
}
program() {
    for i in 1 2 3; do
        systemd-nspawn -q --register=no --keep-unit -M test -D root /bin/sh -c 'cd /; ls | sort -r; seq 90000 | sort -n | md5sum; exit 3'
        echo $?
    done
}
# leave: root/*
