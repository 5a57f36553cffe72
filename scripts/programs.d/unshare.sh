# SPDX-License-Identifier: MIT
# kind: containers by hand: namespaces of users, processes and mounts, a new root; nsenter enters them
# packages: util-linux
# users: root nobody
program() {
    for i in 1 2 3; do
        unshare -r -f -p -m --mount-proc sh -c 'echo $$; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $i; exit 3'
        echo $?
    done
    unshare -r -n -u -i -C sh -c 'hostname inside; hostname; seq 100000 | sort -rn | md5sum; id -u'
    mkfifo ready done
    unshare -r -u sh -c 'hostname entered; echo $$ >ready; read -r line <done' &
    read -r pid <ready
    nsenter -t $pid -U -u --preserve-credentials sh -c 'hostname; seq 100000 | sort -rn | md5sum'
    echo >done
    wait
    rm ready done
}
