/* SPDX-License-Identifier: MIT */
/* Tasks covered by an inherited set: only its rings report their life and their samples. */
#ifndef COLLECTOR_TASKS_INHERITED_TASKS_H
#define COLLECTOR_TASKS_INHERITED_TASKS_H

#include <stdbool.h>
#include <stdint.h>

struct task;
struct tasks;

/*
 * Takes everything that the inherited sets reported. Without ALL, leaves records that are so young that earlier ones
 * may still be on their way.
 */
void tasks_take_inherited(struct tasks *tasks, bool all);
/* Takes what they have reported from before BEFORE_NS, and does not wait for creators that are not known yet. */
void tasks_take_inherited_until(struct tasks *tasks, uint64_t before_ns);
/* For sweeps: has it ended, and its inherited set did not report that, or not all of it? */
bool tasks_inherited_gone(const struct tasks *tasks, struct task *task);

#endif
