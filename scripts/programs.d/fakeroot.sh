# SPDX-License-Identifier: MIT
# kind: a daemon and a preloaded library that simulate root rights while a package is built
# packages: fakeroot tar
# users: root nobody
prepare() {
    mkdir -p tree
    for i in $(seq 200); do head -c $((i * 300)) /usr/bin/gdb >tree/$i; done
}
program() {
    fakeroot -- sh -c 'chown -R 1234:4321 tree; chmod 4755 tree/7; mknod tree/null c 1 3; touch -d @1700000000 tree/* tree
        tar --sort=name -cf made.tar tree; for i in $(seq 60); do stat -c %u tree/$i; done | sort | uniq -c; rm tree/null'
    fakeroot -s state -- sh -c 'chown 7 tree/7; id -u'
    fakeroot -i state -- stat -c %u tree/7
    tar -tvf made.tar | md5sum
    xz -T2 -k made.tar
}
# leave: state
