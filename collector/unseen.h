/* SPDX-License-Identifier: MIT */
/*
 * The ledger of what could not be seen: reasons with the names of commands and how often. Also which children the
 * kernel announced (FORK records) that nobody asked events for.
 */
#ifndef COLLECTOR_UNSEEN_H
#define COLLECTOR_UNSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/result.h"
#include "collector/tids.h"

/*
 * Distinct lines; further ones are counted in a last line. Names of commands are the targets' words, and have a part of
 * the lines: beyond that the reason is counted without a name, so that names leave room for all reasons.
 */
enum { UNSEEN_LINES = 256, UNSEEN_NAMED = 192, UNSEEN_TABLE = 1024 };

/* A task that the kernel announced and that did not ask. */
struct unseen_child {
    struct unseen_child *next;
    struct unseen_child *sibling, **sibling_at; /* of the same parent, or one with the same place in the table */
    pid_t pid, tid, parent;
    bool followed;               /* by the policy */
    bool expected;               /* unseen_expected() told of it, and no FORK record yet */
    bool ended;                  /* its parent waited for it */
    unsigned char looks;         /* how often its name was looked up */
    unsigned char tries;         /* to give it events unasked */
    int error;                   /* -errno of the last one; 0: none failed */
    uint64_t time_ns;            /* of the announcement */
    uint64_t cpu_ns;
    char comm[16];               /* "": not known */
};

struct unseen {
    struct result_unseen *lines; /* strings owned */
    unsigned count, named;       /* lines; those with a name */
    uint64_t uncounted;          /* what there was no memory for */
    struct unseen_child *table[UNSEEN_TABLE];
    struct unseen_child *by_parent[UNSEEN_TABLE];
    size_t children;
    unsigned first, first_young; /* where in the table unseen_strangers() begins */
    const uint32_t *dropped;     /* atomic, of the own channel: who found no slot to ask; NULL: no channel */
    struct tids arrived;         /* asked before their announcement was read */
};

int unseen_init(struct unseen *unseen);
void unseen_release(struct unseen *unseen);
/* CPU_NS: 0 when unknown. Out of memory: in uncounted alone. */
void unseen_add(struct unseen *unseen, const char *reason, const char *comm, uint64_t count, uint64_t cpu_ns);
/* Hands the lines over; they are the caller's afterwards. */
struct result_unseen *unseen_take(struct unseen *unseen, unsigned *ret_count);

/* A FORK record: process PARENT made TID of process PID. */
void unseen_announced(struct unseen *unseen, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns, bool followed);
/* A child of vfork that will ask, or be found, after its exec; a FORK record may tell of it too, before or after. */
void unseen_expected(struct unseen *unseen, pid_t parent, pid_t pid, uint64_t time_ns);
/* A request came for TID. */
void unseen_arrived(struct unseen *unseen, pid_t tid);
/* Did a request come for TID that no announcement followed? Asked once: the number may be another's next. */
bool unseen_take_arrived(struct unseen *unseen, pid_t tid);
/* The announced child PID that did not ask, or NULL. */
struct unseen_child *unseen_find(const struct unseen *unseen, pid_t tid);
/* Did process PARENT make others that did not ask and that it was not seen to wait for? */
bool unseen_has_strangers(const struct unseen *unseen, pid_t parent);
/* Whom unseen_strangers() finds. */
struct unseen_wanted {
    uint64_t before_ns;          /* announced before that */
    uint64_t patient_ns;         /* a process that was announced later: only if it has used BUSY_NS of CPU time */
    uint64_t busy_ns;
    unsigned tries;              /* of whom unseen_refused() was said less often */
};
/*
 * Copies into FOUND, at most SIZE of them, those to follow who have not asked, have not been waited for, and are
 * WANTED. How many. It begins at the last one of whom unseen_tried() was said: who comes first is not always first.
 */
size_t unseen_strangers(struct unseen *unseen, const struct unseen_wanted *wanted, struct unseen_child *found,
                        size_t size);
void unseen_tried(struct unseen *unseen, pid_t tid);
/* Events for TID could not be opened: ERROR, a -errno. */
void unseen_refused(struct unseen *unseen, pid_t tid, int error);
/*
 * Looks up the names, while they still live, of those that did not ask and were announced before BEFORE_NS; of some of
 * them in each call, where they are many. By number: a name may be that of a later task that has it.
 */
void unseen_look(struct unseen *unseen, uint64_t before_ns);
/* Puts those that never came into the ledger: all announced before BEFORE_NS. */
void unseen_settle(struct unseen *unseen, uint64_t before_ns);

#endif
