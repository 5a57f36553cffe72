/* SPDX-License-Identifier: MIT */
#include "state.h"
#include "sys.h"
#include "timer.h"
#include "timer_signal.h"

#include <errno.h>
#include "text.h"
#include <ucontext.h>

/* Not the few at the top, which programs tend to use. */
enum { FIRST = 60, LAST = 40, SIGSET_SIZE = 8, RESTORER = 0x04000000 };
#if defined(__x86_64__)
enum { LIBC_FLAGS = RESTORER }; /* libc adds it, and shows it to the program */
#else
enum { LIBC_FLAGS = 0 };
#endif

/* The kernel's struct sigaction; signals are bits, number 1 is the lowest. */
struct action {
    union {
        void (*plain)(int);
        void (*full)(int, siginfo_t *, void *);
    } handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/*
 * One for the process. Written by the thread that starts the first timer, and by the program's calls for that number.
 */
static int signal_number;
/* What the program believes: the current action and the next one. */
static struct sigaction shown_actions[2];
static uint32_t shown_last;

static uint64_t bit_of(int number)
{
    return UINT64_C(1) << (number - 1);
}

static int sys_action(int number, const struct action *action, struct action *old)
{
    return (int)SYS_4(SYS_rt_sigaction, number, action, old, SIGSET_SIZE);
}

static uint64_t sys_mask(int how, uint64_t mask)
{
    uint64_t old = 0;
    SYS_4(SYS_rt_sigprocmask, how, &mask, &old, SIGSET_SIZE);
    return old;
}

static const struct sigaction *shown_now(void)
{
    return &shown_actions[__atomic_load_n(&shown_last, __ATOMIC_ACQUIRE) & 1];
}

int pinject_signal_number(void)
{
    return __atomic_load_n(&signal_number, __ATOMIC_RELAXED);
}

int pinject_timer_signal(void)
{
    return pinject_signal_number();
}

bool pinject_signal_is_used(void)
{
    return shown_now()->sa_handler != SIG_DFL;
}

/* The calling task's part of SAMPLER: its thread's, or that of a vfork child of the thread. */
static bool *state_of(struct pinject_sampler *sampler)
{
    int32_t tid = sys_gettid();
    if (sampler->tid == tid) {
        sampler->child_tid = 0; /* it has ended, or has executed a program */
        return &sampler->masked;
    }
    if (sampler->child_tid != tid) {
        sampler->child_masked = sampler->masked;
        sampler->child_tid = tid;
    }
    return &sampler->child_masked;
}

bool pinject_signal_masked(void)
{
    struct pinject_sampler *sampler = pinject_sampler_find();
    return sampler && *state_of(sampler);
}

void pinject_signal_set_masked(bool masked)
{
    struct pinject_sampler *sampler = masked ? pinject_sampler_own() : pinject_sampler_find();
    if (sampler)
        *state_of(sampler) = masked;
}

/* ---- Signals that are not ours ---- */

static uint64_t *mask_of(void *context)
{
    return (uint64_t *)(void *)&((ucontext_t *)context)->uc_sigmask;
}

static void send_again(int number, siginfo_t *info)
{
    if (info->si_code == SI_TKILL)
        SYS_4(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), number, info);
    else
        SYS_3(SYS_rt_sigqueueinfo, sys_getpid(), number, info);
}

static void take_own(struct pinject_sampler *sampler, const siginfo_t *info, void *context)
{
    if (!sampler->page || sampler->tid != sys_gettid())
        return;
    if (!pinject_preload_follows()) { /* no collector reads the ring any more */
        pinject_timer_set(sampler->timer - 1, 0);
        return;
    }
    pinject_sampler_take(sampler, info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0, context);
}

static void take_expired(struct pinject_sampler *sampler, const siginfo_t *info, void *context)
{
    pinject_preload_enter();
    if (!pinject_timer_ended()) /* else it was already on its way */
        take_own(sampler, info, context);
    pinject_preload_leave();
}

/* The calling thread's timer id + 1; 0: none, or nothing may be done with it any more. */
static int32_t own_timer(const struct pinject_sampler *sampler)
{
    if (!sampler || pinject_timer_ended() || sampler->tid != sys_gettid())
        return 0;
    return __atomic_load_n(&sampler->timer, __ATOMIC_RELAXED);
}

void pinject_timer_pause(void *context)
{
    struct pinject_sampler *sampler = pinject_sampler_find();
    const int32_t timer = own_timer(sampler);
    const int number = pinject_signal_number();
    const struct timespec none = {0, 0};
    siginfo_t info;
    if (timer <= 0 || !number || sampler->paused)
        return;
    const uint64_t set = bit_of(number);
    pinject_timer_set(timer - 1, 0);
    sampler->paused = true;
    /* The kernel looks first into the thread's own queue, where the timer's signal is. */
    if ((int)SYS_4(SYS_rt_sigtimedwait, &set, &info, &none, SIGSET_SIZE) != number)
        return;
    if (info.si_code != SI_TIMER || info.si_value.sival_ptr != sampler)
        send_again(number, &info);
    else if (context)
        take_expired(sampler, &info, context);
}

void pinject_timer_resume(void)
{
    struct pinject_sampler *sampler = pinject_sampler_find();
    if (!sampler || !sampler->paused)
        return;
    const int32_t timer = own_timer(sampler);
    if (timer <= 0) /* a vfork child of its thread: the thread resumes by itself */
        return;
    sampler->paused = false;
    pinject_timer_set(timer - 1, sampler->interval_ns);
}

/* The program blocked the signal: it stays pending, as it would without us, until it is taken or unblocked. */
static void keep_pending(int number, siginfo_t *info, void *context)
{
    *mask_of(context) |= bit_of(number);
    pinject_timer_pause(context);
    send_again(number, info);
}

static void die_of(int number)
{
    const struct action otherwise = {.handler.plain = SIG_DFL};
    sys_action(number, &otherwise, NULL);
    SYS_3(SYS_tgkill, sys_getpid(), sys_gettid(), number);
    sys_mask(SIG_UNBLOCK, bit_of(number));
}

/* MASK: set the mask of the program's handler. */
static void pass_on(int number, siginfo_t *info, void *context, bool mask)
{
    struct sigaction action = *shown_now();
    if (action.sa_flags & SA_RESETHAND)
        pinject_signal_action(&(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (mask)
        sys_mask(SIG_SETMASK, *mask_of(context) | *(uint64_t *)(void *)&action.sa_mask |
                                  (action.sa_flags & SA_NODEFER ? 0 : bit_of(number)));
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

/* Makes no system call, as the program's filter may kill for it. The first signal that the program blocked is lost. */
static bool waits_quietly(int number, void *context)
{
    const struct pinject_sampler *sampler = pinject_sampler_find();
    if (sampler && sampler->masked)
        *mask_of(context) |= bit_of(number);
    return sampler && sampler->masked;
}

static void take_foreign(int number, siginfo_t *info, void *context)
{
    const struct sigaction *action = shown_now();
    bool ended = pinject_timer_ended();
    if (ended && waits_quietly(number, context))
        return;
    if (!ended && pinject_signal_masked())
        keep_pending(number, info, context);
    else if (action->sa_handler == SIG_DFL)
        die_of(number);
    else if (action->sa_handler != SIG_IGN)
        pass_on(number, info, context, !ended);
}

/* ---- Ours ---- */

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct pinject_sampler *sampler = info->si_value.sival_ptr;
    if (info->si_code != SI_TIMER || !pinject_sampler_is(sampler)) {
        take_foreign(number, info, context);
        return;
    }
    take_expired(sampler, info, context);
}

#if defined(__x86_64__)
/* Debuggers and unwinders recognize the return from a handler by these bytes. */
__asm__(".pushsection .text\n"
        ".type pinject_signal_return, @function\n"
        "pinject_signal_return:\n"
        "mov $15, %rax\n"
        "syscall\n"
        ".size pinject_signal_return, . - pinject_signal_return\n"
        ".popsection\n");
void pinject_signal_return(void) __attribute__((visibility("hidden")));
#endif

static struct action own_action(void)
{
    /* No other signal may interrupt: a program's handler could leave ours by siglongjmp. */
    struct action action = {.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK, .mask = ~UINT64_C(0)};
    action.handler.full = on_signal;
#if defined(__x86_64__)
    action.flags |= RESTORER;
    action.restorer = pinject_signal_return;
#endif
    return action;
}

#if defined(__x86_64__) || defined(__aarch64__)
/*
 * Handlers that the program set before our signal was taken: if they run on an alternate stack, our signal waits there,
 * as sigaction() in hook_signal.c arranges for later ones.
 */
static void shield_stacks(int ours)
{
    for (int number = 1; number <= 64; number++) {
        struct action old, now, found;
        if (number == ours || sys_action(number, NULL, &old) < 0 || old.handler.plain == SIG_DFL ||
            old.handler.plain == SIG_IGN || !(old.flags & SA_ONSTACK) || old.mask & bit_of(ours))
            continue;
        now = old;
        now.mask |= bit_of(ours);
        if (sys_action(number, &now, &found) < 0)
            continue;
        if (found.handler.plain != old.handler.plain || found.flags != old.flags || found.mask != old.mask)
            sys_action(number, &found, NULL); /* another thread has just changed it, through our hook */
        else
            pinject_signal_put_in(number);
    }
}

/* -EBUSY: the program uses it. Other threads may set handlers meanwhile. */
static int take_signal(int number)
{
    const struct action action = own_action();
    struct action old;
    int error = sys_action(number, NULL, &old);
    if (error < 0 || (old.handler.plain != SIG_DFL && old.handler.full != on_signal))
        return error < 0 ? error : -EBUSY;
    memset(shown_actions, 0, sizeof(shown_actions));
    __atomic_store_n(&signal_number, number, __ATOMIC_RELEASE);
    error = sys_action(number, &action, &old);
    if (error == 0 && old.handler.plain != SIG_DFL && old.handler.full != on_signal) {
        sys_action(number, &old, NULL);
        error = -EBUSY;
    }
    if (error < 0)
        __atomic_store_n(&signal_number, 0, __ATOMIC_RELAXED);
    return error;
}
#endif

int pinject_signal_take(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    int error = -EBUSY;
    if (pinject_signal_number())
        return 0;
    for (int number = FIRST; number >= LAST && error == -EBUSY; number--)
        error = take_signal(number);
    if (error == 0)
        shield_stacks(pinject_signal_number());
    return error;
#else
    return -ENOSYS;
#endif
}

void pinject_signal_forget(void)
{
    __atomic_store_n(&signal_number, 0, __ATOMIC_RELAXED);
}

void pinject_signal_open(void)
{
    uint64_t bit = bit_of(pinject_signal_number());
    if (sys_mask(SIG_UNBLOCK, bit) & bit)
        pinject_signal_set_masked(true);
}

void pinject_signal_action(const struct sigaction *action, struct sigaction *old)
{
    /* By value: action and old may be the same. */
    struct sigaction now = *shown_now();
    if (action) {
        uint32_t next = __atomic_load_n(&shown_last, __ATOMIC_RELAXED) + 1;
        shown_actions[next & 1] = *action;
        shown_actions[next & 1].sa_flags |= LIBC_FLAGS;
        __atomic_store_n(&shown_last, next, __ATOMIC_RELEASE);
        if (action->sa_handler != SIG_DFL && pinject_signal_masked()) {
            sys_mask(SIG_BLOCK, bit_of(pinject_signal_number()));
            pinject_signal_set_masked(false);
            pinject_timer_pause(NULL);
        }
    }
    if (old)
        *old = now;
}

bool pinject_signal_before_exec(void)
{
    int number = pinject_signal_number();
    bool ignored = number && shown_now()->sa_handler == SIG_IGN;
    if (!number || pinject_preload_blocked() || (!pinject_signal_masked() && !ignored))
        return false;
    if (pinject_signal_masked())
        sys_mask(SIG_BLOCK, bit_of(number));
    if (ignored)
        sys_action(number, &(struct action){.handler.plain = SIG_IGN}, NULL);
    return true;
}

void pinject_signal_after_exec(bool changed)
{
    int number = pinject_signal_number();
    /* Handler and mask of our signal are what the program asked for: they become ours again. */
    if (!changed || pinject_preload_blocked())
        return;
    const struct action action = own_action();
    sys_action(number, &action, NULL);
    if (pinject_signal_masked())
        sys_mask(SIG_UNBLOCK, bit_of(number));
}

void pinject_signal_release(void)
{
    int number = pinject_signal_number();
    struct sigaction now = *shown_now();
    struct action action = {.handler.plain = now.sa_handler, .flags = (unsigned long)now.sa_flags};
    if (!number)
        return;
    if (pinject_signal_masked())
        sys_mask(SIG_BLOCK, bit_of(number));
    pinject_signal_set_masked(false);
    action.mask = *(uint64_t *)(void *)&now.sa_mask;
#if defined(__x86_64__)
    action.flags |= RESTORER;
    action.restorer = pinject_signal_return;
#endif
    sys_action(number, &action, NULL);
    __atomic_store_n(&signal_number, 0, __ATOMIC_RELAXED);
}
