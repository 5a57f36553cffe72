/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "registers.h"

/*
 * How long we wait for a thread to stop. It needs a CPU to stop, which on a loaded machine takes some hundred
 * milliseconds.
 */
enum { STOP_MS = 1000, TRIES = 3 };

/* ---- The stack ---- */

static bool copy_stack(struct target *target, struct target_thread *thread, size_t limit)
{
    const uint64_t start = thread->regs.value[UNWIND_SP];
    const struct target_map *map = target_map_at(target, start);
    if (!map && !target->maps_again) { /* the thread started after the mappings were read */
        target->maps_again = true;
        map = target_read_maps(target) == 0 ? target_map_at(target, start) : NULL;
    }
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
    ssize_t got = process_vm_readv(thread->tid, &local, 1, &remote, 1, 0);
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
    ret->regs.value[UNWIND_SP] = sp;
    ret->regs.value[UNWIND_IP] = pc;
    return sp != 0;
}

bool capture_asleep(struct target *target, struct target_thread *thread, size_t limit)
{
    bool same = false, asleep = true;
    for (unsigned i = 0; i < TRIES && asleep && !same; i++) {
        int error = 0;
        thread->in_call = false;
        char *before = target_mark(target, thread, &thread->error), *after = NULL;
        asleep = before && target_look(target, thread) && parse_call(before, thread) &&
                 copy_stack(target, thread, limit);
        if (asleep)
            after = target_mark(target, thread, &error);
        same = after && strcmp(before, after) == 0;
        free(before);
        free(after);
    }
    thread->look = same ? LOOK_ASLEEP : LOOK_NONE;
    thread->in_call &= same;
    return same;
}

/* ---- Stopped ---- */

/* Has the socket FD of the process a time limit? Other kinds of files have none. */
static bool has_time_limit(const struct target *target, int fd)
{
    static const int options[] = {SO_RCVTIMEO, SO_SNDTIMEO};
    int process = (int)syscall(SYS_pidfd_open, target->pid, 0);
    int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    bool limited = copy < 0; /* not known */
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && copy >= 0; i++) {
        struct timeval time = {0};
        socklen_t size = sizeof(time);
        if (getsockopt(copy, SOL_SOCKET, options[i], &time, &size) == 0)
            limited |= time.tv_sec || time.tv_usec;
    }
    if (copy >= 0)
        close(copy);
    if (process >= 0)
        close(process);
    return limited;
}

/*
 * Three kinds of calls: a time limit would start again, since the kernel does not keep the remaining time; a partial
 * read or write would return early; or a socket has a time limit.
 */
bool capture_would_disturb(const struct target *target, const struct target_thread *thread)
{
    const uint64_t *args = thread->args;
    if (!thread->in_call)
        return false;
    switch (thread->call) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: return (int)args[3] > 0; /* milliseconds; -1: no limit */
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_semtimedop: return args[3];
    case SYS_io_getevents:
#ifdef SYS_io_pgetevents
    case SYS_io_pgetevents:
#endif
        return args[4];
    case SYS_rt_sigtimedwait: return args[2];
#ifdef SYS_io_uring_enter
    case SYS_io_uring_enter: /* some of its requests may have been taken */
#endif
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_recvmmsg:
#ifdef SYS_sendfile
    case SYS_sendfile:
#endif
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_copy_file_range: return true;
    case SYS_recvfrom: return args[3] & MSG_WAITALL || has_time_limit(target, (int)args[0]);
    case SYS_recvmsg: return args[2] & MSG_WAITALL || has_time_limit(target, (int)args[0]);
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_read:
    case SYS_readv: return has_time_limit(target, (int)args[0]);
    default: return false;
    }
}

/*
 * The state of a traced thread, as waitpid() returns it: its tid, 0 or -1. The exit of a CHILD of this process is left
 * for the code that waits for it, and stays available to it.
 */
static pid_t wait_for_change(pid_t tid, bool child, int *ret_status)
{
    siginfo_t info = {.si_pid = 0};
    if (!child)
        return waitpid(tid, ret_status, __WALL | WNOHANG | __WNOTHREAD);
    if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD) < 0)
        return -1;
    if (info.si_pid == 0)
        return 0;
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
        *ret_status = 0;
        return tid;
    }
    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD) < 0)
        return -1;
    *ret_status = W_STOPCODE(info.si_status); /* with the event of ptrace(2) above the signal */
    return info.si_pid;
}

static int wait_until_stopped(pid_t tid, bool child, int *ret_status)
{
    const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + STOP_MS * UINT64_C(1000000);
    struct timespec pause = {.tv_nsec = 20000};
    for (;;) {
        pid_t got = wait_for_change(tid, child, ret_status);
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

static bool read_registers(struct target *target, struct target_thread *thread, size_t limit)
{
    struct registers registers;
    thread->error = registers_read(thread->tid, &registers);
    if (thread->error)
        return false;
    thread->regs = registers.regs;
    thread->in_call = registers.in_call;
    thread->call = registers.call;
    memcpy(thread->args, registers.args, sizeof(thread->args));
    return copy_stack(target, thread, limit);
}

/* The signal to deliver, if the thread stopped for a signal of its own before our stop; 0: it stopped for us. */
static int stop_signal(int status)
{
    return status >> 16 == 0 ? WSTOPSIG(status) : 0;
}

/* Detaches a stopped thread. False: it was killed meanwhile and must be waited for. */
static bool detach_thread(pid_t tid, int status)
{
    const int number = stop_signal(status);
    return ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)number) == 0; /* NOLINT: as ptrace(2) has it */
}

void capture_settle(struct capture *capture)
{
    size_t kept = 0;
    for (size_t i = 0; i < capture->pending_count; i++) {
        const struct capture_pending pending = capture->pending[i];
        const pid_t tid = pending.tid;
        int status = 0;
        pid_t got = wait_for_change(tid, pending.child, &status);
        bool gone = got < 0 && errno != EINTR;
        if (got == tid && WIFSTOPPED(status)) {
            registers_restart_call(tid, stop_signal(status));
            gone = detach_thread(tid, status);
        } else if (got == tid) {
            gone = true;
        }
        if (!gone)
            capture->pending[kept++] = pending;
    }
    capture->pending_count = kept;
}

/* False: the tid belongs to another process by now. */
static bool is_of_process(const struct target *target, const struct target_thread *thread)
{
    char *text = target_read(target->pid, thread->tid, "stat");
    const bool there = text;
    free(text);
    return there;
}

bool capture_stopped(struct capture *capture, struct target *target, struct target_thread *thread, size_t limit)
{
    const bool child = target->ppid == getpid() && thread->tid == target->pid;
    int status = 0;
    thread->look = LOOK_NONE;
    thread->error = 0;
    if (capture->pending_count == CAPTURE_PENDING)
        thread->error = -EBUSY;
    else if (ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL) < 0)
        thread->error = -errno;
    if (thread->error)
        return false;
    /* From here on it is traced: it must be detached or waited for in any case. */
    int error = is_of_process(target, thread) ? 0 : -ESRCH;
    if (ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) < 0 && !error)
        error = -errno;
    int waited = wait_until_stopped(thread->tid, child, &status);
    error = error ? error : waited;
    bool done = !error && read_registers(target, thread, limit);
    if (waited == 0) {
        registers_restart_call(thread->tid, stop_signal(status));
        waited = detach_thread(thread->tid, status) ? 0 : -EBUSY;
    }
    if (waited == -EBUSY)
        capture->pending[capture->pending_count++] = (struct capture_pending){thread->tid, child};
    if (error)
        thread->error = error;
    thread->wchan[0] = '\0'; /* it is from before the stop */
    thread->look = done ? LOOK_STOPPED : LOOK_NONE;
    return done;
}
