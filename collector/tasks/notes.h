/* SPDX-License-Identifier: MIT */
/* Sentences for the user in the file of a task: what is missing there, or how it came about. */
#ifndef COLLECTOR_TASKS_NOTES_H
#define COLLECTOR_TASKS_NOTES_H

struct task;
struct tasks;

enum { NOTES = 8, NOTES_SIZE = 160 };

/* Zeroed: empty. LIST points into it: it cannot be copied. */
struct notes {
    const char *list[NOTES];
    char text[NOTES][NOTES_SIZE];
    unsigned count;
};

/* What does not fit is left out. */
void notes_add(struct notes *notes, const char *text);
/* Of TASK as it stands. */
void notes_make(struct notes *notes, const struct tasks *tasks, const struct task *task);
/* For the whole session, when all of its tasks are known: how many had a timer as fallback. */
void notes_add_fallbacks(struct notes *notes, const struct tasks *tasks);

#endif
