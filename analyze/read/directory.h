/* SPDX-License-Identifier: MIT */
/*
 * Directories that `perf record --threads` or `--kcore` writes: `data` is a perf.data file; each of `data.0`, `data.1`,
 * ... has the records of one recording thread, without a header.
 */
#ifndef ANALYZE_READ_DIRECTORY_H
#define ANALYZE_READ_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/read/source.h"

/* Whether PATH is such a directory: its `data` begins like a perf.data file, is empty, or may not be read. */
bool directory_is_perf(const char *path);

/* Opens `data`. Returns as source_open() does. */
int directory_open_data(struct source *ret_data, const char *path, struct problem *problem);

/*
 * Opens the non-empty parts in the order of their numbers. The caller releases *ret_parts, which is NULL when there
 * are none. 0, or -errno with the reason in PROBLEM.
 */
int directory_open_parts(struct source **ret_parts, uint32_t *ret_count, const char *path, struct problem *problem);
void directory_release_parts(struct source *parts, uint32_t count);

#endif
