/* SPDX-License-Identifier: MIT */
/*
 * A task as its result file shows it: what tasks.h knows of it, in the terms of result.h. Context: the event loop's
 * thread.
 */
#ifndef COLLECTOR_TASKS_TASK_VIEW_H
#define COLLECTOR_TASKS_TASK_VIEW_H

#include "collector/output/result.h"
#include "collector/tasks/notes.h"
#include "collector/tasks/tasks.h"

/* TASK points into the rest and to what it was made of: do not copy it; it is invalid when that changes. */
struct task_view {
    struct result_task task;
    struct result_generation *generations;
    struct notes notes;
};

/*
 * END: one more than the last exec generation that is shown. NOW: the counts, config.count of them; NULL: unknown. Exec
 * generations for which there is no memory are left out.
 */
void task_view_init(const struct tasks *tasks, const struct task *task, unsigned end, const struct attach_value *now,
                    struct task_view *view);
/* No sampler covers it: it is counted, or only the kernel's accounting knows it. */
bool tasks_has_no_sampler(const struct tasks *tasks, const struct task *task);
void task_view_release(struct task_view *view);
/* After more notes were added. */
void task_view_show_notes(struct task_view *view);

#endif
