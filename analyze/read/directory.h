/* SPDX-License-Identifier: MIT */
/*
 * perf's directories, of `perf record --threads` or `--kcore`: `data` is a perf.data file, and `data.0`, `data.1`, ...
 * are the records of one recording thread each, without a header.
 */
#ifndef ANALYZE_READ_DIRECTORY_H
#define ANALYZE_READ_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/read/source.h"

/* Whether PATH is such a directory: one with a `data` that begins like a perf.data file, is empty, or
 * may not be read. */
bool directory_is_perf(const char *path);

/* Opens `data`. As source_open(). */
int directory_open_data(struct source *ret_data, const char *path, struct problem *problem);

/*
 * Opens the parts in the order of their numbers (empty ones are left out). *ret_parts is malloced, NULL when there are
 * none. 0, or -errno with the reason in PROBLEM.
 */
int directory_open_parts(struct source **ret_parts, uint32_t *ret_count, const char *path, struct problem *problem);
void directory_release_parts(struct source *parts, uint32_t count);

#endif
