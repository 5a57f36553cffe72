# SPDX-License-Identifier: MIT
# kind: sandbox: a preloaded library that simulates chroot, with a small system in the new root
# packages: fakechroot
# users: root nobody
prepare() {
    mkdir -p root/bin root/lib/x86_64-linux-gnu root/lib64 root/tmp
    cp /bin/sh /bin/ls /bin/cat /usr/bin/sort /usr/bin/wc /usr/bin/seq /usr/bin/md5sum root/bin
    cp /lib/x86_64-linux-gnu/*.so.* root/lib/x86_64-linux-gnu 2>/dev/null
    cp /lib64/ld-linux-x86-64.so.2 root/lib64
    ln -s . root/usr
}
# leave: root/lib/*
program() {
    for i in $(seq 20); do
        fakechroot /usr/sbin/chroot root /bin/sh -c 'cd /; ls | sort -r; seq 60000 | sort -n | md5sum; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo $i >/tmp/made'
    done
}
