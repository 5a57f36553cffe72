/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one input file. Read by pread() into memory of our own, never mapped: a file that is truncated or
 * rewritten while we look at it can then give wrong bytes, which are distrusted anyway, but no SIGBUS. Small files are
 * read at once.
 */
#ifndef ANALYZE_READ_SOURCE_H
#define ANALYZE_READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/problem.h"

struct source {
    int fd;                      /* -1: memory */
    uint64_t size;               /* when it was opened */
    uint64_t device, inode;      /* who it is; 0 for memory */
    uint64_t modified_ns;        /* CLOCK_REALTIME */
    bool whole;                  /* everything is in window: addresses stay valid until source_release() */
    size_t ahead;                /* how much to read at once when more is wanted */
    const unsigned char *window;
    unsigned char *owned;        /* window's memory, NULL for a source_of_memory() */
    size_t capacity;
    uint64_t window_offset;
    size_t window_size;
};

/* Regular files only. 0, or -errno with the reason in PROBLEM. */
int source_open(struct source *source, const char *path, struct problem *problem);
/* BYTES stay the caller's and must live as long. */
void source_of_memory(struct source *source, const void *bytes, size_t size);
void source_release(struct source *source);

/*
 * SIZE bytes at OFFSET, valid until the next call; NULL when the file has fewer, or cannot be read, or memory is short.
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
