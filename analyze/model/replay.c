/* SPDX-License-Identifier: MIT */
#include "analyze/model/replay.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "analyze/read/bytes.h"
#include "unwind/unwind.h"

#define RECORDS_PER_PROGRESS 16384
#define MOST_MAPPINGS        (4u << 20) /* of all address spaces of one file: 128 MiB, and as much for data */

/* Makes room for the events so far; in pipe format they are among the records. */
static int reserve_events(struct replay *replay)
{
    const struct attr_list *attrs = &replay->file->attrs;
    if (replay->attr_count == attrs->count)
        return 0;
    uint32_t *events = reallocarray(replay->events, attrs->count, sizeof(*events));
    if (!events)
        return -ENOMEM;
    replay->events = events;
    uint64_t *lost = calloc(2 * (size_t)attrs->count, sizeof(*lost));
    if (!lost)
        return -ENOMEM;
    for (uint32_t i = 0; i < replay->attr_count; i++) {
        lost[2 * i] = replay->lost[2 * i];
        lost[2 * i + 1] = replay->lost[2 * i + 1];
    }
    free(replay->lost);
    replay->lost = lost;
    replay->attr_count = attrs->count;
    return 0;
}

/*
 * The store's event of ATTR. Events are added in the order of the file, up to the one that is needed, and not earlier,
 * since in a pipe their names follow the attributes.
 */
uint32_t replay_event(struct replay *replay, const struct attr *attr)
{
    if (reserve_events(replay) < 0)
        return LOOKUP_NONE;
    for (uint32_t i = replay->events_known; i < replay->attr_count && i <= attr->index; i++) {
        replay->events[i] = event_of_attr(&replay->loader->store, &replay->file->attrs.items[i]);
        if (replay->events[i] == LOOKUP_NONE)
            return LOOKUP_NONE;
        replay->events_known = i + 1;
    }
    return replay->events[attr->index];
}

/* Adds all events: those without samples belong to the profile, too. */
static int add_all_events(struct replay *replay)
{
    uint32_t count = replay->each ? 0 : replay->file->attrs.count;
    return count > 0 && replay_event(replay, &replay->file->attrs.items[count - 1]) == LOOKUP_NONE ? -ENOMEM : 0;
}

static void note_sample_time(struct replay *replay, const struct thread *thread, uint64_t time)
{
    uint64_t *first = &replay->loader->first_sample_ns;
    if (time && (*first == 0 || time < *first))
        *first = time;
    const bool described = replay->own != LOOKUP_NONE && !replay->input->lost; /* by the task item */
    struct task *task = described ? NULL : threads_task(replay, thread);
    if (task && !task->shown.ended && time > task->shown.end_ns)
        task->shown.end_ns = time;
}

static enum chain_machine machine_of(const char *arch)
{
    if (strcmp(arch, "aarch64") == 0 || strcmp(arch, "arm64") == 0)
        return CHAIN_ARM64;
    if (strcmp(arch, "x86_64") == 0 || (arch[0] == 'i' && strcmp(arch + 1, "86") > 0))
        return CHAIN_X86;
#if defined(__x86_64__)
    return arch[0] ? CHAIN_OTHER : CHAIN_X86;
#elif defined(__aarch64__)
    return arch[0] ? CHAIN_OTHER : CHAIN_ARM64;
#else
    return CHAIN_OTHER;
#endif
}

/* Whether OSRELEASE is the running kernel; true for "" (not known). */
static bool is_running_kernel(const char *osrelease)
{
    struct utsname name;
    return !osrelease[0] || (uname(&name) == 0 && strcmp(name.release, osrelease) == 0);
}

static void take_machine(struct replay *replay)
{
    const struct features *features = &replay->file->features;
    replay->machine_known = true;
    replay->machine = machine_of(features->arch);
    replay->loader->dumps.native = replay->machine == (UNWIND_MACHINE == EM_AARCH64 ? CHAIN_ARM64 : CHAIN_X86);
    replay->loader->dumps.vdso = is_running_kernel(features->osrelease);
}

static int add_entry(struct store_list *list, const struct profile_entry *entry)
{
    return store_sample(list, store_sample_hash(entry), entry);
}

/* For the second pass. */
static bool is_wanted(const struct replay *replay, const struct thread *thread)
{
    const bool *wanted = replay->loader->wanted;
    return thread->task != LOOKUP_NONE && (!wanted || wanted[thread->task]);
}

/* Takes SAMPLE as a sample of EVENT; LOOKUP_NONE: out of memory. */
static int add_sample(struct replay *replay, const struct record *sample, uint32_t event, uint32_t index)
{
    const struct thread *thread = &replay->threads[index];
    struct loader *loader = replay->loader;
    const struct process *process = &replay->processes[thread->process];
    const struct chain_place place = {&process->space, &replay->kernel, replay->machine,
                                      loader->data_wanted ? &process->data : NULL};
    if (event == LOOKUP_NONE)
        return -ENOMEM;
    if (replay->each) {
        if (!is_wanted(replay, thread))
            return 0;
        int status = chain_resolve(&loader->chain, &place, sample);
        return status < 0 ? status : replay->each(replay->context, thread->task, event, thread->comm, sample, &place);
    }
    struct profile_entry entry = {
        .task = thread->task, .event = event, .stack = loader->chain.none, .samples = 1, .weight = sample->period};
    note_sample_time(replay, thread, sample->time);
    if (add_entry(&loader->store.sums, &entry) < 0)
        return -ENOMEM;
    entry.comm = thread->comm;
    if (loader->counts_only)
        return add_entry(&loader->store.entries, &entry);
    if (loader->merged != PROFILE_BY_TASK)
        entry.task = 0;
    if (loader->merged == PROFILE_BY_STACK)
        entry.comm = "";
    return thread_pool_add(loader->pool, &entry, &place, sample);
}

/* Adds the values that SAMPLE read. 0 or -ENOMEM. */
static int read_group(struct replay *replay, const struct record *sample)
{
    struct loader *loader = replay->loader;
    for (uint64_t i = 0; i < sample->read_count; i++) {
        struct group_sample member;
        if (group_member(&replay->group, &replay->file->attrs, sample, i, &member) < 0 ||
            arena_room(&loader->values, &loader->value_capacity, loader->value_count, sizeof(*loader->values)) < 0)
            return -ENOMEM;
        uint32_t event = member.attr ? replay_event(replay, member.attr) : LOOKUP_NONE;
        if (!member.attr)
            continue;
        if (event == LOOKUP_NONE)
            return -ENOMEM;
        if (!replay->each)
            store_event_at(&loader->store, event)->grouped = true;
        loader->values[loader->value_count++] = (struct profile_value){event, member.value, member.period};
    }
    return 0;
}

/* Reads all values first: each value becomes a sample, and each of these samples lists all values. */
static int take_group(struct replay *replay, const struct record *sample, uint32_t index)
{
    const struct loader *loader = replay->loader;
    struct record one = *sample;
    int status = read_group(replay, sample);
    for (uint32_t i = 0; status == 0 && i < loader->value_count; i++) {
        one.period = loader->values[i].delta;
        status = one.period ? add_sample(replay, &one, loader->values[i].event, index) : 0;
    }
    replay->loader->value_count = 0;
    return status;
}

static int take_sample(struct replay *replay, const struct record *sample)
{
    bool known = sample->has & PERF_SAMPLE_TID;
    uint32_t index = threads_get(replay, known ? (int32_t)sample->pid : -1, known ? (int32_t)sample->tid : -1);
    if (index == LOOKUP_NONE)
        return -ENOMEM;
    struct thread *thread = &replay->threads[index];
    struct loader *loader = replay->loader;
    thread->described = false;
    uint16_t mode = sample->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    if (!replay->each)
        loader->guest_samples += mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER;
    if (!replay->machine_known)
        take_machine(replay);
    struct record whole;
    if (sample->user_stack && (replay->each ? is_wanted(replay, thread) : !loader->counts_only)) {
        whole = dumps_unwound(&loader->dumps, &replay->processes[thread->process].space, sample);
        sample = &whole;
    }
    return group_has(sample) ? take_group(replay, sample, index)
                             : add_sample(replay, sample, replay_event(replay, sample->attr), index);
}

static int take_lost(struct replay *replay, const struct record *record)
{
    struct cursor payload = record_cursor(record);
    const struct attr *attr = record->attr;
    bool samples = record->type == PERF_RECORD_LOST_SAMPLES;
    if (!samples)
        attr = attr_of_id(&replay->file->attrs, cursor_u64(&payload));
    uint64_t lost = cursor_u64(&payload);
    /* Our files have the number in the task item. With MISC_LOST_SAMPLES_BPF a filter dropped samples on purpose. */
    const bool known = replay->own != LOOKUP_NONE && !replay->input->lost;
    if (payload.failed || !attr || known || (samples && (record->misc & 1u << 15)))
        return 0;
    if (reserve_events(replay) < 0)
        return -ENOMEM;
    replay->lost[2 * attr->index + samples] += lost;
    return 0;
}

/* In our files a reading has what was counted since the one before. */
static int add_reading(struct replay *replay, struct task *task, uint64_t time_ns, const struct task_reading *reading)
{
    const bool own = replay->own != LOOKUP_NONE;
    int status = own ? rounds_take(replay->loader, task, time_ns, reading) : 0;
    return status || task->own_counts ? status : task_add_reading(task, reading, own);
}

static int take_reading(struct replay *replay, const struct record *record)
{
    struct cursor payload = record_cursor(record);
    if (!record->attr || replay->each)
        return 0;
    uint64_t format = record->attr->perf.read_format;
    int32_t pid = (int32_t)cursor_u32(&payload), tid = (int32_t)cursor_u32(&payload);
    uint64_t count = format & PERF_FORMAT_GROUP ? cursor_u64(&payload) : 1;
    struct task_reading reading = {.id = record->id};
    uint64_t value = format & PERF_FORMAT_GROUP ? 0 : cursor_u64(&payload);
    reading.enabled_ns = format & PERF_FORMAT_TOTAL_TIME_ENABLED ? cursor_u64(&payload) : 0;
    reading.running_ns = format & PERF_FORMAT_TOTAL_TIME_RUNNING ? cursor_u64(&payload) : 0;
    uint32_t index = payload.failed ? LOOKUP_NONE : threads_get(replay, pid, tid);
    struct task *task = index == LOOKUP_NONE ? NULL : threads_task(replay, &replay->threads[index]);
    const bool own = replay->own != LOOKUP_NONE;
    if (!task || (task->own_counts && !(own && replay->loader->rounds_wanted)))
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct attr *attr = record->attr;
        reading.value = format & PERF_FORMAT_GROUP ? cursor_u64(&payload) : value;
        if (format & PERF_FORMAT_ID) {
            reading.id = cursor_u64(&payload);
            attr = attr_of_id(&replay->file->attrs, reading.id);
        }
        if (format & RECORD_READ_LOST)
            cursor_u64(&payload);
        if (payload.failed)
            break;
        reading.event = attr ? replay_event(replay, attr) : LOOKUP_NONE;
        if (attr && (reading.event == LOOKUP_NONE || add_reading(replay, task, record->time, &reading) < 0))
            return -ENOMEM;
    }
    return 0;
}

static void report_progress(struct replay *replay)
{
    const struct loader *loader = replay->loader;
    if (++replay->records % RECORDS_PER_PROGRESS || !loader->progress || replay->each)
        return;
    uint64_t done = loader->bytes_done + replay->file->source.window_offset;
    loader->progress(loader->progress_context, done, loader->bytes_total);
}

static int replay_one(struct replay *replay, const struct record *record)
{
    switch (record->type) {
    case PERF_RECORD_SAMPLE: return take_sample(replay, record);
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        return replay->loader->counts_only && !replay->each && replay->own != LOOKUP_NONE ? 0
                                                                                          : maps_take(replay, record);
    case PERF_RECORD_KSYMBOL: return code_take_symbol(replay, record);
    case PERF_RECORD_COMM: return threads_comm(replay, record);
    case PERF_RECORD_FORK: return threads_fork(replay, record_cursor(record));
    case PERF_RECORD_EXIT: return threads_exit(replay, record_cursor(record));
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES: return take_lost(replay, record);
    case PERF_RECORD_READ: return take_reading(replay, record);
    default: return stat_take(replay, record);
    }
}

static int give_record(struct replay *replay, const struct record *record)
{
    const bool known = (record->has & PERF_SAMPLE_TID) || replay->own != LOOKUP_NONE;
    const struct thread *thread = known ? threads_find(replay, (int32_t)record->tid) : NULL;
    return replay->record(replay->context, thread ? thread->task : LOOKUP_NONE, thread ? thread->comm : "", record);
}

static int take_record(void *context, const struct record *record)
{
    struct replay *replay = context;
    int status = 0;
    report_progress(replay);
    if (!replay->record || record->type == PERF_RECORD_SAMPLE)
        return replay_one(replay, record);
    /* Of the end the task is still known, of the start it is known afterwards. */
    if (record->type == PERF_RECORD_EXIT)
        status = give_record(replay, record);
    if (status == 0)
        status = replay_one(replay, record);
    return status || record->type == PERF_RECORD_EXIT ? status : give_record(replay, record);
}

/* Newer versions of perf write LOST_SAMPLES, with the event's own count, besides the ring's LOST records: both count
 * the same loss. */
static int count_lost(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->attr_count && !replay->each; i++) {
        uint64_t lost = replay->lost[2 * i] > replay->lost[2 * i + 1] ? replay->lost[2 * i] : replay->lost[2 * i + 1];
        uint32_t event = lost ? replay_event(replay, &replay->file->attrs.items[i]) : LOOKUP_NONE;
        if (lost && event == LOOKUP_NONE)
            return -ENOMEM;
        if (lost)
            store_event_at(&replay->loader->store, event)->lost += lost;
        replay->loader->profile.lost += lost;
    }
    return 0;
}

/* For a file of ours without count items, takes the counts from READ records; and the start from its first record. */
static int finish_own_task(struct replay *replay)
{
    struct task *task = replay->own == LOOKUP_NONE ? NULL : threads_task(replay, &replay->threads[replay->own]);
    if (task && replay->input->lost && !task->shown.start_ns)
        task->shown.start_ns = replay->input->start_ns;
    return task ? task_take_readings(task, task->split ? task->first_generation : UINT32_MAX) : 0;
}

/* Of a file that lost its items, its records say which task it is of, and tell its exec generations. */
static int take_own_task(struct replay *replay)
{
    struct input *input = replay->input;
    uint32_t task;
    if (input->lost) {
        if (input->tid && threads_get(replay, input->pid, input->tid) == LOOKUP_NONE)
            return -ENOMEM;
        replay->own = input->tid ? 0 : LOOKUP_NONE;
        return 0;
    }
    if (replay->each) {
        if (!input->own || input->task_count == 0)
            return 0;
        return threads_own(replay, replay->loader->place_of_task[input->tasks[0]]);
    }
    int status = ours_take(replay->loader, replay->file, &task);
    if (status < 0 || task == LOOKUP_NONE)
        return status;
    if (arena_room(&input->tasks, &input->task_capacity, input->task_count, sizeof(task)) < 0)
        return -ENOMEM;
    input->tasks[input->task_count++] = task;
    return threads_own(replay, task);
}

static void release_replay(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->process_count; i++) {
        space_release(&replay->processes[i].space);
        space_release(&replay->processes[i].data);
    }
    space_release(&replay->kernel);
    group_release(&replay->group);
    stat_release(&replay->stat);
    free(replay->processes);
    free(replay->threads);
    free(replay->events);
    free(replay->lost);
    free(replay->build_id_paths);
    lookup_release(&replay->process_lookup);
    lookup_release(&replay->thread_lookup);
    lookup_release(&replay->build_id_lookup);
}

int replay_file(struct loader *loader, struct input *input, struct file *file, const struct replay_calls *calls)
{
    replay_each *each = calls ? calls->each : NULL;
    struct replay replay = {.loader = loader,
                            .input = input,
                            .file = file,
                            .each = each,
                            .record = calls ? calls->record : NULL,
                            .context = calls ? calls->context : NULL,
                            .own = LOOKUP_NONE,
                            .last_thread = LOOKUP_NONE,
                            .limits = {&loader->states, MOST_MAPPINGS},
                            .data_limits = {&loader->states, MOST_MAPPINGS}};
    file->whole = replay.record != NULL;
    int status = maps_start(&replay);
    if (status == 0)
        status = take_own_task(&replay);
    if (status == 0)
        status = reserve_events(&replay);
    if (status == 0)
        status = add_all_events(&replay);
    if (status == 0)
        status = file_records(file, input->limit, take_record, &replay);
    if (status == 0)
        status = add_all_events(&replay);
    if (status == 0)
        status = count_lost(&replay);
    if (status == 0)
        status = finish_own_task(&replay);
    stat_finish(&replay);
    if (status == 0 && !each && replay.own == LOOKUP_NONE)
        status = warning_file(loader, file);
    if (status == 0 && !each && replay.mappings_refused)
        status = warning_add(loader, "the file has more memory mappings than panalyze can keep; code in the mappings "
                                     "beyond the limit has no names");
    if (status == 0 && !each && replay.data_refused)
        status = warning_add(
            loader,
            "the file has more memory mappings than panalyze can keep; data addresses in the mappings beyond the limit are shown as '[unknown]', or with the name of an earlier mapping");
    if (loader->pool)
        thread_pool_next_file(loader->pool);
    release_replay(&replay);
    return status;
}
