# SPDX-License-Identifier: MIT
# kind: tracer of library calls: breakpoints, also in children
# packages: ltrace gcc
# users: root nobody
# leave: trace
# same: /0x[0-9a-f]+/0xN/
prepare() {
    cat >run.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    char text[64];
    long sum = 0;
    for (int i = 0; i < 3000; i++) { snprintf(text, sizeof(text), "%d", i); sum += atoi(text) + strlen(text); }
    pid_t pid = fork();
    if (!pid) { puts("child"); fflush(stdout); _exit(3); }
    int status;
    waitpid(pid, &status, 0);
    printf("%ld %d\n", sum, WEXITSTATUS(status));
    return 5;
}
END
}
program() {
    gcc -O0 -no-pie run.c -o run || return
    for i in 1 2 3; do ltrace -f -e atoi+strlen+fork+waitpid -o trace ./run; echo $?; grep -c 'atoi(' trace; done
}
