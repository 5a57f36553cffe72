/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "registers.h"

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

#include "target.h"

/*
 * Calls that fail with EINTR after their thread was stopped and continued, even without a signal (signal(7),
 * "Interruption of system calls and library functions by stop signals"). The kernel restarts the others.
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
    case SYS_sendmmsg:
    case SYS_read: /* of a socket with a time limit */
    case SYS_readv:
    case SYS_write:
    case SYS_writev: return true;
    default: return false;
    }
}

/* 0 or -errno. */
static int read_regset(pid_t tid, int set, void *ret, size_t size)
{
    struct iovec to = {ret, size};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(intptr_t)set, &to) < 0) /* NOLINT: as ptrace(2) has it */
        return -errno;
    return to.iov_len == size ? 0 : -ENOEXEC; /* a 32-bit program has other registers */
}

#if defined(__x86_64__)
/* Internal to the kernel: restart a call that a signal interrupted, unless a handler runs (include/linux/errno.h). */
enum { KERNEL_ERESTARTSYS = 512, KERNEL_ERESTARTNOHAND = 514, KERNEL_ERESTART_RESTARTBLOCK = 516 };

void registers_restart_call(pid_t tid, int signal)
{
    struct user_regs_struct user;
    (void)signal; /* the kernel checks for a handler */
    if (read_regset(tid, NT_PRSTATUS, &user, sizeof(user)) < 0 || (long)user.orig_rax < 0 || (long)user.rax != -EINTR ||
        !fails_when_stopped((long)user.orig_rax))
        return;
    user.rax = (unsigned long long)-KERNEL_ERESTARTNOHAND;
    ptrace(PTRACE_SETREGS, tid, NULL, &user);
}

static bool is_interrupted(const struct user_regs_struct *user)
{
    const long value = -(long)user->rax;
    return (long)user->orig_rax >= 0 &&
           (value == EINTR || (value >= KERNEL_ERESTARTSYS && value <= KERNEL_ERESTART_RESTARTBLOCK));
}

int registers_read(pid_t tid, struct registers *ret)
{
    struct user_regs_struct user;
    int error = read_regset(tid, NT_PRSTATUS, &user, sizeof(user));
    if (error < 0)
        return error;
    *ret = (struct registers){
        .regs = {{user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8, user.r9,
                  user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip}},
        .in_call = is_interrupted(&user),
        .call = (long)user.orig_rax,
        .args = {user.rdi, user.rsi, user.rdx, user.r10, user.r8, user.r9}};
    return 0;
}
#elif defined(__aarch64__)
enum { INSTRUCTION = 4, CALL_NUMBER = 8 }; /* bytes; the register with the number of a system call */
#define SVC UINT32_C(0xd4000001)

static bool is_call(pid_t tid, uint64_t address)
{
    uint32_t code = 0;
    struct iovec local = {&code, sizeof(code)}, remote = {(void *)address, sizeof(code)}; /* NOLINT: an address */
    return process_vm_readv(tid, &local, 1, &remote, 1, 0) == sizeof(code) && code == SVC;
}

/*
 * The first argument of a call, whose register x0 already has the result. The kernel still knows it, but shows it only
 * together with the call's number, which it clears before the stop: so we set the number for the moment.
 */
static bool read_first_argument(pid_t tid, int call, uint64_t *ret)
{
    int none;
    long number;
    struct iovec set = {&call, sizeof(call)};
    if (read_regset(tid, NT_ARM_SYSTEM_CALL, &none, sizeof(none)) < 0 ||
        ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &set) < 0) /* NOLINT: as ptrace(2) has it */
        return false;
    char *text = target_read(tid, 0, "syscall");
    set = (struct iovec){&none, sizeof(none)};
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &set); /* NOLINT */
    bool found = text && sscanf(text, "%ld %" SCNx64, &number, ret) == 2 && number == call;
    free(text);
    return found;
}

/* A call to be restarted was undone by the kernel: pc is at the svc instruction. After a failed call pc is past it. */
static bool has_failed(pid_t tid, const struct user_regs_struct *user, uint64_t *ret_first)
{
    const long call = (long)user->regs[CALL_NUMBER];
    return (long)user->regs[0] == -EINTR && fails_when_stopped(call) && is_call(tid, user->pc - INSTRUCTION) &&
           read_first_argument(tid, (int)call, ret_first);
}

static uint64_t read_signals(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

/* Does a handler run when the thread continues with SIGNAL? Then its call must fail. */
static bool handler_waits(pid_t tid, int signal)
{
    char *status = target_read(tid, 0, "status");
    if (!status)
        return true;
    const uint64_t waiting = (read_signals(status, "\nSigPnd:") | read_signals(status, "\nShdPnd:")) &
                             ~read_signals(status, "\nSigBlk:");
    const uint64_t given = signal > 0 ? UINT64_C(1) << (signal - 1) : 0;
    const bool waits = (waiting | given) & read_signals(status, "\nSigCgt:");
    free(status);
    return waits;
}

void registers_restart_call(pid_t tid, int signal)
{
    struct user_regs_struct user;
    uint64_t first;
    if (read_regset(tid, NT_PRSTATUS, &user, sizeof(user)) < 0 || !has_failed(tid, &user, &first) ||
        handler_waits(tid, signal))
        return;
    user.regs[0] = first;
    user.pc -= INSTRUCTION;
    struct iovec set = {&user, sizeof(user)};
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &set); /* NOLINT: as ptrace(2) has it */
}

int registers_read(pid_t tid, struct registers *ret)
{
    struct user_regs_struct user;
    int error = read_regset(tid, NT_PRSTATUS, &user, sizeof(user));
    if (error < 0)
        return error;
    *ret = (struct registers){.call = (long)user.regs[CALL_NUMBER]};
    memcpy(ret->regs.value, user.regs, sizeof(user.regs));
    ret->regs.value[UNWIND_SP] = user.sp;
    ret->regs.value[UNWIND_IP] = user.pc;
    memcpy(ret->args, user.regs, sizeof(ret->args));
    ret->in_call = is_call(tid, user.pc) || has_failed(tid, &user, &ret->args[0]);
    return 0;
}
#endif
