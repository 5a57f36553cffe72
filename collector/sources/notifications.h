/* SPDX-License-Identifier: MIT */
/*
 * Notifications of the worker threads for the event loop: a queue of any number of writers and one reader. An eventfd
 * wakes it.
 */
#ifndef COLLECTOR_SOURCES_NOTIFICATIONS_H
#define COLLECTOR_SOURCES_NOTIFICATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/sources/attach.h"
#include "collector/sources/session.h"

/* Owned by whoever holds it; freed with notification_free(). All of it was checked or read by the collector itself. */
struct notification {
    struct notification *next;
    uint32_t kind;               /* enum pinject_kind */
    uint32_t flags;              /* enum pinject_request_flags */
    pid_t pid, tid, ppid, parent_tid;
    uint64_t time_ns;            /* CLOCK_MONOTONIC of the request, clamped to the session */
    uint64_t answered_ns;        /* when the events ran */
    uint64_t startup_ns;
    uint64_t utime_ns, stime_ns, switches; /* REAPED */
    int status;                  /* REAPED */
    int result;                  /* 0 or -errno of attaching */
    int inherit_error; /* INHERIT_EXEC, ARM of a program that cannot be injected: 0 or -errno of its inherited set */
    bool attached_late;          /* it did not ask: attach_late.h */
    uint64_t known_ns;           /* attached late: it was there then, and who began later has its number; 0: any time */
    bool of_parent;              /* attached late: it was a child of ppid; who is not while that lives has its number */
    bool late;                   /* it asked, and went on before it had an answer */
    bool limited;                /* of another user than the collector's: it may tell of USER's processes alone */
    uid_t user;
    bool gone;                   /* the task had ended, and nobody could ask the kernel whose it was */
    int unchecked;               /* -errno: we could not ask, and open nothing for it; else 0 */
    bool inherited;              /* announced by an inherited set, and covered by it */
    uint64_t inherited_set;      /* of it: the inherited set's number */
    unsigned readings;           /* of it: READ records at its end */
    struct attached *events;     /* PROCESS, FORK, THREAD, ARM; NULL when refused */
    int pidfd;                   /* of pid for PROCESS, FORK, ARM, SPAWN; -1: none */
    struct attach_value *values; /* SNAPSHOT: config.count entries */
    char *maps;                  /* PROCESS: /proc/PID/maps, read while the task waited; NUL-terminated; or NULL */
    char *exec;                  /* PROCESS, GENERATION, INHERIT_EXEC: path of the executable, or NULL */
    char *cmdline;               /* PROCESS, GENERATION, INHERIT_EXEC: arguments, each NUL-terminated */
    size_t cmdline_size;
    char comm[16];               /* name of the task at that time, "": unknown */
    char program[16];            /* ARM: the name that it will have, "": unknown */
};

int notifications_init(struct notifications *notifications);
void notifications_release(struct notifications *notifications);
/* Takes NOTIFICATION over. Wakes the reader. Where there is no room, it is freed and counted. */
void notifications_put(struct notifications *notifications, struct notification *notification);
/* Bytes of what it carries. */
uint64_t notification_text(const struct notification *notification);
/* All there is, oldest first, linked by next, or NULL. Only the reader. Clears the eventfd. */
struct notification *notifications_take(struct notifications *notifications);
/*
 * Closes pidfd unless the reader took it over and set it to -1; never touches events, which the reader owns from
 * notifications_take() on.
 */
void notification_free(struct notification *notification);

#endif
