/* SPDX-License-Identifier: MIT */
/*
 * A system-wide set (--sampler=cpu): one set of events for each CPU, which see all tasks of the machine. It stands for
 * the inherited set of the whole tree: its records are those of the tasks that descend from the command, and all others
 * are dropped. No event is opened on a task, so a switch of tasks and a new task cost nothing more than without it.
 *
 * What a task did is counted by the kernel's accounting (collector/system/accounting.h), which tells it when the task
 * ends. For inherited.c alone, under its lock.
 */
#ifndef COLLECTOR_SOURCES_SYSTEM_WIDE_H
#define COLLECTOR_SOURCES_SYSTEM_WIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/system/accounting.h"

struct inherited_record;
struct inherited_set;
struct inherited_sets;
struct perf_event_header;
struct system_wide;

/* NULL: *RET_STATUS is a -errno: the kernel does not tell its accounting, or out of memory. */
struct system_wide *system_wide_new(int *ret_status);
/* NULL is accepted. */
void system_wide_free(struct system_wide *wide);
/* TID, of another task's making, is in SET from now on. */
void system_wide_enter(struct inherited_sets *sets, struct inherited_set *set, pid_t tid);
/* Had a task of the tree the number TID, and has ended, and no task has the number since? */
bool system_wide_has_ended(const struct inherited_sets *sets, pid_t tid);
/*
 * The same for a task of process PID that was not made in the set. The first thread of the process may have ended: then
 * an exec gives its number to TID.
 */
void system_wide_adopt(struct inherited_sets *sets, struct inherited_set *set, pid_t pid, pid_t tid);
/* What the task of BEFORE had done then is not counted. 0 or -ENOMEM. */
int system_wide_set_before(struct system_wide *wide, const struct accounting_task *before);
/* What TID has done so far. 0 or -errno: -ESRCH. */
int system_wide_ask(struct system_wide *wide, pid_t tid, struct accounting_task *ret);
/* Is RECORD, which was just read, certainly of no task of the tree? */
bool system_wide_is_foreign(struct inherited_sets *sets, const struct perf_event_header *record);
/*
 * The event whose samples only count (cpu-migrations), which another session may count in the same way; -1: none. Is
 * RECORD, whose identifier is of that other session, a sample of it?
 */
int system_wide_find_count(const struct inherited_sets *sets);
bool system_wide_is_count(const struct inherited_sets *sets, const struct perf_event_header *record);
/*
 * Drops the records before BEFORE_NS that are of no task of the tree, and finds out who is in it. All records of that
 * time have been read: a task is announced, maybe in another ring, before it writes anything.
 */
void system_wide_decide(struct inherited_sets *sets, struct inherited_set *set, uint64_t before_ns);
/*
 * The records are taken: adds a READ record for each event after each EXIT record, as if the events had been inherited,
 * and takes those away that only count. LAST: nothing is taken after that; what lives gets its counts, too.
 */
struct inherited_record *system_wide_count(struct inherited_sets *sets, const struct inherited_set *set,
                                           struct inherited_record *first, bool last);
/*
 * Records were lost, and tasks may have been announced in them, or have ended: looks for those that are there. False:
 * not so soon again.
 */
bool system_wide_find_members(struct inherited_sets *sets, struct inherited_set *set);

#endif
