/* SPDX-License-Identifier: MIT */
#include "collector/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/tasks.h"

/* Found later than that is worth a note. */
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
        snprintf(text, sizeof(text), "counted by the kernel, not sampled: its timer was refused (%s)",
                 strerror(-task->ring_error));
    else
        snprintf(text, sizeof(text), "counted by the kernel, not sampled: no timer started in it (static, setuid or "
                 "very short?)");
    notes_add(notes, text);
}

/* A timer stands in for the events of this one. */
static void note_refusal(struct notes *notes, const struct tasks *tasks, const struct task *task)
{
    char text[NOTES_SIZE];
    const char *how = !task->timer_started                  ? "without events"
                      : attach_timer_event(tasks->plan) >= 0 ? "sampled by a timer"
                      : tasks->plan->sampling                ? "counted, not sampled (timers sample only task-clock)"
                                                             : "counted by the object";
    snprintf(text, sizeof(text), "%s: the kernel refused its events (%s): not dumpable, or another user's", how,
             strerror(-task->refusal));
    notes_add(notes, text);
}

void notes_add_stand_ins(struct notes *notes, const struct tasks *tasks)
{
    char text[NOTES_SIZE];
    uint64_t count = tasks->stood_in - tasks->stood_in_counted;
    if (!count)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " tasks %s: the kernel refused their events (%s)", count,
             tasks->seen,
             tasks->plan->sampling ? "were sampled by timers, user space only" : "were counted by the object",
             strerror(-tasks->refusal));
    notes_add(notes, text);
}

/* What the list of programs lacks. */
static void note_programs(struct notes *notes, const struct task *task)
{
    char text[NOTES_SIZE];
    if (task->images_more) {
        snprintf(text, sizeof(text), "executed programs that are not listed: %u", task->images_more);
        notes_add(notes, text);
    }
    if (task->arguments_cut) {
        snprintf(text, sizeof(text), "the arguments of %u earlier %s were too long and are cut", task->arguments_cut,
                 task->arguments_cut == 1 ? "program" : "programs");
        notes_add(notes, text);
    }
}

void notes_make(struct notes *notes, const struct tasks *tasks, const struct task *task)
{
    char text[NOTES_SIZE];
    const struct image *image = task->image_count ? &task->images[task->image_count - 1] : NULL;
    const bool net = task->covers || (task->process && task->process->net);
    if (task->refusal)
        note_refusal(notes, tasks, task);
    if (task->timed && !task->timer_started)
        note_no_timer(notes, task);
    else if (task->silent && !task->left && net)
        notes_add(notes, "executed a program without a timer (static?): sampled with inherited events, its CPU time "
                         "counted by the kernel");
    else if (task->silent && !task->left)
        notes_add(notes, "executed a program without a timer (static?): only its CPU time is known");
    else if (task->counted_only && !task->timed && tasks->plan->sampling) {
        snprintf(text, sizeof(text), "counted but not sampled: no memory for its ring buffer (%s)",
                 strerror(-task->ring_error));
        notes_add(notes, text);
    }
    if (task->broken)
        notes_add(notes, "its ring buffer was damaged: later samples are missing");
    if (task->found_ns > task->start_ns + LATE_NS)
        notes_add(notes, "found late: start-up counted but not sampled");
    if (task->goes_on)
        notes_add(notes, "executed a program that its user may not read: the kernel closed its events, and timers "
                         "continue it in another file");
    else if (task->revoked)
        notes_add(notes, "executed a setuid or unreadable program: the kernel closed its events, and only its CPU time "
                         "is known from then on");
    if (task->left)
        notes_add(notes, "executed a program that is not followed (--follow=exec follows it)");
    note_programs(notes, task);
    const bool covered = net || task->netted || task->revoked;
    if (image && !image->named && !covered && image->start_ns > task->start_ns && task->kind != PINJECT_THREAD &&
        !task->left)
        notes_add(notes, "its program did not load the object (static, setuid or without access to the session?): its "
                         "children and threads are not profiled");
}
