/* SPDX-License-Identifier: MIT */
/*
 * Coverage accounting: missed tasks, by reason and name of command. Also untracked tasks: children that the
 * kernel announced (FORK records) that nobody asked events for.
 */
#ifndef COLLECTOR_TASKS_MISSED_H
#define COLLECTOR_TASKS_MISSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/output/result.h"
#include "collector/tasks/tids.h"

/*
 * Distinct lines; further ones are counted in a last line. Names of commands are the targets' words, and have a part of
 * the lines: beyond that the reason is counted without a name, so that names leave room for all reasons.
 */
enum { MISSED_LINES = 256, MISSED_NAMED = 192, MISSED_TABLE = 1024 };

/* An untracked task: the kernel announced it, and it did not ask. */
struct untracked_task {
    struct untracked_task *next;
    struct untracked_task *sibling, **sibling_at; /* of the same parent, or one with the same place in the table */
    pid_t pid, tid, parent;
    bool followed;               /* by the policy */
    bool expected;               /* missed_expected() told of it, and no FORK record yet */
    bool ended;                  /* its parent waited for it */
    unsigned char looks;         /* how often its name was looked up */
    unsigned char tries;         /* to give it events unasked */
    int error;                   /* -errno of the last one; 0: none failed */
    uint64_t time_ns;            /* of the announcement */
    uint64_t cpu_ns;
    char comm[16];               /* "": not known */
};

struct missed {
    struct result_missed *lines; /* strings owned */
    unsigned count, named;       /* lines; those with a name */
    uint64_t uncounted;          /* what there was no memory for */
    struct untracked_task *table[MISSED_TABLE];
    struct untracked_task *by_parent[MISSED_TABLE];
    size_t children;
    unsigned first, first_young; /* where in the table missed_untracked() begins */
    const uint32_t *dropped;     /* atomic, of the own channel: who found no slot to ask; NULL: no channel */
    struct tids requested;       /* asked before their announcement was read */
};

int missed_init(struct missed *missed);
void missed_release(struct missed *missed);
/* CPU_NS: 0 when unknown. Out of memory: in uncounted alone. */
void missed_add(struct missed *missed, const char *reason, const char *comm, uint64_t count, uint64_t cpu_ns);
/* Hands the lines over; they are the caller's afterwards. */
struct result_missed *missed_take(struct missed *missed, unsigned *ret_count);

/* A FORK record: process PARENT made TID of process PID. */
void missed_announced(struct missed *missed, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns, bool followed);
/* A child of vfork that will ask, or be found, after its exec; a FORK record may tell of it too, before or after. */
void missed_expected(struct missed *missed, pid_t parent, pid_t pid, uint64_t time_ns);
/* A request came for TID. */
void missed_requested(struct missed *missed, pid_t tid);
/* Did a request come for TID that no announcement followed? Asked once: the number may be another's next. */
bool missed_take_requested(struct missed *missed, pid_t tid);
/* The announced child PID that did not ask, or NULL. */
struct untracked_task *missed_find(const struct missed *missed, pid_t tid);
/* Did process PARENT make others that did not ask and that it was not seen to wait for? */
bool missed_has_untracked(const struct missed *missed, pid_t parent);
/* Whom missed_untracked() finds. */
struct missed_wanted {
    uint64_t before_ns;          /* announced before that */
    uint64_t patient_ns;         /* a process that was announced later: only if it has used BUSY_NS of CPU time */
    uint64_t busy_ns;
    unsigned tries; /* of whom missed_refused() was said less often */
};
/*
 * Copies into FOUND, at most SIZE of them, those to follow who have not asked, have not been waited for, and are
 * WANTED. How many. It begins at the last one of whom missed_tried() was said: who comes first is not always first.
 */
size_t missed_untracked(struct missed *missed, const struct missed_wanted *wanted, struct untracked_task *found,
                        size_t size);
void missed_tried(struct missed *missed, pid_t tid);
/* Events for TID could not be opened: ERROR, a -errno. */
void missed_refused(struct missed *missed, pid_t tid, int error);
/*
 * Looks up the names, while they still live, of those that did not ask and were announced before BEFORE_NS; of some of
 * them in each call, where they are many. By number: a name may be that of a later task that has it.
 */
void missed_look(struct missed *missed, uint64_t before_ns);
/* Counts untracked tasks that were announced before BEFORE_NS as missed. */
void missed_settle(struct missed *missed, uint64_t before_ns);

#endif
