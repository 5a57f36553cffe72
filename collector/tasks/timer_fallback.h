/* SPDX-License-Identifier: MIT */
/*
 * The timer back end: tasks that the preload object's timers sample, all of a session or some. Checks the records that
 * they write, and makes those that only the kernel writes otherwise. No record reports mappings and programs: /proc
 * does, when a task comes and when a sample is in no mapping.
 */
#ifndef COLLECTOR_TASKS_TIMER_FALLBACK_H
#define COLLECTOR_TASKS_TIMER_FALLBACK_H

#include <stdbool.h>

struct notification;
struct perf_event_header;
struct process;
struct task;
struct tasks;

/* Is RECORD, of a ring that the target fills, valid? What it says of itself is replaced by what we know. */
bool tasks_check_timer_record(const struct tasks *tasks, const struct task *task, void *record);
/* A sample is about to be written: updates the mappings if it is in none. */
void tasks_meet_timer_sample(struct tasks *tasks, const struct task *task, const struct perf_event_header *record);
/*
 * Reads the mappings of PROCESS again, unless that was a moment ago or it has ended: true when it did. New ones go to
 * the files of its tasks.
 */
bool tasks_look_at_maps(struct tasks *tasks, struct process *process);
/* Uses its ring, which it has from its first exec generation that can start a timer. */
void tasks_use_timer_ring(struct task *task);
/* If timers sample the task: NOTIFICATION may report an exec of a program without a timer. */
void tasks_leave_timer(struct tasks *tasks, struct notification *notification);
/* A new exec generation, after its exec was noted: takes its mappings. */
void tasks_exec_timer(struct tasks *tasks, struct task *task, const struct notification *notification);
/* Looks whether its timer runs; and does so for the last time. */
void tasks_look_at_timer(const struct tasks *tasks, struct task *task);
void tasks_end_timer(struct tasks *tasks, struct task *task);

#endif
