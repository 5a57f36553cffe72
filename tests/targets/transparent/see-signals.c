/* SPDX-License-Identifier: MIT */
/* Signals that come while the preload object is at work, and those that must not come. */
#include "see.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t seen[65];

static void count(int number)
{
    seen[number]++;
}

static void set_handler(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

/* One SIGCHLD for each child that ended, and none from anybody else. */
static void children_that_end(void)
{
    set_handler(SIGCHLD, count, SA_RESTART);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    printf("signals %d\n", (int)seen[SIGCHLD]);
    see_exercise();
    for (int number = 1; number < 65; number++)
        if (seen[number])
            printf("signal %d: %s\n", number, number == SIGCHLD ? "as expected" : "?");
}

static void children_ignored(void)
{
    set_handler(SIGCHLD, SIG_IGN, 0);
    see_exercise();
    set_handler(SIGCHLD, SIG_DFL, SA_NOCLDWAIT);
    see_exercise();
}

/* A timer that ticks all the time, without SA_RESTART. */
static void ticking(void)
{
    struct itimerval often = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    set_handler(SIGALRM, count, 0);
    setitimer(ITIMER_REAL, &often, NULL);
    int bad = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        bad += pthread_create(&thread, NULL, (void *(*)(void *))(uintptr_t)strdup, (void *)(uintptr_t) "x") != 0;
        void *copy;
        pthread_join(thread, &copy);
        free(copy);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    printf("bad %d, ticks %d\n", bad, seen[SIGALRM] > 0);
    see_exercise();
}

/* Blocked and pending ones stay so in threads and after exec, and are not inherited by children. */
static void pending(void)
{
    sigset_t all, now;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    raise(SIGUSR1);
    raise(SIGRTMIN + 3);
    kill(getpid(), SIGTERM);
    see_threads_and_forks();
    sigpending(&now);
    for (int number = 1; number < 65; number++)
        if (sigismember(&now, number) == 1 && number != SIGCHLD)
            printf("pending %d\n", number);
    fflush(stdout);
    execl(see_me, see_me, "pending-after-exec", (char *)NULL);
}

static void pending_after_exec(void)
{
    see_file("/proc/self/comm");
    sigset_t now, mask;
    sigpending(&now);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number < 65; number++)
        if (number != SIGCHLD)
            printf("%d%d ", sigismember(&now, number), sigismember(&mask, number));
    puts("");
}

static void on_other_stack(int number)
{
    stack_t stack;
    sigaltstack(NULL, &stack);
    pid_t pid = _Fork();
    if (pid == 0)
        _exit(stack.ss_flags & SS_ONSTACK ? 21 : 22);
    int status = 0;
    waitpid(pid, &status, 0);
    seen[number] = WEXITSTATUS(status);
}

/* Within MINSIGSTKSZ and little more, a handler forks and makes threads. */
static void small_stack(void)
{
    long size = 16384;
    char *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory, .ss_size = (size_t)size};
    see_result("sigaltstack", sigaltstack(&stack, NULL));
    set_handler(SIGUSR1, on_other_stack, SA_ONSTACK);
    raise(SIGUSR1);
    printf("on it %d\n", (int)seen[SIGUSR1]);
    see_exercise();
    stack_t after;
    sigaltstack(NULL, &after);
    printf("same %d\n", after.ss_sp == memory && after.ss_size == (size_t)size && after.ss_flags == stack.ss_flags);
}

static void *wait_for_signal(void *data)
{
    sigset_t *set = data;
    int number = 0;
    sigwait(set, &number);
    return (void *)(intptr_t)number;
}

static void waited_for(void)
{
    sigset_t set;
    pthread_t thread;
    void *number = NULL;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, wait_for_signal, &set);
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, &number);
    printf("got %ld\n", (long)(intptr_t)number);
    struct timespec none = {0, 0};
    see_result("nothing more", sigtimedwait(&set, NULL, &none));
    see_exercise();
}

/* How programs end that are ended by a signal, with a handler for it in the parent. */
static void ended_by(void)
{
    const int numbers[] = {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGPIPE, SIGSYS, SIGTRAP, SIGRTMAX};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            raise(numbers[i]);
            _exit(1);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        printf("signal %d: %d %d\n", numbers[i], WIFSIGNALED(status), WTERMSIG(status));
    }
}

static void timers_survive(void)
{
    struct itimerval far = {{0, 0}, {1000, 0}}, now;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    setitimer(ITIMER_PROF, &far, NULL);
    setitimer(ITIMER_VIRTUAL, &far, NULL);
    see_result("timer_create", timer_create(CLOCK_MONOTONIC, &event, &timer));
    see_threads_and_forks();
    getitimer(ITIMER_PROF, &now);
    printf("profiling timer %d\n", now.it_value.tv_sec > 900);
    getitimer(ITIMER_VIRTUAL, &now);
    printf("virtual timer %d\n", now.it_value.tv_sec > 900);
    printf("its number %ld\n", (long)(intptr_t)timer);
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {
        {"children", children_that_end},
        {"ignored", children_ignored},
        {"ticking", ticking},
        {"pending", pending},
        {"pending-after-exec", pending_after_exec},
        {"small-stack", small_stack},
        {"waited-for", waited_for},
        {"ended-by", ended_by},
        {"timers", timers_survive},
    };
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
