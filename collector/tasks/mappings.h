/* SPDX-License-Identifier: MIT */
/* Mappings of processes: a new one goes to the files of all of their tasks. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_MAPPINGS_H
#define COLLECTOR_TASKS_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

struct mapping;
struct perf_event_header;
struct process;
struct task;
struct tasks;

/* Asks for the build ids of all that is mapped in PROCESS, while it is there. */
void tasks_expect_files(struct tasks *tasks, const struct process *process);
/*
 * The ring of TASK reports MAPPING, by a record of SIZE bytes: tells the files of the process' other tasks. True: it is
 * in the files of all threads already; for a library that is loaded and unloaded again and again.
 */
bool tasks_knows_mapping(struct tasks *tasks, const struct task *task, struct mapping *mapping, size_t size);
/*
 * Reads the mappings of PROCESS again, unless that was a moment ago or it has ended: true when it did. New ones go to
 * the files of its tasks.
 */
bool tasks_look_at_maps(struct tasks *tasks, struct process *process);
/* A sample is about to be written: updates the mappings if it is in none. */
void tasks_meet_timer_sample(struct tasks *tasks, const struct task *task, const struct perf_event_header *record);

/* Puts MAPPING, of data, into the address space of TASK's process. A file gets it when a sample needs it. */
void tasks_take_data(struct tasks *tasks, const struct task *task, struct mapping *mapping);
/* Has TASK samples whose addresses of data are in no mapping that is known? */
bool tasks_lacks_data(const struct task *task);
/* RECORD is a sample of TASK: if its address of data is in a mapping that its file has not got, the file gets that now. */
void tasks_tell_data(struct tasks *tasks, struct task *task, unsigned event, const struct perf_event_header *record);

#endif
