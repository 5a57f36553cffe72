# SPDX-License-Identifier: MIT
# kind: compiler daemon on loopback: prefork workers that change user, with retries
# packages: distcc gcc make
# users: root nobody
# same: /^distccd?\[.*\n//
# leave: daemon.log .distcc/* *.log
prepare() {
    printf 'all: %s\n%%.o: %%.c\n\tdistcc gcc -O2 -c $< -o $@\n' "$(for i in $(seq 16); do printf 'f%s.o ' $i; done)" >Makefile
    for i in $(seq 16); do echo "#include <stdio.h>
int f$i(int x) { char t[99]; return sprintf(t, \"%d\", x * $i); }" >f$i.c; done
}
program() {
    export DISTCC_HOSTS='127.0.0.1:18430/4' DISTCC_DIR=$PWD/.distcc
    mkdir -p .distcc
    chmod 777 .
    distccd --no-detach --daemon --listen 127.0.0.1 --port 18430 --allow 127.0.0.1 --jobs 3 --log-file $PWD/daemon.log --enable-tcp-insecure \
        $([ $(id -u) = 0 ] && echo --user nobody) &
    until (: </dev/tcp/127.0.0.1/18430) 2>/dev/null; do sleep 0.05; done
    make -s -j 4
    kill %1; wait %1; echo $?
}
