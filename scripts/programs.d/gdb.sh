# SPDX-License-Identifier: MIT
# kind: debugger: a session that follows forks and steps through threads, with Python
# packages: gdb gcc libc6-dev
# users: root nobody
# same: /0x[0-9a-f]+/0xN/
# same: /(process|Thread|LWP|pid) \d+/N/
# same: /^\[(New|Thread|Switching|Detaching|Inferior).*\n//
# sorted: out
prepare() {
    cat >run.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sum;
static void *work(void *n) { for (long i = 0; i < 30000000; i++) sum += i ^ (long)n; return n; }
void reached(int n) { printf("reached %d\n", n); fflush(stdout); }
int main(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (!pid) { reached(i); execl("/bin/sh", "sh", "-c", "echo $0; exit 3", "shell", (char *)0); }
        int status;
        waitpid(pid, &status, 0);
        reached(10 + WEXITSTATUS(status));
    }
    return 5;
}
END
    cat >commands <<'END'
set pagination off
set confirm off
set debuginfod enabled off
break reached
commands
silent
backtrace
print n
continue
end
set follow-fork-mode parent
set detach-on-fork on
run
python print("exit", gdb.parse_and_eval("$_exitcode"))
END
    printf 'set follow-fork-mode child\nset follow-exec-mode same\nset detach-on-fork on\nset debuginfod enabled off\nrun\ninfo inferiors\n' >child
}
program() {
    gcc -g -pthread run.c -o run || return
    gdb -nx -batch -x commands ./run
    gdb -nx -batch -x child ./run
}
