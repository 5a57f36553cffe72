/* SPDX-License-Identifier: MIT */
/* Finds out what a thread waits for in its system call; private to pstack/. */
#ifndef PSTACK_BLOCKED_H
#define PSTACK_BLOCKED_H

#include "target.h"

/* An end of a pipe. */
struct blocked_end {
    uint64_t inode;
    bool writes;
    const struct target *target;
};

struct blocked_socket {
    uint64_t inode;
    char *text; /* owned: "TCP 127.0.0.1:80, listening" */
};

/* The sockets of a network namespace. */
struct blocked_net {
    uint64_t space;                 /* inode of /proc/PID/ns/net */
    struct blocked_socket *sockets; /* owned; by inode */
    size_t count, capacity;
};

/* All processes of one answer. */
struct blocked {
    struct target *targets;
    size_t count;
    struct blocked_end *ends; /* owned; by inode, of all processes; set if pipes_read */
    size_t end_count, end_capacity;
    bool pipes_read;
    struct blocked_net *nets; /* owned */
    size_t net_count;
};

/*
 * Marks the threads that wait for a futex; to be called before the first blocked_describe(), after all stacks are
 * named. Owners that are read later are valid for threads whose mark is still the same. 0 or -ENOMEM.
 */
int blocked_mark(struct blocked *blocked);
/* Has THREAD slept in the same call since it was marked? */
bool blocked_still(const struct target *target, const struct target_thread *thread);
/* Sets waits, limited, holder and joins of THREAD, as far as they can be found out. 0 or -ENOMEM. */
int blocked_describe(struct blocked *blocked, struct target *target, struct target_thread *thread);
void blocked_release(struct blocked *blocked);

#endif
