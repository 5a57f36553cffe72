/* SPDX-License-Identifier: MIT */
/*
 * --repeat: the same command several times, each run in a process of its own with result files of its own. What a run
 * counted comes back through shared memory; the mean and the spread of all complete runs are printed.
 */
#ifndef COLLECTOR_REPEAT_H
#define COLLECTOR_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/config/event_config.h"
#include "collector/config/settings.h"
#include "collector/outcome.h"

struct repeat_event {
    char name[64];
    char unit[EVENT_UNIT];
    double scale; /* 0: none */
    bool nanoseconds, unsupported;
    unsigned set;
    uint32_t type;
    uint64_t config;
    struct count_cell cell;
};

/* What one run counted. */
struct repeat_result {
    bool complete; /* the command ended, and not by a signal */
    size_t event_count;
    struct repeat_event events[2 * CONFIG_EVENTS];
    struct count_times times;
    uint64_t tasks;
    bool whole_tree; /* they were counted together */
};

/* Fills RET with what OUTCOME has. Context: the process of the run. */
void repeat_fill(struct repeat_result *ret, const struct outcome *outcome);
/* Runs settings->repeat times; RUN makes run NUMBER (1 ...) in the child, and returns its exit status. The same. */
int repeat_runs(struct settings *settings, int (*run)(void *context, unsigned number, struct repeat_result *ret),
                void *context);

#endif
