/* SPDX-License-Identifier: MIT */
/* Sentences for the user in a task's file: what is missing there, or how it was made. */
#ifndef COLLECTOR_TASKS_NOTES_H
#define COLLECTOR_TASKS_NOTES_H

struct task;
struct tasks;

enum { NOTES = 8, NOTES_SIZE = 192 };

/* Zeroed: empty. LIST points into the structure: do not copy it. */
struct notes {
    const char *list[NOTES];
    char text[NOTES][NOTES_SIZE];
    unsigned count;
};

/* What does not fit is left out. */
void notes_add(struct notes *notes, const char *text);
/* Notes on TASK as it is now. */
void notes_make(struct notes *notes, const struct tasks *tasks, const struct task *task);
/* For the whole session, when all of its tasks are known: for how many a timer replaced the events. */
void notes_add_fallbacks(struct notes *notes, const struct tasks *tasks);

#endif
