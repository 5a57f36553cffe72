/* SPDX-License-Identifier: MIT */
/* How far the reading of large files is: one line on a terminal, which goes away again. */
#ifndef ANALYZE_PROGRESS_H
#define ANALYZE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool terminal, shown;
    uint64_t start_ns, last_ns;
};

void progress_init(struct progress *progress);
/* A profile_progress: says nothing in the first second, nor where stderr is no terminal. */
void progress_tell(void *context, uint64_t done, uint64_t total);
/* Takes the line away. */
void progress_end(struct progress *progress);

#endif
