/* SPDX-License-Identifier: MIT */
#include "collector/tasks/inherited_counts.h"

#include "collector/system/procfs.h"
#include "collector/tasks/tasks.h"

bool tasks_inherited_counted(const struct task *task)
{
    return task->readings_seen && task->readings_seen >= task->readings;
}

void tasks_inherited_estimate(const struct tasks *tasks, struct task *task)
{
    if (tasks_inherited_counted(task) || tasks->clock < 0 || !task->values)
        return;
    struct attach_value *clock = &task->values[tasks->clock];
    const uint64_t all = task->readings_seen ? 0 : procfs_scheduled_ns(task->pid, task->key);
    const uint64_t before = task->counted_before ? task->counted_before[tasks->clock].value : 0;
    /* What an earlier entry of the table has, or its start-up. */
    const struct process *process = task->process;
    const uint64_t elsewhere = task->startup_ns + (task == process->leader ? process->main_clock_ns : 0);
    uint64_t used = all > elsewhere ? all - elsewhere : 0;
    if (before + task->sampled_ns > used)
        used = before + task->sampled_ns;
    if (used > clock->value)
        *clock = (struct attach_value){.value = used, .enabled_ns = used, .running_ns = used};
}
