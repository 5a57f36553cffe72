/* SPDX-License-Identifier: MIT */
/* Exec generations: which program a task runs when. */
#ifndef COLLECTOR_TASKS_GENERATIONS_H
#define COLLECTOR_TASKS_GENERATIONS_H

#include <stdbool.h>
#include <stdint.h>

struct exec_generation;
struct mapping;
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
/* PROGRAM, which it takes over, is that of GENERATION. NULL: unknown, nothing changes. */
void tasks_set_program(struct tasks *tasks, struct task *task, struct exec_generation *generation,
                       struct program *program);

#endif
