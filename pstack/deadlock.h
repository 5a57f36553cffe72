/* SPDX-License-Identifier: MIT */
/* Threads that wait for each other; private to pstack/. */
#ifndef PSTACK_DEADLOCK_H
#define PSTACK_DEADLOCK_H

#include "target.h"

/* Threads of one process, where each waits for the next one, and the last for the first. */
struct deadlock {
    const struct target *target;
    size_t *threads; /* owned; indices */
    size_t count;
};

/* Appends all deadlocks of TARGET to *RET[*RET_COUNT], each once. 0 or -ENOMEM. */
int deadlock_find(const struct target *target, struct deadlock **ret, size_t *ret_count);
void deadlock_release(struct deadlock *list, size_t count);

#endif
