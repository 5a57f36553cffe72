/* SPDX-License-Identifier: MIT */
#include "collector/tasks/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/tasks/tasks.h"

/* Being attached later than that is worth a note. */
enum { LATE_NS = 5 * 1000 * 1000 };

void notes_add(struct notes *notes, const char *text)
{
    if (notes->count == NOTES)
        return;
    snprintf(notes->text[notes->count], sizeof(notes->text[0]), "%s", text);
    notes->list[notes->count] = notes->text[notes->count];
    notes->count++;
}

static void note_no_timer(struct notes *notes, const struct task *task)
{
    char text[NOTES_SIZE];
    if (task->ring_error)
        snprintf(text, sizeof(text), "counted by the kernel, not sampled: the task's timer was refused (%s)",
                 strerror(-task->ring_error));
    else
        snprintf(text, sizeof(text),
                 "counted by the kernel, not sampled: no timer started in the task (static, setuid or very short?)");
    notes_add(notes, text);
}

/* A timer replaces this task's events. */
static void note_refusal(struct notes *notes, const struct tasks *tasks, const struct task *task)
{
    char text[NOTES_SIZE];
    const char *how = !task->timer_started                     ? "without events"
                      : attach_timer_event(tasks->config) >= 0 ? "sampled by a timer"
                      : tasks->config->sampling                ? "counted, not sampled (timers sample only task-clock)"
                                                               : "counted by the preload object";
    snprintf(text, sizeof(text),
             "%s: the kernel refused events (%s), because the task is not dumpable or belongs to another user", how,
             strerror(-task->refusal));
    notes_add(notes, text);
}

void notes_add_fallbacks(struct notes *notes, const struct tasks *tasks)
{
    char text[NOTES_SIZE];
    uint64_t count = tasks->timer_fallbacks - tasks->timer_fallbacks_counted;
    if (!count)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " tasks %s: the kernel refused their events (%s)", count,
             tasks->seen,
             tasks->config->sampling ? "were sampled by timers, user space only" : "were counted by the preload object",
             strerror(-tasks->refusal));
    notes_add(notes, text);
}

/* What is missing in the list of programs. */
static void note_programs(struct notes *notes, const struct task *task)
{
    char text[NOTES_SIZE];
    if (task->generations_more) {
        snprintf(text, sizeof(text), "%u more %s not in this file", task->generations_more,
                 task->generations_more == 1 ? "program that the task executed is"
                                             : "programs that the task executed are");
        notes_add(notes, text);
    }
    if (task->arguments_cut) {
        snprintf(text, sizeof(text),
                 "the arguments of %u %s that the task executed earlier are shortened: they were too long",
                 task->arguments_cut, task->arguments_cut == 1 ? "program" : "programs");
        notes_add(notes, text);
    }
}

void notes_make(struct notes *notes, const struct tasks *tasks, const struct task *task)
{
    char text[NOTES_SIZE];
    const struct exec_generation *generation = task->generation_count ? &task->generations[task->generation_count - 1]
                                                                      : NULL;
    const bool inherits = task->covers || (task->process && task->process->inherits);
    if (task->refusal)
        note_refusal(notes, tasks, task);
    if (task_is_by_timer(task) && !task->timer_started)
        note_no_timer(notes, task);
    else if (task->coverage == TASK_NOT_SAMPLED && !task_has_left(task) && inherits)
        notes_add(
            notes,
            "the task executed a program in which no timer runs (a static program?): inherited events sample this program instead, and the kernel's accounting says how much CPU time it used");
    else if (task->coverage == TASK_NOT_SAMPLED && !task_has_left(task))
        notes_add(notes,
                  "the task executed a program in which no timer runs (a static program?): only its CPU time is known");
    else if (task->coverage == TASK_BY_COUNTERS && tasks->config->sampling) {
        snprintf(text, sizeof(text), "counted but not sampled: no memory for the task's ring buffer (%s)",
                 strerror(-task->ring_error));
        notes_add(notes, text);
    }
    if (task->broken)
        notes_add(notes, "the task's ring buffer was damaged: later samples are missing");
    if (task->attached_late_ns > task->start_ns + LATE_NS)
        notes_add(notes, "task found late: for its start-up, only the CPU time is known");
    if (task->state.cause == TASK_CONTINUED)
        notes_add(
            notes,
            "the task executed an unreadable program, and the kernel closed its events: from then on timers sample "
            "the task, and these samples are in another file");
    else if (task->state.cause == TASK_REVOKED)
        notes_add(
            notes,
            "the task executed a setuid or unreadable program, and the kernel closed its events: from then on only its "
            "CPU time is known");
    if (task_has_left(task))
        notes_add(notes, "the task executed a program that is not followed (--follow=exec follows it)");
    note_programs(notes, task);
    const bool covered = inherits || task_is_inherited(task) || task_was_revoked(task);
    if (generation && !generation->named && !covered && generation->start_ns > task->start_ns &&
        task->kind != PINJECT_THREAD && !task_has_left(task))
        notes_add(notes,
                  "the preload object did not work in the program of this task (static, setuid or without access to "
                  "pinject's files?): its children and threads are not profiled");
}
