/* SPDX-License-Identifier: MIT */
#include "collector/system/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* linux/pidfd.h as of 6.15: older headers lack it. */
struct info_of_pidfd {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
};
_Static_assert(sizeof(struct info_of_pidfd) == 64, "first version of struct pidfd_info");
#define INFO_OF_PIDFD _IOWR(0xFF, 11, struct info_of_pidfd)
#define INFO_EXIT     (1u << 3)
/* PID_FS_MAGIC of linux/magic.h: before it all pidfds had one inode. */
enum { PIDFD_FS = 0x50494446 };

int pidfd_open_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int pidfd_copy(int pidfd)
{
    return pidfd < 0 ? -1 : fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
}

void pidfd_close(int pidfd)
{
    if (pidfd >= 0)
        close(pidfd);
}

bool pidfd_are_same(int one, int other)
{
    struct statfs type;
    struct stat first, second;
    if (one < 0 || other < 0 || fstatfs(one, &type) < 0)
        return false;
    if (type.f_type != PIDFD_FS) /* one inode for all; but no two processes have one number */
        return pidfd_has_number(one) && pidfd_has_number(other);
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

bool pidfd_is_dead(int pidfd)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
    return pidfd >= 0 && poll(&poll_fd, 1, 0) == 1;
}

bool pidfd_has_number(int pidfd)
{
    return pidfd >= 0 && (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno == EPERM);
}

bool pidfd_status(int pidfd, int *ret)
{
    struct info_of_pidfd info = {.mask = INFO_EXIT};
    if (pidfd < 0 || ioctl(pidfd, INFO_OF_PIDFD, &info) != 0 || !(info.mask & INFO_EXIT))
        return false;
    *ret = info.exit_code;
    return true;
}

bool pidfd_clock(int pidfd, pid_t pid, uint64_t *ret_ns)
{
    /* CPUCLOCK_SCHED of the process: what clock_getcpuclockid(3) makes. */
    const clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
    struct timespec used;
    /* Asked before and after: that proves that the clock was its own. */
    if (!pidfd_is_dead(pidfd) || !pidfd_has_number(pidfd) || clock_gettime(clock, &used) != 0 ||
        !pidfd_has_number(pidfd))
        return false;
    *ret_ns = clock_ns_of(&used);
    return true;
}
