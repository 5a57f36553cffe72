/* SPDX-License-Identifier: MIT */
/*
 * Notifications of the worker threads for the event loop: a queue with any number of writers and one reader. An eventfd
 * wakes the reader.
 */
#ifndef COLLECTOR_SOURCES_NOTIFICATIONS_H
#define COLLECTOR_SOURCES_NOTIFICATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/sources/attach.h"
#include "collector/sources/session.h"

/* Owned by its holder; freed with notification_free(). The collector itself has checked or read all of it. */
struct notification {
    struct notification *next;
    uint32_t kind;  /* enum pinject_kind */
    uint32_t flags; /* enum pinject_request_flags */
    pid_t pid, tid, ppid, parent_tid;
    uint64_t time_ns;     /* CLOCK_MONOTONIC of the request, clamped to the session */
    uint64_t answered_ns; /* when the events ran */
    uint64_t startup_ns;
    uint64_t utime_ns, stime_ns, switches; /* REAPED */
    int status;                            /* REAPED */
    int result;                            /* 0 or -errno of attaching */
    int inherit_error;  /* INHERIT_EXEC, ARM of a non-injectable program: 0 or -errno of its inherited set */
    bool attached_late; /* it sent no request: attach_late.h */
    uint64_t known_ns;  /* attached late: it existed then; a later task has only its number; 0: any time */
    bool of_parent;     /* attached late: a child of ppid; while that lives, others only have its number */
    bool waited_before; /* attached late: it has waited for children, whose CPU time is in no account */
    bool late;          /* it sent a request, and went on before it had an answer */
    bool limited;       /* of another user than the collector's: it may only report USER's processes */
    uid_t user;
    bool gone;                   /* the task had ended, so the kernel could not be asked whose it was */
    int unchecked;               /* -errno: the kernel could not be asked, and we open nothing for it; else 0 */
    bool inherited;              /* announced by an inherited set, and covered by it */
    uint64_t inherited_set;      /* inherited: number of its inherited set */
    unsigned readings;           /* inherited: READ records at its end */
    struct attached *events;     /* PROCESS, FORK, THREAD, ARM; NULL when refused */
    int pidfd;                   /* of pid for PROCESS, FORK, ARM, SPAWN; -1: none */
    struct attach_value *values; /* SNAPSHOT: config.count entries */
    char *maps;                  /* PROCESS: /proc/PID/maps, read while the task waited; NUL-terminated; or NULL */
    char *exec;                  /* PROCESS, GENERATION, INHERIT_EXEC: path of the executable, or NULL */
    char *cmdline;               /* PROCESS, GENERATION, INHERIT_EXEC: arguments, each NUL-terminated */
    size_t cmdline_size;
    char comm[16];    /* name of the task at that time, "": unknown */
    char program[16]; /* ARM: its name after the exec, "": unknown */
};

int notifications_init(struct notifications *notifications);
void notifications_release(struct notifications *notifications);
/* Takes NOTIFICATION over. Wakes the reader. If there is no room, it is freed and counted. */
void notifications_put(struct notifications *notifications, struct notification *notification);
/* Bytes of the texts that it has. */
uint64_t notification_text(const struct notification *notification);
/* All there is, oldest first, linked by next, or NULL. Only the reader. Clears the eventfd. */
struct notification *notifications_take(struct notifications *notifications);
/*
 * Closes pidfd unless the reader took it over and set it to -1; never touches events, which the reader owns from
 * notifications_take() on.
 */
void notification_free(struct notification *notification);

#endif
