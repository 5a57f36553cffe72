/* SPDX-License-Identifier: MIT */
#include "safe_read.h"
#include "spawn_directory.h"
#include "sys.h"
#include "text.h"

#include <errno.h>

static bool starts_with(const char *path, const char *with)
{
    struct pinject_safe_read safe = {0};
    for (size_t i = 0; with[i]; i++)
        if (!pinject_safe_read(&safe, path + i, 1) || path[i] != with[i])
            return false;
    return true;
}

bool pinject_spawn_names_descriptor(const char *path)
{
    return starts_with(path, "/proc/") || starts_with(path, "/dev/fd/") || starts_with(path, "/dev/std");
}

#ifdef __GLIBC__

enum { ACTIONS = 4096 };

/* From glibc's sysdeps/unix/sysv/linux/spawn_int.h, the same since 2.29; higher numbers are unknown. */
enum tag { CLOSE, DUP2, OPEN, CHDIR, FCHDIR, CLOSEFROM, TCSETPGRP, TAGS };

struct action {
    int tag;
    union {
        struct {
            int fd;
        } close;
        struct {
            int fd, to;
        } dup2;
        struct {
            int fd;
            const char *path;
            int flags;
            unsigned mode;
        } open;
        struct {
            const char *path;
        } chdir;
        struct {
            int fd;
        } fchdir;
    } of;
};

/* The caller's descriptor that FD is after COUNT actions; -1: one that the child opens, or none. */
static int find_source(const struct action *actions, size_t count, int fd)
{
    while (count-- > 0) {
        const struct action *action = &actions[count];
        if (action->tag == DUP2 && action->of.dup2.to == fd)
            fd = action->of.dup2.fd;
        else if ((action->tag == OPEN && action->of.open.fd == fd) ||
                 (action->tag == CLOSE && action->of.close.fd == fd) ||
                 (action->tag == CLOSEFROM && action->of.close.fd <= fd))
            return -1;
    }
    return fd;
}

static int change_directory(struct pinject_spawn_directory *directory, const char *path)
{
    if (directory->descriptors && pinject_spawn_names_descriptor(path))
        return -EINVAL;
    int fd = (int)SYS_4(SYS_openat, directory->fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    pinject_spawn_directory_close(directory);
    directory->fd = fd;
    directory->own = fd >= 0;
    return fd < 0 ? -EINVAL : 0;
}

static int follow_actions(struct pinject_spawn_directory *directory, const struct action *actions, size_t at)
{
    const struct action *action = &actions[at];
    switch (action->tag) {
    case CHDIR: return change_directory(directory, action->of.chdir.path);
    case FCHDIR:
        pinject_spawn_directory_close(directory);
        directory->fd = find_source(actions, at, action->of.fchdir.fd);
        return directory->fd < 0 ? -EINVAL : 0;
    case CLOSE:
    case DUP2:
    case OPEN:
    case CLOSEFROM: directory->descriptors = true; return 0;
    case TCSETPGRP: return 0;
    default: return -EINVAL;
    }
}

int pinject_spawn_directory_find(const posix_spawn_file_actions_t *actions,
                                 struct pinject_spawn_directory *ret_directory)
{
    struct pinject_safe_read safe = {0};
    *ret_directory = (struct pinject_spawn_directory){.fd = AT_FDCWD};
    if (!actions)
        return 0;
    if (!pinject_safe_read(&safe, actions, sizeof(*actions)))
        return -EINVAL;
    int used = actions->__used;
    const struct action *list = (const struct action *)(const void *)actions->__actions;
    if (used == 0)
        return 0;
    if (used < 0 || used > ACTIONS || used > actions->__allocated ||
        !pinject_safe_read(&safe, list, (size_t)used * sizeof(*list)))
        return -EINVAL;
    for (size_t i = 0; i < (size_t)used; i++) {
        int error = follow_actions(ret_directory, list, i);
        if (error < 0) {
            pinject_spawn_directory_close(ret_directory);
            return error;
        }
    }
    return 0;
}

#else

int pinject_spawn_directory_find(const posix_spawn_file_actions_t *actions,
                                 struct pinject_spawn_directory *ret_directory)
{
    *ret_directory = (struct pinject_spawn_directory){.fd = AT_FDCWD};
    return actions ? -EINVAL : 0;
}

#endif

void pinject_spawn_directory_close(struct pinject_spawn_directory *directory)
{
    if (directory->own)
        sys_close(directory->fd);
    directory->own = false;
    directory->fd = AT_FDCWD;
}
