/* SPDX-License-Identifier: MIT */
/*
 * Inherited events under the task of a non-injectable program. An inherited set is one set of events per CPU; all
 * descendants of the task have it for good, whatever they execute. One set per CPU, since the kernel maps no ring of an
 * inherited event that follows a task over all CPUs. Thread-safe.
 *
 * The task itself, the root of the set, has events of its own (attach.h), which keeps the kernel from swapping its
 * events with its children's. What the set records about the root is dropped.
 */
#ifndef COLLECTOR_SOURCES_INHERITED_H
#define COLLECTOR_SOURCES_INHERITED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/config/event_config.h"
#include "collector/sources/inherited_records.h"

struct accounting_task;
struct session;
struct inherited_sets;

/* NULL: out of memory, reported. */
struct inherited_sets *inherited_new(struct session *session);
/* NULL is accepted. */
void inherited_free(struct inherited_sets *sets);
/* Becomes readable when there are records, or a task or a set has ended. Owned by SETS. */
int inherited_fd(const struct inherited_sets *sets);
/* Is a ring of them more than half full? */
bool inherited_are_filling(struct inherited_sets *sets);
/* Ids of the configured events in all records, config.count of them. Constant once an inherited set was opened. */
const uint64_t *inherited_ids(const struct inherited_sets *sets);
bool inherited_live(const struct inherited_sets *sets);
/* Do all tasks, or all new ones, have their events here, and none of their own? */
bool inherited_are_for_all(const struct inherited_sets *sets);
/*
 * The configured event that has ID, on any CPU, in a set that was opened under task ROOT (0: any): a live set, or one
 * that ended lately. -1: none. Only where several events sample. SETS may be NULL.
 */
int inherited_event_of_root(struct inherited_sets *sets, pid_t root, uint64_t id);
/*
 * inherited_turn.c: with event sets (event_sets.h), enables the next one in all inherited sets, and disables the
 * present one: for each CPU by calls that the kernel passes on to all tasks of the set.
 */
void inherited_turn(struct inherited_sets *sets);

/* What the root of a new set does meanwhile. */
enum inherit_root {
    INHERIT_RUNS,  /* it may make tasks, which get a part of the set */
    INHERIT_WAITS, /* for the answer: it makes tasks afterwards */
    INHERIT_EXECS, /* the set counts from inside its next execve on */
};
/*
 * Puts an inherited set under task TID of process PID. 0, also if TID is in a set already, or if timers sample; or
 * -errno: -EMFILE, -EPERM, -ENOMEM (no memory for its rings, or as many as allowed), -ESRCH
 */
static inline int inherited_open(struct inherited_sets *sets, pid_t pid, pid_t tid, enum inherit_root root);
/* The same for the process of PIDFD; -1: unknown. -ESRCH if another process has the numbers. */
int inherited_open_of(struct inherited_sets *sets, pid_t pid, pid_t tid, int pidfd, enum inherit_root root);
static inline int inherited_open(struct inherited_sets *sets, pid_t pid, pid_t tid, enum inherit_root root)
{
    return inherited_open_of(sets, pid, tid, -1, root);
}
/*
 * The root of the newest set has made TID, and ends: TID and all its descendants are in the set, which has no root any
 * more. Returns the number of the set, and *RET_READINGS as in struct inherited_record.
 */
uint64_t inherited_hand_over(struct inherited_sets *sets, pid_t tid, unsigned *ret_readings);
/*
 * Opens a system-wide set (system_wide.h), which no task is in yet: session.system_wide_set. It has the records since
 * *RET_SINCE_NS, when the events of all CPUs were open. 0 or -errno: -EPERM, -EACCES, -EMFILE, -ENOMEM, -EINVAL (not in
 * the first pid namespace) ...
 */
int inherited_open_system_wide(struct inherited_sets *sets, uint64_t *ret_since_ns);
/* TID of process PID, and what it makes, are in the system-wide set from now on. Returns the READ records that TID brings at its end; 0: it
 has ended. */
unsigned inherited_adopt(struct inherited_sets *sets, pid_t pid, pid_t tid);
/*
 * Closes all sets but the system-wide one, which takes over their tasks: those that there were when it was opened. The
 * records from before that have been taken. What tasks of them that have ended counted is still to be taken.
 */
void inherited_close_others(struct inherited_sets *sets);
/*
 * TID, which was adopted, counts from now on; but of its CPU time, all beyond the first BEYOND_NS is counted
 * (INHERITED_FROM_NOW: what it uses from now on). 0 or -errno, -ESRCH: it has ended; then it is in no set any more.
 */
#define INHERITED_FROM_NOW UINT64_MAX
int inherited_count_from_now(struct inherited_sets *sets, pid_t tid, uint64_t beyond_ns);
/* What the command has used before its exec: with a system-wide set, it is not counted. Before any is taken. */
void inherited_set_before(struct inherited_sets *sets, const struct accounting_task *before);
/*
 * Is TID alive and covered by inheritance (not a root, not in part of a set)? Exact: a task is announced before it can
 * send a request.
 */
bool inherited_know(struct inherited_sets *sets, pid_t tid);
/* Does process PID have the root of a live set, or did it? SETS may be NULL. */
bool inherited_is_root(struct inherited_sets *sets, pid_t pid);
/*
 * TID has ended, and no record reported that. The kernel loses records, of ends too, when a ring is full: without this
 * call the number would stay in its set, whichever task has it next.
 */
void inherited_forget(struct inherited_sets *sets, pid_t tid);
/* CREATOR made TID, by CREATOR's own events: TID is in a set only if CREATOR is. SETS may be NULL. */
void inherited_made_by(struct inherited_sets *sets, pid_t creator, pid_t tid);
/*
 * Takes the records written before BEFORE_NS, by time, linked by next. The caller frees each with free(). Adds to *LOST
 * what was lost because a ring was full, and what was read and not kept: each set keeps as many bytes of samples as its
 * rings have, at least 64 KiB for each, and twice as many of all records.
 */
struct inherited_record *inherited_take(struct inherited_sets *sets, uint64_t before_ns, uint64_t *lost);

#endif
