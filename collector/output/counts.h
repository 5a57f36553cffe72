/* SPDX-License-Identifier: MIT */
/* Counters of all tasks of a session, added up for the closing lines of --stat. */
#ifndef COLLECTOR_OUTPUT_COUNTS_H
#define COLLECTOR_OUTPUT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "collector/config/event_config.h"
#include "common/buffer.h"

struct result_task;

/* Zeroed: nothing was counted. */
struct counts {
    struct {
        uint64_t value; /* scaled if the event was not always counted; nanoseconds of clocks */
        bool known;     /* a task counted it */
        bool estimate;
    } events[CONFIG_EVENTS];
};

/* Adds what the events of TASK, which has ended, counted; for task-clock also the CPU time before and after them. */
void counts_add(struct counts *counts, const struct event_config *config, const struct result_task *task);
struct counts_run {
    uint64_t cpu_ns;     /* of the tree; 0: unknown, and no rates are printed */
    uint64_t elapsed_ns; /* of the command */
    struct rusage tree;  /* zeroed: unknown. Includes some events from before ours were open */
};

/* Passes the lines "   12,345  page-faults   20.7 K/s of CPU time" to SAY, one for each event of CONFIG, and one for
 * each that the machine does not have. */
void counts_say(const struct counts *counts, const struct event_config *config, const struct counts_run *run,
                void (*say)(struct buffer *line));

#endif
