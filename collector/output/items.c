/* SPDX-License-Identifier: MIT */
#include "collector/output/items.h"

#include <pinject/format.h>
#include <pinject/pinject.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/config/event_sets.h"
#include "collector/sources/session.h"

/* Begins an item with its fixed part; strings may follow. */
static size_t begin(struct buffer *to, const void *fixed, size_t size)
{
    size_t start = to->size;
    buffer_append(to, fixed, size);
    return start;
}

static void end(struct buffer *to, size_t start, enum pinject_item_type type)
{
    buffer_align(to, 8);
    struct pinject_item item = {.type = type, .size = (uint32_t)(to->size - start)};
    if (!buffer_failed(to))
        memcpy(to->data + start, &item, sizeof(item));
}

static bool is_hidden(const struct event_config *config, unsigned event)
{
    return config->dummy && event == 0;
}

static void append_session(const struct session *session, const struct buffer *arguments, uint32_t count,
                           struct buffer *to)
{
    const struct event_config *config = session->config;
    const bool bare = session->settings->bare;
    /* The user did not type the arguments of a bare session's collector. */
    const bool typed = !bare && count > 0;
    struct pinject_item_session fixed = {
        .id = {session->id[0], session->id[1]},
        .start_ns = session->start_ns,
        .start_realtime_ns = session->start_realtime_ns,
        .flags = session->settings->follow | (config->rate_auto ? PINJECT_SESSION_RATE_AUTO : 0) |
                 (session->system_wide_ns        ? PINJECT_SESSION_SYSTEM_WIDE
                  : session_system_wide(session) ? PINJECT_SESSION_SYSTEM_WIDE | PINJECT_SESSION_INHERITS
                  : config->inherits             ? PINJECT_SESSION_INHERITS
                                                 : 0),
        .root = session->segment ? __atomic_load_n(&session->segment->root, __ATOMIC_RELAXED) : 0,
        .uid = getuid(),
        .arguments = typed ? count : 0,
        .bare = bare,
        .exclude_kernel = config->exclude_kernel,
    };
    unsigned main_event = is_hidden(config, 0) && config->count > 1 ? 1 : 0;
    size_t start = begin(to, &fixed, sizeof(fixed));
    buffer_string(to, PINJECT_VERSION_STRING);
    buffer_string(to, config->count ? config->events[main_event].name : "");
    buffer_string(to, config->reason);
    if (typed)
        buffer_append(to, arguments->data, arguments->size);
    end(to, start, PINJECT_ITEM_SESSION);
}

static void append_task(const struct result_task *task, struct buffer *to)
{
    struct pinject_item_task fixed = {
        .pid = task->pid,
        .tid = task->tid,
        .ppid = task->ppid,
        .parent_tid = task->parent_tid,
        .flags = task->flags,
        .source = task->source,
        .status = task->status,
        .kind = (int32_t)task->kind,
        .start_ns = task->start_ns,
        .end_ns = task->end_ns,
        .startup_ns = task->startup_ns,
        .exit_ns = task->exit_ns,
        .lost = task->lost,
        .samples = task->samples,
    };
    end(to, begin(to, &fixed, sizeof(fixed)), PINJECT_ITEM_TASK);
}

static void append_stacks(const struct event_config *config, const struct stack_counts *counts, struct buffer *to)
{
    if (!stacks_sum(counts))
        return;
    struct pinject_item_stacks fixed = {
        .bottom = counts->ends[UNWIND_BOTTOM],
        .truncated = counts->ends[UNWIND_TRUNCATED],
        .too_deep = counts->ends[UNWIND_TOO_DEEP],
        .no_table = counts->ends[UNWIND_NO_TABLE],
        .bad_memory = counts->ends[UNWIND_BAD_MEMORY],
        .extended = counts->extended,
        .chosen = counts->chosen,
        .behind = counts->behind,
        .foreign = counts->foreign,
        .dump = config->dump,
        .flags = (config->dump_auto ? 1u : 0) | (config->unwinder == UNWIND_ENGINE_LIBUNWIND ? 2u : 0),
    };
    end(to, begin(to, &fixed, sizeof(fixed)), PINJECT_ITEM_STACKS);
}

static void append_generation(const struct result_generation *generation, unsigned number, struct buffer *to)
{
    struct pinject_item_generation fixed = {.start_ns = generation->start_ns, .number = number};
    /* A command line whose last argument has no NUL was cut: it gets one. */
    const bool open_end = generation->cmdline_size > 0 && generation->cmdline[generation->cmdline_size - 1] != '\0';
    for (const char *at = generation->cmdline, *stop = at + generation->cmdline_size; at < stop;) {
        const char *nul = memchr(at, '\0', (size_t)(stop - at));
        fixed.arguments++;
        at = nul ? nul + 1 : stop;
    }
    size_t start = begin(to, &fixed, sizeof(fixed));
    buffer_string(to, generation->comm ? generation->comm : "");
    buffer_string(to, generation->exec ? generation->exec : "");
    buffer_append(to, generation->cmdline, generation->cmdline_size);
    if (open_end)
        buffer_string(to, "");
    end(to, start, PINJECT_ITEM_GENERATION);
}

/* The counts of one exec generation, or of the whole task (UINT32_MAX). */
static void append_counts(const struct event_config *config, uint64_t events, const struct result_task *task,
                          const struct attach_value *values, uint32_t generation, struct buffer *to)
{
    uint32_t index = 0;
    for (unsigned i = 0; i < config->count; i++) {
        const bool has_attr = events >> i & 1;
        const uint32_t attr = index;
        index += has_attr;
        if (!task->ids[i] || is_hidden(config, i))
            continue;
        const struct attach_value value = event_sets_value(config, i, values);
        struct pinject_item_count fixed = {
            .value = value.value,
            .enabled_ns = value.enabled_ns,
            .running_ns = value.running_ns,
            .lost = value.lost,
            .event = has_attr ? attr : UINT32_MAX,
            .generation = generation,
            .nanoseconds = config->events[i].nanoseconds,
            .set = config->events[i].set,
        };
        size_t start = begin(to, &fixed, sizeof(fixed));
        if (!has_attr)
            buffer_string(to, config->events[i].name);
        end(to, start, PINJECT_ITEM_COUNT);
    }
}

/* What the PMUs say of their events' values. */
static void append_units(const struct event_config *config, uint64_t events, const struct result_task *task,
                         struct buffer *to)
{
    uint32_t index = 0;
    for (unsigned i = 0; i < config->count; i++) {
        const struct event_spec *spec = config->events[i].spec;
        const bool has_attr = events >> i & 1;
        struct pinject_item_unit fixed = {.event = has_attr ? index : UINT32_MAX};
        index += has_attr;
        if (!task->ids[i] || !spec || (!spec->unit[0] && spec->scale == 0))
            continue;
        const double scale = spec->scale != 0 ? spec->scale : 1;
        memcpy(&fixed.scale, &scale, sizeof(fixed.scale));
        const size_t start = begin(to, &fixed, sizeof(fixed));
        buffer_string(to, spec->unit);
        if (!has_attr)
            buffer_string(to, config->events[i].name);
        end(to, start, PINJECT_ITEM_UNIT);
    }
}

static void append_coverage(const struct result_coverage *coverage, struct buffer *to)
{
    struct pinject_item_coverage fixed = {
        .cpu_ns = coverage->cpu_ns,
        .attributed_ns = coverage->attributed_ns,
        .tasks = coverage->tasks,
        .files = coverage->files,
        .collector_ns = coverage->collector_ns,
        .complete = coverage->complete,
    };
    end(to, begin(to, &fixed, sizeof(fixed)), PINJECT_ITEM_COVERAGE);
    struct pinject_item_machine machine = {.elapsed_ns = coverage->machine_ns, .others_ns = coverage->others_ns};
    if (machine.elapsed_ns)
        end(to, begin(to, &machine, sizeof(machine)), PINJECT_ITEM_MACHINE);
    struct pinject_item_times times = {.user_ns = coverage->user_ns, .kernel_ns = coverage->kernel_ns};
    if (times.user_ns || times.kernel_ns)
        end(to, begin(to, &times, sizeof(times)), PINJECT_ITEM_TIMES);
    struct pinject_item_unwritten unwritten = {.files = coverage->incomplete_files,
                                               .samples = coverage->unwritten_samples};
    if (unwritten.files)
        end(to, begin(to, &unwritten, sizeof(unwritten)), PINJECT_ITEM_UNWRITTEN);
    for (unsigned i = 0; i < coverage->missed_count; i++) {
        const struct result_missed *missed = &coverage->missed[i];
        struct pinject_item_missed item = {.count = missed->count, .cpu_ns = missed->cpu_ns};
        size_t start = begin(to, &item, sizeof(item));
        buffer_string(to, missed->reason ? missed->reason : "");
        buffer_string(to, missed->comm ? missed->comm : "");
        end(to, start, PINJECT_ITEM_MISSED);
    }
}

static void append_note(const char *text, struct buffer *to)
{
    struct pinject_item_note fixed = {0};
    size_t start = begin(to, &fixed, sizeof(fixed));
    buffer_string(to, text);
    end(to, start, PINJECT_ITEM_NOTE);
}

static void append_relief(const struct session *session, struct buffer *to)
{
    char text[160];
    snprintf(
        text, sizeof(text),
        "%.2f s after the start, per-task events began to cost too much: since then, each CPU has events, and tasks "
        "have none (--sampler=auto)",
        (double)(session->system_wide_ns - session->start_ns) / 1e9);
    append_note(text, to);
}

void items_append(const struct session *session, const struct buffer *arguments, uint32_t count, uint64_t events,
                  const struct result_task *task, const struct result_coverage *coverage, const char *note,
                  struct buffer *to)
{
    const struct event_config *config = session->config;
    const bool split = task->flags & PINJECT_TASK_SPLIT;
    append_session(session, arguments, count, to);
    append_task(task, to);
    append_stacks(config, &task->stacks, to);
    for (unsigned i = 0; i < task->generation_count; i++)
        append_generation(&task->generations[i], i, to);
    if (!split)
        append_counts(config, events, task, task->values, UINT32_MAX, to);
    append_units(config, events, task, to);
    /* The only exec generation of a whole task has the task's counts. */
    for (unsigned i = 0; i < task->generation_count; i++)
        if (task->generations[i].counted && (split || task->generation_count > 1))
            append_counts(config, events, task, task->generations[i].values, i, to);
    /* What was refused for all is noted once, beside the coverage. */
    for (unsigned i = 0; task->flags & PINJECT_TASK_ROOT && i < config->note_count; i++)
        append_note(config->notes[i], to);
    if (task->flags & PINJECT_TASK_ROOT && session->system_wide_ns)
        append_relief(session, to);
    for (unsigned i = 0; i < task->note_count; i++)
        append_note(task->notes[i], to);
    if (note)
        append_note(note, to);
    if (coverage && coverage->stacks && coverage->stacks[0])
        append_note(coverage->stacks, to);
    if (coverage && coverage->stolen && coverage->stolen[0])
        append_note(coverage->stolen, to);
    if (coverage)
        append_coverage(coverage, to);
}
