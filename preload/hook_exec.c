/* SPDX-License-Identifier: MIT */
/*
 * The exec family. All of it may run in a vfork child, on its parent's memory and stack, and in a signal handler on a
 * small one. So it uses automatic variables, few of them, and a room (room.h).
 */
#include "environ.h"
#include "exec_kind.h"
#include "next.h"
#include "preload.h"
#include "room.h"
#include "state.h"
#include "sys.h"
#include "timer.h"
#include "timer_signal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

enum exec_way { BY_PATH, BY_SEARCH, BY_FD, BY_FD_AND_PATH, BY_NUMBER, BY_NUMBER_FD_AND_PATH };

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
    case BY_PATH: return next->execve(call->path, call->argv, envp);
    case BY_SEARCH: return next->execvpe(call->path, call->argv, envp);
    case BY_FD: return next->fexecve(call->fd, call->argv, envp);
    case BY_FD_AND_PATH: return next->execveat(call->fd, call->path, call->argv, envp, call->flags);
    case BY_NUMBER: return (int)pinject_next_syscall(SYS_execve, call->path, call->argv, envp);
    case BY_NUMBER_FD_AND_PATH:
        return (int)pinject_next_syscall(SYS_execveat, (long)call->fd, call->path, call->argv, envp, (long)call->flags);
    }
    return -1;
}

/* Shall the new exec generation of this task be followed? Its pid shows a vfork child (or that of a bare clone). */
static bool exec_is_followed(void)
{
    const struct pinject_preload *preload = &pinject_preload;
    pinject_preload_count_blocked(PINJECT_SESSION_EXEC | PINJECT_SESSION_VFORK);
    if (!pinject_preload_follows())
        return false;
    return preload->flags & (sys_getpid() == preload->pid ? PINJECT_SESSION_EXEC : PINJECT_SESSION_VFORK);
}

static enum pinject_exec_kind exec_kind_of(struct pinject_judge *judge, const struct exec_call *call)
{
    judge->directory = AT_FDCWD;
    judge->searches = false;
    switch (call->way) {
    case BY_PATH:
    case BY_NUMBER: return pinject_exec_at(judge, AT_FDCWD, call->path);
    case BY_SEARCH: return pinject_exec_search(judge, call->path);
    case BY_FD: return pinject_exec_at(judge, call->fd, "");
    case BY_FD_AND_PATH:
    case BY_NUMBER_FD_AND_PATH: return pinject_exec_at(judge, call->fd, call->path);
    }
    return PINJECT_EXEC_UNKNOWN;
}

/*
 * For a task without events: requests events from the exec on. For one with events: its last counts of this exec
 * generation. For a non-injectable program: requests inherited events.
 */
static void announce_exec(const struct exec_call *call, bool follow, enum pinject_exec_kind exec_kind)
{
    const struct pinject_preload *preload = &pinject_preload;
    bool by_timer = pinject_timer_runs(), timers = by_timer || preload->flags & PINJECT_SESSION_TIMER;
    bool non_injectable = follow && (pinject_exec_is_non_injectable(exec_kind) || pinject_exec_is_secure(exec_kind));
    uint32_t flags = pinject_exec_is_secure(exec_kind) ? PINJECT_REQUEST_SECURE : 0;
    bool covered = by_timer || pinject_preload_inherits() || pinject_request_covered(&preload->channel, sys_gettid());
    if (covered && preload->flags & PINJECT_SESSION_SNAPSHOT)
        pinject_preload_snapshot();
    /* The kernel does not report that a task goes on without our timer. */
    if (covered && (non_injectable || (timers && !follow)))
        pinject_preload_inherit_exec(true, flags, call->path, call->argv);
    if (covered || !follow)
        return;
    /* The parent is in another pid namespace, so the child is not in the collector's either. */
    if (sys_getpid() != preload->pid && sys_getppid() == 0)
        return;
    if (non_injectable)
        pinject_preload_inherit_exec(false, flags, call->path, call->argv);
    else if (!timers) /* else the new exec generation sends a request itself */
        pinject_preload_arm(call->path);
}

/* Not inlined: so prepare_exec() needs no more stack. */
__attribute__((noinline)) char *const *pinject_env_chosen(struct pinject_room *room, char *const *envp, bool join)
{
    const struct pinject_preload *preload = &pinject_preload;
    struct pinject_env_layout layout;
    int error = pinject_env_layout(&layout, envp, preload->ours, join);
    if (error == 0 && !layout.changes)
        return envp;
    void *memory = error == 0 ? pinject_room_vector(room, layout.bytes) : NULL;
    if (memory)
        return pinject_env_build(&layout, memory);
    if (error != -EFAULT && join)
        __atomic_fetch_add(&preload->channel.requests->dropped, 1, __ATOMIC_RELAXED);
    return envp;
}

struct preparation {
    const struct exec_call *call;
    char *const *envp; /* the program's own */
    char *const *chosen;
    struct pinject_room *room;
    uint32_t mark; /* of the room */
    bool joined;   /* our variables are in it */
};

static void prepare_exec(void *data)
{
    struct preparation *this = data;
    bool follow = exec_is_followed();
    enum pinject_exec_kind exec_kind = follow ? pinject_preload_admits(exec_kind_of(&this->room->judge, this->call))
                                              : PINJECT_EXEC_UNKNOWN;
    this->joined = follow && pinject_exec_takes(exec_kind);
    this->chosen = pinject_env_chosen(this->room, this->envp, this->joined);
    /* A shell tries one directory after the other: only a file that exists is worth the wait. */
    if (pinject_preload_follows() && exec_kind != PINJECT_EXEC_MISSING)
        announce_exec(this->call, follow, exec_kind);
}

static void drop_own_variables(void *data)
{
    struct preparation *this = data;
    this->chosen = pinject_env_chosen(this->room, this->envp, false);
}

/* execve and the functions built on it. Needs no more stack than a small one has left under a handler's frame. */
static int exec_program(const struct exec_call *call, char *const *envp)
{
    pinject_preload_ready();
    /* libc refuses an fexecve without an environment, and must not get a vector of ours. */
    if (pinject_preload.state == PINJECT_NOTHING || (call->way == BY_FD && !envp))
        return exec_next(call, envp);
    struct preparation this = {.call = call, .envp = envp, .chosen = envp};
    pinject_preload_enter();
    this.room = pinject_room_claim(&this.mark);
    if (this.room)
        pinject_room_call(this.room, prepare_exec, &this);
    else if (pinject_preload.state == PINJECT_FOLLOWED)
        __atomic_fetch_add(&pinject_preload.channel.requests->dropped, 1, __ATOMIC_RELAXED);
    bool changed = pinject_signal_before_exec();
    bool told = pinject_timer_before_exec();
    pinject_preload_leave();
    int result = exec_next(call, this.chosen);
    /*
     * Our variables may be too much, also if they are in the program's own environ: then the program is not followed.
     */
    if (errno == E2BIG && this.joined) {
        pinject_room_call(this.room, drop_own_variables, &this);
        result = exec_next(call, this.chosen);
    }
    pinject_preload_enter();
    pinject_timer_after_exec(told);
    pinject_signal_after_exec(changed);
    pinject_room_release(this.room);
    pinject_preload_leave();
    return result;
}

PINJECT_HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
    return exec_program(&(struct exec_call){.way = BY_PATH, .path = path, .argv = argv}, envp);
}

PINJECT_HOOK int execv(const char *path, char *const argv[])
{
    return exec_program(&(struct exec_call){.way = BY_PATH, .path = path, .argv = argv}, environ);
}

PINJECT_HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return exec_program(&(struct exec_call){.way = BY_SEARCH, .path = file, .argv = argv}, envp);
}

PINJECT_HOOK int execvp(const char *file, char *const argv[])
{
    return exec_program(&(struct exec_call){.way = BY_SEARCH, .path = file, .argv = argv}, environ);
}

PINJECT_HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
    return exec_program(&(struct exec_call){.way = BY_FD, .fd = fd, .argv = argv}, envp);
}

PINJECT_HOOK int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    return exec_program(
        &(struct exec_call){.way = BY_FD_AND_PATH, .fd = fd, .path = path, .argv = argv, .flags = flags}, envp);
}

/* Called by syscall() for these two numbers. */
__attribute__((used, visibility("hidden"))) long pinject_exec_by_syscall(long number, long a, long b, long c, long d,
                                                                         long e);

long pinject_exec_by_syscall(long number, long a, long b, long c, long d, long e)
{
    if (number == SYS_execve)
        return exec_program(&(struct exec_call){.way = BY_NUMBER, .path = (const char *)a, .argv = (char *const *)b},
                            (char *const *)c);
    return exec_program(&(struct exec_call){.way = BY_NUMBER_FD_AND_PATH,
                                            .fd = (int)a,
                                            .path = (const char *)b,
                                            .argv = (char *const *)c,
                                            .flags = (int)e},
                        (char *const *)d);
}

/* The number of arguments of a list, with the first and the NULL; 0 if there are more than the kernel accepts. */
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
 * Stores the arguments of a list in argv on the caller's stack, as libc does; `count` is from count_list(). The
 * arguments are `const char *` to the caller and `char *const` to execve: nobody writes to them.
 */
#define COLLECT_LIST(argv, count, first, list)  \
    do {                                        \
        va_start(list, first);                  \
        (argv)[0] = (char *)(uintptr_t)(first); \
        for (size_t i_ = 1; i_ < (count); i_++) \
            (argv)[i_] = va_arg(list, char *);  \
    } while (0)

#define COUNT_LIST(count, first, list)     \
    do {                                   \
        va_start(list, first);             \
        (count) = count_list(first, list); \
        va_end(list);                      \
        if ((count) == 0) {                \
            errno = E2BIG;                 \
            return -1;                     \
        }                                  \
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
