/* SPDX-License-Identifier: MIT */
/*
 * The wait family, if the session wants it. The kernel reports the CPU time of an ended child, including its exit,
 * which none of its events counts. All functions keep their meaning, as cancellation points too: a function of libc's
 * waits.
 */
#include "next.h"
#include "preload.h"
#include "state.h"
#include "sys.h"

#include <errno.h>
#include <limits.h>

static bool reports_waits(void)
{
    pinject_preload_ready();
    return pinject_preload.flags & PINJECT_SESSION_REAPED && pinject_preload_follows();
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

/* Inline, to save stack. The process may have been blocked by seccomp while it waited. */
__attribute__((always_inline)) static inline void report_child(pid_t pid, int status, const struct rusage *usage)
{
    if (pid <= 0 || (!WIFEXITED(status) && !WIFSIGNALED(status)))
        return;
    pinject_preload_enter();
    if (pinject_preload_follows())
        pinject_preload_reaped(pid, status, ns_of(usage->ru_utime), ns_of(usage->ru_stime),
                               (uint64_t)(usage->ru_nvcsw + usage->ru_nivcsw));
    pinject_preload_leave();
}

PINJECT_HOOK pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    if (!reports_waits())
        return pinject_next()->wait4(pid, status, options, usage);
    struct rusage own_usage;
    int own_status;
    /* The program's pointers go to the kernel, which checks them; once it has written there, they can be read. */
    int *status_to = status ? status : &own_status;
    struct rusage *usage_to = usage ? usage : &own_usage;
    pid_t result = pinject_next()->wait4(pid, status_to, options, usage_to);
    if (result > 0)
        report_child(result, *status_to, usage_to);
    return result;
}

PINJECT_HOOK pid_t wait3(int *status, int options, struct rusage *usage)
{
    return wait4(-1, status, options, usage);
}

/*
 * If libc's wait4 is no cancellation point, libc's waitid waits and leaves the child, and then the child is taken
 * without waiting. If another thread was faster, the loop goes on. What waitid treats differently goes to waitpid, and
 * is not reported: a process group of 0 (before Linux 5.4), INT_MIN, options that wait4 does not have.
 */
static pid_t wait_by_waitid(pid_t pid, int *status, int options)
{
    const struct pinject_next *next = pinject_next();
    idtype_t type = pid > 0 ? P_PID : pid == -1 ? P_ALL : P_PGID;
    if (!reports_waits() || pid == 0 || pid == INT_MIN || options & (WEXITED | WNOWAIT))
        return next->waitpid(pid, status, options);
    for (;;) {
        siginfo_t seen;
        struct rusage usage;
        int own_status, *status_to = status ? status : &own_status;
        seen.si_pid = 0;
        int result = next->waitid(type, (id_t)(pid < 0 ? -pid : pid), &seen, options | WEXITED | WNOWAIT);
        if (result < 0 || seen.si_pid == 0)
            return result;
        long found = SYS_4(SYS_wait4, seen.si_pid, status_to, options | WNOHANG, &usage);
        if (found > 0) {
            report_child((pid_t)found, *status_to, &usage);
            return (pid_t)found;
        }
        if (found == -EFAULT) { /* the child is gone */
            errno = EFAULT;
            return -1;
        }
        if (found != 0 && found != -ECHILD)
            return next->waitpid(pid, status, options);
    }
}

PINJECT_HOOK pid_t waitpid(pid_t pid, int *status, int options)
{
    if (!pinject_next()->wait4_cancels)
        return wait_by_waitid(pid, status, options);
    return wait4(pid, status, options, NULL);
}

PINJECT_HOOK pid_t wait(int *status)
{
    return waitpid(-1, status, 0);
}

static int status_of(const siginfo_t *info)
{
    switch (info->si_code) {
    case CLD_EXITED: return (info->si_status & 0xff) << 8;
    case CLD_KILLED: return info->si_status & 0x7f;
    case CLD_DUMPED: return (info->si_status & 0x7f) | 0x80;
    default: return 0x7f; /* stopped or continued: not reported */
    }
}

/* The kernel writes zeros if it reports no child, also when it fails. So a call that asks for nothing writes them. */
static int report_no_child(siginfo_t *info, int result)
{
    int saved = errno;
    bool wild = info && SYS_5(SYS_waitid, P_ALL, 0, info, 0, NULL) == -EFAULT;
    errno = wild ? EFAULT : saved;
    return wild ? -1 : result;
}

/*
 * libc's waitid has no rusage. So it waits and leaves the child. Then the kernel's waitid takes exactly that child,
 * without waiting, and writes to the program's `info` what it always writes there, no byte more, or fails with EFAULT.
 * If another thread was faster, the loop goes on, as the kernel itself would go on waiting.
 */
PINJECT_HOOK int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    const long untouched = -1;
    if (!(options & WEXITED) || options & WNOWAIT || !reports_waits())
        return pinject_next()->waitid(type, id, info, options);
    for (;;) {
        siginfo_t seen;
        struct rusage usage;
        seen.si_pid = 0;
        usage.ru_maxrss = untouched;
        int result = pinject_next()->waitid(type, id, &seen, options | WNOWAIT);
        if (result < 0 || seen.si_pid == 0)
            return report_no_child(info, result);
        long error = SYS_5(SYS_waitid, P_PID, seen.si_pid, info, options | WNOHANG, &usage);
        if (usage.ru_maxrss != untouched) { /* also where `info` is wild: the child is gone */
            report_child(seen.si_pid, status_of(&seen), &usage);
            errno = error < 0 ? (int)-error : errno;
            return error < 0 ? -1 : 0;
        }
        if (error < 0 && error != -ECHILD)
            return pinject_next()->waitid(type, id, info, options);
    }
}
