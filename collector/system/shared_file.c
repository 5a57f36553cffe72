/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/system/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Allocated, not only extended. */
static int reserve_space(int fd, size_t size)
{
    if (ftruncate(fd, (off_t)size) < 0)
        return -errno;
    if (fallocate(fd, 0, 0, (off_t)size) < 0 && errno != EOPNOTSUPP && errno != ENOSYS)
        return -errno;
    return 0;
}

int shared_file_create(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return -errno;
    int status = reserve_space(fd, size);
    if (status == 0)
        return fd;
    unlink(path);
    close(fd);
    return status;
}

int shared_file_nameless(size_t size)
{
    int fd = memfd_create("pinject", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int status = reserve_space(fd, size);
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

int shared_file_give(int fd, uid_t user, mode_t mode)
{
    /* The umask may have removed even our own rights. */
    if (fchmod(fd, mode) < 0)
        return -errno;
    return user != geteuid() && fchown(fd, user, (gid_t)-1) < 0 ? -errno : 0;
}

int shared_file_can_give(uid_t user)
{
    if (user == geteuid())
        return 0;
    int fd = memfd_create("pinject", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = fchown(fd, user, (gid_t)-1) < 0 ? -errno : 0;
    close(fd);
    return error;
}
