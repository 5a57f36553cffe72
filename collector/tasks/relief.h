/* SPDX-License-Identifier: MIT */
/*
 * --sampler=auto: each task has events of its own until these cost too much; then each CPU gets events, and the tasks
 * lose theirs (sources/system_wide.h). A task keeps its file, its counts and its state: from then on it is one that
 * inherited events cover.
 */
#ifndef COLLECTOR_TASKS_RELIEF_H
#define COLLECTOR_TASKS_RELIEF_H

#include <stdint.h>

struct task;
struct tasks;

/* In each round: do the events of the tasks cost too much? */
void tasks_watch_cost(struct tasks *tasks);
/* WAIT_MS, for which the loop would sleep at NOW_NS, or less if somebody has to look at the costs sooner. */
int tasks_cost_wait(const struct tasks *tasks, uint64_t now_ns, int wait_ms);
/* TASK has just come, with events of its own that were opened before there was a system-wide set: it loses them. */
void tasks_relieve(struct tasks *tasks, struct task *task);

#endif
