/* SPDX-License-Identifier: MIT */
/* Everything that one call of pstack_print() shows; private to pstack/. */
#ifndef PSTACK_ANSWER_H
#define PSTACK_ANSWER_H

#include <stdio.h>

#include "deadlock.h"
#include "target.h"

enum { ANSWER_REASON = 320 };

struct answer {
    struct target *targets;
    size_t count;
    struct deadlock *deadlocks;
    size_t deadlock_count;
    bool tree;
};

void answer_text(const struct answer *answer, FILE *to);
void answer_json(const struct answer *answer, FILE *to);
/* Why the stack of THREAD is missing or incomplete, and what helps; "": it is complete. */
void answer_reason(const struct target *target, const struct target_thread *thread, char ret[ANSWER_REASON]);
/* The word for STATE of /proc/PID/stat: "sleeping". */
const char *answer_state(char state);

#endif
