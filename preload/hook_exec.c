/* SPDX-License-Identifier: MIT */
/*
 * The exec family. Everything here may run in a child of vfork, on its parent's memory and stack, and in a signal
 * handler: automatic variables only, nothing of the process is written.
 */
#include "env_choice.h"
#include "image.h"
#include "next.h"
#include "object.h"
#include "sys.h"
#include "timer.h"
#include "timer_signal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

enum exec_way { BY_PATH, BY_SEARCH, BY_FD, BY_FD_AND_PATH };

struct exec_call {
    enum exec_way way;
    int fd;
    int flags;
    const char *path;
    char *const *argv;
};

static int exec_next(const struct exec_call *call, char *const *envp)
{
    const struct pinject_next *next = pinject_next();
    switch (call->way) {
    case BY_PATH:
        return next->execve(call->path, call->argv, envp);
    case BY_SEARCH:
        return next->execvpe(call->path, call->argv, envp);
    case BY_FD:
        return next->fexecve(call->fd, call->argv, envp);
    case BY_FD_AND_PATH:
        return next->execveat(call->fd, call->path, call->argv, envp, call->flags);
    }
    return -1;
}

/* Whether the new image of this task shall be followed. A child of vfork (or of a bare clone) is told by its pid. */
static bool image_is_followed(void)
{
    const struct pinject_object *object = &pinject_object;
    pinject_object_count_sealed(PINJECT_SESSION_EXEC | PINJECT_SESSION_VFORK);
    if (!pinject_object_follows())
        return false;
    return object->flags & (sys_getpid() == object->pid ? PINJECT_SESSION_EXEC : PINJECT_SESSION_VFORK);
}

static enum pinject_image image_of(const struct exec_call *call)
{
    switch (call->way) {
    case BY_PATH:
        return pinject_image_at(AT_FDCWD, call->path);
    case BY_SEARCH:
        return pinject_image_search(call->path);
    case BY_FD:
        return pinject_image_at(call->fd, "");
    case BY_FD_AND_PATH:
        return pinject_image_at(call->fd, call->path);
    }
    return PINJECT_IMAGE_TAKES;
}

/* Events from the exec on, for a task without; or its last counts of this image. A net under what is closed. */
static void announce(const struct exec_call *call, bool follow, enum pinject_image image)
{
    const struct pinject_object *object = &pinject_object;
    bool timed = pinject_timer_runs(), timers = timed || object->flags & PINJECT_SESSION_TIMER;
    bool closed = follow && (pinject_image_is_closed(image) || image == PINJECT_IMAGE_SECURE);
    uint32_t flags = image == PINJECT_IMAGE_SECURE ? PINJECT_REQUEST_SECURE : 0;
    bool covered = timed || pinject_request_covered(&object->channel, sys_gettid());
    if (covered && object->flags & PINJECT_SESSION_SNAPSHOT)
        pinject_object_snapshot();
    /* No kernel tells that a task goes on to where no timer is. */
    if (covered && (closed || (timers && !follow)))
        pinject_object_net(true, flags, call->path, call->argv);
    if (covered || !follow)
        return;
    /* The parent is outside: the child will have another pid namespace than the collector. */
    if (sys_getpid() != object->pid && sys_getppid() == 0)
        return;
    if (closed)
        pinject_object_net(false, flags, call->path, call->argv);
    else if (!timers) /* else the new image asks for itself */
        pinject_object_arm(call->path);
}

/* execve and what stands on it. envp is the program's own. */
static int exec_image(const struct exec_call *call, char *const *envp)
{
    struct pinject_env_plan plan;
    pinject_object_ready();
    if (pinject_object.standing == PINJECT_NOTHING)
        return exec_next(call, envp);
    bool follow = image_is_followed();
    enum pinject_image image = follow ? pinject_object_admits(image_of(call)) : PINJECT_IMAGE_TAKES;
    char *const *chosen = PINJECT_ENV_CHOSEN(&plan, envp, follow && image != PINJECT_IMAGE_REFUSES);
    /* A shell tries one folder after the other: only what exists is worth the wait. */
    if (pinject_object_follows() && image != PINJECT_IMAGE_MISSING)
        announce(call, follow, image);
    bool changed = pinject_signal_before_exec();
    bool told = pinject_timer_before_exec();
    int result = exec_next(call, chosen);
    /* Ours may be too much, also where the program's own environ holds them: then it goes unfollowed. */
    if (errno == E2BIG && follow)
        result = exec_next(call, PINJECT_ENV_CHOSEN(&plan, envp, false));
    pinject_timer_after_exec(told);
    pinject_signal_after_exec(changed);
    return result;
}

PINJECT_HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
    return exec_image(&(struct exec_call){.way = BY_PATH, .path = path, .argv = argv}, envp);
}

PINJECT_HOOK int execv(const char *path, char *const argv[])
{
    return exec_image(&(struct exec_call){.way = BY_PATH, .path = path, .argv = argv}, environ);
}

PINJECT_HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return exec_image(&(struct exec_call){.way = BY_SEARCH, .path = file, .argv = argv}, envp);
}

PINJECT_HOOK int execvp(const char *file, char *const argv[])
{
    return exec_image(&(struct exec_call){.way = BY_SEARCH, .path = file, .argv = argv}, environ);
}

PINJECT_HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
    return exec_image(&(struct exec_call){.way = BY_FD, .fd = fd, .argv = argv}, envp);
}

PINJECT_HOOK int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    return exec_image(&(struct exec_call){.way = BY_FD_AND_PATH, .fd = fd, .path = path, .argv = argv, .flags = flags},
                      envp);
}

/* Arguments of a list, with the first and the NULL; 0 when there are more than the kernel could be given. */
static size_t count_list(const char *first, va_list list)
{
    size_t count = 1;
    for (const char *at = first; at; count++) {
        if (count >= INT_MAX)
            return 0;
        at = va_arg(list, const char *);
    }
    return count;
}

/*
 * argv of a list on the caller's stack, as libc's own does it: `count` out of count_list(). The arguments are `const
 * char *` to the caller and `char *const` to execve: nobody writes to them.
 */
#define COLLECT_LIST(argv, count, first, list)        \
    do {                                              \
        va_start(list, first);                        \
        (argv)[0] = (char *)(uintptr_t)(first);       \
        for (size_t i_ = 1; i_ < (count); i_++)       \
            (argv)[i_] = va_arg(list, char *);        \
    } while (0)

#define COUNT_LIST(count, first, list)                \
    do {                                              \
        va_start(list, first);                        \
        (count) = count_list(first, list);            \
        va_end(list);                                 \
        if ((count) == 0) {                           \
            errno = E2BIG;                            \
            return -1;                                \
        }                                             \
    } while (0)

PINJECT_HOOK int execl(const char *path, const char *first, ...)
{
    va_list list;
    size_t count;
    COUNT_LIST(count, first, list);
    char **argv = __builtin_alloca(count * sizeof(*argv));
    COLLECT_LIST(argv, count, first, list);
    va_end(list);
    return execv(path, argv);
}

PINJECT_HOOK int execlp(const char *file, const char *first, ...)
{
    va_list list;
    size_t count;
    COUNT_LIST(count, first, list);
    char **argv = __builtin_alloca(count * sizeof(*argv));
    COLLECT_LIST(argv, count, first, list);
    va_end(list);
    return execvp(file, argv);
}

PINJECT_HOOK int execle(const char *path, const char *first, ...)
{
    va_list list;
    size_t count;
    COUNT_LIST(count, first, list);
    char **argv = __builtin_alloca(count * sizeof(*argv));
    COLLECT_LIST(argv, count, first, list);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, envp);
}
