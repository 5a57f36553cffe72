/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/service/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/service/channel.h"
#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/session.h"
#include "collector/system/procfs.h"
#include "common/buffer.h"

/* A chain of processes that send no request (static ones) is followed up so far; maps are searched up to that size. */
enum { GENERATIONS = 32, STATUS_MAX = 8192, MAPS_MAX = 4 << 20 };

/* pidfd_info of Linux 6.13, in its first form; libc's headers do not have it yet. */
struct info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid;
    uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
_Static_assert(sizeof(struct info) == 64, "pidfd_info of the kernel");
enum { INFO_PID = 1, INFO_CREDS = 2 };
#define GET_INFO _IOWR(0xff, 11, struct info)

static int read_pidfd(int pidfd, struct origin *ret)
{
    struct info info = {.mask = INFO_PID | INFO_CREDS};
    if (ioctl(pidfd, GET_INFO, &info) < 0)
        return -errno;
    if ((info.mask & (INFO_PID | INFO_CREDS)) != (INFO_PID | INFO_CREDS))
        return -ESRCH;
    *ret = (struct origin){(pid_t)info.ppid, {info.ruid, info.euid, info.suid}};
    return 0;
}

/* Our shortage says nothing about the process. */
static bool is_shortage(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

static int read_status(pid_t pid, struct origin *ret)
{
    char path[32];
    struct buffer buffer = BUFFER_INIT;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    int error = buffer_read_file(&buffer, path, STATUS_MAX);
    const char *text = error < 0 ? NULL : (const char *)buffer.data;
    const char *parent = text ? strstr(text, "\nPPid:") : NULL, *users = text ? strstr(text, "\nUid:") : NULL;
    struct origin origin = {0};
    bool good = parent && users && sscanf(parent, "\nPPid: %d", &origin.ppid) == 1 &&
                sscanf(users, "\nUid: %u %u %u", &origin.users[0], &origin.users[1], &origin.users[2]) == 3;
    buffer_release(&buffer);
    if (!good)
        return is_shortage(error) ? error : -ESRCH;
    *ret = origin;
    return 0;
}

int origin_read(pid_t pid, int pidfd, struct origin *ret)
{
    int status = pidfd < 0 ? -ENOTTY : read_pidfd(pidfd, ret);
    return status == 0 || status == -ESRCH ? status : read_status(pid, ret);
}

bool origin_is_ours(struct session *session, pid_t pid, const struct origin *origin)
{
    struct origin at = *origin;
    if (session->self && pid == session->self)
        return false;
    for (unsigned i = 0; i < GENERATIONS; i++) {
        if (attach_has_process(session, pid) || inherited_know(session->inherited_sets, pid))
            return true;
        /*
         * Of our children only the command belongs to it. We may be process 1 of a container: then orphans are our
         * children too.
         */
        if (session->self && at.ppid == session->self)
            return pid == __atomic_load_n(&session->segment->root, __ATOMIC_RELAXED);
        if (at.ppid <= 1)
            return false;
        pid = at.ppid;
        if (origin_read(pid, -1, &at) < 0)
            return attach_has_process(session, pid);
    }
    return false;
}

/* By the fields after the third space of a line: a path may contain any text, but no end of a line. */
static bool maps_tell(const char *maps, const char *mapping)
{
    size_t size = strlen(mapping);
    for (const char *line = maps; *line;) {
        const char *end = strchrnul(line, '\n'), *at = line;
        for (int space = 0; space < 3 && at < end; space++)
            at = strchrnul(space ? at + 1 : at, ' ');
        if (at < end && strncmp(at, mapping, size) == 0)
            return true;
        line = *end ? end + 1 : end;
    }
    return false;
}

static bool has_mapped(const struct channel *channel, pid_t pid)
{
    if (!channel->mapping[0] || (channel->session->self && pid == channel->session->self))
        return false;
    char *maps = procfs_read(pid, "maps", MAPS_MAX, NULL);
    bool has = maps && maps_tell(maps, channel->mapping);
    free(maps);
    return has;
}

/*
 * It is not dumpable, and hides its memory from its own user's processes: nothing of it can be sampled or read from
 * outside. A daemon that makes itself so cannot show the channel in its memory once its parent has ended. Root sees
 * every process; if it does not, in a container, the process does not belong there, and its channel may be in other
 * hands.
 */
static bool hides_memory(const struct channel *channel, pid_t pid, const struct origin *origin)
{
    char path[32];
    if (channel->user == 0)
        return false;
    for (unsigned i = 0; i < sizeof(origin->users) / sizeof(origin->users[0]); i++)
        if (!channel->own || origin->users[i] != channel->user || pid == channel->session->self)
            return false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == EACCES;
}

static bool is_of_user(const struct channel *channel, const struct origin *origin)
{
    for (unsigned i = 0; i < sizeof(origin->users) / sizeof(origin->users[0]); i++)
        if (origin->users[i] == channel->user)
            return true;
    return false;
}

int origin_check(const struct channel *channel, pid_t pid, int pidfd, struct origin *ret_origin)
{
    int status = origin_read(pid, pidfd, ret_origin);
    if (status < 0)
        return status;
    bool other = !is_of_user(channel, ret_origin);
    if (!channel->own && other)
        return -EPERM;
    /*
     * It became another user behind libc's back, and still has our channel. A user with his own channel needs no other.
     */
    if (other && !session_has_one_user(channel->session))
        return has_mapped(channel, pid) ? 0 : -EPERM;
    if (origin_is_ours(channel->session, pid, ret_origin) || has_mapped(channel, pid))
        return 0;
    return hides_memory(channel, pid, ret_origin) ? 0 : -EPERM;
}
