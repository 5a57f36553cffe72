/* SPDX-License-Identifier: MIT */
#include "collector/tasks/task_file.h"

#include <pinject/wire.h>
#include <stdio.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/pressure.h"
#include "collector/system/monotonic.h"
#include "collector/tasks/inherited_counts.h"
#include "collector/tasks/intervals.h"
#include "collector/tasks/notes.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/task_view.h"
#include "collector/tasks/tasks.h"

/*
 * Each record of a mapping is copied for each thread of its process, and compared with all mappings of the process.
 * Rings that must be read at once (of a task that ends or forks, of an inherited set) may have any number of them. And
 * each thread's file begins with all mappings. So a process has so many bytes of copies and comparisons a second; when
 * all processes of its user have had TOLD_ALL, each of them has TOLD_LEAST: more than any usual file begins with. The
 * bound is in bytes, not time: what is lost then depends on the program alone, not on what else runs.
 */
enum { TOLD_MOST = 64 << 20, TOLD_ALL = 128 << 20, TOLD_LEAST = 1 << 20, SECOND_NS = 1000 * 1000 * 1000 };

bool tasks_may_tell(struct tasks *tasks, struct process *process, uint64_t bytes)
{
    const uint64_t second = tasks->now_ns / SECOND_NS;
    struct share *share = process->share;
    if (share->told_second != second)
        share->told = 0;
    share->told_second = second;
    if (process->told_second != second)
        process->told = 0;
    process->told_second = second;
    const uint64_t most = share->told < TOLD_ALL ? TOLD_MOST : TOLD_LEAST;
    if (process->told + bytes > most)
        return false;
    process->told += bytes;
    share->told += bytes;
    return true;
}

void tasks_put_record(struct tasks *tasks, struct task *task, const void *record, size_t size)
{
    if (!size)
        return;
    if (task->file == FILE_UNNAMED && task->backlog.size + size > TASKS_PENDING_MAX)
        tasks_name_file(tasks, task);
    if (task->file == FILE_UNNAMED && task->backlog.size + size > TASKS_PENDING_MAX)
        tasks->missed.uncounted++; /* out of memory, or no program runs yet */
    else if (task->file == FILE_UNNAMED)
        buffer_append(&task->backlog, record, size);
    else if (task->result)
        result_record(task->result, record, size); /* a failure is the file's error */
}

void tasks_put_made(struct tasks *tasks, struct task *task, struct buffer *buffer)
{
    size_t at = 0;
    while (!buffer_failed(buffer) && at + sizeof(struct perf_event_header) <= buffer->size) {
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)(buffer->data + at);
        tasks_put_record(tasks, task, record, record->size);
        at += record->size;
    }
    tasks->missed.uncounted += buffer_failed(buffer);
    buffer_release(buffer);
}

void tasks_introduce(struct tasks *tasks, struct task *task, uint64_t time_ns)
{
    struct buffer buffer = BUFFER_INIT;
    struct records_stamp stamp = tasks_stamp(tasks, task, time_ns);
    struct process *process = task->process;
    const struct space *space = task->attached_late_ns ? &process->space : process_space_at(process, time_ns);
    records_make_comm(&tasks->layout, &stamp, task->comm, &buffer);
    for (size_t i = 0; space && i < space_count(space); i++) {
        const size_t before = buffer.size;
        if (space_at(space, i)->data) /* tasks_tell_data() */
            continue;
        records_make_mmap(&tasks->layout, &stamp, space_at(space, i), &buffer);
        if (tasks_may_tell(tasks, task->process, buffer.size - before))
            continue;
        buffer.size = before;
        tasks->mappings_untold += space_count(space) - i; /* and a few of data */
        break;
    }
    tasks_put_made(tasks, task, &buffer);
}

void tasks_map_modules(struct tasks *tasks, struct task *task)
{
    struct buffer buffer = BUFFER_INIT;
    struct records_stamp stamp = tasks_stamp(tasks, task, task->start_ns);
    kernelmap_make_modules(&tasks->kernel, &tasks->layout, &stamp, &buffer);
    task->modules_mapped = true;
    tasks_put_made(tasks, task, &buffer);
}

/* "1.cc1": the number of the exec, as pfmon has it, and the program; 0 is what ran before the first exec. */
static const char *name_exec(const struct task *task, const char *exec, char *ret, size_t size)
{
    const char *slash = strrchr(exec, '/');
    /* It sent its request from its first program: the exec was before that. */
    const unsigned number = task->execs + (task->kind == PINJECT_PROCESS);
    snprintf(ret, size, "%u.%s", number, slash && slash[1] ? slash + 1 : exec);
    return ret;
}

void tasks_begin_file(struct tasks *tasks, struct task *task)
{
    const struct exec_generation *generation = tasks_last_generation(task);
    char name[64];
    const char *exec = NULL;
    if (tasks->session->settings->split) {
        if (!generation || !generation->program || !generation->program->exec[0]) {
            task->file = FILE_UNNAMED;
            return;
        }
        exec = name_exec(task, generation->program->exec, name, sizeof(name));
    }
    if (result_new(tasks->results, task->pid, task->tid, exec, &task->result))
        task->result = NULL;
    task->file = FILE_BEGUN;
    task->flushed_ns = tasks->now_ns;
    for (size_t at = 0; at + sizeof(struct perf_event_header) <= task->backlog.size;) {
        const void *bytes = task->backlog.data + at;
        const struct perf_event_header *record = bytes;
        tasks_put_record(tasks, task, record, record->size);
        at += record->size;
    }
    buffer_release(&task->backlog);
    buffer_init(&task->backlog);
}

void tasks_name_file(struct tasks *tasks, struct task *task)
{
    struct exec_generation *generation = tasks_last_generation(task);
    struct program *program = generation ? generation->program : NULL;
    if (task->file != FILE_UNNAMED || !generation)
        return;
    if (!program || !program->exec[0]) {
        generation->program = program_new(generation->comm[0] ? generation->comm : "?",
                                          program ? program->cmdline : NULL, program ? program->cmdline_size : 0);
        program_put(program);
    }
    tasks_begin_file(tasks, task);
}

static void add_totals(struct tasks *tasks, struct task *task, const struct task_view *view)
{
    tasks->samples += view->task.samples;
    tasks->lost += view->task.lost;
    task->split_samples = task->samples;
    task->split_lost = task->lost_records;
    task->split_unsettled = task->unsettled;
}

void tasks_split_file(struct tasks *tasks, struct task *task, uint64_t end_ns)
{
    struct task_view view;
    tasks_name_file(tasks, task);
    task->end_ns = end_ns;
    /* The next exec generation is not in the list yet: this one has ended nevertheless. */
    task_view_init(tasks, task, task->generation_count, task->generations[task->generation_count - 1].at_end, &view);
    view.task.flags = (view.task.flags & ~(uint32_t)(PINJECT_TASK_STATUS | PINJECT_TASK_EXIT_COST)) |
                      PINJECT_TASK_ENDED;
    add_totals(tasks, task, &view);
    if (task->result)
        result_finish(task->result, &view.task, NULL);
    task_view_release(&view);
    task->result = NULL;
    task->end_ns = 0;
    task->first_sample_ns = task->last_sample_ns = 0;
    task->stacks = (struct stack_counts){0};
    free(task->data); /* the next file has got none */
    task->data = NULL;
    task->modules_mapped = false;
    task->generation_first = task->generation_count;
}

void tasks_flush(struct tasks *tasks, struct task *task)
{
    struct task_view view;
    struct attach_value values[CONFIG_EVENTS] = {0};
    if (!task->result)
        return;
    if (task_is_inherited(task))
        tasks_inherited_estimate(tasks, task);
    if (task->values)
        memcpy(values, task->values, tasks->config->count * sizeof(*values));
    else if (task->events)
        attach_read(task->events, values);
    task_view_init(tasks, task, task->generation_count, values, &view);
    /* The counters were read now, not when the round began: they count up to here. */
    if (!(view.task.flags & PINJECT_TASK_ENDED))
        view.task.end_ns = monotonic_ns();
    struct result_coverage running = {.tasks = tasks->seen, .files = results_written(tasks->results)};
    result_flush(task->result, &view.task, view.task.flags & PINJECT_TASK_ROOT ? &running : NULL);
    task_view_release(&view);
    task->flushed_ns = tasks->now_ns;
    task->file = FILE_ON_DISK;
}

static void count_back_end(struct tasks *tasks, const struct task *task)
{
    /* With --stat no task is sampled, but a task that started no timer is not even counted. */
    const bool counts_only = tasks_has_no_sampler(tasks, task);
    bool less = counts_only && (tasks->config->sampling || !task->timer_started);
    tasks->counted_only += counts_only && tasks->config->sampling;
    if (!task->refusal)
        return;
    tasks->refusal = tasks->refusal ? tasks->refusal : task->refusal;
    tasks->timer_fallbacks++;
    tasks->timer_fallbacks_counted += less;
}

void tasks_write_task(struct tasks *tasks, struct task *task, const struct result_coverage *coverage)
{
    static const struct attach_value none[CONFIG_EVENTS];
    struct task_view view;
    struct attach_value settled[CONFIG_EVENTS];
    tasks_name_file(tasks, task);
    task_view_init(tasks, task, task->generation_count, task->values ? task->values : none, &view);
    add_totals(tasks, task, &view);
    counts_settle(tasks->config, task->values ? task->values : none, settled);
    counts_add(&tasks->counts, tasks->config, &view.task, settled, task->startup_ns);
    tasks_end_intervals(tasks, task, &view.task);
    count_back_end(tasks, task);
    if (coverage)
        notes_add_fallbacks(&view.notes, tasks);
    task_view_show_notes(&view);
    tasks->without_sample += !tasks_has_no_sampler(tasks, task) && tasks->config->sampling && !task->samples;
    if (task->result)
        result_finish(task->result, &view.task, coverage);
    task->result = NULL;
    task_view_release(&view);
}

void tasks_put_done(struct tasks *tasks, struct task *task)
{
    task->process = NULL;
    task->next = NULL;
    *tasks->done_end = task;
    tasks->done_end = &task->next;
    tasks->done_count++;
    pressure_queued(tasks->session);
}

void tasks_write(struct tasks *tasks, size_t count)
{
    for (; tasks->done && count; count--) {
        struct task *task = tasks->done;
        tasks->done = task->next;
        if (!tasks->done)
            tasks->done_end = &tasks->done;
        tasks->done_count--;
        tasks_write_task(tasks, task, NULL);
        tasks_discard(tasks, task);
        pressure_written(tasks->session);
    }
}
