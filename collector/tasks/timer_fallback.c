/* SPDX-License-Identifier: MIT */
#include "collector/tasks/timer_fallback.h"

#include <errno.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/sources/rings.h"
#include "collector/tasks/generations.h"
#include "collector/tasks/mappings.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

void tasks_use_timer_ring(struct task *task)
{
    const struct attached *events = task->events;
    void *ring = attach_ring(events);
    if (ring && !task->ring.page)
        pinject_ring_init(&task->ring, ring, (const unsigned char *)ring + PINJECT_RING_DATA, events->ring_size);
}

void tasks_exec_timer(struct tasks *tasks, struct task *task, const struct notification *notification)
{
    struct process *process = task->process;
    struct buffer buffer = BUFFER_INIT;
    uint64_t time_ns = notification->time_ns;
    tasks_use_timer_ring(task);
    task->coverage = TASK_BY_TIMER;
    if (notification->maps)
        space_add_maps(&process->space, notification->maps, time_ns);
    tasks_expect_files(tasks, process);
    process->maps_ns = tasks->now_ns;
    /* Its old mappings are gone. */
    struct records_stamp stamp = tasks_stamp(tasks, task, time_ns);
    records_make_comm(&tasks->layout, &stamp, task->comm, &buffer);
    if (!buffer_failed(&buffer)) {
        ((struct perf_event_header *)(void *)buffer.data)->misc |= PERF_RECORD_MISC_COMM_EXEC;
        tasks_put_record(tasks, task, buffer.data, buffer.size);
    }
    buffer_release(&buffer);
    tasks_introduce(tasks, task, time_ns);
}

/* The command itself never reported: its arguments are known, and what the kernel accounts. */
static void name_not_sampled_root(struct tasks *tasks, struct task *task)
{
    const char *const *command = (const char *const *)tasks->session->settings->command;
    if (!command || !command[0])
        return;
    const char *slash = strrchr(command[0], '/');
    struct records_comm comm = {
        .pid = task->pid, .tid = task->key, .exec = true, .name = slash ? slash + 1 : command[0]};
    struct buffer cmdline = BUFFER_INIT;
    for (unsigned i = 0; command[i]; i++)
        buffer_append(&cmdline, command[i], strlen(command[i]) + 1);
    if (tasks_exec(tasks, task, task->start_ns, &comm) && task->generation_count)
        task->generations[0].program = program_new(command[0], (const char *)cmdline.data, cmdline.size);
    buffer_release(&cmdline);
}

/* Written by the target. */
static int error_of(const struct pinject_timer_head *head)
{
    int error = __atomic_load_n(&head->error, __ATOMIC_RELAXED);
    return error > 0 || error < -4095 ? -EIO : error;
}

void tasks_end_timer(struct tasks *tasks, struct task *task)
{
    const struct attached *events = task->events;
    if (task_is_armed(task) && task->process->root)
        name_not_sampled_root(tasks, task);
    tasks_look_at_timer(tasks, task);
    if (!task->timer_started && attach_ring(events))
        task->ring_error = error_of(rings_head(&tasks->session->rings, events->number));
    else if (!task->timer_started)
        task->ring_error = __atomic_load_n(&events->ring_error, __ATOMIC_RELAXED);
    if (!task->timer_started && task == task->process->leader)
        task->process->uncounted = true;
}

void tasks_look_at_timer(const struct tasks *tasks, struct task *task)
{
    const struct attached *events = task->events;
    if (events && attach_ring(events)) {
        const struct pinject_timer_head *head = rings_head(&tasks->session->rings, events->number);
        task->timer_started = __atomic_load_n(&head->started, __ATOMIC_RELAXED) != 0;
    }
}
