/* SPDX-License-Identifier: MIT */
/* From the kernel's ring to the records of a result file. */
#ifndef COLLECTOR_TASKS_DRAIN_H
#define COLLECTOR_TASKS_DRAIN_H

#include <stdbool.h>

struct perf_event_header;
struct process;
struct records_task;
struct task;
struct tasks;

/* What came of reading a ring. */
enum tasks_ring {
    TASKS_RING_DONE, /* nothing more is to be read now */
    TASKS_RING_MORE, /* the time of its process is over before the end of the ring */
    TASKS_RING_LEFT, /* the task went on to a program that is not followed: the caller ends it */
};

/* Has PROCESS time left, in this round, for its rings to be read? */
bool tasks_has_time(const struct tasks *tasks, struct process *process);
/* Reads the ring of TASK; tasks_drain() and its like also end the task. ALL: without a time limit. */
enum tasks_ring tasks_drain_ring(struct tasks *tasks, struct task *task, bool all);
/* Takes one record of the task. False: nothing that comes after it is wanted. */
bool tasks_take_record(struct tasks *tasks, struct task *task, const struct perf_event_header *record);
/* A sample that the kernel wrote; for a timer's task: by an inherited set. */
void tasks_take_sample(struct tasks *tasks, struct task *task, const struct perf_event_header *record);
/* Is the task of a FORK record to be followed? */
bool tasks_follows(const struct tasks *tasks, const struct records_task *made);

#endif
