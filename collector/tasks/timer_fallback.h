/* SPDX-License-Identifier: MIT */
/*
 * The timer back end: tasks that the preload object's timers sample, all of a session or some. Makes the records that
 * only the kernel writes otherwise. No record reports mappings and programs: /proc does, when a task comes and when a
 * sample is in no mapping (mappings.h). timer_records.h checks what the timers write.
 */
#ifndef COLLECTOR_TASKS_TIMER_FALLBACK_H
#define COLLECTOR_TASKS_TIMER_FALLBACK_H

struct notification;
struct task;
struct tasks;

/* Uses its ring, which it has from its first exec generation that can start a timer. */
void tasks_use_timer_ring(struct task *task);
/* A new exec generation, after its exec was noted: takes its mappings. */
void tasks_exec_timer(struct tasks *tasks, struct task *task, const struct notification *notification);
/* Looks whether its timer runs; and does so for the last time. */
void tasks_look_at_timer(const struct tasks *tasks, struct task *task);
void tasks_end_timer(struct tasks *tasks, struct task *task);

#endif
