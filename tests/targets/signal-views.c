/* SPDX-License-Identifier: MIT */
/*
 * Prints everything that a program can see of its signals and timers while its threads burn CPU time. The output must
 * not depend on sampling. signal-views [MS]: CPU time of each step.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "burn.h"

extern char **environ;

static uint64_t step_ns = 30 * MS;
static volatile sig_atomic_t taken[65], value_seen;

static void burn(void)
{
    spin_both(step_ns);
}

static void take(int number)
{
    taken[number]++;
}

static void take_value(int number, siginfo_t *info, void *context)
{
    (void)context;
    taken[number]++;
    value_seen = info->si_value.sival_int;
}

static void print_set(const char *what, const sigset_t *set)
{
    printf("%s:", what);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (sigismember(set, number) == 1)
            printf(" %d", number);
    printf("\n");
}

static void print_mask(const char *what)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    print_set(what, &now);
}

static void dispositions(const char *what)
{
    printf("%s:", what);
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && (action.sa_handler != SIG_DFL || action.sa_flags))
            printf(" %d:%s:%x", number, action.sa_handler == SIG_IGN ? "ignored" : "handled",
                   (unsigned)action.sa_flags);
    }
    printf("\n");
}

static void masks(void)
{
    sigset_t all, some, old;
    sigfillset(&all);
    sigemptyset(&some);
    print_mask("mask at the start");
    pthread_sigmask(SIG_BLOCK, &all, &old);
    burn();
    print_mask("all blocked");
    pthread_sigmask(SIG_UNBLOCK, &all, &old);
    print_set("before the unblocking", &old);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        sigaddset(&some, number);
        sigprocmask(SIG_SETMASK, &some, NULL);
    }
    burn();
    print_mask("realtime ones blocked");
    sigprocmask(SIG_SETMASK, &old, &some);
    sigprocmask(SIG_SETMASK, NULL, NULL);
    sigemptyset(&old);
    sigprocmask(SIG_SETMASK, &old, &some);
    print_set("before none", &some);
    print_mask("none blocked");
    printf("wrong how: %d %d\n", sigprocmask(77, &all, NULL), errno == EINVAL);
}

/* Uses signal NUMBER in the ways of a program. */
static void use_signal(int number)
{
    struct sigaction action = {.sa_sigaction = take_value, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
    sigset_t one, full, pending;
    siginfo_t info;
    struct timespec soon = {.tv_sec = 20};
    sigemptyset(&one);
    sigaddset(&one, number);
    sigfillset(&full);
    taken[number] = 0;
    sigprocmask(SIG_BLOCK, &full, NULL);
    raise(number);
    sigpending(&pending);
    int is_pending = sigismember(&pending, number), got = sigtimedwait(&one, &info, &soon);
    sigprocmask(SIG_UNBLOCK, &full, NULL);
    sigfillset(&action.sa_mask);
    sigaction(number, &action, &old);
    sigqueue(getpid(), number, (union sigval){.sival_int = number * 3});
    int value = value_seen, count = taken[number];
    sigprocmask(SIG_BLOCK, &one, NULL);
    sigqueue(getpid(), number, (union sigval){.sival_int = 1});
    int before = taken[number];
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    struct sigaction seen;
    signal(number, SIG_IGN);
    raise(number);
    sigaction(number, NULL, &seen);
    int ignored = seen.sa_handler == SIG_IGN;
    signal(number, SIG_DFL);
    printf("%d: pending %d, waited %d, was %d, handled %d with %d, blocked %d, then %d, ignored %d, mask %d\n", number,
           is_pending, got, old.sa_handler == SIG_DFL, count, value, before, taken[number], ignored,
           sigismember(&action.sa_mask, number));
}

static void descriptors(void)
{
    sigset_t full;
    sigfillset(&full);
    sigprocmask(SIG_BLOCK, &full, NULL);
    int fd = signalfd(-1, &full, SFD_NONBLOCK | SFD_CLOEXEC);
    struct signalfd_siginfo info;
    burn();
    ssize_t none = read(fd, &info, sizeof(info));
    int refused = errno == EAGAIN;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        kill(getpid(), number);
    burn();
    int got = 0;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        got++;
    printf("signalfd: %d %d, then %d\n", (int)none, refused, got);
    close(fd);
    sigprocmask(SIG_UNBLOCK, &full, NULL);
}

/* The default action of each real-time signal, in a child that burns. */
static void deaths(void)
{
    for (int number = SIGRTMAX - 8; number <= SIGRTMAX; number++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            spin_both(5 * MS);
            raise(number);
            _exit(1);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        printf("death by %d: %d\n", number, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    }
}

/* What a program inherits by exec. */
static void inherited(const char *self)
{
    sigset_t full;
    const char *const argv[] = {self, "inherited", NULL};
    sigfillset(&full);
    for (volatile int round = 0; round < 3; round++) {
        if (round)
            sigprocmask(SIG_BLOCK, &full, NULL);
        for (int number = SIGRTMAX - 8; round == 2 && number <= SIGRTMAX; number += 2)
            signal(number, SIG_IGN);
        fflush(stdout);
        pid_t pid = -1;
        posix_spawn(&pid, self, NULL, NULL, (char **)argv, environ);
        waitpid(pid, NULL, 0);
        pid = fork();
        if (pid == 0) {
            execv("/nonexistent", (char **)argv);
            execv(self, (char **)argv);
            _exit(1);
        }
        waitpid(pid, NULL, 0);
        pid = vfork();
        if (pid == 0) {
            sigprocmask(round ? SIG_UNBLOCK : SIG_BLOCK, &full, NULL);
            execv(self, (char **)argv);
            _exit(1);
        }
        waitpid(pid, NULL, 0);
        print_mask("after a child had another mask");
    }
    for (int number = SIGRTMAX - 8; number <= SIGRTMAX; number += 2)
        signal(number, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &full, NULL);
}

static void own_timers(void)
{
    struct itimerval interval = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct itimerspec times = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    struct sigaction action = {.sa_handler = take, .sa_flags = SA_RESTART};
    taken[SIGPROF] = taken[SIGVTALRM] = taken[SIGRTMIN] = 0;
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    sigaction(SIGRTMIN, &action, NULL);
    setitimer(ITIMER_PROF, &interval, NULL);
    setitimer(ITIMER_VIRTUAL, &interval, NULL);
    /* A seccomp filter may refuse it. */
    bool made = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0;
    if (made)
        timer_settime(timer, 0, &times, NULL);
    while (!taken[SIGPROF] || !taken[SIGVTALRM] || (made && !taken[SIGRTMIN]))
        burn();
    setitimer(ITIMER_PROF, &never, NULL);
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    if (made)
        timer_delete(timer);
    signal(SIGPROF, SIG_DFL);
    signal(SIGVTALRM, SIG_DFL);
    signal(SIGRTMIN, SIG_DFL);
    printf("own timers: fire\n");
}

/* Calls that a handler without SA_RESTART interrupts, alternating with work. */
static void waits(void)
{
    int ends[2], interrupted = 0, epoll = epoll_create1(EPOLL_CLOEXEC);
    char byte;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    struct pollfd reader = {.fd = ends[0], .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    for (int i = 0; i < 200; i++) {
        struct timespec moment = {.tv_nsec = 20000};
        for (int j = 0; j < 20; j++)
            burn_some();
        interrupted += nanosleep(&moment, NULL) != 0;
        interrupted += poll(&reader, 1, 1) < 0;
        interrupted += epoll_wait(epoll, &event, 1, 1) < 0;
        interrupted += read(ends[0], &byte, 1) < 0 && errno == EINTR;
        interrupted += write(ends[1], "x", 1) != 1;
        interrupted += read(ends[0], &byte, 1) != 1;
    }
    printf("interrupted: %d\n", interrupted);
    close(ends[0]);
    close(ends[1]);
    close(epoll);
}

static sigjmp_buf back;

static void jump(int number)
{
    taken[number]++;
    siglongjmp(back, 1);
}

/* A small alternate stack, on which the handler works longer than many ticks; and a handler that exits by a jump. */
static void stacks(void)
{
    static unsigned char small[16384];
    stack_t stack = {.ss_sp = small, .ss_size = sizeof(small)}, old;
    struct sigaction action = {.sa_handler = take, .sa_flags = SA_ONSTACK}, seen;
    sigaltstack(&stack, &old);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    burn();
    sigaction(SIGUSR1, NULL, &seen);
    print_set("mask of a handler with a stack", &seen.sa_mask);
    action.sa_flags = 0;
    action.sa_handler = jump;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &seen);
    print_set("mask of a handler", &seen.sa_mask);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    printf("handled on stacks: %d\n", (int)taken[SIGUSR1]);
    print_mask("mask after the jumps");
}

static void *work(void *argument)
{
    (void)argument;
    print_mask("mask of a thread");
    burn();
    print_mask("mask of a thread afterwards");
    return NULL;
}

static void threads(void)
{
    sigset_t full;
    pthread_t thread;
    sigfillset(&full);
    for (int i = 0; i < 2; i++) {
        pthread_sigmask(i ? SIG_BLOCK : SIG_UNBLOCK, &full, NULL);
        if (pthread_create(&thread, NULL, work, NULL) == 0)
            pthread_join(thread, NULL);
    }
    pthread_sigmask(SIG_UNBLOCK, &full, NULL);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOFBF, 65536);
    dispositions("dispositions");
    if (argc > 1 && strcmp(argv[1], "inherited") == 0) {
        print_mask("inherited mask");
        return 0;
    }
    if (argc > 1)
        step_ns = burn_number(argv[1], "MS") * MS;
    masks();
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        use_signal(number);
    descriptors();
    deaths();
    inherited("/proc/self/exe");
    own_timers();
    waits();
    stacks();
    threads();
    dispositions("dispositions at the end");
    print_mask("mask at the end");
    return 0;
}
