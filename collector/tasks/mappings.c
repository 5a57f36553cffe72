/* SPDX-License-Identifier: MIT */
#include "collector/tasks/mappings.h"

#include <stdlib.h>
#include <string.h>

#include "collector/system/monotonic.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

enum {
    MAPS_AGAIN_NS = 20 * 1000 * 1000, /* between two looks at the mappings of a process */
    MAPS_SHARE = 20,                  /* looks take at most one part in so many of a process' time */
    MAPS_LONG_NS = 1000 * 1000,       /* after a look that took longer, there is none at any process for as long */
};

#define USER_END (UINT64_C(1) << 63)

void tasks_expect_files(struct tasks *tasks, const struct process *process)
{
    for (size_t i = 0; i < space_count(&process->space); i++)
        results_expect(tasks->results, process->pid, space_at(&process->space, i), tasks->now_ns);
}

static void tell_siblings(struct tasks *tasks, const struct task *task, const struct mapping *mapping)
{
    for (struct task *other = task->process->tasks; other; other = other->process_next) {
        if (other == task || task_is_armed(other))
            continue;
        struct buffer buffer = BUFFER_INIT;
        uint64_t time_ns = mapping->time_ns > other->start_ns ? mapping->time_ns : other->start_ns;
        struct records_stamp stamp = tasks_stamp(tasks, other, time_ns);
        records_make_mmap(&tasks->layout, &stamp, mapping, &buffer);
        tasks_put_made(tasks, other, &buffer);
        if (other->result && result_pending(other->result) > TASKS_PENDING_MAX)
            tasks_flush(tasks, other);
    }
}

bool tasks_knows_mapping(struct tasks *tasks, const struct task *task, struct mapping *mapping, size_t size)
{
    struct process *process = task->process;
    if (mapping->time_ns < process->exec_ns) { /* of a program that another thread's exec ended */
        results_expect(tasks->results, task->pid, mapping, tasks->now_ns);
        return false;
    }
    bool told = tasks_may_tell(tasks, process, space_count(&process->space));
    if (told && space_knows(&process->space, mapping))
        return true;
    results_expect(tasks->results, task->pid, mapping, tasks->now_ns);
    told = told && tasks_may_tell(tasks, process, (process->live - 1) * (uint64_t)size);
    if (told) {
        space_add(&process->space, mapping);
        tell_siblings(tasks, task, mapping);
    }
    tasks->mappings_untold += !told;
    return false;
}

/* ---- Looks at /proc ---- */

/*
 * Does the program of SPACE, in which FOUND is mapped, still run? /proc may know of an exec before we do. The kernel's
 * own page is in all. Compares places only: file systems of several devices name one in /proc, another in records.
 */
static bool is_same_program(const struct space *space, const struct space *found)
{
    for (size_t i = 0; i < space_count(found); i++)
        if (space_at(found, i)->start < USER_END && space_has(space, space_at(found, i), false))
            return true;
    return !space_count(space);
}

static void tell_mapping(struct tasks *tasks, struct process *process, struct mapping *mapping)
{
    results_expect(tasks->results, process->pid, mapping, tasks->now_ns);
    if (space_add(&process->space, mapping) < 0)
        return;
    if (!tasks_may_tell(tasks, process, process->live * (sizeof(*mapping) + strlen(mapping->path)))) {
        tasks->mappings_untold++;
        return;
    }
    for (struct task *task = process->tasks; task; task = task->process_next) {
        if (task_is_armed(task))
            continue;
        struct buffer buffer = BUFFER_INIT;
        uint64_t time_ns = mapping->time_ns > task->start_ns ? mapping->time_ns : task->start_ns;
        struct records_stamp stamp = tasks_stamp(tasks, task, time_ns);
        records_make_mmap(&tasks->layout, &stamp, mapping, &buffer);
        if (!buffer_failed(&buffer))
            tasks_put_record(tasks, task, buffer.data, buffer.size);
        buffer_release(&buffer);
    }
}

/* Reads /proc. What is new since the last look counts as mapped right after that look. */
static void look_at_maps(struct tasks *tasks, struct process *process)
{
    uint64_t since = process->maps_ns ? process->maps_ns : process->start_ns;
    char *text = process_is_dead(process) ? NULL : errands_maps(&tasks->session->errands, process->pid);
    struct space found;
    space_init(&found);
    process->maps_ns = monotonic_ns();
    if (text && space_add_maps(&found, text, since) == 0 && is_same_program(&process->space, &found))
        for (size_t i = 0; i < space_count(&found); i++)
            if (!space_has(&process->space, space_at(&found, i), true))
                tell_mapping(tasks, process, space_at(&found, i));
    process->space.forgotten += found.forgotten;
    space_release(&found);
    free(text);
}

/* A look costs no more than a share of the time: of the process, and of all of them. */
bool tasks_look_at_maps(struct tasks *tasks, struct process *process)
{
    if (tasks->now_ns < process->maps_ns + MAPS_AGAIN_NS || tasks->now_ns < process->maps_next_ns ||
        tasks->now_ns < tasks->maps_next_ns)
        return false;
    uint64_t start = monotonic_ns();
    look_at_maps(tasks, process);
    uint64_t end = monotonic_ns(), took = end - start;
    process->maps_next_ns = end + took * MAPS_SHARE;
    tasks->maps_next_ns = took > MAPS_LONG_NS ? end + took : 0;
    return true;
}

void tasks_meet_timer_sample(struct tasks *tasks, const struct task *task, const struct perf_event_header *record)
{
    struct process *process = task->process;
    uint64_t ip;
    memcpy(&ip, (const char *)record + 2 * sizeof(uint64_t), sizeof(ip));
    if (!space_find(&process->space, ip, NULL, NULL))
        tasks_look_at_maps(tasks, process);
}
