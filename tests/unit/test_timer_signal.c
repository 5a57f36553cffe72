/* SPDX-License-Identifier: MIT */
/* The signal of the timers: what the kernel has of it, what the program is shown, and whose signals reach whom. */
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/state.h"
#include "preload/timer.h"
#include "preload/timer_signal.h"

#if defined(__x86_64__) || defined(__aarch64__)

/* ---- What the preload object has around it ---- */

static struct pinject_sampler sampler;
static struct perf_event_mmap_page page;
static struct pinject_segment segment;
struct pinject_preload pinject_preload = {.begun = 2, .state = PINJECT_FOLLOWED, .channel.segment = &segment};
static bool has_sampler, ended;
static volatile unsigned samples;
static uint64_t put_in;

struct pinject_sampler *pinject_sampler_find(void)
{
    return has_sampler ? &sampler : NULL;
}

struct pinject_sampler *pinject_sampler_own(void)
{
    has_sampler = true;
    sampler.tid = (int32_t)syscall(SYS_gettid);
    return &sampler;
}

bool pinject_sampler_is(const void *pointer)
{
    return pointer == &sampler;
}

void pinject_sampler_take(struct pinject_sampler *its, uint64_t overrun, const void *context)
{
    (void)overrun;
    if (its == &sampler && context)
        samples++;
}

bool pinject_timer_ended(void)
{
    return ended;
}

void pinject_signal_put_in(int number)
{
    put_in |= UINT64_C(1) << (number - 1);
}

/* ---- Each test in a process of its own: signals are the process' ---- */

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

static int in_child(void (*test)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(120);
        test();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int taken(void)
{
    MUST(pinject_signal_take() == 0);
    return pinject_signal_number();
}

static bool is_blocked(int number)
{
    sigset_t set;
    sigprocmask(SIG_SETMASK, NULL, &set);
    return sigismember(&set, number);
}

static void block(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(how, &set, NULL);
}

static bool is_pending(int number)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, number);
}

static volatile int got, got_blocked, got_code;

static void plain(int number)
{
    got = number;
    got_blocked = is_blocked(number) + 2 * is_blocked(SIGUSR1);
}

static void note(int number)
{
    got = number;
}

static void full(int number, siginfo_t *info, void *context)
{
    got = number;
    got_blocked = is_blocked(number) + 2 * is_blocked(SIGUSR1);
    got_code = context ? info->si_code : 0;
}

/* The program sets a handler for our number. */
static void show(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    pinject_signal_action(&action, NULL);
}

static void queue_to_self(int number)
{
    union sigval value = {.sival_int = 7};
    MUST(sigqueue(getpid(), number, value) == 0);
}

/* ---- The number ---- */

static void takes_a_free_one(void)
{
    struct sigaction mine = {.sa_handler = plain}, found;
    MUST(sigaction(60, &mine, NULL) == 0);
    MUST(!pinject_signal_number());
    MUST(taken() == 59);
    MUST(pinject_timer_signal() == 59);
    MUST(pinject_signal_take() == 0 && pinject_signal_number() == 59);
    MUST(sigaction(59, NULL, &found) == 0);
    MUST((found.sa_flags & (SA_SIGINFO | SA_RESTART | SA_ONSTACK)) == (SA_SIGINFO | SA_RESTART | SA_ONSTACK));
    for (int number = 1; number < 32; number++)
        MUST(sigismember(&found.sa_mask, number) || number == SIGKILL || number == SIGSTOP);
    MUST(sigaction(60, NULL, &found) == 0 && found.sa_handler == plain);
    pinject_signal_forget();
    MUST(pinject_signal_number() == 0);
    MUST(taken() == 59); /* the handler there is ours */
}

static void finds_none(void)
{
    struct sigaction mine = {.sa_handler = plain};
    for (int number = 40; number <= 60; number++)
        MUST(sigaction(number, &mine, NULL) == 0);
    MUST(pinject_signal_take() == -EBUSY);
    MUST(!pinject_signal_number());
    mine.sa_handler = SIG_DFL;
    MUST(sigaction(40, &mine, NULL) == 0);
    MUST(taken() == 40);
}

/* Handlers on a stack of their own are not interrupted by ours. */
static void shields_stacks(void)
{
    static const struct {
        int number;
        void (*handler)(int);
        int flags;
        bool shielded;
    } before[] = {{SIGUSR1, plain, SA_ONSTACK, true},
                  {SIGUSR2, plain, 0, false},
                  {SIGWINCH, SIG_IGN, SA_ONSTACK, false},
                  {64, plain, SA_ONSTACK, true},
                  {1, plain, SA_ONSTACK | SA_RESTART, true}};
    struct sigaction found;
    uint64_t expected = 0;
    for (size_t i = 0; i < 5; i++) {
        struct sigaction action = {.sa_handler = before[i].handler, .sa_flags = before[i].flags};
        MUST(sigaction(before[i].number, &action, NULL) == 0);
    }
    int ours = taken();
    for (size_t i = 0; i < 5; i++) {
        MUST(sigaction(before[i].number, NULL, &found) == 0);
        MUST(found.sa_handler == before[i].handler);
        MUST(sigismember(&found.sa_mask, ours) == before[i].shielded);
        if (before[i].shielded)
            expected |= UINT64_C(1) << (before[i].number - 1);
    }
    MUST(put_in == expected);
}

static void test_number(void **state)
{
    (void)state;
    assert_int_equal(in_child(takes_a_free_one), 0);
    assert_int_equal(in_child(finds_none), 0);
    assert_int_equal(in_child(shields_stacks), 0);
}

/* ---- Signals of others ---- */

static void dies_by_default(void)
{
    raise(taken());
}

static void dies_in_the_end(void)
{
    int number = taken();
    show(plain, SA_RESETHAND);
    MUST(pinject_signal_is_used());
    raise(number);
    MUST(got == number);
    MUST(!pinject_signal_is_used());
    raise(number);
}

static void ignores(void)
{
    int number = taken();
    show(SIG_IGN, 0);
    raise(number);
    MUST(pinject_signal_is_used());
    show(SIG_DFL, 0);
    MUST(!pinject_signal_is_used());
}

static void calls_the_handler(void)
{
    int number = taken();
    struct sigaction action = {.sa_sigaction = full, .sa_flags = SA_SIGINFO}, old = {.sa_handler = plain};
    sigaddset(&action.sa_mask, SIGUSR1);
    pinject_signal_action(&action, &old);
    MUST(old.sa_handler == SIG_DFL);
    queue_to_self(number);
    MUST(got == number && got_blocked == 3 && got_code == SI_QUEUE);
    MUST(!is_blocked(number) && !is_blocked(SIGUSR1));
    show(plain, SA_NODEFER);
    got = 0;
    raise(number);
    MUST(got == number && got_blocked == 0);
    show(plain, 0);
    raise(number);
    MUST(got_blocked == 1);
    /* What is shown is what was set, also into the place where it stands. */
    action = (struct sigaction){.sa_handler = SIG_IGN};
    pinject_signal_action(&action, &action);
    MUST(action.sa_handler == plain);
    pinject_signal_action(NULL, &action);
    MUST(action.sa_handler == SIG_IGN);
}

/* The program has blocked it, and it is open for our timers: what others send waits. */
static void waits(void)
{
    int number = taken();
    struct sigaction action = {.sa_sigaction = full, .sa_flags = SA_SIGINFO};
    pinject_signal_action(&action, NULL);
    for (int way = 0; way < 2; way++) {
        pinject_signal_set_masked(true);
        MUST(pinject_signal_masked() && !is_blocked(number));
        got = 0;
        if (way)
            raise(number);
        else
            queue_to_self(number);
        MUST(got == 0 && is_pending(number) && is_blocked(number));
        pinject_signal_set_masked(false);
        block(SIG_UNBLOCK, number);
        MUST(got == number && got_code == (way ? SI_TKILL : SI_QUEUE));
    }
}

static void test_signals_of_others(void **state)
{
    (void)state;
    int status = in_child(dies_by_default);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == 60);
    status = in_child(dies_in_the_end);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == 60);
    assert_int_equal(in_child(ignores), 0);
    assert_int_equal(in_child(calls_the_handler), 0);
    assert_int_equal(in_child(waits), 0);
}

/* ---- Ours ---- */

static void arm(timer_t *timer, void *pointer)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = pinject_signal_number()};
    struct itimerspec times = {{0, 1000000}, {0, 1000000}};
    event.sigev_value.sival_ptr = pointer;
    MUST(timer_create(CLOCK_MONOTONIC, &event, timer) == 0);
    MUST(timer_settime(*timer, 0, &times, NULL) == 0);
}

static void takes_samples(void)
{
    timer_t timer;
    struct itimerspec left;
    taken();
    pinject_sampler_own();
    sampler.page = &page;
    pinject_signal_set_masked(true); /* ours come nevertheless */
    arm(&timer, &sampler);
    sampler.timer = (int32_t)(intptr_t)timer + 1;
    while (samples < 3)
        usleep(1000);
    /* Of another thread, and of one without a ring: nothing. */
    sampler.tid++;
    usleep(5000);
    unsigned before = samples;
    usleep(20000);
    MUST(samples == before);
    sampler.tid--;
    sampler.page = NULL;
    usleep(20000);
    MUST(samples == before);
    sampler.page = &page;
    /* Nobody reads any more: it is stopped. */
    segment.closed = 1;
    do {
        usleep(1000);
        MUST(timer_gettime(timer, &left) == 0);
    } while (left.it_value.tv_nsec || left.it_value.tv_sec);
    MUST(samples == before);
}

/* A timer of the program's with the same number: not ours. */
static void a_timer_of_the_program(void)
{
    timer_t timer;
    int number = taken();
    pinject_sampler_own();
    sampler.page = &page;
    show(plain, 0);
    arm(&timer, &page);
    while (!got)
        usleep(1000);
    MUST(got == number && samples == 0);
}

/* As one that was on its way when the program forbade itself what the handler does: no system call but its return. */
static void shut_in(void)
{
    static struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigqueueinfo, 2, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* With AddressSanitizer _exit() makes a system call more. */
static void leave_quietly(void)
{
    syscall(SYS_exit_group, 0);
}

static void queue(pid_t pid, int number, int code, void *pointer)
{
    siginfo_t info = {.si_signo = number, .si_code = code};
    info.si_value.sival_ptr = pointer;
    MUST(syscall(SYS_rt_sigqueueinfo, pid, number, &info) == 0);
}

static void is_quiet_in_the_end(void)
{
    pid_t pid = getpid();
    int number = taken();
    pinject_sampler_own();
    sampler.page = &page;
    queue(pid, number, SI_TIMER, &sampler);
    MUST(samples == 1);
    show(SIG_IGN, 0);
    ended = true;
    shut_in();
    queue(pid, number, SI_TIMER, &sampler);
    MUST(samples == 1);
    queue(pid, number, SI_QUEUE, NULL);
    leave_quietly();
}

static void is_quiet_with_a_handler(void)
{
    pid_t pid = getpid();
    int number = taken();
    pinject_sampler_own();
    pinject_signal_action(&(struct sigaction){.sa_handler = note}, NULL);
    ended = true;
    shut_in();
    queue(pid, number, SI_QUEUE, NULL);
    MUST(got == number);
    /* What the program blocked: the second one waits in the kernel. */
    sampler.masked = true;
    got = 0;
    queue(pid, number, SI_QUEUE, NULL);
    queue(pid, number, SI_QUEUE, NULL);
    MUST(got == 0);
    leave_quietly();
}

static void test_ours(void **state)
{
    (void)state;
    assert_int_equal(in_child(takes_samples), 0);
    assert_int_equal(in_child(a_timer_of_the_program), 0);
    assert_int_equal(in_child(is_quiet_in_the_end), 0);
    assert_int_equal(in_child(is_quiet_with_a_handler), 0);
}

/* ---- Masks, exec, the end ---- */

static void opens(void)
{
    int number = taken();
    pinject_signal_open();
    MUST(!has_sampler && !pinject_signal_masked());
    block(SIG_BLOCK, number);
    pinject_signal_open();
    MUST(!is_blocked(number) && pinject_signal_masked());
    /* The program begins to use it: its mask holds now. */
    show(SIG_DFL, 0);
    MUST(pinject_signal_masked());
    show(plain, 0);
    MUST(is_blocked(number) && !pinject_signal_masked());
}

/* A vfork child has a state of its own, which begins as its parent's. */
static void state_of_a_child(void)
{
    taken();
    pinject_signal_set_masked(true);
    MUST(sampler.masked);
    sampler.tid++; /* as a child sees its parent's */
    MUST(pinject_signal_masked());
    pinject_signal_set_masked(false);
    MUST(!pinject_signal_masked() && sampler.masked && !sampler.child_masked);
    sampler.tid--;
    MUST(pinject_signal_masked());
    MUST(sampler.child_tid == 0);
}

static void inherits(void)
{
    struct sigaction found;
    MUST(!pinject_signal_before_exec()); /* none is taken */
    int number = taken();
    MUST(!pinject_signal_before_exec());
    pinject_signal_set_masked(true);
    pinject_preload.blocked = 1;
    MUST(!pinject_signal_before_exec());
    pinject_preload.blocked = 0;
    MUST(pinject_signal_before_exec());
    MUST(is_blocked(number));
    MUST(sigaction(number, NULL, &found) == 0 && found.sa_flags & SA_SIGINFO);
    pinject_preload.blocked = 1; /* meanwhile */
    pinject_signal_after_exec(true);
    MUST(is_blocked(number));
    pinject_preload.blocked = 0;
    pinject_signal_after_exec(true);
    MUST(!is_blocked(number));
    pinject_signal_set_masked(false);
    show(SIG_IGN, 0);
    MUST(pinject_signal_before_exec());
    MUST(!is_blocked(number));
    MUST(sigaction(number, NULL, &found) == 0 && found.sa_handler == SIG_IGN);
    pinject_signal_after_exec(false);
    MUST(sigaction(number, NULL, &found) == 0 && found.sa_handler == SIG_IGN);
    pinject_signal_after_exec(true);
    MUST(sigaction(number, NULL, &found) == 0 && found.sa_handler != SIG_IGN);
}

static void releases(void)
{
    struct sigaction found, action = {.sa_handler = plain, .sa_flags = SA_RESTART};
    pinject_signal_release(); /* none is taken */
    int number = taken();
    sigaddset(&action.sa_mask, SIGUSR2);
    pinject_signal_action(&action, NULL);
    pinject_signal_set_masked(true);
    pinject_signal_release();
    MUST(pinject_signal_number() == 0);
    MUST(is_blocked(number) && !pinject_signal_masked());
    MUST(sigaction(number, NULL, &found) == 0);
    MUST(found.sa_handler == plain && found.sa_flags & SA_RESTART && !(found.sa_flags & SA_SIGINFO));
    MUST(sigismember(&found.sa_mask, SIGUSR2) && !sigismember(&found.sa_mask, SIGUSR1));
    raise(number);
    MUST(got == 0);
    block(SIG_UNBLOCK, number);
    MUST(got == number);
}

static void test_masks(void **state)
{
    (void)state;
    assert_int_equal(in_child(opens), 0);
    assert_int_equal(in_child(state_of_a_child), 0);
    assert_int_equal(in_child(inherits), 0);
    assert_int_equal(in_child(releases), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_signals_of_others),
        cmocka_unit_test(test_ours),
        cmocka_unit_test(test_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* no timers there */
}

#endif
