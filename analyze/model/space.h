/* SPDX-License-Identifier: MIT */
/*
 * What is mapped where in one address space, as of now: records are replayed in the order of time. A fork shares the
 * parent's mappings until one of the two changes them. There is no record of munmap: a newer mapping replaces what it
 * covers.
 */
#ifndef ANALYZE_MODEL_SPACE_H
#define ANALYZE_MODEL_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/read/arena.h"

struct mapping {
    uint64_t start, end; /* end is behind the last byte */
    uint64_t pgoff;
    uint32_t module;     /* of the store */
};

struct mappings;

struct space {
    struct mappings *mappings; /* NULL: none */
    struct mappings
        *before; /* until the last exec: a system call that is not over yet still has the registers of then */
    uint64_t state;            /* another number whenever the content is another one */
};

/* Of all spaces of one file. */
struct space_limits {
    uint64_t *states;          /* the last state number given out */
    uint64_t mappings;         /* how many more there may be */
};

void space_release(struct space *space);
/* An exec: nothing is mapped any more, but what was stays findable where nothing else is. */
void space_reset(struct space *space, struct space_limits *limits);
void space_share(struct space *child, const struct space *parent, struct space_limits *limits);
/*
 * 0; -ENOMEM; -ENOSPC when it would be more than the limits allow (it is left out then). An empty mapping is ignored.
 */
int space_map(struct space *space, struct space_limits *limits, const struct mapping *mapping);
/* As it is now, for space_find() alone, and never released; *BYTES grows by what it takes of ARENA. NULL: no memory. */
struct space *space_copy(const struct space *space, struct arena *arena, size_t *bytes);
/* The mapping of ADDRESS, or NULL. */
const struct mapping *space_find(const struct space *space, uint64_t address);

#endif
