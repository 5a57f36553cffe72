/* SPDX-License-Identifier: MIT */
/*
 * posix_spawn and pidfd_spawn: they only choose the environment. The exec is inside libc, and the new exec generation
 * announces itself.
 */
#include "environ.h"
#include "exec_kind.h"
#include "next.h"
#include "preload.h"
#include "room.h"
#include "safe_read.h"
#include "spawn_directory.h"
#include "state.h"
#include "sys.h"
#include "timer_signal.h"

#include <errno.h>
#include <limits.h>
#include "text.h"

typedef int spawn_next(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);

struct spawn_call {
    spawn_next *next;
    const char *path;
    bool search;
    bool pidfd; /* the result is a descriptor of the child, not its pid */
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attr;
};

/* The child may search directories and execute files that the caller may not. */
static bool has_other_rights(const posix_spawnattr_t *attr)
{
    short flags = 0;
    return attr && posix_spawnattr_getflags(attr, &flags) == 0 && flags & POSIX_SPAWN_RESETIDS &&
           (SYS_0(SYS_getuid) != SYS_0(SYS_geteuid) || SYS_0(SYS_getgid) != SYS_0(SYS_getegid));
}

static enum pinject_exec_kind judge_program(struct pinject_judge *judge, const struct spawn_call *call)
{
    struct pinject_spawn_directory directory;
    enum pinject_exec_kind exec_kind = PINJECT_EXEC_UNKNOWN;
    if (has_other_rights(call->attr) || pinject_spawn_directory_find(call->actions, &directory) < 0)
        return PINJECT_EXEC_UNKNOWN;
    judge->directory = directory.fd;
    judge->searches = false;
    if (!directory.descriptors || !pinject_spawn_names_descriptor(call->path))
        exec_kind = call->search ? pinject_exec_search(judge, call->path)
                                 : pinject_exec_at(judge, directory.fd, call->path);
    pinject_spawn_directory_close(&directory);
    /* It may exist when libc looks. */
    return pinject_preload_admits(exec_kind == PINJECT_EXEC_MISSING ? PINJECT_EXEC_UNKNOWN : exec_kind);
}

/* Bounds of the size of arguments and environment, whatever the limit of the stack is; and what the kernel uses of
   it for the names of an interpreter and of the program. */
enum { LEAST = 131072, MOST = 6 << 20, NAMES = 3 * PATH_MAX };

/* Adds to *TAKEN what the kernel keeps of a vector, until that is more than any kernel accepts; false: it is wild. */
static bool measure_vector(char *const *vector, size_t *taken)
{
    struct pinject_safe_read safe = {0};
    for (; vector && *taken <= MOST; vector++) {
        if (!pinject_safe_read(&safe, vector, sizeof(*vector)))
            return false;
        if (!*vector)
            break;
        long length = pinject_safe_length(&safe, *vector, LEAST);
        if (length < 0 && length != -E2BIG)
            return false;
        *taken += (length < 0 ? MOST : (size_t)length) + 1 + sizeof(*vector);
    }
    return true;
}

/*
 * Might our variables be too much? Unlike exec it cannot be tried: the child would do its file actions and end, and a
 * second child without our variables would do them again.
 */
static bool is_near_limit(char *const *argv, char *const *envp)
{
    size_t taken = NAMES + strlen(pinject_preload.session) + strlen(pinject_preload.preload) + 64;
    struct rlimit stack = {RLIM_INFINITY, RLIM_INFINITY};
    if (!measure_vector(argv, &taken) || !measure_vector(envp, &taken))
        return false; /* the kernel reports it */
    if (taken <= LEAST)
        return false;
    SYS_4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &stack);
    size_t limit = stack.rlim_cur / 4 < MOST ? stack.rlim_cur / 4 : MOST;
    return taken > (limit > LEAST ? limit : LEAST);
}

/* What is not followed counts as missing. */
static enum pinject_exec_kind exec_to_follow(struct pinject_room *room, const struct spawn_call *call)
{
    pinject_preload_count_blocked(PINJECT_SESSION_VFORK);
    if (!pinject_preload_follows() || !(pinject_preload.flags & PINJECT_SESSION_VFORK))
        return PINJECT_EXEC_MISSING;
    return judge_program(&room->judge, call);
}

/* The child runs already and cannot send a request. The process may have been blocked by seccomp meanwhile. */
static void announce_spawn(enum pinject_exec_kind exec_kind, const pid_t *pid)
{
    int saved = errno;
    if (pinject_exec_is_non_injectable(exec_kind) && pinject_preload_follows())
        pinject_preload_spawned(*pid);
    errno = saved;
}

struct spawn_preparation {
    struct pinject_room *room;
    enum pinject_exec_kind exec_kind;
    char *const *chosen;
    bool join, changed;
};

static void prepare_spawn(const struct spawn_call *call, char *const argv[], char *const envp[],
                          struct spawn_preparation *ret)
{
    ret->exec_kind = exec_to_follow(ret->room, call);
    if (pinject_exec_takes(ret->exec_kind) && is_near_limit(argv, envp))
        ret->exec_kind = PINJECT_EXEC_REFUSES;
    ret->join = pinject_exec_takes(ret->exec_kind);
    ret->chosen = pinject_env_chosen(ret->room, envp, ret->join);
    if (call->pidfd && pinject_exec_is_non_injectable(ret->exec_kind))
        pinject_preload_inherit(); /* the child cannot be announced afterwards */
    ret->changed = pinject_signal_before_exec();
}

static int spawn_program(const struct spawn_call *call, pid_t *pid, char *const argv[], char *const envp[])
{
    pid_t own_pid, *pid_to = pid ? pid : &own_pid;
    struct spawn_preparation this = {.room = NULL};
    uint32_t mark;
    pinject_preload_ready();
    if (pinject_preload.state == PINJECT_NOTHING)
        return call->next(pid, call->path, call->actions, call->attr, argv, envp);
    pinject_preload_enter();
    this.room = pinject_room_claim(&mark);
    if (this.room)
        prepare_spawn(call, argv, envp, &this);
    pinject_preload_leave();
    if (!this.room)
        return call->next(pid, call->path, call->actions, call->attr, argv, envp);
    int error = call->next(pid_to, call->path, call->actions, call->attr, argv, this.chosen);
    if (error == E2BIG && this.join)
        error = call->next(pid_to, call->path, call->actions, call->attr, argv,
                           pinject_env_chosen(this.room, envp, false));
    pinject_preload_enter();
    pinject_signal_after_exec(this.changed);
    pinject_room_release(this.room);
    if (error == 0 && !call->pidfd)
        announce_spawn(this.exec_kind, pid_to);
    pinject_preload_leave();
    return error;
}

PINJECT_HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    const struct spawn_call call = {pinject_next()->posix_spawn, path, false, false, actions, attr};
    return spawn_program(&call, pid, argv, envp);
}

PINJECT_HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    const struct spawn_call call = {pinject_next()->posix_spawnp, file, true, false, actions, attr};
    return spawn_program(&call, pid, argv, envp);
}

/*
 * Before glibc 2.39 a program that looks for these two finds them here. They fail as libc's own do if the kernel has no
 * such descriptors, which every caller must expect, and do nothing else.
 */
static int spawn_pidfd(const struct spawn_call *call, int *pidfd, char *const argv[], char *const envp[])
{
    return pinject_next()->pidfd_spawns ? spawn_program(call, pidfd, argv, envp) : ENOSYS;
}

PINJECT_HOOK int pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    const struct spawn_call call = {pinject_next()->pidfd_spawn, path, false, true, actions, attr};
    return spawn_pidfd(&call, pidfd, argv, envp);
}

PINJECT_HOOK int pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    const struct spawn_call call = {pinject_next()->pidfd_spawnp, file, true, true, actions, attr};
    return spawn_pidfd(&call, pidfd, argv, envp);
}
