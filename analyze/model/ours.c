/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pinject/wire.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/model/loader.h"

static struct cursor section_of(const struct file *file)
{
    struct cursor cursor = cursor_of(file->features.pinject, file->features.pinject_size);
    cursor.swap = file->swap;
    return cursor;
}

/* The first item of TYPE. */
static bool find_item(const struct file *file, uint32_t type, struct item *ret)
{
    struct cursor section = section_of(file);
    while (item_next(&section, ret))
        if (ret->type == type)
            return true;
    return false;
}

bool ours_session(const struct file *file, struct pinject_item_session *ret)
{
    struct item item;
    return find_item(file, PINJECT_ITEM_SESSION, &item) && item_session(&item, ret);
}

bool ours_task(const struct file *file, struct pinject_item_task *ret)
{
    struct item item;
    return find_item(file, PINJECT_ITEM_TASK, &item) && item_task(&item, ret);
}

const char *ours_first_comm(const struct file *file)
{
    struct item item;
    struct pinject_item_generation generation;
    return find_item(file, PINJECT_ITEM_GENERATION, &item) && item_generation(&item, &generation) ? item_string(&item)
                                                                                                  : "";
}

bool ours_complete(const struct file *file)
{
    struct item item;
    struct pinject_item_coverage fixed;
    return find_item(file, PINJECT_ITEM_COVERAGE, &item) && item_coverage(&item, &fixed) && fixed.complete;
}

static int shell_status(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
}

/*
 * The files of one task (--exec-split-results) become one task: each exec generation begins when the one before it
 * ends.
 */
static struct task *find_or_make_task(struct loader *loader, const struct pinject_item_task *item, uint32_t *ret_index)
{
    uint64_t key = lookup_mix((uint32_t)item->pid, (uint32_t)item->tid);
    struct lookup_walk walk = lookup_start(&loader->task_lookup, key);
    for (uint32_t i; (item->flags & PINJECT_TASK_SPLIT) && (i = lookup_next(&walk)) != LOOKUP_NONE;) {
        const struct task *task = loader->tasks[i];
        if (task->split && task->shown.pid == item->pid && task->shown.tid == item->tid &&
            task->shown.end_ns == item->start_ns) {
            *ret_index = i;
            return loader->tasks[i];
        }
    }
    struct task *task = task_new(loader, ret_index);
    if (!task || lookup_add(&loader->task_lookup, key, *ret_index) < 0)
        return NULL;
    task->split = item->flags & PINJECT_TASK_SPLIT;
    task->shown.start_ns = item->start_ns;
    return task;
}

static void fill_task(struct profile_task *task, const struct pinject_item_task *item)
{
    task->pid = item->pid;
    task->tid = item->tid;
    task->ppid = item->ppid > 0 || (item->ppid == 0 && item->pid == 1) ? item->ppid : -1;
    task->parent_tid = item->parent_tid > 0 ? item->parent_tid : 0;
    task->lost += item->lost;
    task->root |= !!(item->flags & PINJECT_TASK_ROOT);
    task->tree |= !!(item->flags & PINJECT_TASK_TREE);
    task->first_exec = item->kind == PINJECT_ARM || item->kind == PINJECT_PROCESS;
    task->counted_only |= !!(item->flags & PINJECT_TASK_COUNTED_ONLY);
    task->end_ns = item->end_ns;
    task->ended = item->flags & PINJECT_TASK_ENDED;
    task->exit = item->flags & PINJECT_TASK_STATUS ? shell_status(item->status) : -1;
    task->source = item->source <= PINJECT_SOURCE_CPU ? (enum profile_task_source)item->source : PROFILE_SOURCE_UNKNOWN;
    task->startup_ns += item->startup_ns;
    task->exit_cost = item->flags & PINJECT_TASK_EXIT_COST;
    task->exit_ns = task->exit_cost ? item->exit_ns : 0;
}

static const char **take_strings(struct store *store, struct item *item, uint32_t *count)
{
    /* Each string takes at least one byte, its NUL. */
    size_t most = cursor_left(&item->body);
    *count = *count < most ? *count : (uint32_t)most;
    const char **strings = arena_take(&store->arena, *count * sizeof(char *));
    for (uint32_t i = 0; strings && i < *count; i++)
        if (!(strings[i] = store_string(store, item_string(item))))
            return NULL;
    return strings;
}

static int take_generation(struct loader *loader, struct task *task, uint32_t before, struct item *item)
{
    struct pinject_item_generation fixed;
    if (!item_generation(item, &fixed) || fixed.number >= UINT32_MAX - before)
        return 0;
    struct task_generation *generation = task_generation_at(task, before + fixed.number);
    if (!generation)
        return -ENOMEM;
    generation->shown.start_ns = fixed.start_ns;
    generation->shown.comm = store_string(&loader->store, item_string(item));
    generation->shown.exec = store_string(&loader->store, item_string(item));
    generation->shown.cmdline_count = fixed.arguments;
    generation->shown.cmdline = take_strings(&loader->store, item, &generation->shown.cmdline_count);
    return generation->shown.comm && generation->shown.exec && generation->shown.cmdline ? 0 : -ENOMEM;
}

static int take_count(struct loader *loader, const struct file *file, struct task *task, uint32_t before,
                      struct item *item)
{
    struct pinject_item_count fixed;
    if (!item_count(item, &fixed))
        return 0;
    uint32_t event = event_of_count(&loader->store, file, &fixed, item_string(item));
    if (event == LOOKUP_NONE)
        return -ENOMEM;
    if (fixed.set)
        store_event_at(&loader->store, event)->set = fixed.set;
    task->own_counts = true;
    /* In the file of one exec generation, a row for the whole task is about that exec generation. */
    uint32_t generation = fixed.generation == UINT32_MAX ? (task->split ? before : UINT32_MAX)
                                                         : before + fixed.generation;
    if (fixed.generation != UINT32_MAX && fixed.generation >= UINT32_MAX - before)
        return 0;
    const struct profile_count count = {.event = event,
                                        .generation = generation,
                                        .value = fixed.value,
                                        .enabled_ns = fixed.enabled_ns,
                                        .running_ns = fixed.running_ns};
    return task_add_count(task, &count);
}

static int take_unit(struct loader *loader, const struct file *file, struct item *item)
{
    struct pinject_item_unit fixed;
    double scale;
    if (!item_unit(item, &fixed))
        return 0;
    memcpy(&scale, &fixed.scale, sizeof(scale));
    const char *unit = store_string(&loader->store, item_string(item)), *name = item_string(item);
    const struct pinject_item_count count = {.event = fixed.event};
    if (fixed.event >= file->attrs.count && !name[0])
        return 0;
    const uint32_t index = event_of_count(&loader->store, file, &count, name);
    if (!unit || index == LOOKUP_NONE)
        return -ENOMEM;
    struct profile_event *event = store_event_at(&loader->store, index);
    event->unit = unit[0] ? unit : NULL;
    event->scale = scale > 0 && scale < 1e300 && scale != 1 ? scale : 0; /* also not a number */
    return 0;
}

/* The task item has the number of lost samples, but not their event: the first sampled event gets them. */
static int take_lost(struct loader *loader, const struct file *file, uint64_t lost)
{
    for (uint32_t i = 0; i < file->attrs.count; i++) {
        uint32_t event = event_of_attr(&loader->store, &file->attrs.items[i]);
        if (event == LOOKUP_NONE)
            return -ENOMEM;
        if (store_event_at(&loader->store, event)->sampled) {
            store_event_at(&loader->store, event)->lost += lost;
            break;
        }
    }
    loader->profile.lost += lost;
    return 0;
}

int ours_take(struct loader *loader, const struct file *file, uint32_t *ret_task)
{
    struct pinject_item_task fixed;
    *ret_task = LOOKUP_NONE;
    if (!ours_task(file, &fixed))
        return 0;
    struct task *task = find_or_make_task(loader, &fixed, ret_task);
    if (!task)
        return -ENOMEM;
    /* Each file numbers its exec generations from 0. */
    uint32_t before = task->generation_count ? task->generations[task->generation_count - 1].number + 1 : 0;
    task->own_counts = false;
    task->first_generation = before;
    fill_task(&task->shown, &fixed);
    struct cursor section = section_of(file);
    struct item item;
    int status = take_lost(loader, file, fixed.lost);
    while (status == 0 && item_next(&section, &item)) {
        if (item.type == PINJECT_ITEM_GENERATION)
            status = take_generation(loader, task, before, &item);
        else if (item.type == PINJECT_ITEM_COUNT)
            status = take_count(loader, file, task, before, &item);
        else if (item.type == PINJECT_ITEM_UNIT)
            status = take_unit(loader, file, &item);
    }
    return status;
}

static int take_missed(struct loader *loader, struct item *item)
{
    struct pinject_item_missed fixed;
    if (!item_missed(item, &fixed))
        return 0;
    struct profile_missed missed = {.count = fixed.count, .cpu_ns = fixed.cpu_ns};
    missed.reason = store_string(&loader->store, item_string(item));
    missed.comm = store_string(&loader->store, item_string(item));
    if (!missed.reason || !missed.comm ||
        arena_room(&loader->missed, &loader->missed_capacity, loader->missed_count, sizeof(missed)) < 0)
        return -ENOMEM;
    loader->missed[loader->missed_count++] = missed;
    return 0;
}

/*
 * Several files may have coverage (one per exec generation of the root): the most complete one is taken, with its list
 * of missed tasks.
 */
static bool take_coverage(struct loader *loader, struct item *item)
{
    struct profile_session *session = &loader->profile.session;
    struct pinject_item_coverage fixed;
    if (!item_coverage(item, &fixed))
        return false;
    if (session->coverage_known && (session->coverage_complete > !!fixed.complete || session->cpu_ns > fixed.cpu_ns))
        return false;
    session->coverage_known = true;
    session->coverage_complete = fixed.complete;
    session->cpu_ns = fixed.cpu_ns;
    session->attributed_ns = fixed.attributed_ns;
    session->collector_ns = fixed.collector_ns;
    session->recorded_tasks = fixed.tasks;
    session->recorded_files = fixed.files;
    session->incomplete_files = session->unwritten_samples = 0;
    loader->missed_count = 0;
    return true;
}

static void take_machine(struct loader *loader, struct item *item)
{
    struct profile_session *session = &loader->profile.session;
    struct pinject_item_machine fixed;
    if (!item_machine(item, &fixed) || fixed.elapsed_ns <= session->machine_ns || fixed.elapsed_ns > INT64_MAX ||
        fixed.others_ns > INT64_MAX) /* the limit of JSON readers */
        return;
    session->machine_ns = fixed.elapsed_ns;
    session->others_ns = fixed.others_ns;
}

static void take_times(struct loader *loader, struct item *item)
{
    struct profile_session *session = &loader->profile.session;
    struct pinject_item_times fixed;
    if (!item_times(item, &fixed) || fixed.user_ns > INT64_MAX || fixed.kernel_ns > INT64_MAX)
        return;
    session->user_ns = fixed.user_ns;
    session->kernel_ns = fixed.kernel_ns;
}

/* Only from the file whose coverage was taken. */
static void take_unwritten(struct loader *loader, struct item *item, bool covered)
{
    struct profile_session *session = &loader->profile.session;
    struct pinject_item_unwritten fixed;
    if (!covered || !item_unwritten(item, &fixed) || fixed.files > INT64_MAX || fixed.samples > INT64_MAX)
        return;
    session->incomplete_files = fixed.files;
    session->unwritten_samples = fixed.samples;
}

/* Saturates: damaged figures must not wrap around. */
static uint64_t add_saturated(uint64_t sum, uint64_t more)
{
    return more > UINT64_MAX - sum ? UINT64_MAX : sum + more;
}

static void take_stacks(struct loader *loader, struct item *item)
{
    struct profile_session *session = &loader->profile.session;
    struct pinject_item_stacks fixed;
    if (!item_stacks(item, &fixed))
        return;
    const uint64_t cut[] = {fixed.truncated,  fixed.too_deep, fixed.no_table,
                            fixed.bad_memory, fixed.behind,   fixed.foreign};
    uint64_t whole = add_saturated(fixed.bottom, fixed.chosen);
    session->whole_stacks = add_saturated(session->whole_stacks, whole);
    session->stacks = add_saturated(session->stacks, whole);
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
        session->stacks = add_saturated(session->stacks, cut[i]);
}

static int take_session(struct loader *loader, struct item *item)
{
    struct profile_session *session = &loader->profile.session;
    struct pinject_item_session fixed;
    if (session->version || !item_session(item, &fixed))
        return 0;
    memcpy(session->id, fixed.id, sizeof(session->id));
    session->ours = true;
    session->start_ns = fixed.start_ns;
    session->start_realtime_ns = fixed.start_realtime_ns;
    session->flags = fixed.flags;
    session->root = fixed.root;
    session->bare = fixed.bare;
    session->exclude_kernel = fixed.exclude_kernel;
    const bool wide = fixed.flags & PINJECT_SESSION_SYSTEM_WIDE, inherits = fixed.flags & PINJECT_SESSION_INHERITS;
    session->sampler = wide && inherits ? PROFILE_SAMPLER_CPU
                       : wide           ? PROFILE_SAMPLER_AUTO
                       : inherits       ? PROFILE_SAMPLER_INHERIT
                                        : PROFILE_SAMPLER_TASK;
    session->rate_auto = fixed.flags & PINJECT_SESSION_RATE_AUTO;
    session->version = store_string(&loader->store, item_string(item));
    item_string(item); /* name of the default event: the attributes have it, too */
    session->event_reason = store_string(&loader->store, item_string(item));
    session->argument_count = fixed.arguments;
    session->arguments = take_strings(&loader->store, item, &session->argument_count);
    return session->version && session->event_reason && session->arguments ? 0 : -ENOMEM;
}

int ours_take_session(struct loader *loader, const struct file *file)
{
    struct cursor section = section_of(file);
    struct item item;
    bool covered = false;
    int status = 0;
    while (status == 0 && item_next(&section, &item)) {
        switch (item.type) {
        case PINJECT_ITEM_SESSION: status = take_session(loader, &item); break;
        case PINJECT_ITEM_COVERAGE: covered = take_coverage(loader, &item); break;
        case PINJECT_ITEM_MACHINE: take_machine(loader, &item); break;
        case PINJECT_ITEM_TIMES: take_times(loader, &item); break;
        case PINJECT_ITEM_UNWRITTEN: take_unwritten(loader, &item, covered); break;
        case PINJECT_ITEM_MISSED: status = covered ? take_missed(loader, &item) : 0; break;
        case PINJECT_ITEM_STACKS: take_stacks(loader, &item); break;
        case PINJECT_ITEM_NOTE: status = warning_add(loader, item_string(&item)); break;
        }
    }
    return status;
}
