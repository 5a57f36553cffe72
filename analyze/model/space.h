/* SPDX-License-Identifier: MIT */
/*
 * The current mappings of one address space, while records are replayed in order of time. A forked process shares its
 * parent's mappings until one of the two changes them. There is no record of munmap: a newer mapping replaces what it
 * covers.
 */
#ifndef ANALYZE_MODEL_SPACE_H
#define ANALYZE_MODEL_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/read/arena.h"

struct mapping {
    uint64_t start, end; /* end: after the last byte */
    uint64_t pgoff;
    uint32_t module; /* index in the store */
};

struct mappings;

struct space {
    struct mappings *mappings; /* NULL: none */
    struct mappings *before;   /* of before the last exec: a system call in progress still has the registers of then */
    uint64_t state;            /* a new number after each change of the content */
};

/* Shared by all spaces of one file. */
struct space_limits {
    uint64_t *states;  /* last state number that was used */
    uint64_t mappings; /* how many more are allowed */
};

void space_release(struct space *space);
/* For an exec: drops all mappings. space_find() still finds the old ones where nothing new is mapped. */
void space_reset(struct space *space, struct space_limits *limits);
void space_share(struct space *child, const struct space *parent, struct space_limits *limits);
/*
 * Adds a mapping. 0; -ENOMEM; -ENOSPC: the limits are reached, and it is left out. An empty mapping is ignored.
 */
int space_map(struct space *space, struct space_limits *limits, const struct mapping *mapping);
/* A copy in ARENA, only for space_find(), never released; *BYTES grows by its size. NULL: out of memory. */
struct space *space_copy(const struct space *space, struct arena *arena, size_t *bytes);
/* The mapping of ADDRESS, or NULL. */
const struct mapping *space_find(const struct space *space, uint64_t address);
/* The last mapping that ends at or before ADDRESS, the first that starts after it; NULL: none. Not of before the last
 * exec. */
const struct mapping *space_below(const struct space *space, uint64_t address);
const struct mapping *space_above(const struct space *space, uint64_t address);

#endif
