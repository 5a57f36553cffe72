/* SPDX-License-Identifier: MIT */
/*
 * Trace events (JSON object format) of the tasks: when each ran, as which program, and its creator. Times are in
 * microseconds since the start of the session. A task is a row; each program that it ran is a slice of it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/view/counters.h"
#include "analyze/view/memory.h"
#include "analyze/view/process_tree.h"
#include "analyze/view/text.h"
#include "common/json.h"

struct chrome {
    struct view *view;
    struct json json;
    uint64_t start_ns; /* of the session */
    uint64_t last_ns;  /* used as the end of tasks whose end is not known */
    struct process_tree lineage;
    struct change *changes;
    size_t change_count, change_capacity;
};

/* The start or end of a task. */
struct change {
    uint64_t time_ns;
    int processes, threads;
};

static void put_time(struct json *json, const char *key, uint64_t from_ns, uint64_t to_ns)
{
    json_number(json, key, to_ns > from_ns ? (double)(to_ns - from_ns) / 1000 : 0);
}

static void begin_event(struct chrome *chrome, const char *phase, const char *name, const struct profile_task *task)
{
    struct json *json = &chrome->json;
    json_object(json, NULL);
    json_string(json, "ph", phase);
    json_string(json, "name", name);
    json_signed(json, "pid", task->pid);
    json_signed(json, "tid", task->tid);
}

static void put_label(struct chrome *chrome, const char *what, const char *name, const struct profile_task *task)
{
    begin_event(chrome, "M", what, task);
    json_object(&chrome->json, "args");
    json_string(&chrome->json, "name", name);
    json_end_object(&chrome->json);
    json_end_object(&chrome->json);
}

static void put_counts(struct chrome *chrome, const struct profile_task *task)
{
    const struct profile *profile = chrome->view->profile;
    struct counter *counters = memory_new(profile->event_count, sizeof(*counters));
    counters_of_task(profile, task, counters);
    json_object(&chrome->json, "counts");
    for (uint32_t i = 0; i < profile->event_count; i++)
        if (counters_known(&counters[i]))
            json_unsigned(&chrome->json, profile->events[i].name, counters[i].scaled);
    json_end_object(&chrome->json);
    free(counters);
}

static uint64_t end_of(const struct chrome *chrome, const struct profile_task *task)
{
    return task->end_ns ? task->end_ns : chrome->last_ns;
}

/* A task that started before the recording is shown from the start of the recording on. */
static uint64_t start_of(const struct chrome *chrome, const struct profile_task *task)
{
    return task->start_ns ? task->start_ns : chrome->start_ns;
}

static void put_args(struct chrome *chrome, const struct profile_task *task,
                     const struct profile_generation *generation, bool last)
{
    struct json *json = &chrome->json;
    bool estimate;
    json_object(json, "args");
    char *command = generation ? text_command(generation->cmdline, generation->cmdline_count) : memory_text("");
    if (*command)
        json_string(json, "command", command);
    free(command);
    if (generation && generation->exec[0])
        json_string(json, "exec", generation->exec);
    if (last) {
        uint64_t cpu = counters_cpu(chrome->view->profile, task, chrome->view->selection->weights[task->index],
                                    &estimate);
        if (!task->start_ns)
            json_bool(json, "started", false);
        json_bool(json, "ended", task->ended);
        if (task->exit >= 0)
            json_signed(json, "exit", task->exit);
        if (cpu != COUNTERS_UNKNOWN)
            json_number(json, "cpu_ms", (double)cpu / 1e6);
        json_unsigned(json, "samples", chrome->view->selection->samples[task->index]);
        put_counts(chrome, task);
    }
    json_end_object(json);
}

/* The program GENERATION (NULL: the whole task) from FROM_NS to TO_NS. */
static void put_slice(struct chrome *chrome, const struct profile_task *task,
                      const struct profile_generation *generation, uint64_t from_ns, uint64_t to_ns, bool last)
{
    const char *name = generation && generation->comm[0] ? generation->comm : task->comm;
    begin_event(chrome, "X", task->pid == task->tid ? name : task->comm, task);
    json_string(&chrome->json, "cat", task->pid == task->tid ? "process" : "thread");
    put_time(&chrome->json, "ts", chrome->start_ns, from_ns);
    put_time(&chrome->json, "dur", from_ns, to_ns);
    put_args(chrome, task, generation, last);
    json_end_object(&chrome->json);
}

static void put_slices(struct chrome *chrome, const struct profile_task *task)
{
    uint64_t start_ns = start_of(chrome, task), end_ns = end_of(chrome, task);
    if (task->generation_count == 0 || task->pid != task->tid) {
        put_slice(chrome, task, task->generation_count ? &task->generations[0] : NULL, start_ns, end_ns, true);
        return;
    }
    for (uint32_t i = 0; i < task->generation_count; i++) {
        const struct profile_generation *generation = &task->generations[i];
        bool last = i + 1 == task->generation_count;
        uint64_t from_ns = i == 0 ? start_ns : generation->start_ns;
        if (i > 0) {
            begin_event(chrome, "i", "exec", task);
            json_string(&chrome->json, "s", "t");
            put_time(&chrome->json, "ts", chrome->start_ns, from_ns);
            json_end_object(&chrome->json);
        }
        put_slice(chrome, task, generation, from_ns, last ? end_ns : task->generations[i + 1].start_ns, last);
    }
}

/* An arrow from the creator's slice to the new task's, if the creator has one. */
static void put_creation(struct chrome *chrome, const struct profile_task *task)
{
    const uint32_t parent = chrome->lineage.parent[task->index];
    const struct profile_task *creator = parent == PROCESS_TREE_NONE ? NULL : &chrome->view->profile->tasks[parent];
    if (!creator || !task->start_ns || creator->pid != (task->pid == task->tid ? task->ppid : task->pid))
        return;
    for (int i = 0; i < 2; i++) {
        begin_event(chrome, i ? "f" : "s", "start", i ? task : creator);
        json_string(&chrome->json, "cat", "start");
        json_unsigned(&chrome->json, "id", task->index + 1ull);
        put_time(&chrome->json, "ts", chrome->start_ns, task->start_ns);
        if (i)
            json_string(&chrome->json, "bp", "e");
        json_end_object(&chrome->json);
    }
}

static void add_change(struct chrome *chrome, uint64_t time_ns, const struct profile_task *task, int step)
{
    bool process = task->pid == task->tid;
    chrome->changes = memory_grow(chrome->changes, &chrome->change_capacity, chrome->change_count + 1,
                                  sizeof(*chrome->changes));
    chrome->changes[chrome->change_count++] = (struct change){time_ns, process ? step : 0, step};
}

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* The number of tasks over time, as counters of the first process. */
static void put_changes(struct chrome *chrome, const struct profile_task *root)
{
    int processes = 0, threads = 0;
    if (chrome->change_count)
        qsort(chrome->changes, chrome->change_count, sizeof(*chrome->changes), compare_changes);
    for (size_t i = 0; i < chrome->change_count; i++) {
        const struct change *change = &chrome->changes[i];
        processes += change->processes;
        threads += change->threads;
        if (i + 1 < chrome->change_count && change[1].time_ns == change->time_ns)
            continue;
        begin_event(chrome, "C", "running tasks", root);
        put_time(&chrome->json, "ts", chrome->start_ns, change->time_ns);
        json_object(&chrome->json, "args");
        json_signed(&chrome->json, "processes", processes);
        json_signed(&chrome->json, "threads", threads);
        json_end_object(&chrome->json);
        json_end_object(&chrome->json);
    }
}

static void put_tasks(struct chrome *chrome, struct output_file *out)
{
    const struct profile *profile = chrome->view->profile;
    const struct profile_task *root = NULL;
    for (uint32_t i = 0; i < profile->task_count && !output_file_is_over(out); i++) {
        const struct profile_task *task = &profile->tasks[i];
        if (!chrome->view->selection->tasks[i])
            continue;
        if (!root || (task->root && !root->root))
            root = task;
        if (task->pid == task->tid)
            put_label(chrome, "process_name", task->comm, task);
        put_label(chrome, "thread_name", task->comm, task);
        put_slices(chrome, task);
        put_creation(chrome, task);
        add_change(chrome, start_of(chrome, task), task, 1);
        add_change(chrome, end_of(chrome, task), task, -1);
    }
    if (root)
        put_changes(chrome, root);
}

static void find_times(struct chrome *chrome)
{
    const struct profile *profile = chrome->view->profile;
    chrome->start_ns = profile->session.start_ns;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        if (task->start_ns && (!chrome->start_ns || task->start_ns < chrome->start_ns))
            chrome->start_ns = task->start_ns;
        if (task->end_ns > chrome->last_ns)
            chrome->last_ns = task->end_ns;
    }
}

int chrome_write(struct view *view, struct output_file *out)
{
    const struct profile_session *session = &view->profile->session;
    struct chrome chrome = {.view = view, .json = {.to = out->to}};
    struct json *json = &chrome.json;
    find_times(&chrome);
    process_tree_init(&chrome.lineage, view->profile, view->selection->tasks);
    json_object(json, NULL);
    json_list(json, "traceEvents");
    put_tasks(&chrome, out);
    json_end_list(json);
    json_string(json, "displayTimeUnit", "ms");
    json_object(json, "otherData");
    char *command = text_command(session->arguments, session->argument_count);
    json_string(json, "command", command);
    free(command);
    json_string(json, "hostname", session->hostname);
    json_unsigned(json, "start_realtime_ns", session->start_realtime_ns);
    json_end_object(json);
    json_end_object(json);
    process_tree_release(&chrome.lineage);
    free(chrome.changes);
    return 0;
}
