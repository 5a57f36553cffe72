/* SPDX-License-Identifier: MIT */
/*
 * hidden-signals: sets up signals, hides itself (PR_SET_DUMPABLE 0), starts threads that use the signals, and prints
 * what it sees. The output must be the same if a profiler starts to use signals in those threads.
 */
#define _GNU_SOURCE
#include "burn.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Real-time signals; a profiler may take one of them. */
enum { FROM = 40, TO = 62, BURN_MS = 60 };

static volatile sig_atomic_t ticks, taken;

static void on_tick(int number)
{
    (void)number;
    ticks = ticks + 1;
}

static void on_small_stack(int number)
{
    (void)number;
    burn_until(burn_cpu() + BURN_MS * MS);
    taken = taken + 1;
}

static void print_mask(const char *what, const sigset_t *set)
{
    printf("%s:", what);
    for (int number = 1; number <= 64; number++)
        if (sigismember(set, number) == 1)
            printf(" %d", number);
    printf("\n");
}

static void print_action(const char *what, int number)
{
    struct sigaction now;
    sigaction(number, NULL, &now);
    printf("%s: %s flags %x\n", what, now.sa_handler == SIG_DFL ? "default" : "handler",
           (unsigned)now.sa_flags & ~0x04000000u);
    print_mask(what, &now.sa_mask);
}

static void print_own_mask(const char *what)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    print_mask(what, &now);
}

/* An alternate stack with room for one signal frame; the page below it cannot be accessed. */
static void take_small_stack(void)
{
    size_t page = 4096, size = getauxval(AT_MINSIGSTKSZ) + 1024;
    size = (size + page - 1) / page * page;
    char *map = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(map, page, PROT_NONE);
    size_t room = getauxval(AT_MINSIGSTKSZ) + 1024;
    sigaltstack(&(stack_t){.ss_sp = map + page, .ss_size = room < size ? room : size}, NULL);
}

static void *work(void *nothing)
{
    print_own_mask("thread");
    take_small_stack();
    raise(SIGUSR1);
    burn_until(burn_cpu() + BURN_MS * MS);
    print_own_mask("thread afterwards");
    return nothing;
}

static void run_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
}

/* Children by fork inherit the signals; one without a handler ends them. */
static void run_children(void)
{
    for (int number = FROM; number <= TO; number += 5) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            sigset_t none;
            sigemptyset(&none);
            burn_until(burn_cpu() + 10 * MS);
            pthread_sigmask(SIG_SETMASK, &none, NULL);
            raise(number);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        printf("child by %d: %x\n", number, (unsigned)status);
        fflush(stdout);
    }
}

int main(void)
{
    struct sigaction small = {.sa_handler = on_small_stack, .sa_flags = SA_ONSTACK};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    sigset_t some;
    sigfillset(&tick.sa_mask);
    sigaddset(&small.sa_mask, SIGPROF);
    burn_until(burn_cpu() + MS); /* binds its functions now, since that needs more than a small stack */
    sigaction(SIGUSR1, &small, NULL);
    sigaction(SIGPROF, &tick, NULL);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    for (int number = FROM; number <= TO; number += 2)
        sigaddset(&some, number);
    pthread_sigmask(SIG_BLOCK, &some, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        return 3;
    run_thread();
    run_thread();
    setitimer(ITIMER_PROF, &never, NULL);
    printf("ticks %s, taken %d\n", ticks > 3 ? "came" : "missing", (int)taken);
    print_own_mask("main");
    print_action("small stack", SIGUSR1);
    print_action("ticks", SIGPROF);
    for (int number = FROM; number <= TO; number++)
        print_action("free", number);
    fflush(stdout);
    run_children();
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
    return 0;
}
