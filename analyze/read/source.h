/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one input file. They are read by pread() and never mapped: a file that is truncated or rewritten
 * meanwhile can give wrong bytes, which are not trusted anyway, but no SIGBUS. Small files are read at once.
 */
#ifndef ANALYZE_READ_SOURCE_H
#define ANALYZE_READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/problem.h"

struct source {
    int fd;                 /* -1: memory */
    uint64_t size;          /* at the time of the open */
    uint64_t device, inode; /* identify the file; 0 for memory */
    uint64_t modified_ns;   /* CLOCK_REALTIME */
    bool whole;             /* window has the whole file: addresses stay valid until source_release() */
    size_t ahead;           /* bytes to read at once, at least */
    const unsigned char *window;
    unsigned char *owned; /* memory of the window; NULL after source_of_memory() */
    size_t capacity;
    uint64_t window_offset;
    size_t window_size;
};

/* Regular files only, and "-" (standard_input.h). 0, or -errno with the reason in PROBLEM. */
int source_open(struct source *source, const char *path, struct problem *problem);
/* BYTES stay the caller's and must stay valid until source_release(). */
void source_of_memory(struct source *source, const void *bytes, size_t size);
void source_release(struct source *source);

/*
 * SIZE bytes at OFFSET, valid until the next call. NULL: the file is too short, it cannot be read, or out of memory.
 */
const unsigned char *source_slow(struct source *source, uint64_t offset, size_t size);

static inline const unsigned char *source_at(struct source *source, uint64_t offset, size_t size)
{
    uint64_t in = offset - source->window_offset;
    if (offset >= source->window_offset && in <= source->window_size && size <= source->window_size - in)
        return source->window + in;
    return source_slow(source, offset, size);
}

#endif
