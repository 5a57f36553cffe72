/* SPDX-License-Identifier: MIT */
/* Programs: matches exec records of the ring with what the preload object reports, or /proc shows. */
#ifndef COLLECTOR_TASKS_PROGRAMS_H
#define COLLECTOR_TASKS_PROGRAMS_H

struct notification;
struct process;
struct task;
struct tasks;

/* The program of PROCESS's next exec, which will not report itself. The exec may be in the ring, or read already. */
void tasks_program_announced(struct tasks *tasks, struct process *process, const struct notification *notification);
/* GENERATION notifications, after draining. */
void tasks_generation_notified(struct tasks *tasks, struct task *task, const struct notification *notification);
/* If timers sample the task: NOTIFICATION may report an exec of a program without a timer. */
void tasks_leave_timer(struct tasks *tasks, struct notification *notification);
/* SNAPSHOT notifications. The exec may be in the ring already: no draining before. */
void tasks_snapshot_notified(struct tasks *tasks, struct task *task, struct notification *notification);
/* Reads /proc for the programs of exec generations that the preload object did not report. */
void tasks_look_for_programs(struct tasks *tasks, struct task *task);

#endif
