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

enum { DATA_TOLD = 64, DATA_UNKNOWN = 8 };

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

/* ---- Data (--data) ---- */

/*
 * Programs map and unmap memory far more often than code, and most of it is in no sample. So a file gets a mapping of
 * data with the first sample in it. The ring of the thread that mapped it may be read later than the sample: addresses
 * that were in no mapping are kept for a while.
 */
struct task_data {
    uint64_t told[DATA_TOLD]; /* by hash: mappings that the file has got lately; one that is told twice does no harm */
    struct {
        uint64_t address, time_ns; /* 0: none */
    } unknown[DATA_UNKNOWN];
    unsigned next_unknown;
    bool has_unknown;
};

static struct task_data *data_of(struct task *task)
{
    if (!task->data)
        task->data = calloc(1, sizeof(*task->data));
    return task->data;
}

static bool is_told(struct task_data *data, const struct mapping *mapping)
{
    const uint64_t hash = (mapping->start >> 12 ^ mapping->time_ns) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    uint64_t *told = &data->told[hash >> 58];
    const bool known = *told == hash;
    *told = hash;
    return known;
}

static void tell(struct tasks *tasks, struct task *task, const struct mapping *mapping, uint64_t time_ns)
{
    struct buffer buffer = BUFFER_INIT;
    const struct records_stamp stamp = tasks_stamp(tasks, task, time_ns);
    records_make_mmap(&tasks->layout, &stamp, mapping, &buffer);
    tasks_put_made(tasks, task, &buffer);
}

/* TASK has samples in MAPPING that were read before it. */
static void tell_late(struct tasks *tasks, struct task *task, const struct mapping *mapping)
{
    struct task_data *data = task->data;
    bool has_unknown = false;
    for (unsigned i = 0; i < DATA_UNKNOWN; i++) {
        const uint64_t address = data->unknown[i].address, time_ns = data->unknown[i].time_ns;
        const bool inside = address >= mapping->start && address - mapping->start < mapping->size;
        if (time_ns && inside && time_ns >= mapping->time_ns) {
            data->unknown[i].time_ns = 0;
            if (!is_told(data, mapping))
                tell(tasks, task, mapping, mapping->time_ns > task->start_ns ? mapping->time_ns : task->start_ns);
        }
        has_unknown |= data->unknown[i].time_ns != 0;
    }
    data->has_unknown = has_unknown;
}

void tasks_take_data(struct tasks *tasks, const struct task *task, struct mapping *mapping)
{
    struct process *process = task->process;
    if (mapping->time_ns < process->exec_ns)
        return;
    if (!tasks_may_tell(tasks, process, space_count(&process->space) + process->live)) {
        tasks->data_untold++;
        return;
    }
    if (space_add(&process->space, mapping) < 0)
        return;
    for (struct task *other = process->tasks; other; other = other->process_next)
        if (other != task && other->data && other->data->has_unknown)
            tell_late(tasks, other, mapping);
}

bool tasks_lacks_data(const struct task *task)
{
    return task->data && task->data->has_unknown;
}

static void keep_unknown(struct task_data *data, uint64_t address, uint64_t time_ns)
{
    data->unknown[data->next_unknown].address = address;
    data->unknown[data->next_unknown].time_ns = time_ns;
    data->next_unknown = (data->next_unknown + 1) % DATA_UNKNOWN;
    data->has_unknown = true;
}

void tasks_tell_data(struct tasks *tasks, struct task *task, unsigned event, const struct perf_event_header *record)
{
    const uint64_t address = tasks->config->data ? records_address(&tasks->layout, event, record) : 0;
    const uint64_t time_ns = records_time(&tasks->layout, event, record);
    const struct space *space = &task->process->space;
    struct task_data *data = address && address < USER_END ? data_of(task) : NULL;
    if (!data)
        return;
    const struct mapping *mapping = space_find_data(space, address);
    if (!mapping && !space_find(space, address, NULL, NULL))
        keep_unknown(data, address, time_ns);
    for (const struct mapping *next; mapping && !is_told(data, mapping); mapping = next) {
        tell(tasks, task, mapping, time_ns);
        /* Memory without a file may be the zeroed data of the file that ends there. */
        const bool nameless = mapping->path[0] == '/' && mapping->path[1] == '/';
        next = nameless ? space_find_data(space, mapping->start - 1) : NULL;
        next = next && next->path[0] == '/' && next->path[1] != '/' ? next : NULL;
    }
}

/* ---- Looks at /proc ---- */

/*
 * Does the program of SPACE, in which FOUND is mapped, still run? /proc may know of an exec before we do. The kernel's
 * own page is in all. Compares places only: file systems of several devices name one in /proc, another in records.
 */
static bool is_same_program(const struct space *space, const struct space *found)
{
    for (size_t i = 0; i < space_count(found); i++)
        if (!space_at(found, i)->data && space_at(found, i)->start < USER_END &&
            space_has(space, space_at(found, i), false))
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
    found.data = process->space.data;
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
