/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/system/numbers.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool was_waited_for(int pidfd)
{
    return pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0 && errno == ESRCH;
}

bool numbers_are_anothers(int pidfd, pid_t pid)
{
    return was_waited_for(pidfd) && (kill(pid, 0) == 0 || errno != ESRCH);
}

bool numbers_hold(int pidfd, pid_t pid, pid_t tid)
{
    if (was_waited_for(pidfd))
        return false;
    if (pidfd >= 0 && pid == tid)
        return true;
    return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM;
}

bool numbers_process_is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

bool numbers_task_is_gone(pid_t pid, pid_t tid)
{
    return syscall(SYS_tgkill, pid, tid, 0) != 0 && errno == ESRCH;
}
