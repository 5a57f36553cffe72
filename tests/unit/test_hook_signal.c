/* SPDX-License-Identifier: MIT */
/*
 * What a program sees of signals while our timers run (their number is 50 here): no handler, no mask of its knows of
 * it. The kernel is played by an array of actions and one mask.
 */
#include "hook_kit.h"

#include "preload/timer_signal.h"

#include <signal.h>

int hook_sigaction(int number, const struct sigaction *action, struct sigaction *old);
int hook_sigaltstack(const stack_t *stack, stack_t *old);
sighandler_t hook_signal(int number, sighandler_t handler);
int hook_sigprocmask(int how, const sigset_t *set, sigset_t *old);
int hook_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

enum { OURS = 50 };

static struct sigaction kernel[65], own_action;
static sigset_t kernel_mask;
static int fails;

static void handler(int number)
{
    (void)number;
}

static int next_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    hook_note("sigaction %d%s%s", number, action ? " new" : "", old ? " old" : "");
    if (fails) {
        errno = fails;
        return -1;
    }
    struct sigaction before = kernel[number];
    if (action)
        kernel[number] = *action;
    if (old)
        *old = before;
    return 0;
}

static sighandler_t next_signal(int number, sighandler_t to)
{
    hook_note("signal %d", number);
    if (fails)
        return SIG_ERR;
    sighandler_t before = kernel[number].sa_handler;
    kernel[number] = (struct sigaction){.sa_handler = to};
    return before;
}

static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
    if (fails)
        return fails;
    sigset_t before = kernel_mask;
    for (int number = 1; set && number <= 64; number++) {
        if (how == SIG_SETMASK && !sigismember(set, number))
            sigdelset(&kernel_mask, number);
        else if (sigismember(set, number))
            (how == SIG_UNBLOCK ? sigdelset : sigaddset)(&kernel_mask, number);
    }
    if (old)
        *old = before;
    return 0;
}

static int next_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    hook_note("sigprocmask %d", how);
    return change_mask(how, set, old);
}

static int next_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    hook_note("pthread_sigmask %d", how);
    return change_mask(how, set, old);
}

void pinject_signal_action(const struct sigaction *action, struct sigaction *old)
{
    hook_note("own action%s%s", action ? " new" : "", old ? " old" : "");
    struct sigaction before = own_action;
    if (action)
        own_action = *action;
    if (old)
        *old = before;
}

void pinject_signal_put_in(int number);

static void begin(void)
{
    hook_kit_begin(0);
    hook_kit.signal = OURS;
    hook_next.sigaction = next_sigaction;
    hook_next.signal = next_signal;
    hook_next.sigprocmask = next_sigprocmask;
    hook_next.pthread_sigmask = next_pthread_sigmask;
    memset(kernel, 0, sizeof(kernel));
    memset(&own_action, 0, sizeof(own_action));
    sigemptyset(&kernel_mask);
    fails = 0;
}

static struct sigaction action_with(int flags, int masked)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaddset(&action.sa_mask, SIGUSR2);
    if (masked)
        sigaddset(&action.sa_mask, masked);
    return action;
}

/* Sets ACTION for NUMBER; what the kernel got in the handler's mask of ours. */
static bool set_action(int number, const struct sigaction *action)
{
    assert_int_equal(hook_sigaction(number, action, NULL), 0);
    assert_ptr_equal(kernel[number].sa_handler, action->sa_handler);
    assert_int_equal(kernel[number].sa_flags, action->sa_flags);
    assert_true(sigismember(&kernel[number].sa_mask, SIGUSR2));
    return sigismember(&kernel[number].sa_mask, OURS);
}

static bool shown(int number)
{
    struct sigaction old;
    assert_int_equal(hook_sigaction(number, NULL, &old), 0);
    assert_true(sigismember(&old.sa_mask, SIGUSR2));
    return sigismember(&old.sa_mask, OURS);
}

/* ---- Handlers ---- */

/* Ours is never blocked in a handler, unless that has a stack of its own; what the program asked for is shown. */
static void test_masks_of_handlers(void **state)
{
    (void)state;
    for (int number = 1; number <= 64; number += 21) { /* 1, 22, 43, 64: both ends of the words */
        begin();
        struct sigaction without = action_with(0, 0), with = action_with(SA_RESTART, OURS);
        struct sigaction on_stack = action_with(SA_ONSTACK, 0), on_stack_with = action_with(SA_ONSTACK, OURS);
        assert_false(set_action(number, &without));
        assert_false(shown(number));
        assert_false(set_action(number, &with));
        assert_true(shown(number));
        assert_true(set_action(number, &on_stack));
        assert_false(shown(number));
        assert_true(set_action(number, &on_stack_with));
        assert_true(shown(number));
        assert_false(set_action(number, &without));
        assert_false(shown(number));
        assert_true(sigismember(&with.sa_mask, OURS)); /* the program's own is not written to */
        assert_false(sigismember(&on_stack.sa_mask, OURS));
    }
}

/* The old one is shown as it was when the new one took its place. */
static void test_old_and_new_at_once(void **state)
{
    struct sigaction old, with = action_with(0, OURS), without = action_with(0, 0);
    struct sigaction on_stack = action_with(SA_ONSTACK, 0);
    (void)state;
    begin();
    assert_int_equal(hook_sigaction(SIGUSR1, &with, NULL), 0);
    assert_int_equal(hook_sigaction(SIGUSR1, &without, &old), 0);
    assert_true(sigismember(&old.sa_mask, OURS));
    assert_int_equal(hook_sigaction(SIGUSR1, &on_stack, &old), 0);
    assert_false(sigismember(&old.sa_mask, OURS));
    assert_int_equal(hook_sigaction(SIGUSR1, &with, &old), 0);
    assert_false(sigismember(&old.sa_mask, OURS));
    /* Others are not touched. */
    assert_int_equal(hook_sigaction(SIGUSR2, &without, NULL), 0);
    assert_false(shown(SIGUSR2));
    assert_true(shown(SIGUSR1));
}

static void test_failures_change_nothing(void **state)
{
    struct sigaction with = action_with(0, OURS), old;
    (void)state;
    begin();
    assert_false(set_action(SIGUSR1, &with));
    fails = EINVAL;
    struct sigaction without = action_with(0, 0);
    assert_int_equal(hook_sigaction(SIGUSR1, &without, &old), -1);
    assert_int_equal(errno, EINVAL);
    assert_true(hook_signal(SIGUSR1, SIG_IGN) == SIG_ERR);
    fails = 0;
    assert_true(shown(SIGUSR1));
    hook_notes();
    /* What is no signal the kernel refuses. */
    hook_sigaction(0, NULL, NULL);
    assert_notes("sigaction 0\n");
}

/* Before the first timer, and in a blocked process, all goes through. */
static void test_passed_on(void **state)
{
    struct sigaction with = action_with(0, OURS);
    (void)state;
    for (int number = 1; number <= 64; number++) /* none of them is ours */
        if (number != SIGUSR2)
            sigaddset(&with.sa_mask, number);
    for (int way = 0; way < 2; way++) {
        begin();
        if (way)
            pinject_preload.blocked = 1;
        else
            hook_kit.signal = 0;
        hook_kit.masked = true;
        assert_true(set_action(SIGUSR1, &with));
        assert_true(set_action(OURS, &with));
        assert_true(hook_signal(OURS, SIG_IGN) == handler);
        sigset_t set = with.sa_mask, old;
        assert_int_equal(hook_sigprocmask(SIG_BLOCK, &set, NULL), 0);
        for (int number = 1; number <= 64; number++) {
            assert_int_equal(sigismember(&kernel[SIGUSR1].sa_mask, number), sigismember(&with.sa_mask, number));
            assert_int_equal(sigismember(&kernel_mask, number), sigismember(&with.sa_mask, number));
        }
        assert_int_equal(hook_pthread_sigmask(SIG_SETMASK, NULL, &old), 0);
        assert_notes("sigaction 10 new\nsigaction 50 new\nsignal 50\nsigprocmask 0\npthread_sigmask 2\n");
    }
}

/* Our number: the kernel's action stays ours. */
static void test_own_number(void **state)
{
    struct sigaction with = action_with(SA_NODEFER, 0), old;
    (void)state;
    begin();
    assert_int_equal(hook_sigaction(OURS, &with, &old), 0);
    assert_ptr_equal(old.sa_handler, SIG_DFL);
    assert_true(hook_signal(OURS, SIG_IGN) == handler);
    assert_ptr_equal(own_action.sa_handler, SIG_IGN);
    assert_int_equal(own_action.sa_flags, SA_RESTART);
    assert_true(sigismember(&own_action.sa_mask, OURS));
    assert_int_equal(hook_sigaction(OURS, NULL, &old), 0);
    assert_ptr_equal(old.sa_handler, SIG_IGN);
    assert_notes("own action new old\nown action new old\nown action old\n");
    hook_signal(OURS, SIG_ERR); /* the kernel says what it is */
    assert_notes("signal 50\n");
}

/* signal() has an empty mask: what an earlier sigaction() left is over. */
static void test_signal(void **state)
{
    struct sigaction with = action_with(0, OURS), on_stack = action_with(SA_ONSTACK, 0), old;
    (void)state;
    begin();
    set_action(SIGUSR1, &with);
    set_action(SIGHUP, &on_stack);
    assert_true(hook_signal(SIGUSR1, SIG_IGN) == handler);
    assert_true(hook_signal(SIGHUP, SIG_IGN) == handler);
    assert_int_equal(hook_sigaction(SIGUSR1, NULL, &old), 0);
    assert_false(sigismember(&old.sa_mask, OURS));
    sigaddset(&kernel[SIGHUP].sa_mask, OURS);
    assert_int_equal(hook_sigaction(SIGHUP, NULL, &old), 0);
    assert_true(sigismember(&old.sa_mask, OURS));
}

/* timer_signal.c puts ours into handlers that were there before: not shown. */
static void test_put_in(void **state)
{
    (void)state;
    begin();
    kernel[SIGUSR1] = action_with(SA_ONSTACK, OURS);
    kernel[SIGWINCH] = action_with(SA_ONSTACK, OURS);
    pinject_signal_put_in(SIGUSR1);
    assert_false(shown(SIGUSR1));
    assert_true(shown(SIGWINCH));
    struct sigaction on_stack_with = action_with(SA_ONSTACK, OURS);
    set_action(SIGUSR1, &on_stack_with);
    assert_true(shown(SIGUSR1));
}

/* ---- Masks ---- */

typedef int change(int, const sigset_t *, sigset_t *);

/* Changes by SET of our number and SIGUSR2; whether the program then believes that ours is blocked. */
static bool changed(change *call, int how, bool ours, bool *ret_before)
{
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    if (ours)
        sigaddset(&set, OURS);
    sigemptyset(&old);
    assert_int_equal(call(how, &set, &old), 0);
    *ret_before = sigismember(&old, OURS);
    assert_int_equal(sigismember(&set, OURS), ours);
    assert_int_equal(sigismember(&kernel_mask, SIGUSR2), how != SIG_UNBLOCK);
    assert_false(sigismember(&kernel_mask, OURS)); /* it stays open */
    return hook_kit.masked;
}

static void test_masks(void **state)
{
    static const struct {
        int how;
        bool ours, before, after;
    } cases[] = {
        {SIG_BLOCK, true, false, true},     {SIG_BLOCK, false, false, false},   {SIG_BLOCK, false, true, true},
        {SIG_BLOCK, true, true, true},      {SIG_UNBLOCK, true, true, false},   {SIG_UNBLOCK, false, true, true},
        {SIG_UNBLOCK, true, false, false},  {SIG_UNBLOCK, false, false, false}, {SIG_SETMASK, true, false, true},
        {SIG_SETMASK, false, false, false}, {SIG_SETMASK, true, true, true},    {SIG_SETMASK, false, true, false},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        const bool thread = i % 2;
        bool before;
        char expected[64];
        begin();
        hook_kit.masked = cases[i / 2].before;
        assert_int_equal(
            changed(thread ? hook_pthread_sigmask : hook_sigprocmask, cases[i / 2].how, cases[i / 2].ours, &before),
            cases[i / 2].after);
        assert_int_equal(before, cases[i / 2].before);
        snprintf(expected, sizeof(expected), "%s %d\n", thread ? "pthread_sigmask" : "sigprocmask", cases[i / 2].how);
        if (cases[i / 2].before != cases[i / 2].after)
            strcat(expected, cases[i / 2].after ? "masked 1\n" : "masked 0\n");
        assert_notes(expected);
    }
}

static void test_mask_is_asked(void **state)
{
    sigset_t old, set;
    (void)state;
    begin();
    sigemptyset(&set);
    hook_kit.masked = true;
    assert_int_equal(hook_sigprocmask(SIG_BLOCK, NULL, &old), 0);
    assert_true(sigismember(&old, OURS));
    hook_kit.masked = false;
    assert_int_equal(hook_sigprocmask(SIG_BLOCK, NULL, &old), 0);
    assert_false(sigismember(&old, OURS));
    assert_int_equal(hook_sigprocmask(SIG_BLOCK, NULL, NULL), 0);
    assert_notes("sigprocmask 0\nsigprocmask 0\nsigprocmask 0\n");
    /* Refused: the belief stays. */
    sigaddset(&set, OURS);
    sigemptyset(&old);
    hook_kit.masked = true;
    fails = EINVAL;
    assert_int_equal(hook_pthread_sigmask(SIG_UNBLOCK, &set, &old), EINVAL);
    assert_true(hook_kit.masked);
    assert_false(sigismember(&old, OURS));
    /* The program uses the number: its masks hold. */
    begin();
    hook_kit.used = true;
    assert_int_equal(hook_pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    assert_true(sigismember(&kernel_mask, OURS));
    assert_notes("pthread_sigmask 0\ntimer pause\n");
    /* It goes on when ours is open again, and not before. */
    sigset_t other;
    sigemptyset(&other);
    sigaddset(&other, SIGUSR1);
    assert_int_equal(hook_pthread_sigmask(SIG_UNBLOCK, &other, NULL), 0);
    assert_notes("pthread_sigmask 1\n");
    assert_int_equal(hook_pthread_sigmask(SIG_SETMASK, &other, NULL), 0);
    assert_notes("pthread_sigmask 2\ntimer resume\n");
    assert_int_equal(hook_pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
    assert_notes("pthread_sigmask 2\ntimer pause\n");
    assert_int_equal(hook_pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    assert_notes("pthread_sigmask 1\ntimer resume\n");
    /* The handler has really blocked it for a signal of somebody else's; a mask of the program's opens it. */
    hook_kit.used = false;
    hook_kit.paused = true;
    assert_int_equal(hook_pthread_sigmask(SIG_BLOCK, &other, NULL), 0);
    assert_notes("pthread_sigmask 0\n");
    assert_int_equal(hook_pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
    assert_notes("pthread_sigmask 2\ntimer resume\nmasked 1\n");
}

static int next_sigaltstack(const stack_t *stack, stack_t *old)
{
    hook_note("sigaltstack%s%s", stack ? " new" : "", old ? " old" : "");
    return (int)hook_answer();
}

/* Where ours would not fit is looked at before it is there; wild pointers are the kernel's. */
static void test_alternate_stacks(void **state)
{
    stack_t stack = {.ss_size = 3000}, none = {.ss_size = 3000, .ss_flags = SS_DISABLE}, old;
    (void)state;
    begin();
    hook_next.sigaltstack = next_sigaltstack;
    hook_kit.result = 7;
    assert_int_equal(hook_sigaltstack(&stack, &old), 7);
    assert_notes("alternate 3000\nsigaltstack new old\n");
    hook_sigaltstack(NULL, &old);
    hook_sigaltstack(&none, NULL);
    hook_sigaltstack((const stack_t *)8, NULL);
    hook_kit.signal = 0; /* no timer runs */
    hook_sigaltstack(&stack, NULL);
    hook_kit.signal = OURS;
    pinject_preload.blocked = 1;
    hook_sigaltstack(&stack, NULL);
    assert_notes("sigaltstack old\nsigaltstack new\nsigaltstack new\nsigaltstack new\nsigaltstack new\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks_of_handlers),
        cmocka_unit_test(test_old_and_new_at_once),
        cmocka_unit_test(test_failures_change_nothing),
        cmocka_unit_test(test_passed_on),
        cmocka_unit_test(test_own_number),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_put_in),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_mask_is_asked),
        cmocka_unit_test(test_alternate_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
