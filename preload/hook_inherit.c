/* SPDX-License-Identifier: MIT */
/*
 * Calls that make threads and processes which cannot send requests. libc creates threads for timers, asynchronous I/O
 * and name lookups internally, without the hook of pthread_create; the kernel creates them for io_uring; and in another
 * pid namespace a number means another task. Before a thread's first such call, the collector is asked for inherited
 * events for all that the thread makes. Nothing else changes in these calls.
 */
#define _LARGEFILE64_SOURCE
#include "next.h"
#include "own_environ.h"
#include "preload.h"
#include "safe_read.h"
#include "session.h"
#include "state.h"
#include "sys.h"

#include <aio.h>
#include <errno.h>
#include <mqueue.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "text.h"
#include <time.h>

/* A new mount namespace may hide the session, a new user namespace the task itself: the request comes before that. */
#define OTHER_WORLD (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER)

/* Calls the function of that name, or fails with ENOSYS. */
#define CALL_NEXT(type, name, ...)                  \
    __extension__({                                 \
        type;                                       \
        void *found_ = pinject_next_find(name);     \
        memcpy(&function, &found_, sizeof(found_)); \
        if (!found_)                                \
            errno = ENOSYS;                         \
        found_ ? function(__VA_ARGS__) : -1;        \
    })

static bool makes_threads(const struct sigevent *event)
{
    return event && event->sigev_notify == SIGEV_THREAD;
}

/* ---- Threads that libc makes internally ---- */

PINJECT_HOOK int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    if (makes_threads(event))
        pinject_preload_inherit();
    return pinject_next()->timer_create(clock, event, timer);
}

PINJECT_HOOK int mq_notify(mqd_t queue, const struct sigevent *event)
{
    if (makes_threads(event))
        pinject_preload_inherit();
    return CALL_NEXT(int (*function)(mqd_t, const struct sigevent *), "mq_notify", queue, event);
}

/* A thread does the work, however its end is reported. */
#define AIO_HOOK(name, type)                                            \
    PINJECT_HOOK int name(struct type *block)                           \
    {                                                                   \
        pinject_preload_inherit();                                      \
        return CALL_NEXT(int (*function)(struct type *), #name, block); \
    }

AIO_HOOK(aio_read, aiocb)
AIO_HOOK(aio_write, aiocb)
#ifdef __GLIBC__
AIO_HOOK(aio_read64, aiocb64)
AIO_HOOK(aio_write64, aiocb64)

PINJECT_HOOK int aio_fsync64(int operation, struct aiocb64 *block)
{
    pinject_preload_inherit();
    return CALL_NEXT(int (*function)(int, struct aiocb64 *), "aio_fsync64", operation, block);
}

PINJECT_HOOK int lio_listio64(int mode, struct aiocb64 *const list[], int count, struct sigevent *event)
{
    pinject_preload_inherit();
    return CALL_NEXT(int (*function)(int, struct aiocb64 *const[], int, struct sigevent *), "lio_listio64", mode, list,
                     count, event);
}

PINJECT_HOOK int getaddrinfo_a(int mode, struct gaicb *list[], int count, struct sigevent *event)
{
    pinject_preload_inherit();
    return CALL_NEXT(int (*function)(int, struct gaicb *[], int, struct sigevent *), "getaddrinfo_a", mode, list, count,
                     event);
}
#endif

PINJECT_HOOK int aio_fsync(int operation, struct aiocb *block)
{
    pinject_preload_inherit();
    return CALL_NEXT(int (*function)(int, struct aiocb *), "aio_fsync", operation, block);
}

PINJECT_HOOK int lio_listio(int mode, struct aiocb *const list[], int count, struct sigevent *event)
{
    pinject_preload_inherit();
    return CALL_NEXT(int (*function)(int, struct aiocb *const[], int, struct sigevent *), "lio_listio", mode, list,
                     count, event);
}

/* ---- Shells that libc starts internally ---- */

/*
 * They get environ unchanged. If they could not load the preload object or open the session, our variables are removed.
 */
static void prepare_shell(void)
{
    int saved = errno;
    pinject_preload_ready();
    if (pinject_preload_follows() && pinject_preload.flags & PINJECT_SESSION_VFORK && !pinject_preload_reachable()) {
        pinject_preload_inherit();
        pinject_own_environ_forget(pinject_preload.ours);
    }
    errno = saved;
}

PINJECT_HOOK int system(const char *command)
{
    if (command)
        prepare_shell();
    return pinject_next()->system(command);
}

PINJECT_HOOK FILE *popen(const char *command, const char *mode)
{
    prepare_shell();
    return pinject_next()->popen(command, mode);
}

/* ---- Other namespaces ---- */

/*
 * Before the call, since it applies to what the call makes. Returns the setting to restore if the caller stays as it
 * is.
 */
static bool prepare_for_flags(uint64_t flags)
{
    if (flags & OTHER_WORLD)
        pinject_preload_inherit();
    return flags & CLONE_NEWUSER ? pinject_preload_user_moves(true) : false;
}

static void restore_user_setting(uint64_t flags, bool moved)
{
    if (flags & CLONE_NEWUSER)
        pinject_preload_user_moves(moved);
}

PINJECT_HOOK int unshare(int flags)
{
    bool moved = prepare_for_flags((unsigned)flags);
    int result = pinject_next()->unshare(flags);
    if (result != 0)
        restore_user_setting((unsigned)flags, moved);
    return result;
}

/* TYPE 0: any kind of namespace. */
PINJECT_HOOK int setns(int fd, int type)
{
    const uint64_t flags = type ? (unsigned)type : OTHER_WORLD;
    bool moved = prepare_for_flags(flags);
    int result = pinject_next()->setns(fd, type);
    if (result != 0)
        restore_user_setting(flags, moved);
    return result;
}

PINJECT_HOOK int clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
    va_list list;
    va_start(list, argument);
    pid_t *parent_tid = va_arg(list, pid_t *);
    void *storage = va_arg(list, void *);
    pid_t *child_tid = va_arg(list, pid_t *);
    va_end(list);
    bool moved = prepare_for_flags((unsigned)flags);
    int result = pinject_next()->clone(run, stack, flags, argument, parent_tid, storage, child_tid);
    restore_user_setting((unsigned)flags, moved); /* the child does not come here */
    return result;
}

/* ---- The same by syscall(), before hook_filter.c passes it on ---- */

__attribute__((used, visibility("hidden"))) void pinject_inherit_by_syscall(long number, long a, long b);

/* clone3's structure begins with the flags; it may be wild. */
static uint64_t flags_of_clone3(const uint64_t *arguments)
{
    struct pinject_safe_read safe = {0};
    return pinject_safe_read(&safe, arguments, sizeof(*arguments)) ? *arguments : 0;
}

void pinject_inherit_by_syscall(long number, long a, long b)
{
    uint64_t flags = 0;
    int saved = errno;
    switch (number) {
    case SYS_clone:
    case SYS_unshare: flags = (uint64_t)a; break;
    case SYS_clone3: flags = flags_of_clone3((const uint64_t *)a); break;
    case SYS_setns: flags = b ? (uint64_t)b : OTHER_WORLD; break;
    case SYS_io_uring_setup:
        flags = CLONE_NEWPID; /* the kernel makes threads of this process that no hook sees */
        break;
    default: break;
    }
    prepare_for_flags(flags); /* not undone: we do not see the result of the call */
    errno = saved;
}
