/* SPDX-License-Identifier: MIT */
/* truth-fork: every way to make a process that is a copy, from every place that may do so. Prints no pids. */
#include <errno.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int in_prepare, in_parent, in_child;
static void prepare(void)
{
    in_prepare++;
}
static void parent(void)
{
    in_parent++;
}
static void child(void)
{
    in_child++;
}

static void report(const char *what, pid_t pid)
{
    int status = -1;
    pid_t got = waitpid(pid, &status, 0);
    printf("%s: %s %x\n", what, got == pid && pid > 0 ? "child" : "no child", (unsigned)status);
    fflush(stdout);
}

static void nested(int depth)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (depth > 0)
            nested(depth - 1);
        _exit(depth);
    }
    waitpid(pid, NULL, 0);
}

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    int saved = errno;
    pid_t pid = _Fork();
    if (pid == 0)
        _exit(9);
    int status;
    waitpid(pid, &status, 0);
    handled = WEXITSTATUS(status);
    errno = saved;
}

static int stop;

static void *busy(void *data)
{
    (void)data;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        void *memory = malloc(1000);
        __asm__ volatile("" : : "r"(memory));
        free(memory);
    }
    return NULL;
}

static void among_threads(void)
{
    pthread_t threads[4];
    unsigned bad = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, busy, NULL);
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            /* A child of many threads may make threads of its own. */
            pthread_t thread;
            stop = 1;
            if (pthread_create(&thread, NULL, busy, NULL) || pthread_join(thread, NULL))
                _exit(1);
            _exit(7);
        }
        int status;
        waitpid(pid, &status, 0);
        bad += status != 7 << 8;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("among threads: %u bad\n", bad);
}

static void by_daemon(void)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends))
        return;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        if (daemon(1, 1))
            _exit(1);
        byte = 'd';
        _exit(write(ends[1], &byte, 1) != 1);
    }
    report("daemon's parent", pid);
    if (read(ends[0], &byte, 1) == 1)
        printf("daemon: %c\n", byte);
    int status = 0;
    pid = waitpid(-1, &status, 0); /* we adopted it */
    printf("daemon: %d %x\n", pid > 0, (unsigned)status);
}

int main(void)
{
    pthread_atfork(prepare, parent, child);
    errno = 77;
    pid_t pid = fork();
    if (pid == 0)
        _exit(errno == 77 && in_child == 1 ? 5 : 6);
    printf("errno %d handlers %d %d %d\n", errno, in_prepare, in_parent, in_child);
    report("fork", pid);
    errno = 77;
    pid = _Fork();
    if (pid == 0)
        _exit(errno == 77 && in_child == 0 ? 5 : 6);
    printf("errno %d handlers %d %d %d\n", errno, in_prepare, in_parent, in_child);
    report("_Fork", pid);
    pid = vfork();
    if (pid == 0)
        _exit(4);
    report("vfork", pid);
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(3);
    report("clone", pid);
    int terminal;
    pid = forkpty(&terminal, NULL, NULL, NULL);
    if (pid == 0)
        _exit(isatty(0) ? 2 : 1);
    if (pid > 0)
        report("forkpty", pid);
    nested(5);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    printf("in a handler: %d\n", (int)handled);
    among_threads();
    pid = waitpid(-1, NULL, WNOHANG);
    printf("left over: %d %d\n", (int)pid, errno == ECHILD);
    by_daemon();
    return 0;
}
