# SPDX-License-Identifier: MIT
# kind: sandbox: simulates chroot by ptrace, without privileges
# packages: proot
# users: root nobody
prepare() {
    printf 'i=0\nwhile [ $i -lt 100000 ]; do i=$((i + 1)); done\necho $i; /bin/ls / | wc -l; /usr/bin/id -u\n' >work.sh
}
program() {
    for i in 1 2; do proot -0 -r / sh ./work.sh; done
    proot -b "$PWD":/mnt sh -c 'sh /mnt/work.sh; exit 3'; echo $?
}
