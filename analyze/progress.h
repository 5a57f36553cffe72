/* SPDX-License-Identifier: MIT */
/* A progress line on the terminal while large files are read. */
#ifndef ANALYZE_PROGRESS_H
#define ANALYZE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool terminal, shown;
    uint64_t start_ns, last_ns;
};

void progress_init(struct progress *progress);
/* A profile_progress. Prints nothing in the first second, and nothing if stderr is no terminal. */
void progress_tell(void *context, uint64_t done, uint64_t total);
/* Erases the line. */
void progress_end(struct progress *progress);

#endif
