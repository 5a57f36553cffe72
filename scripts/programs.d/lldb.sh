# SPDX-License-Identifier: MIT
# kind: debugger: breakpoints and threads, through a server process
# packages: lldb gcc
# users: root nobody
# same: /0x[0-9a-f]+/0xN/
# same: /(Process|pid|tid) ?=? ?\d+/N/
# sorted: out
prepare() {
    cat >run.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long sum;
static void *work(void *n) { for (long i = 0; i < 30000000; i++) sum += i ^ (long)n; return n; }
int reached(int n) { printf("reached %d\n", n); fflush(stdout); return n; }
int main(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 3; i++) reached(system("echo from the shell; exit 3"));
    return 5;
}
END
}
program() {
    gcc -g -pthread run.c -o run || return
    lldb -b -o 'breakpoint set -n reached' -o run -o bt -o 'expression n' -o continue -o continue -o continue ./run
    echo $?
}
