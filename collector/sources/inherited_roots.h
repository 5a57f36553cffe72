/* SPDX-License-Identifier: MIT */
/*
 * The ids of the events of inherited sets, by the sets' roots. The kernel may write them into samples of the root's own
 * events, which can be read after the set has ended. For inherited.c alone, under its lock.
 */
#ifndef COLLECTOR_SOURCES_INHERITED_ROOTS_H
#define COLLECTOR_SOURCES_INHERITED_ROOTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one set: the ids of its sampling events, of one CPU after the other. */
struct root_ids {
    struct root_ids *next;
    pid_t root; /* its number when the set was opened */
    size_t count;
    uint64_t ids[];
};

struct inherited_roots {
    struct root_ids *live;           /* in any order */
    struct root_ids *ended, **place; /* oldest first; where the next one comes */
    size_t ended_count;
};

void inherited_roots_init(struct inherited_roots *roots);
void inherited_roots_release(struct inherited_roots *roots);
/* COUNT ids of ROOT's set, to be filled in by the caller. NULL: out of memory. */
struct root_ids *inherited_roots_add(struct inherited_roots *roots, pid_t root, size_t count);
/* The set of IDS has ended. Those of the last 512 such sets are kept. */
void inherited_roots_end(struct inherited_roots *roots, struct root_ids *ids);
/* The place of ID among the ids of a set whose root is ROOT (0: of any); -1: it has none. */
int inherited_roots_find(const struct inherited_roots *roots, pid_t root, uint64_t id);

#endif
