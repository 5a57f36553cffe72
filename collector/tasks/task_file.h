/* SPDX-License-Identifier: MIT */
/* The result file of a task, from its first record to its last. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_TASK_FILE_H
#define COLLECTOR_TASKS_TASK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct process;
struct result_coverage;
struct task;
struct tasks;

/*
 * So many unwritten bytes are written at once, without waiting for the next sweep. At most so many wait for the name of
 * the file.
 */
enum { TASKS_PENDING_MAX = 1 << 20 };

/* May BYTES more be spent, in this second, on the address space of PROCESS? Then they are. */
bool tasks_may_tell(struct tasks *tasks, struct process *process, uint64_t bytes);
/* Puts one record into the task's file. */
void tasks_put_record(struct tasks *tasks, struct task *task, const void *record, size_t size);
/* Puts the records in BUFFER, one after the other, and frees it. */
void tasks_put_made(struct tasks *tasks, struct task *task, struct buffer *buffer);
/* Writes names and the mappings of its address space: what is at the start of a file. */
void tasks_introduce(struct tasks *tasks, struct task *task, uint64_t time_ns);
/* Modules are many: they are mapped only if a sample is in one. The kernel itself is in every file. */
void tasks_map_modules(struct tasks *tasks, struct task *task);
/* Starts the file for the task's current exec generation. */
void tasks_begin_file(struct tasks *tasks, struct task *task);
/* --exec-split-results: nothing named the program, and its file waits no longer. */
void tasks_name_file(struct tasks *tasks, struct task *task);
/* Ends the file of exec generation GENERATION_FIRST because the next one begins (--exec-split-results). */
void tasks_split_file(struct tasks *tasks, struct task *task, uint64_t end_ns);
void tasks_flush(struct tasks *tasks, struct task *task);
/* Writes the file of an ended task. */
void tasks_write_task(struct tasks *tasks, struct task *task, const struct result_coverage *coverage);
/* TASK has ended and is complete: tasks_write() writes it. */
void tasks_put_done(struct tasks *tasks, struct task *task);
/* Writes COUNT of the complete tasks. Creating files is slow; ends and notifications come first. */
void tasks_write(struct tasks *tasks, size_t count);

#endif
