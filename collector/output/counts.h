/* SPDX-License-Identifier: MIT */
/*
 * Counters of all tasks of a session, for what --stat prints. A task is in it once it has ended. Context: the event
 * loop's thread.
 */
#ifndef COLLECTOR_OUTPUT_COUNTS_H
#define COLLECTOR_OUTPUT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "collector/config/event_config.h"
#include "counts/count_print.h"

struct result_task;

/* Zeroed: not begun; then nothing is added. */
struct counts {
    struct count_store store;
    struct count_event events[2 * CONFIG_EVENTS]; /* those of the configuration, then those that the machine lacks */
    size_t event_count;
};

/* CONFIG has to live as long. BY: enum count_by. 0 or -ENOMEM; release it in either case. */
int counts_init(struct counts *counts, const struct event_config *config, int by);
void counts_release(struct counts *counts);
/* VALUES of a task since its start, with the times of which the figures of event sets are to be (event_sets.h). */
void counts_settle(const struct event_config *config, const struct attach_value *values, struct attach_value *ret);
/*
 * Adds what the events of TASK counted: VALUES, as counts_settle() made them, or of these the part that belongs to one
 * interval. They are of the whole task, also if TASK is only of one program that it ran. The value of task-clock also
 * gets the CPU time of the task before its events (STARTUP_NS) and after them.
 */
void counts_add(struct counts *counts, const struct event_config *config, const struct result_task *task,
                const struct attach_value *values, uint64_t startup_ns);

struct counts_run {
    uint64_t at_ns;      /* of an interval: its end, since the session's start; 0: these are the final counts */
    bool intervals;      /* there were intervals before */
    const char *command; /* as typed */
    uint64_t elapsed_ns; /* of the command */
    bool cpu_known;      /* tree has its CPU time */
    struct rusage tree;  /* zeroed: unknown. Includes some events from before ours were open */
};

/* Prints the counts. Where the kernel's accounting of the tree has more of an event, a comment says so. */
void counts_print(struct counts *counts, const struct event_config *config, const struct counts_run *run,
                  const struct count_style *style, FILE *to);

#endif
