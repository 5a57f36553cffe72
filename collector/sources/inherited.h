/* SPDX-License-Identifier: MIT */
/*
 * Inherited sets: inherited events under a task whose program cannot be injected. Every thread and process that comes
 * from it has them too, for good, whatever it executes. One set per CPU, since the kernel maps no ring of an inherited
 * event that follows a task over all CPUs. Thread-safe.
 *
 * The task itself has events of its own (attach.h), which keeps the kernel from exchanging its events with those of its
 * children; what the inherited set says of it is left out.
 */
#ifndef COLLECTOR_SOURCES_INHERITED_H
#define COLLECTOR_SOURCES_INHERITED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/config/event_config.h"

struct session;
struct inherited_sets;

/* A record of an inherited set. Its identifier is that of inherited_ids(), whatever CPU it comes from. */
struct inherited_record {
    struct inherited_record *next;
    uint64_t time_ns;
    uint64_t order;              /* as it was read */
    uint64_t inherited_set;      /* number of its inherited set */
    pid_t pid, tid;              /* that wrote it */
    unsigned event;              /* of the event configuration */
    unsigned readings;           /* READ records that each task of its inherited set writes at its end */
    bool root;                   /* written by the task under which the inherited set was put */
    bool part; /* FORK of one that began while the inherited set was opened: its events are of some CPUs alone */
    _Alignas(8) unsigned char bytes[];
};

/* NULL: out of memory, reported. */
struct inherited_sets *inherited_new(struct session *session);
/* NULL is accepted. */
void inherited_free(struct inherited_sets *sets);
/* Becomes readable when records wait, or an inherited set has ended. Owned by SETS. */
int inherited_fd(const struct inherited_sets *sets);
/* Ids of the configured events in all records, config.count of them. Constant once an inherited set was opened. */
const uint64_t *inherited_ids(const struct inherited_sets *sets);
bool inherited_live(const struct inherited_sets *sets);

/* What the task below which an inherited set is put does meanwhile. */
enum inherit_root {
    INHERIT_RUNS,  /* it may make others, which have a part of the inherited set */
    INHERIT_WAITS, /* for the answer: what it makes, it makes afterwards */
    INHERIT_EXECS, /* the inherited set counts from inside its next execve on */
};
/*
 * Puts an inherited set under task TID of process PID. 0, also when TID is in an inherited set already, or where timers
 * sample; or -errno: -EMFILE, -EPERM, -ENOMEM (no memory for its rings, or there are as many as there may be), -ESRCH
 */
static inline int inherited_open(struct inherited_sets *sets, pid_t pid, pid_t tid, enum inherit_root root);
/* The same, of the process that PIDFD has; -1: unknown. -ESRCH when the numbers are another's. */
int inherited_open_of(struct inherited_sets *sets, pid_t pid, pid_t tid, int pidfd, enum inherit_root root);
static inline int inherited_open(struct inherited_sets *sets, pid_t pid, pid_t tid, enum inherit_root root)
{
    return inherited_open_of(sets, pid, tid, -1, root);
}
/*
 * Is TID alive and in an inherited set (but not at its root, nor in a part of one)? Exact: whoever asks for itself was
 * announced before.
 */
bool inherited_know(struct inherited_sets *sets, pid_t tid);
/*
 * The kernel loses records when a ring is full, of ends too: such a number stays in its inherited set, whoever has it
 * next. TID has ended, and no record told of it:
 */
void inherited_forget(struct inherited_sets *sets, pid_t tid);
/* CREATOR's own events tell that it made TID: that is in an inherited set only if CREATOR is. SETS may be NULL. */
void inherited_made_by(struct inherited_sets *sets, pid_t creator, pid_t tid);
/*
 * What was written before BEFORE_NS, by time, linked by next. Each is the caller's, to be freed with free(). What was
 * lost for want of room in a ring is added to *LOST, and what was read and not kept: of each inherited set as many
 * bytes of samples are kept as its rings have, 64 KiB for each at least, and of all records twice as many.
 */
struct inherited_record *inherited_take(struct inherited_sets *sets, uint64_t before_ns, uint64_t *lost);

#endif
