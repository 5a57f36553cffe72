# SPDX-License-Identifier: MIT
# kind: file transfer: daemon that forks for each client, and a local pipe of processes
# packages: rsync
# users: root nobody
# leave: daemon.log daemon.pid daemon.lock
prepare() {
    for i in $(seq 300); do mkdir -p from/$((i % 17)); head -c $((i * 700)) /usr/bin/gdb >from/$((i % 17))/$i; done
    printf 'use chroot = no\nport = 18418\naddress = 127.0.0.1\npid file = daemon.pid\nlog file = daemon.log\n[all]\npath = from\n[in]\npath = in\nread only = no\n' >daemon.conf
    mkdir in
}
program() {
    sed -i "s,= from,= $PWD/from,; s,= in$,= $PWD/in,; s,= daemon,= $PWD/daemon,; /read only/a uid = $(id -u)\ngid = $(id -g)" daemon.conf
    rsync --daemon --no-detach --config=daemon.conf &
    daemon=$!
    until (: </dev/tcp/127.0.0.1/18418) 2>/dev/null; do sleep 0.05; done
    rsync -a from/ copy/
    rsync -az rsync://127.0.0.1:18418/all/ pulled/
    rsync -a --checksum-choice=md5 --no-times copy/ rsync://127.0.0.1:18418/in/
    find copy -name '*7' -exec sh -c 'echo more >>"$1"' sh {} \;
    rsync -ac --stats copy/ pulled/ | grep -E 'transferred:|Number of files:'
    rsync --list-only rsync://127.0.0.1:18418/ 
    kill $daemon; wait $daemon
    echo daemon $?
}
