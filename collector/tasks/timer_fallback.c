/* SPDX-License-Identifier: MIT */
#include "collector/tasks/timer_fallback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/sources/rings.h"
#include "collector/system/monotonic.h"
#include "collector/system/procfs.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/generations.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

enum {
    SAMPLE_WORDS = 6,                  /* header, IDENTIFIER, IP, TID, TIME, PERIOD */
    LOST_WORDS = 6,                    /* header, id, lost, TID, TIME, IDENTIFIER */
    CHAIN_MAX = 256,
    MAPS_AGAIN_NS = 20 * 1000 * 1000,  /* between two looks at the mappings of a process */
    MAPS_SHARE = 20,                   /* looks take at most one part in so many of a process' time */
    MAPS_LONG_NS = 1000 * 1000,        /* after a look that took longer, there is none at any process for as long */
    LATE_NS = 1000 * 1000 * 1000,      /* of a sample, after the time of its round */
};

#define USER_END (UINT64_C(1) << 63)

/* ---- Records ---- */

static uint64_t task_word(const struct task *task)
{
    uint32_t words[2] = {(uint32_t)task->pid, (uint32_t)task->tid};
    uint64_t word;
    memcpy(&word, words, sizeof(word));
    return word;
}

/* Times in a file must not go backwards. */
static uint64_t fit_time(const struct tasks *tasks, const struct task *task, uint64_t time_ns)
{
    uint64_t least = task->last_sample_ns > task->start_ns ? task->last_sample_ns : task->start_ns;
    uint64_t most = tasks->now_ns + LATE_NS;
    return time_ns < least ? least : time_ns > most ? most : time_ns;
}

static bool check_sample(const struct tasks *tasks, const struct task *task, uint64_t *words, size_t count)
{
    int event = attach_timer_event(tasks->config);
    if (event < 0)
        return false;
    bool chains = tasks->layout.sample_type[event] & PERF_SAMPLE_CALLCHAIN;
    if (count < (chains ? SAMPLE_WORDS + 1u : SAMPLE_WORDS))
        return false;
    uint64_t chain = chains ? words[SAMPLE_WORDS] : 0;
    if (chain > CHAIN_MAX || count - SAMPLE_WORDS - chains != chain)
        return false;
    /* More time than there was. */
    if (words[5] == 0 || words[5] > tasks->now_ns + LATE_NS - tasks->session->start_ns)
        return false;
    words[1] = task->ids[event];
    words[3] = task_word(task);
    words[4] = fit_time(tasks, task, words[4]);
    return true;
}

static bool check_lost(const struct tasks *tasks, const struct task *task, uint64_t *words, size_t count)
{
    int event = attach_timer_event(tasks->config);
    if (event < 0 || count != LOST_WORDS || words[2] > UINT32_MAX)
        return false;
    words[1] = words[5] = task->ids[event];
    words[3] = task_word(task);
    words[4] = fit_time(tasks, task, words[4]);
    return true;
}

bool tasks_check_timer_record(const struct tasks *tasks, const struct task *task, void *record)
{
    struct perf_event_header *header = record;
    size_t count = header->size / sizeof(uint64_t);
    header->misc = header->type == PERF_RECORD_SAMPLE ? PERF_RECORD_MISC_USER : 0;
    if (header->type == PERF_RECORD_SAMPLE)
        return check_sample(tasks, task, record, count);
    return header->type == PERF_RECORD_LOST && check_lost(tasks, task, record, count);
}

/* ---- Mappings ---- */

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
        if (task->armed)
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

/* ---- Programs ---- */

void tasks_use_timer_ring(struct task *task)
{
    const struct attached *events = task->events;
    void *ring = attach_ring(events);
    if (ring && !task->ring.page)
        pinject_ring_init(&task->ring, ring, (const unsigned char *)ring + PINJECT_RING_DATA, events->ring_size);
}

void tasks_leave_timer(struct tasks *tasks, struct notification *notification)
{
    struct task *task = tasks_find(tasks, notification->tid);
    bool announced = notification->kind == PINJECT_INHERIT_EXEC || notification->flags & PINJECT_REQUEST_INHERIT_EXEC;
    if (!task || !task->by_timer || !announced || notification->result < 0)
        return;
    notification->comm[0] = '\0'; /* it names the program that calls exec */
    bool leaves = !task->armed && !(tasks->session->settings->follow & PINJECT_SESSION_EXEC);
    tasks_generation_notified(tasks, task, notification);
    task->not_sampled = true;
    if (leaves && task->live) {
        task->left = true;
        tasks_task_ended(tasks, task, false);
    }
}

void tasks_exec_timer(struct tasks *tasks, struct task *task, const struct notification *notification)
{
    struct process *process = task->process;
    struct buffer buffer = BUFFER_INIT;
    uint64_t time_ns = notification->time_ns;
    tasks_use_timer_ring(task);
    task->not_sampled = false;
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
    if (task->armed && task->process->root)
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
    task->counted_only = !task->timer_started || attach_timer_event(tasks->config) < 0;
}
