/* SPDX-License-Identifier: MIT */
/*
 * hidden MS ACTION... [PROGRAM [ARGS...]]: hides itself from its user's other processes (PR_SET_DUMPABLE 0), burns MS
 * milliseconds of CPU time, and does the actions; each task that these create burns MS, too:
 *
 *   threads   four threads at the same time
 *   fork      a child, which makes a thread
 *   killed    a child that kills itself by SIGKILL
 *   masked    a thread that blocks all signals
 *   exec vfork spawn thread-exec   a child by fork (vfork, posix_spawn, a thread of a forked one) runs PROGRAM; last
 *   in-place  becomes PROGRAM; last
 *   quiet     prints nothing from here on
 *
 * Each task prints "task PID TID NS" at its end; NS is its CPU time in nanoseconds.
 */
#define _GNU_SOURCE
#include "burn.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { THREADS = 4 };

extern char **environ;
static uint64_t ns;
static int quiet;

static void must(int condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    _exit(3);
}

static void say(void)
{
    if (quiet)
        return;
    printf("task %d %d %llu\n", (int)getpid(), burn_tid(), (unsigned long long)burn_cpu());
    fflush(stdout);
}

static void *hidden_thread(void *masked)
{
    sigset_t all;
    sigfillset(&all);
    if (masked)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    spin_both(ns);
    say();
    return NULL;
}

static void run_threads(int count, int masked)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; i++)
        must(pthread_create(&threads[i], NULL, hidden_thread, masked ? &ns : NULL) == 0, "pthread_create");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void await(pid_t pid, int expected)
{
    int status;
    must(pid > 0, "a child");
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    if (status != expected && !quiet)
        printf("status %d\n", status);
}

static void in_child(int killed)
{
    pid_t pid = fork();
    if (pid == 0) {
        spin_both(ns);
        if (!killed)
            run_threads(1, 0);
        say();
        if (killed)
            raise(SIGKILL);
        exit(0);
    }
    await(pid, killed ? SIGKILL : 0);
}

static void *become(void *args)
{
    char *const *argv = args;
    execv(argv[0], argv);
    _exit(9);
}

static void *work_and_become(void *args)
{
    spin_both(ns);
    return become(args);
}

static void run_program(const char *how, char **argv)
{
    pid_t pid = -1;
    pthread_t thread;
    if (strcmp(how, "in-place") == 0)
        become(argv);
    if (strcmp(how, "spawn") == 0)
        must(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0, "posix_spawn");
    else if (strcmp(how, "vfork") == 0)
        pid = vfork();
    else
        pid = fork();
    if (pid == 0 && strcmp(how, "vfork") == 0)
        become(argv);
    if (pid == 0 && strcmp(how, "exec") == 0)
        work_and_become(argv);
    if (pid == 0) {
        pthread_create(&thread, NULL, work_and_become, argv);
        pthread_join(thread, NULL);
    }
    await(pid, 0);
}

int main(int argc, char **argv)
{
    ns = burn_number(argc > 1 ? argv[1] : NULL, "MS") * MS;
    must(prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
    spin_both(ns);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "threads") == 0)
            run_threads(THREADS, 0);
        else if (strcmp(argv[i], "fork") == 0)
            in_child(0);
        else if (strcmp(argv[i], "killed") == 0)
            in_child(1);
        else if (strcmp(argv[i], "masked") == 0)
            run_threads(1, 1);
        else if (strcmp(argv[i], "quiet") == 0)
            quiet = 1;
        else if (i + 1 < argc) {
            run_program(argv[i], &argv[i + 1]);
            break;
        }
    }
    say();
    return prctl(PR_GET_DUMPABLE) == 0 ? 0 : 4;
}
