/* SPDX-License-Identifier: MIT */
/* Decompresses the PERF_RECORD_COMPRESSED records of perf record -z: they are one zstd stream. */
#ifndef ANALYZE_READ_UNZSTD_H
#define ANALYZE_READ_UNZSTD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unzstd {
    void *stream;         /* NULL until it is needed */
    unsigned char *bytes; /* decompressed and not taken yet */
    size_t filled;
    size_t capacity;
    uint64_t taken, given; /* compressed and decompressed bytes so far */
};

/* Whether this program was built with libzstd. */
bool unzstd_available(void);
void unzstd_release(struct unzstd *unzstd);

/*
 * Decompresses some of *INPUT[*SIZE] and moves both on; to be called until it returns 0. New bytes are appended to
 * unzstd->bytes[filled]. 1: made progress; 0: nothing more comes; -EBADMSG: damaged; -E2BIG: grows more than records
 * can, so it is a decompression bomb; -ENOMEM; -ENOTSUP: built without libzstd.
 */
int unzstd_more(struct unzstd *unzstd, const unsigned char **input, size_t *size);
/* Drops the first DONE bytes. */
void unzstd_taken(struct unzstd *unzstd, size_t done);

#endif
