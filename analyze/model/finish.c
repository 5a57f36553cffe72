/* SPDX-License-Identifier: MIT */
/* Fills struct profile with what the loader gathered. */
#include <errno.h>
#include <string.h>

#include "analyze/model/loader.h"

struct order_of_task {
    const struct profile_task *shown;
    uint32_t made;
};

static int compare_tasks(const void *left, const void *right)
{
    const struct order_of_task *a = left, *b = right;
    if (a->shown->start_ns != b->shown->start_ns)
        return a->shown->start_ns < b->shown->start_ns ? -1 : 1;
    if (a->shown->pid != b->shown->pid)
        return a->shown->pid < b->shown->pid ? -1 : 1;
    if (a->shown->tid != b->shown->tid)
        return a->shown->tid < b->shown->tid ? -1 : 1;
    return a->made < b->made ? -1 : a->made > b->made;
}

/* Extrapolates the count of a multiplexed event to the time it was enabled. */
static uint64_t scale_count(uint64_t value, uint64_t enabled, uint64_t running)
{
    if (running == 0 || running >= enabled)
        return value;
    unsigned __int128 scaled = (unsigned __int128)value * enabled / running;
    return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* Adds a row for the whole task if it has only rows of its exec generations, and all of these. */
static int add_task_sums(struct task *task)
{
    uint32_t rows = task->count_count;
    for (uint32_t i = 0; i < rows; i++) {
        struct profile_count sum = {.event = task->counts[i].event, .generation = UINT32_MAX};
        uint32_t parts = 0;
        bool first = true, whole = false;
        for (uint32_t j = 0; j < rows; j++) {
            const struct profile_count *row = &task->counts[j];
            if (row->event != sum.event)
                continue;
            first &= j >= i;
            parts++;
            whole |= row->generation == UINT32_MAX;
            sum.value += row->value;
            sum.enabled_ns += row->enabled_ns;
            sum.running_ns += row->running_ns;
        }
        if (!first || whole || parts < task->generation_count)
            continue;
        if (arena_room(&task->counts, &task->count_capacity, task->count_count, sizeof(sum)) < 0)
            return -ENOMEM;
        task->counts[task->count_count++] = sum;
    }
    return 0;
}

static int finish_counts(const struct store *store, struct task *task)
{
    int status = task_take_readings(task, UINT32_MAX);
    if (status == 0)
        status = add_task_sums(task);
    for (uint32_t i = 0; status == 0 && i < task->count_count; i++) {
        struct profile_count *count = &task->counts[i];
        /* Inherited events are one per CPU, too: they run less than they are enabled. Of sets the file has it right. */
        if (task->shown.source == PROFILE_SOURCE_INHERITED && !store_event_at(store, count->event)->set)
            count->enabled_ns = count->running_ns;
        count->scaled = scale_count(count->value, count->enabled_ns, count->running_ns);
        if (count->generation != UINT32_MAX && !task_generation_at(task, count->generation))
            status = -ENOMEM;
    }
    return status;
}

static void number_generations(struct task *task)
{
    for (uint32_t i = 0; i < task->count_count; i++) {
        struct profile_count *count = &task->counts[i];
        for (uint32_t at = 0; at < task->generation_count; at++) {
            if (count->generation != UINT32_MAX && task->generations[at].number >= count->generation) {
                count->generation = at;
                break;
            }
        }
        if (count->generation != UINT32_MAX && count->generation >= task->generation_count)
            count->generation = task->generation_count - 1;
    }
}

static int finish_task(struct loader *loader, struct task *task)
{
    struct profile_task *shown = &task->shown;
    int status = finish_counts(&loader->store, task);
    if (status < 0)
        return status;
    number_generations(task);
    struct profile_generation *generations = arena_take(&loader->store.arena,
                                                        task->generation_count * sizeof(*generations));
    if (!generations)
        return -ENOMEM;
    for (uint32_t i = 0; i < task->generation_count; i++)
        generations[i] = task->generations[i].shown;
    shown->generations = generations;
    shown->generation_count = task->generation_count;
    shown->counts = task->counts;
    shown->count_count = task->count_count;
    shown->rounds = task->rounds;
    shown->round_count = task->round_count;
    if (task->generation_count > 0) {
        const struct profile_generation *last = &generations[task->generation_count - 1];
        shown->comm = last->comm;
        shown->exec = last->exec;
        shown->cmdline = last->cmdline;
        shown->cmdline_count = last->cmdline_count;
    }
    return 0;
}

static void inherit_names(struct profile_task *task, const struct profile_task *leader)
{
    if (task->cmdline_count == 0) {
        task->cmdline = leader->cmdline;
        task->cmdline_count = leader->cmdline_count;
    }
    if (!task->exec[0])
        task->exec = leader->exec;
    if (task->ppid < 0)
        task->ppid = leader->ppid;
}

/* The latest leader of each process so far, by pid. */
struct leaders {
    struct lookup lookup;
    uint32_t *tasks;
    uint32_t count;
};

static uint32_t *find_leader(const struct leaders *leaders, const struct profile *profile, int32_t pid)
{
    struct lookup_walk walk = lookup_start(&leaders->lookup, lookup_mix(7, (uint32_t)pid));
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (profile->tasks[leaders->tasks[i]].pid == pid)
            return &leaders->tasks[i];
    return NULL;
}

/* One pass over the tasks, in order of start: pids are reused, so a thread belongs to the latest leader before it. */
static int inherit_in_start_order(struct profile *profile, struct leaders *leaders)
{
    for (uint32_t i = 0; i < profile->task_count; i++) {
        struct profile_task *task = &profile->tasks[i];
        uint32_t *leader = find_leader(leaders, profile, task->pid);
        if (task->pid != task->tid) {
            if (leader)
                inherit_names(task, &profile->tasks[*leader]);
        } else if (leader) {
            *leader = i;
        } else {
            if (lookup_add(&leaders->lookup, lookup_mix(7, (uint32_t)task->pid), leaders->count) < 0)
                return -ENOMEM;
            leaders->tasks[leaders->count++] = i;
        }
    }
    return 0;
}

/* Gives threads the command line of their process. The second pass is for threads whose leader starts after them. */
static int inherit_from_leaders(struct profile *profile)
{
    struct leaders leaders = {.tasks = calloc((size_t)profile->task_count + 1, sizeof(uint32_t))};
    int status = leaders.tasks ? inherit_in_start_order(profile, &leaders) : -ENOMEM;
    if (status == 0)
        status = inherit_in_start_order(profile, &leaders);
    lookup_release(&leaders.lookup);
    free(leaders.tasks);
    return status;
}

/* Puts the tasks into the order of their start and renumbers the entries. */
static int finish_tasks(struct loader *loader)
{
    struct profile *profile = &loader->profile;
    uint32_t count = loader->task_count;
    struct order_of_task *order = calloc((size_t)count + 1, sizeof(*order));
    profile->tasks = calloc((size_t)count + 1, sizeof(*profile->tasks));
    loader->place_of_task = calloc((size_t)count + 1, sizeof(*loader->place_of_task));
    int status = order && profile->tasks && loader->place_of_task ? 0 : -ENOMEM;
    for (uint32_t i = 0; status == 0 && i < count; i++) {
        status = finish_task(loader, loader->tasks[i]);
        order[i] = (struct order_of_task){&loader->tasks[i]->shown, i};
    }
    if (status == 0) {
        qsort(order, count, sizeof(*order), compare_tasks);
        for (uint32_t i = 0; i < count; i++) {
            profile->tasks[i] = *order[i].shown;
            profile->tasks[i].index = i;
            loader->place_of_task[order[i].made] = i;
        }
        profile->task_count = count;
        status = inherit_from_leaders(profile);
    }
    free(order);
    return status;
}

static void finish_entries(struct loader *loader)
{
    struct profile *profile = &loader->profile;
    struct profile_entry *entries = loader->store.entries.items, *sums = loader->store.sums.items;
    for (uint32_t i = 0; i < loader->store.entries.count; i++)
        entries[i].task = loader->place_of_task[entries[i].task];
    for (uint32_t i = 0; i < loader->store.sums.count; i++) {
        struct profile_entry *sum = &sums[i];
        sum->task = loader->place_of_task[sum->task];
        profile->tasks[sum->task].samples += sum->samples;
        struct profile_event *event = store_event_at(&loader->store, sum->event);
        event->samples += sum->samples;
        event->weight += sum->weight;
    }
    profile->entries = entries;
    profile->entry_count = loader->store.entries.count;
    profile->sums = sums;
    profile->sum_count = loader->store.sums.count;
    profile->merged = loader->merged;
    /* No samples follow. */
    lookup_release(&loader->store.entries.lookup);
    lookup_release(&loader->store.sums.lookup);
    lookup_release(&loader->store.stacks.lookup);
}

static int finish_files(struct loader *loader)
{
    for (uint32_t i = 0; i < loader->input_count; i++) {
        const struct input *input = &loader->inputs[i];
        for (uint32_t j = 0; j < input->task_count; j++) {
            struct profile_task *task = &loader->profile.tasks[loader->place_of_task[input->tasks[j]]];
            if (!task->file)
                task->file = input->path;
        }
    }
    return 0;
}

static void finish_session(struct loader *loader)
{
    struct profile_session *session = &loader->profile.session;
    const char **texts[] = {&session->version,   &session->event_reason, &session->hostname,
                            &session->osrelease, &session->arch,         &session->cpudesc};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!*texts[i])
            *texts[i] = "";
    if (!session->clock)
        session->clock = "unknown";
    session->missed = loader->missed;
    session->missed_count = loader->missed_count;
    session->notes = loader->notes;
    session->note_count = loader->note_count;
    for (uint32_t i = 0; !session->ours && i < loader->profile.task_count; i++) {
        struct profile_task *task = &loader->profile.tasks[i];
        task->root = session->root > 0 && task->pid == session->root && task->tid == task->pid;
    }
}

int finish_profile(struct loader *loader)
{
    int status = finish_tasks(loader);
    if (status < 0)
        return status;
    finish_entries(loader);
    finish_files(loader);
    finish_session(loader);
    loader_show(loader);
    return 0;
}

void loader_show(struct loader *loader)
{
    struct profile *profile = &loader->profile;
    profile->modules = (const struct profile_module *const *)loader->store.modules.items;
    profile->module_count = loader->store.modules.count;
    profile->rounds = loader->round_times;
    profile->round_count = loader->round_time_count;
    profile->jit_dumps = loader->jit_dumps;
    profile->jit_dump_count = loader->jit_dump_count;
    profile->frames = loader->store.frames.items;
    profile->frame_count = loader->store.frames.count;
    profile->stacks = loader->store.stacks.items;
    profile->stack_count = loader->store.stacks.count;
    profile->events = loader->store.events.items;
    profile->event_count = loader->store.events.count;
}
