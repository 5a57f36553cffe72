/* SPDX-License-Identifier: MIT */
#include "analyze/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define PATIENCE_NS 1000000000u
#define INTERVAL_NS 200000000u

void progress_init(struct progress *progress)
{
    const char *kind = getenv("TERM");
    *progress = (struct progress){.terminal = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0};
    progress->start_ns = progress->last_ns = clock_ns(CLOCK_MONOTONIC);
}

void progress_tell(void *context, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    if (!progress->terminal || total == 0)
        return;
    uint64_t time = clock_ns(CLOCK_MONOTONIC);
    if (time - progress->start_ns < PATIENCE_NS || time - progress->last_ns < INTERVAL_NS)
        return;
    progress->last_ns = time;
    progress->shown = true;
    unsigned percent = done < total ? (unsigned)((double)done * 100 / (double)total) : 100;
    /* The cursor returns to the start, so that the next message overwrites the line. */
    fprintf(stderr, "panalyze: reading, %u %% of %llu MB\033[K\r", percent, (unsigned long long)(total / 1000000));
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown)
        fputs("\033[K", stderr);
    progress->shown = false;
}
