/* SPDX-License-Identifier: MIT */
/*
 * --print-interval: what each task counted since the last round. They go to the files of the tasks as well, as READ
 * records. Context: the event loop's thread.
 */
#ifndef COLLECTOR_TASKS_INTERVALS_H
#define COLLECTOR_TASKS_INTERVALS_H

#include <stdint.h>

struct result_task;
struct task;
struct tasks;

/* A round at TIME_NS: adds to tasks->interval what all tasks counted since the last one. */
void tasks_read_interval(struct tasks *tasks, uint64_t time_ns);
/* The file of TASK is about to be finished: adds what is left, so that the sum of all rounds is what VIEW says. */
void tasks_end_intervals(struct tasks *tasks, struct task *task, const struct result_task *view);

#endif
