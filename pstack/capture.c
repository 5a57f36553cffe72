/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "capture.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "common/clock.h"

/* How long a thread may take to stop: one that does not return from a disk or a vfork() never does. */
enum { STOP_MS = 100, TRIES = 3 };
/* The kernel's own: a call that a signal interrupted begins anew unless a handler runs (include/linux/errno.h). */
enum { KERNEL_ERESTARTSYS = 512, KERNEL_ERESTARTNOHAND = 514, KERNEL_ERESTART_RESTARTBLOCK = 516 };

/* ---- The stack ---- */

static bool copy_stack(struct target *target, struct target_thread *thread, size_t limit)
{
    const uint64_t start = thread->regs.value[UNWIND_RSP];
    const struct target_map *map = target_map_at(target, start);
    if (!map && target_read_maps(target) == 0) /* of a thread that began after they were read */
        map = target_map_at(target, start);
    if (!map) {
        thread->error = -EFAULT;
        return false;
    }
    size_t size = map->end - start < limit ? (size_t)(map->end - start) : limit;
    free(thread->stack);
    thread->stack = malloc(size);
    if (!thread->stack) {
        thread->error = -ENOMEM;
        return false;
    }
    struct iovec local = {thread->stack, size}, remote = {(void *)start, size}; /* NOLINT: an address by nature */
    ssize_t got = process_vm_readv(target->pid, &local, 1, &remote, 1, 0);
    if (got < 0) {
        thread->error = -errno;
        return false;
    }
    thread->stack_size = (size_t)got;
    thread->stack_full = (size_t)got < map->end - start;
    thread->error = 0;
    return true;
}

/* ---- Asleep ---- */

/* "running", "-1 SP PC" (not in a call: stopped, or in a page fault), "NR ARG... SP PC". */
static bool parse_call(const char *text, struct target_thread *ret)
{
    uint64_t *args = ret->args, sp, pc;
    long number;
    if (sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
               &number, &args[0], &args[1], &args[2], &args[3], &args[4], &args[5], &sp, &pc) == 9) {
        ret->in_call = true;
        ret->call = number;
    } else if (sscanf(text, "-1 %" SCNx64 " %" SCNx64, &sp, &pc) == 2) {
        ret->in_call = false;
    } else {
        return false;
    }
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        ret->regs.value[i] = CAPTURE_UNKNOWN;
    ret->regs.value[UNWIND_RSP] = sp;
    ret->regs.value[UNWIND_RIP] = pc;
    return sp != 0;
}

bool capture_asleep(struct target *target, struct target_thread *thread, size_t limit)
{
    bool same = false, asleep = true;
    for (unsigned i = 0; i < TRIES && asleep && !same; i++) {
        errno = 0;
        char *before = target_read(target->pid, thread->tid, "syscall");
        if (!before)
            thread->error = errno ? -errno : -ESRCH;
        asleep = before && parse_call(before, thread) && copy_stack(target, thread, limit);
        char *after = asleep ? target_read(target->pid, thread->tid, "syscall") : NULL;
        same = after && strcmp(before, after) == 0;
        free(before);
        free(after);
    }
    thread->look = asleep && same ? LOOK_ASLEEP : LOOK_NONE;
    thread->in_call = thread->in_call && same;
    return asleep && same;
}

/* ---- Stopped ---- */

/*
 * Calls that fail with EINTR when their thread is stopped and goes on, whether a signal came or not (signal(7),
 * "Interruption of system calls and library functions by stop signals"). Of the others the kernel takes care.
 */
static bool fails_when_stopped(long call)
{
    switch (call) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
#ifdef SYS_io_pgetevents
    case SYS_io_pgetevents:
#endif
#ifdef SYS_io_uring_enter
    case SYS_io_uring_enter:
#endif
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_read: /* of a socket with a time limit */
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
        return true;
    default:
        return false;
    }
}

bool capture_would_disturb(const struct target_thread *thread)
{
    if (!thread->in_call)
        return false;
    switch (thread->call) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
        return (int)thread->args[3] > 0; /* milliseconds; -1: no limit */
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
        return thread->args[3];
#endif
    case SYS_semtimedop:
    case SYS_io_getevents:
        return thread->args[thread->call == SYS_semtimedop ? 3 : 4];
    case SYS_rt_sigtimedwait:
        return thread->args[2];
    default:
        return false;
    }
}

static int wait_until_stopped(pid_t tid, int *ret_status)
{
    const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + STOP_MS * UINT64_C(1000000);
    struct timespec pause = {.tv_nsec = 20000};
    for (;;) {
        pid_t got = waitpid(tid, ret_status, __WALL | WNOHANG | __WNOTHREAD);
        if (got == tid)
            return WIFSTOPPED(*ret_status) ? 0 : -ESRCH;
        if (got < 0 && errno != EINTR)
            return -errno;
        if (clock_ns(CLOCK_MONOTONIC) > end_ns)
            return -EBUSY;
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < 1000000 ? pause.tv_nsec / 2 : 0;
    }
}

#if defined(__x86_64__)
/* A call that would fail with EINTR, only since we stopped it, is one that begins anew unless a signal comes. */
static void restart_call(pid_t tid, struct user_regs_struct *user)
{
    if ((long)user->orig_rax < 0 || (long)user->rax != -EINTR || !fails_when_stopped((long)user->orig_rax))
        return;
    user->rax = (unsigned long long)-KERNEL_ERESTARTNOHAND;
    ptrace(PTRACE_SETREGS, tid, NULL, user);
}

static bool is_interrupted(const struct user_regs_struct *user)
{
    const long value = -(long)user->rax;
    return (long)user->orig_rax >= 0 &&
           (value == EINTR || (value >= KERNEL_ERESTARTSYS && value <= KERNEL_ERESTART_RESTARTBLOCK));
}

static bool read_registers(struct target *target, struct target_thread *thread, size_t limit)
{
    struct user_regs_struct user;
    struct iovec to = {&user, sizeof(user)};
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &to) < 0) { /* NOLINT: as ptrace(2) has it */
        thread->error = -errno;
        return false;
    }
    if (to.iov_len != sizeof(user)) {
        thread->error = -ENOEXEC; /* a 32-bit program's registers */
        return false;
    }
    const unsigned long long values[UNWIND_REGS] = {
        user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
        user.r9,  user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip};
    const unsigned long long args[] = {user.rdi, user.rsi, user.rdx, user.r10, user.r8, user.r9};
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        thread->regs.value[i] = values[i];
    thread->in_call = is_interrupted(&user);
    if (thread->in_call) {
        thread->call = (long)user.orig_rax;
        for (unsigned i = 0; i < 6; i++)
            thread->args[i] = args[i];
    }
    bool copied = copy_stack(target, thread, limit);
    restart_call(thread->tid, &user);
    return copied;
}
#endif

bool capture_stopped(struct target *target, struct target_thread *thread, size_t limit)
{
    int status = 0, number = 0;
    thread->look = LOOK_NONE;
    if (ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL) < 0) {
        thread->error = -errno;
        return false;
    }
    int error = ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) < 0 ? -errno : 0;
    if (!error)
        error = wait_until_stopped(thread->tid, &status);
    bool done = !error && read_registers(target, thread, limit);
    if (error)
        thread->error = error;
    /* It may have stopped for a signal of its own, before ours: that is delivered then. */
    if (!error && status >> 16 == 0)
        number = WSTOPSIG(status);
    /* One that did not stop in time is let go by the kernel when the tracer, this thread, ends. */
    if (!error)
        ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)number); /* NOLINT: as ptrace(2) has it */
    thread->look = done ? LOOK_STOPPED : LOOK_NONE;
    return done;
}
