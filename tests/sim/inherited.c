/* SPDX-License-Identifier: MIT */
/*
 * Inherited sets: the kernel's events under the descendants of a task, and what collector/sources/inherited.h says of
 * them. Both are one here, as the real ones ask the kernel for every answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/inherited.h"
#include "sim.h"

static const uint64_t ids[CONFIG_EVENTS] = {1, 2};

/* ---- Records ---- */

/* In which its records are: that of a task which is covered, or the root's. NULL: none. */
static struct sim_set *set_of(const struct sim_task *task)
{
    return task->cover ? task->cover->set : task->root_of && task->root_of->enabled ? task->root_of : NULL;
}

static void write_record(struct sim_task *task, unsigned event, const struct sim_record *record)
{
    const struct sim_set *set = set_of(task);
    unsigned char bytes[SIM_RECORD];
    const size_t size = kernel_make_record(bytes, record, task, ids[event]);
    struct inherited_record *kept = calloc(1, sizeof(*kept) + size);
    struct sim_kept *entry = calloc(1, sizeof(*entry));
    memcpy(kept->bytes, bytes, size);
    kept->time_ns = sim.now_ns;
    kept->inherited_set = set->number;
    kept->pid = task->process->pid;
    kept->tid = task->tid;
    kept->event = event;
    kept->readings = (set->system_wide ? 1 : SIM_CPUS) * sim.config.count;
    kept->root = !task->cover;
    entry->kept = kept;
    entry->visible_ns = sim.now_ns + (sim_chance(sim.faults.late) && !sim.clean ? sim_below(3 * SIM_MS) : 0);
    *(sim.kept_last ? &sim.kept_last->next : &sim.kept) = entry;
    sim.kept_last = entry;
}

void inherited_write(struct sim_task *task, unsigned event, const struct sim_record *record)
{
    if (!set_of(task))
        return;
    sim.now_ns++; /* those of one task have different times */
    if (!sim_chance(sim.faults.lost_records)) {
        write_record(task, event, record);
        return;
    }
    sim.records_lost++;
    sim.has_lost = true;
}

/* Of a task in the system-wide set: what the kernel's accounting tells of it. */
static struct sim_record make_reading(const struct sim_task *task, unsigned event, uint64_t words[5])
{
    const struct sim_events *cover = task->cover;
    const uint64_t ran_ns = task->cpu_ns - cover->beyond_ns, value = event ? cover->slices : ran_ns;
    const uint64_t made[] = {kernel_pair(task->process->pid, task->tid), value, ran_ns, ran_ns, 0};
    memcpy(words, made, sizeof(made));
    return (struct sim_record){PERF_RECORD_READ, 0, words, 5, NULL};
}

void inherited_sample(struct sim_task *task)
{
    const uint64_t ip = 0x1000 + sim_below(0x1000);
    const uint64_t words[] = {ids[0], ip, kernel_pair(task->process->pid, task->tid), sim.now_ns + 1, SIM_SAMPLE_NS,
                              1,      ip};
    if (task->cover)
        task->cover->sampled++;
    inherited_write(task, 0, &(struct sim_record){PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, words, 7, NULL});
}

void inherited_exec(struct sim_task *task, const struct sim_record *comm)
{
    if (task->root_of)
        task->root_of->enabled = true;
    inherited_write(task, 0, comm);
}

/* ---- Sets ---- */

void inherited_open_set(struct sim_task *task, bool on_exec)
{
    if (task->cover || task->root_of)
        return;
    struct sim_set *set = calloc(1, sizeof(*set));
    set->number = ++sim.set_count;
    set->root = task;
    set->pid = task->process->pid;
    set->tid = task->tid;
    set->enabled = !on_exec;
    set->next = sim.sets;
    sim.sets = set;
    task->root_of = set;
}

void inherited_fork(struct sim_task *creator, struct sim_task *made)
{
    const uint32_t children = PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK;
    struct sim_set *set = set_of(creator);
    const bool thread = made->process == creator->process;
    if (!set)
        return;
    const uint64_t words[] = {kernel_pair(made->process->pid, creator->process->pid),
                              kernel_pair(made->tid, creator->tid), sim.now_ns + 1};
    inherited_write(creator, 0, &(struct sim_record){PERF_RECORD_FORK, 0, words, 3, NULL});
    if (!thread && (sim.follow & children) != children)
        return;
    struct sim_events *cover = kernel_cover(made, set);
    cover->start_ns = sim.now_ns;
    /* A thread that is not followed has no file. */
    cover->delivered = !thread || made->process == sim.root || sim.follow & PINJECT_SESSION_PTHREAD;
    set->members++;
    sim_over.covered++;
}

void inherited_run(struct sim_task *task, uint64_t ns)
{
    struct sim_events *cover = task->cover;
    const uint64_t cpu = sim_below(SIM_CPUS);
    cover->counted_ns += ns;
    cover->slices++;
    cover->cpu[cpu].ns += ns;
    cover->cpu[cpu].slices++;
    for (; task->sample_ns <= cover->counted_ns; task->sample_ns += SIM_SAMPLE_NS)
        inherited_sample(task);
}

/* The collector makes these where it takes the EXIT record, which is the last one that is kept, if it was not lost. */
static void write_account(struct sim_task *task, const struct sim_kept *exit)
{
    for (unsigned event = 0; event < sim.config.count; event++) {
        uint64_t read[5];
        const struct sim_record record = make_reading(task, event, read);
        const struct sim_kept *last = sim.kept_last;
        inherited_write(task, event, &record);
        if (exit && sim.kept_last != last) {
            sim.kept_last->kept->time_ns = exit->kept->time_ns;
            sim.kept_last->visible_ns = exit->visible_ns;
        }
    }
}

/* EXIT, and then what each event of each CPU has counted. */
void inherited_end(struct sim_task *task)
{
    const struct sim_kept *last = sim.kept_last;
    struct sim_events *cover = task->cover;
    const uint64_t who = kernel_pair(task->process->pid, task->tid);
    const uint64_t words[] = {kernel_pair(task->process->pid, task->process->pid), kernel_pair(task->tid, task->tid),
                              sim.now_ns + 1};
    inherited_write(task, 0, &(struct sim_record){PERF_RECORD_EXIT, 0, words, 3, NULL});
    if (task->root_of)
        task->root_of->root = NULL;
    task->root_of = NULL;
    if (!cover)
        return;
    if (cover->set->system_wide)
        write_account(task, sim.kept_last != last ? sim.kept_last : NULL);
    for (unsigned cpu = 0; !cover->set->system_wide && cpu < SIM_CPUS; cpu++)
        for (unsigned event = 0; event < sim.config.count; event++) {
            const uint64_t ns = cover->cpu[cpu].ns;
            const uint64_t read[] = {who, event ? cover->cpu[cpu].slices : ns, cover->counted_ns, ns, 0};
            inherited_write(task, event, &(struct sim_record){PERF_RECORD_READ, 0, read, 5, NULL});
        }
    cover->hung_up = true;
    cover->hung_up_ns = sim.now_ns;
    cover->task = NULL;
    cover->set->members--;
    task->cover = NULL;
}

void inherited_free_sets(void)
{
    while (sim.sets) {
        struct sim_set *set = sim.sets;
        sim.sets = set->next;
        free(set);
    }
    while (sim.kept) {
        struct sim_kept *entry = sim.kept;
        sim.kept = entry->next;
        free(entry->kept);
        free(entry);
    }
    sim.kept_last = NULL;
}

/* ---- What the collector asks ---- */

static void note_fork(const struct inherited_record *kept, pid_t tid)
{
    sim.inside[tid] = kept->inherited_set;
    for (struct sim_set *set = sim.sets; set; set = set->next)
        if (set->number == kept->inherited_set) {
            set->pid = set->pid == tid ? 0 : set->pid;
            set->tid = set->tid == tid ? 0 : set->tid;
        }
}

static bool is_wide(const struct inherited_record *kept)
{
    return sim.wide && kept->inherited_set == sim.wide->number;
}

/* Of the system-wide set: is it of the tree, as far as the records say? */
static bool decide(const struct inherited_record *kept)
{
    const struct perf_event_header *record = (const void *)kept->bytes;
    const uint64_t wide = sim.wide->number;
    if (record->type == PERF_RECORD_READ) /* the collector makes those itself, of what the accounting tells */
        return true;
    if (record->type == PERF_RECORD_FORK) {
        const struct records_task made = records_parse_task(record);
        sim.left[made.tid] = false;
        if (sim.inside[made.ptid] != wide && sim.inside[made.tid] == wide)
            sim.inside[made.tid] = 0;
        return sim.inside[made.ptid] == wide;
    }
    const bool member = sim.inside[kept->tid] == wide || sim.left[kept->tid];
    if (record->type == PERF_RECORD_EXIT && member)
        sim.left[kept->tid] = kept->tid == kept->pid;
    return member;
}

static bool is_covered_wide(const struct sim_task *task)
{
    return task->cover && sim.wide && task->cover->set == sim.wide;
}

/* Records were lost: who is there is looked for. */
static void find_members(void)
{
    for (const struct sim_task *task = sim.tasks; sim.records_lost && task; task = task->next)
        if (is_covered_wide(task))
            sim.inside[task->tid] = sim.wide->number;
}

/* Reads all rings: who began, and who ended. */
static void read_all(void)
{
    bool all = true; /* those of a system-wide set are taken in order */
    find_members();
    for (struct sim_kept *entry = sim.kept; entry; entry = entry->next) {
        const struct perf_event_header *record = (const void *)entry->kept->bytes;
        all &= entry->visible_ns <= sim.now_ns;
        if (entry->noted || entry->visible_ns > sim.now_ns || (is_wide(entry->kept) && !all))
            continue;
        entry->noted = true;
        entry->dropped = is_wide(entry->kept) && !decide(entry->kept);
        if (entry->dropped)
            continue;
        if (record->type == PERF_RECORD_FORK)
            note_fork(entry->kept, records_parse_task(record).tid);
        if (record->type == PERF_RECORD_EXIT)
            sim.inside[records_parse_task(record).tid] = 0;
        if (record->type == PERF_RECORD_COMM && !entry->kept->root) /* a thread has another number now */
            sim.inside[records_parse_comm(record).tid] = entry->kept->inherited_set;
    }
}

const uint64_t *inherited_ids(const struct inherited_sets *sets)
{
    (void)sets;
    return ids;
}

bool inherited_live(const struct inherited_sets *sets)
{
    (void)sets;
    const struct sim_set *set = sim.sets;
    while (set && !set->root && !set->members && !set->system_wide)
        set = set->next;
    return set || sim.kept;
}

/* At the end of the session, the accounting is asked for all that live. */
static void read_living(void)
{
    for (struct sim_task *task = sim.tasks; task; task = task->next)
        for (unsigned event = 0;
             is_covered_wide(task) && sim.inside[task->tid] == sim.wide->number && event < sim.config.count; event++) {
            uint64_t read[5];
            const struct sim_record record = make_reading(task, event, read);
            sim.now_ns++;
            write_record(task, event, &record);
            sim.kept_last->noted = true;
        }
}

struct inherited_record *inherited_take(struct inherited_sets *sets, uint64_t before_ns, uint64_t *lost)
{
    (void)sets;
    struct inherited_record *first = NULL, **end = &first;
    for (struct sim_kept *entry = sim.kept; entry && before_ns == UINT64_MAX; entry = entry->next)
        entry->visible_ns = 0;
    read_all();
    if (before_ns == UINT64_MAX)
        read_living();
    for (struct sim_kept **at = &sim.kept; *at;) {
        struct sim_kept *entry = *at;
        const bool open = is_wide(entry->kept) && !entry->noted;
        if (!entry->dropped && (entry->kept->time_ns >= before_ns ||
                                ((entry->visible_ns > sim.now_ns || open) && before_ns != UINT64_MAX))) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        if (entry->dropped || open) {
            free(entry->kept);
            free(entry);
            continue;
        }
        *end = entry->kept;
        end = &entry->kept->next;
        free(entry);
    }
    sim.kept_last = sim.kept;
    while (sim.kept_last && sim.kept_last->next)
        sim.kept_last = sim.kept_last->next;
    *lost += sim.records_lost;
    sim.records_lost = 0;
    return first;
}

int inherited_event_of_root(struct inherited_sets *sets, pid_t root, uint64_t id)
{
    (void)sets, (void)root, (void)id;
    return -1;
}

/* What a task and its creator wrote before it requests something is in the rings by then. */
static void show_written(void)
{
    for (struct sim_kept *entry = sim.kept; entry; entry = entry->next)
        if (is_wide(entry->kept) && entry->visible_ns > sim.now_ns)
            entry->visible_ns = sim.now_ns;
}

bool inherited_know(struct inherited_sets *sets, pid_t tid)
{
    (void)sets;
    show_written();
    read_all();
    return sim.inside[tid];
}

bool inherited_is_root(struct inherited_sets *sets, pid_t pid)
{
    (void)sets;
    const struct sim_set *set = sim.sets;
    while (set && (!(set->root || set->members) || set->pid != pid))
        set = set->next;
    return set;
}

void inherited_forget(struct inherited_sets *sets, pid_t tid)
{
    (void)sets;
    read_all();
    sim.inside[tid] = 0;
}

void inherited_made_by(struct inherited_sets *sets, pid_t creator, pid_t tid)
{
    (void)sets;
    read_all();
    const struct sim_set *set = sim.sets;
    while (set && (!(set->root || set->members) || (set->tid != creator && set->pid != creator)))
        set = set->next;
    if (!set && !sim.inside[creator])
        sim.inside[tid] = 0;
}

/* ---- System-wide ---- */

int inherited_open_system_wide(struct inherited_sets *sets, uint64_t *ret_since_ns)
{
    (void)sets;
    if (sim_chance(100))
        return -EPERM;
    struct sim_set *set = calloc(1, sizeof(*set));
    set->number = ++sim.set_count;
    set->enabled = set->system_wide = true;
    *ret_since_ns = ++sim.now_ns;
    set->next = sim.sets;
    sim.sets = sim.wide = set;
    sim.session.system_wide_set = set->number;
    sim_over.relieved++;
    sim_say("there is a system-wide set");
    return 0;
}

/* An earlier set counted it up to an exec that ended its events. */
static bool was_covered(const struct sim_task *task)
{
    const struct sim_events *events = sim.events;
    while (events && !(events->set && events->hung_up && events->attached.tid == task->tid &&
                       events->hung_up_ns >= task->start_ns))
        events = events->next;
    return events;
}

/* TASK had another set, or none. */
static void join(struct sim_task *task)
{
    if (task->cover && task->cover->set == sim.wide)
        return;
    if (task->cover) {
        task->cover->set->members--;
        task->cover->set = sim.wide;
    } else {
        const uint64_t start_ns = was_covered(task) ? sim.now_ns : task->start_ns;
        kernel_cover(task, sim.wide)->start_ns = start_ns;
    }
    sim.wide->members++;
}

unsigned inherited_adopt(struct inherited_sets *sets, pid_t pid, pid_t tid)
{
    struct sim_task *task = kernel_find_task(tid);
    (void)sets;
    read_all();
    sim.inside[tid] = sim.wide->number;
    if (sim.inside[pid] != sim.wide->number)
        sim.left[pid] = true;
    if (task)
        join(task);
    return sim.config.count;
}

int inherited_count_from_now(struct inherited_sets *sets, pid_t tid, uint64_t beyond_ns)
{
    struct sim_task *task = kernel_find_task(tid);
    (void)sets;
    if (!task) {
        sim.inside[tid] = 0;
        return -ESRCH;
    }
    if (task->cover) {
        task->cover->counted_ns = task->cover->slices = task->cover->sampled = 0;
        task->cover->beyond_ns = beyond_ns == INHERITED_FROM_NOW ? task->cpu_ns : beyond_ns;
        task->sample_ns = SIM_SAMPLE_NS;
    }
    return 0;
}

void inherited_close_others(struct inherited_sets *sets)
{
    (void)sets;
    read_all();
    for (struct sim_task *task = sim.tasks; task; task = task->next) {
        if (task->cover && task->cover->set != sim.wide) {
            sim.inside[task->tid] = sim.wide->number;
            join(task);
        }
        task->root_of = NULL;
    }
    for (struct sim_set *set = sim.sets; set; set = set->next)
        set->root = NULL;
    for (struct sim_kept *entry = sim.kept; entry; entry = entry->next) {
        struct inherited_record *kept = entry->kept;
        const struct perf_event_header *record = (const void *)kept->bytes;
        if (is_wide(kept) || record->type == PERF_RECORD_READ)
            continue;
        const bool fork = record->type == PERF_RECORD_FORK;
        entry->noted = true;
        entry->dropped |= !fork && entry->visible_ns <= sim.now_ns; /* no real one is that late */
        kept->inherited_set = sim.wide->number;
        kept->readings = sim.config.count;
        kept->root = false;
        if (fork)
            sim.inside[records_parse_task(record).tid] = sim.wide->number;
    }
}

struct sim_events *inherited_take_in(struct sim_task *task)
{
    if (inherited_know(NULL, task->tid))
        return NULL;
    inherited_adopt(NULL, task->process->pid, task->tid);
    inherited_count_from_now(NULL, task->tid, task->cpu_ns);
    return task->cover;
}
