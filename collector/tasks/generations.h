/* SPDX-License-Identifier: MIT */
/* Exec generations: matches exec records of the ring with what the preload object reports. */
#ifndef COLLECTOR_TASKS_GENERATIONS_H
#define COLLECTOR_TASKS_GENERATIONS_H

#include <stdbool.h>
#include <stdint.h>

struct exec_generation;
struct mapping;
struct notification;
struct process;
struct program;
struct records_comm;
struct task;
struct tasks;

struct exec_generation *tasks_add_generation(struct task *task, uint64_t start_ns, const char *comm,
                                             struct program *program);
/* The exec record of TIME_NS was read. False: the task is not followed any further. */
bool tasks_exec(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm);
/* The first mapping after an exec is the executable. */
void tasks_guess_program(struct tasks *tasks, struct task *task, const struct mapping *mapping);
/* The program of PROCESS's next exec, which will not report itself. The exec may be in the ring, or read already. */
void tasks_program_announced(struct tasks *tasks, struct process *process, const struct notification *notification);
/* GENERATION notifications, after draining. */
void tasks_generation_notified(struct tasks *tasks, struct task *task, const struct notification *notification);
/* SNAPSHOT notifications. The exec may be in the ring already: no draining before. */
void tasks_snapshot_notified(struct tasks *tasks, struct task *task, struct notification *notification);
/* Reads /proc for the programs of exec generations that the preload object did not report. */
void tasks_look_for_programs(struct tasks *tasks, struct task *task);

#endif
