/* SPDX-License-Identifier: MIT */
/*
 * A program that installs a seccomp filter lists its own calls, not ours. The hooks watch both ways to install one
 * (libc's prctl, and syscall, which libseccomp uses) and run the filter on our calls. If it would harm one, we make
 * none any more: the process is blocked by seccomp. Open events continue to count.
 */
#include "filter.h"
#include "next.h"
#include "own_environ.h"
#include "preload.h"
#include "safe_read.h"
#include "state.h"
#include "sys.h"
#include "timer.h"

#include <errno.h>
#include <linux/prctl.h>
#include <stdarg.h>

/* Newer than the oldest headers that we build with. */
#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1UL << 3)
#endif

enum block { UNHARMED = 0, BLOCKED = 1, BLIND = 2, NO_TIMERS = 4, USER_FIXED = 8 };

/* `program` is a struct sock_fprog and may be wild: the kernel will report that. */
static unsigned judge_filter(bool strict, const void *program)
{
    struct pinject_safe_read safe = {0};
    struct sock_fprog copy;
    if (strict)
        return BLOCKED | BLIND | NO_TIMERS;
    if (!pinject_safe_read(&safe, program, sizeof(copy)))
        return UNHARMED;
    copy = *(const struct sock_fprog *)program;
    if (copy.len == 0 || copy.len > BPF_MAXINSNS ||
        !pinject_safe_read(&safe, copy.filter, copy.len * sizeof(*copy.filter)))
        return UNHARMED;
    return (pinject_filter_harms(copy.filter, copy.len) ? BLOCKED : 0) |
           (pinject_filter_harms_safe_read(copy.filter, copy.len) ? BLIND : 0) |
           (pinject_filter_harms_timers(copy.filter, copy.len) ? NO_TIMERS : 0) |
           (pinject_filter_harms_user(copy.filter, copy.len) ? USER_FIXED : 0);
}

/* Counters, because several threads may install a filter and not all succeed. */
static void count_blocks(unsigned kind, int change)
{
    if (kind & BLOCKED)
        __atomic_fetch_add(&pinject_preload.blocked, change, __ATOMIC_SEQ_CST);
    if (kind & BLIND)
        __atomic_fetch_add(&pinject_safe_read_blind, change, __ATOMIC_SEQ_CST);
    if (kind & USER_FIXED)
        __atomic_fetch_add(&pinject_preload.user_fixed, change, __ATOMIC_SEQ_CST);
}

/* Before the filter is installed. A filter for all threads waits for the threads that make our system calls. */
static unsigned before_filter(bool strict, const void *program, bool all_threads)
{
    int saved = errno;
    pinject_preload_ready();
    bool before = pinject_preload_blocked();
    unsigned kind = pinject_preload.state == PINJECT_NOTHING ? UNHARMED : judge_filter(strict, program);
    /* A new exec generation would start a timer under the filter. */
    if (kind & NO_TIMERS && pinject_preload.flags & PINJECT_SESSION_TIMER)
        kind |= BLOCKED;
    if (kind & ~(unsigned)USER_FIXED)
        pinject_timer_end_all(true);
    count_blocks(kind, 1);
    if (all_threads && !before && kind & (BLOCKED | NO_TIMERS))
        pinject_preload_settle();
    errno = saved;
    return kind;
}

/*
 * libc passes environ on internally. It must not name us any more, as a new exec generation would be under the filter
 * too.
 */
static long after_filter(unsigned kind, bool strict, bool failed, long result)
{
    int saved = errno;
    if (failed)
        count_blocks(kind, -1);
    else if (kind & BLOCKED && !strict && pinject_preload.flags & PINJECT_SESSION_VFORK)
        pinject_own_environ_forget(pinject_preload.ours);
    errno = saved;
    return result;
}

PINJECT_HOOK int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    if (option != PR_SET_SECCOMP)
        return pinject_next()->prctl(option, a, b, c, d);
    bool strict = a == SECCOMP_MODE_STRICT;
    unsigned kind = before_filter(strict, (const void *)b, false);
    int result = pinject_next()->prctl(option, a, b, c, d);
    return (int)after_filter(kind, strict, result != 0, result);
}

/* hook_exec.c: called by syscall() for execve and execveat. */
__attribute__((visibility("hidden"))) long pinject_exec_by_syscall(long number, long a, long b, long c, long d, long e);
/* hook_inherit.c: called before system calls that make tasks which cannot send requests. */
__attribute__((visibility("hidden"))) void pinject_inherit_by_syscall(long number, long a, long b);

/* Called by syscall() for the two numbers that matter here; neither call has more arguments than fit in registers. */
__attribute__((used, visibility("hidden"))) long pinject_filter_by_syscall(long number, long a, long b, long c, long d,
                                                                           long e);

long pinject_filter_by_syscall(long number, long a, long b, long c, long d, long e)
{
    bool by_prctl = number == SYS_prctl;
    if (by_prctl ? a != PR_SET_SECCOMP : a != SECCOMP_SET_MODE_STRICT && a != SECCOMP_SET_MODE_FILTER)
        return pinject_next_syscall(number, a, b, c, d, e, 0L);
    bool strict = by_prctl ? b == SECCOMP_MODE_STRICT : a == SECCOMP_SET_MODE_STRICT;
    bool all_threads = !by_prctl && !strict && (unsigned)b & SECCOMP_FILTER_FLAG_TSYNC;
    unsigned kind = before_filter(strict, (const void *)c, all_threads);
    long result = pinject_next_syscall(number, a, b, c, d, e, 0L);
    /* A positive result is a thread that could not get the filter, or the listener's descriptor. */
    bool listener = !by_prctl && !strict && (unsigned)b & SECCOMP_FILTER_FLAG_NEW_LISTENER;
    return after_filter(kind, strict, result < 0 || (result > 0 && !listener), result);
}

#if defined(__x86_64__)
#ifdef __CET__
#define LANDING "    endbr64\n"
#else
#define LANDING
#endif

/*
 * Not in C. A call that returns twice (vfork, clone) must find no frame of ours; all that is pushed is popped before.
 * The seventh argument is in the caller's frame, where a wrapper of the compiler's would write it back: if fewer were
 * given, that is a variable of the caller's, which another thread may write.
 */
__asm__(".pushsection .text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n" LANDING "    cmpq $317, %rdi\n"
        "    je pinject_filter_by_syscall\n"
        "    cmpq $157, %rdi\n"
        "    je pinject_filter_by_syscall\n"
        "    cmpq $59, %rdi\n"
        "    je pinject_exec_by_syscall\n"
        "    cmpq $322, %rdi\n"
        "    je pinject_exec_by_syscall\n"
        "    cmpq $56, %rdi\n"
        "    je 1f\n"
        "    cmpq $272, %rdi\n"
        "    je 1f\n"
        "    cmpq $308, %rdi\n"
        "    je 1f\n"
        "    cmpq $425, %rdi\n"
        "    je 1f\n"
        "    cmpq $435, %rdi\n"
        "    je 1f\n"
        "    jmp *pinject_next_syscall(%rip)\n"
        "1:\n"
        "    pushq %rax\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rdi\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rdx\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rcx\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r8\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r9\n    .cfi_adjust_cfa_offset 8\n"
        "    call pinject_inherit_by_syscall\n"
        "    popq %r9\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r8\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rcx\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdx\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rax\n    .cfi_adjust_cfa_offset -8\n"
        "    jmp *pinject_next_syscall(%rip)\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n"
        ".popsection\n");

_Static_assert(SYS_seccomp == 317 && SYS_prctl == 157 && SYS_execve == 59 && SYS_execveat == 322, "the numbers above");
_Static_assert(SYS_clone == 56 && SYS_unshare == 272 && SYS_setns == 308 && SYS_io_uring_setup == 425 &&
                   SYS_clone3 == 435,
               "and those of pinject_inherit_by_syscall()");
#elif defined(__aarch64__)
/* All arguments are in registers. The C name differs because unistd.h declares syscall() as variadic. */
PINJECT_HOOK long pinject_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

long pinject_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (__builtin_expect(number == SYS_seccomp || number == SYS_prctl, 0))
        return pinject_filter_by_syscall(number, a, b, c, d, e);
    if (__builtin_expect(number == SYS_execve || number == SYS_execveat, 0))
        return pinject_exec_by_syscall(number, a, b, c, d, e);
    pinject_inherit_by_syscall(number, a, b);
    return pinject_next_syscall(number, a, b, c, d, e, f);
}
#endif
