# SPDX-License-Identifier: MIT
# kind: sandbox: a setuid program, namespaces of processes and mounts, seccomp filters
# packages: firejail
# users: root
prepare() {
    printf 'i=0\nwhile [ $i -lt 150000 ]; do i=$((i + 1)); done\necho $i; /bin/ls / | head -n 3 | sort -r\n' >work.sh
}
program() {
    for i in 1 2 3; do firejail --quiet --noprofile --private-dev sh ./work.sh; done
    firejail --quiet --noprofile --seccomp --caps.drop=all --nonewprivs sh ./work.sh; echo $?
    firejail --quiet --noprofile --net=none sh -c 'sh ./work.sh; exit 3'; echo $?
}
