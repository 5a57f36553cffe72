/* SPDX-License-Identifier: MIT */
/* The program takes the signal of the timers for itself at the moment when we take it. */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "preload/state.h"
#include "preload/timer.h"
#include "preload/timer_signal.h"

#if defined(__x86_64__) || defined(__aarch64__)

/* ---- What the preload object has around it: no timer runs ---- */

struct pinject_preload pinject_preload = {.begun = 2, .state = PINJECT_FOLLOWED};

struct pinject_sampler *pinject_sampler_find(void)
{
    return NULL;
}

struct pinject_sampler *pinject_sampler_own(void)
{
    return NULL;
}

bool pinject_sampler_is(const void *pointer)
{
    (void)pointer;
    return false;
}

void pinject_sampler_take(struct pinject_sampler *its, uint64_t overrun, const void *context)
{
    (void)its;
    (void)overrun;
    (void)context;
}

bool pinject_timer_ended(void)
{
    return false;
}

void pinject_signal_put_in(int number)
{
    (void)number;
}

/* ---- The race ---- */

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

static void plain(int number)
{
    (void)number;
}

/* Another thread sets a handler between our look at the number and our own call, which a filter traps. */
enum { WANTED = 60, MARK = 1 }; /* in the high word of the number, of which the kernel makes nothing */
static volatile int meanwhile;

static void be_quicker(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)number;
    (void)info;
#if defined(__x86_64__)
    greg_t *words = at->uc_mcontext.gregs;
    const long action = words[REG_RSI], old = words[REG_RDX];
    greg_t *result = &words[REG_RAX];
#else
    unsigned long long *words = at->uc_mcontext.regs;
    const long action = (long)words[1], old = (long)words[2];
    unsigned long long *result = &words[0];
#endif
    const long marked = WANTED | (long)MARK << 32;
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } its = {.handler = plain, .mask = 1};
    if (!meanwhile++)
        syscall(SYS_rt_sigaction, marked, &its, NULL, 8);
    *result = (__typeof__(*result))syscall(SYS_rt_sigaction, marked, action, old, 8);
}

static void another_is_quicker(void)
{
    enum { LOW = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4, NUMBER = offsetof(struct seccomp_data, args[0]) };
    struct sigaction trapped = {.sa_sigaction = be_quicker, .sa_flags = SA_SIGINFO}, found;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 7),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER + LOW),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WANTED, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER + 4 - LOW),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 3, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + LOW),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), /* who only looks */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    MUST(sigaction(SIGSYS, &trapped, NULL) == 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(0); /* there are no filters */
    MUST(pinject_signal_take() == 0 && pinject_signal_number() == WANTED - 1);
    MUST(meanwhile == 2); /* ours was set and taken back */
    MUST(sigaction(WANTED, NULL, &found) == 0);
    MUST(found.sa_handler == plain && sigismember(&found.sa_mask, 1));
}

static void test_another_is_quicker(void **state)
{
    int status;
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        another_is_quicker();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_another_is_quicker)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* no timers there */
}

#endif
