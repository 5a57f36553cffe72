/* SPDX-License-Identifier: MIT */
/*
 * Reads files that targets have mapped, in a process of its own. Targets choose where such a file is: the server of a
 * file system in user space, or of a network, may never answer. A task that opens or reads the file then hangs, and not
 * even SIGKILL ends that; a thread that hangs so keeps its process from ending. So the helper is a process, and one
 * that hangs is left behind and counted.
 *
 * Questions are answered in order, except those after one that takes long: after OPENER_SLOW_NS another helper goes on
 * with them, after OPENER_HUNG_NS the slow one is given up. The time that a helper waits for a CPU does not count, the
 * time that it computes does. A user's processes may make OPENER_SHARE helpers hang; then their files are not read any
 * more.
 *
 * Context: one thread at a time. Only opener_settle() waits.
 */
#ifndef COLLECTOR_SYSTEM_OPENER_H
#define COLLECTOR_SYSTEM_OPENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/system/opener_serve.h"

#define OPENER_SLOW_NS UINT64_C(100000000)
#define OPENER_HUNG_NS UINT64_C(2000000000)
enum {
    OPENER_HELPERS = 8,                    /* at the same time, those that hang included */
    OPENER_SHARE = 2,                      /* of them, for the processes of one user */
    OPENER_QUEUE = 4096,                   /* questions that wait for an answer; further ones are refused */
    OPENER_QUEUE_SHARE = OPENER_QUEUE / 4, /* of them, for the processes of one user */
    OPENER_LOCAL = 1024, /* answered without a helper, and not handed over yet; further ones go to the queue */
};

/* Takes the answer to question TICKET. */
typedef void opener_done(void *context, uint64_t ticket, const struct opener_answer *answer);

/* The results of all questions. */
struct opener_counts {
    uint64_t asked;
    uint64_t hung;      /* given up */
    uint64_t refused;   /* not even asked: too many at a time, of their user or of all, or the user's share hangs */
    uint64_t failed;    /* there was no helper, or it ended */
    uint64_t forgotten; /* build ids: see opener_forgot() */
};

struct opener;

/* No process is started before one is needed. NULL: no memory. */
struct opener *opener_new(void);
/* DONE is not called for questions without an answer. Helpers that hang are left behind. NULL is accepted. */
void opener_free(struct opener *opener);
/*
 * Asks. Returns the ticket, for which one of the functions below calls DONE. 0: refused, and DONE is not called. FILE's
 * path is copied.
 */
uint64_t opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file, opener_done *done,
                    void *context);
/* Hands over the answers that have come, and gives up what hangs. */
void opener_take(struct opener *opener);
/*
 * Waits for the answer to TICKET as long as its user has patience, which a slow file uses up for all of his files: a
 * fifth of a second at once, a fiftieth of the time in the long run. Returns whether it came.
 */
bool opener_settle(struct opener *opener, uint64_t ticket);
struct opener_counts opener_counts(const struct opener *opener);
/* The caller has forgotten COUNT build ids, since there were too many. */
void opener_forgot(struct opener *opener, uint64_t count);
/* CPU time of the helpers. */
uint64_t opener_cpu_ns(const struct opener *opener);

/* For tests: who opens, instead of mapped_file_open(). Before the first question. */
void opener_replace(struct opener *opener, opener_open *open);

#endif
