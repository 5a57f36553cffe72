/* SPDX-License-Identifier: MIT */
/* What a thread waits for in its system call; private to pstack/. */
#ifndef PSTACK_BLOCKED_H
#define PSTACK_BLOCKED_H

#include "target.h"

/* An end of a pipe. */
struct blocked_end {
    uint64_t inode;
    bool writes;
    const struct target *target;
};

/* All processes of one answer. */
struct blocked {
    struct target *targets;
    size_t count;
    struct blocked_end *ends; /* owned; by inode, of all processes; where PIPES_READ */
    size_t end_count, end_capacity;
    bool pipes_read;
};

/* Sets waits, lock, holder and joins of the thread as far as that can be told. 0 or -ENOMEM. */
int blocked_describe(struct blocked *blocked, struct target *target, struct target_thread *thread);
void blocked_release(struct blocked *blocked);

#endif
