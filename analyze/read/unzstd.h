/* SPDX-License-Identifier: MIT */
/* PERF_RECORD_COMPRESSED: records of perf record -z, one zstd stream over all of them. */
#ifndef ANALYZE_READ_UNZSTD_H
#define ANALYZE_READ_UNZSTD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unzstd {
    void *stream;         /* NULL until it is needed */
    unsigned char *bytes; /* what came out and was not taken yet */
    size_t filled;
    size_t capacity;
    uint64_t taken, given; /* bytes in and out so far */
};

/* Whether this program was built with libzstd. */
bool unzstd_available(void);
void unzstd_release(struct unzstd *unzstd);

/*
 * Decompresses some of *INPUT[*SIZE] and moves both on; call until nothing is left and nothing more comes out. New
 * bytes are appended to unzstd->bytes[filled]. 1: came further; 0: nothing more to get; -EBADMSG: damaged; -E2BIG: it
 * grows beyond what records do, somebody wants to keep us busy; -ENOMEM; -ENOTSUP: built without libzstd.
 */
int unzstd_more(struct unzstd *unzstd, const unsigned char **input, size_t *size);
/* Drops the first DONE bytes. */
void unzstd_taken(struct unzstd *unzstd, size_t done);

#endif
