/* SPDX-License-Identifier: MIT */
/*
 * The program's view of signals. The hooks do something only where our timers run (timer.h): the timers' signal is
 * never really blocked, and the program sees neither that nor its handler.
 */
#include "next.h"
#include "safe_read.h"
#include "state.h"
#include "timer.h"
#include "timer_signal.h"

/* Signals, as bits, in whose handler's mask we removed our signal, or added it. */
static uint64_t taken_out, put_in;

static uint64_t bit_of(int number)
{
    return number >= 1 && number <= 64 ? UINT64_C(1) << (number - 1) : 0;
}

/*
 * The number, if our signal has to be hidden; 0: the program's calls pass unchanged. Before the first timer they do,
 * and taking the signal finds out what they did.
 */
static int number_to_hide(void)
{
    return pinject_preload_blocked() ? 0 : pinject_signal_number();
}

/* ---- Handlers ---- */

static void restore_own_bit(struct sigaction *action, uint64_t bit, uint64_t out, uint64_t in, int ours)
{
    if (out & bit)
        sigaddset(&action->sa_mask, ours);
    if (in & bit)
        sigdelset(&action->sa_mask, ours);
}

static void set_bit(uint64_t *word, uint64_t bit, bool set)
{
    if (set)
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
}

void pinject_signal_put_in(int number)
{
    set_bit(&put_in, bit_of(number), true);
}

PINJECT_HOOK int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    int ours = number_to_hide();
    uint64_t bit = bit_of(number);
    if (!ours || !bit)
        return pinject_next()->sigaction(number, action, old);
    if (number == ours) {
        pinject_signal_action(action, old);
        return 0;
    }
    uint64_t out = __atomic_load_n(&taken_out, __ATOMIC_RELAXED), in = __atomic_load_n(&put_in, __ATOMIC_RELAXED);
    struct sigaction changed;
    bool has = false, on_stack = false;
    if (action) {
        changed = *action;
        has = sigismember(&changed.sa_mask, ours) == 1;
        /* An alternate stack may be too small for a second frame: our signal waits there. */
        on_stack = changed.sa_flags & SA_ONSTACK;
        if (on_stack)
            sigaddset(&changed.sa_mask, ours);
        else
            sigdelset(&changed.sa_mask, ours);
    }
    int result = pinject_next()->sigaction(number, action ? &changed : NULL, old);
    if (result != 0)
        return result;
    if (old)
        restore_own_bit(old, bit, out, in, ours);
    if (action) {
        set_bit(&taken_out, bit, has && !on_stack);
        set_bit(&put_in, bit, !has && on_stack);
    }
    return result;
}

/* Our signal would end the program on a stack that is too small for it. */
PINJECT_HOOK int sigaltstack(const stack_t *stack, stack_t *old)
{
    struct pinject_safe_read safe = {0};
    if (stack && number_to_hide()) {
        pinject_preload_enter();
        if (number_to_hide() && pinject_safe_read(&safe, stack, sizeof(*stack)) && !(stack->ss_flags & SS_DISABLE))
            pinject_timer_alternate(stack->ss_size);
        pinject_preload_leave();
    }
    return pinject_next()->sigaltstack(stack, old);
}

/* signal() of our own number. */
static sighandler_t exchange_handler(sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    sigaddset(&action.sa_mask, pinject_signal_number());
    pinject_signal_action(&action, &old);
    return old.sa_handler;
}

PINJECT_HOOK sighandler_t signal(int number, sighandler_t handler)
{
    int ours = number_to_hide();
    if (ours && number == ours && handler != SIG_ERR)
        return exchange_handler(handler, SA_RESTART);
    sighandler_t old = pinject_next()->signal(number, handler);
    if (ours && old != SIG_ERR) {
        set_bit(&taken_out, bit_of(number), false);
        set_bit(&put_in, bit_of(number), false);
    }
    return old;
}

/* ---- Masks ---- */

typedef int change_mask(int, const sigset_t *, sigset_t *);

/* If the program has a handler for our signal, its masks apply. */
static int change_used_mask(change_mask *next, int how, const sigset_t *set, sigset_t *old, int ours)
{
    const bool has = set && sigismember(set, ours) == 1;
    int result = next(how, set, old);
    if (result != 0 || !set)
        return result;
    if (has && how != SIG_UNBLOCK)
        pinject_timer_pause(NULL);
    else if (how == SIG_SETMASK || (has && how == SIG_UNBLOCK))
        pinject_timer_resume();
    return result;
}

static int change_signal_mask(change_mask *next, int how, const sigset_t *set, sigset_t *old)
{
    int ours = number_to_hide();
    if (!ours)
        return next(how, set, old);
    if (pinject_signal_is_used())
        return change_used_mask(next, how, set, old, ours);
    bool before = pinject_signal_masked(), has = set && sigismember(set, ours) == 1, masked = before;
    sigset_t changed;
    if (set) {
        changed = *set;
        if (how != SIG_UNBLOCK)
            sigdelset(&changed, ours);
        masked = how == SIG_SETMASK ? has : how == SIG_BLOCK ? before || has : before && !has;
    }
    int result = next(how, set ? &changed : NULL, old);
    if (result != 0)
        return result;
    if (set && how != SIG_BLOCK)
        pinject_timer_resume();
    if (masked != before)
        pinject_signal_set_masked(masked);
    if (old && before)
        sigaddset(old, ours);
    return result;
}

PINJECT_HOOK int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_signal_mask(pinject_next()->sigprocmask, how, set, old);
}

PINJECT_HOOK int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_signal_mask(pinject_next()->pthread_sigmask, how, set, old);
}
