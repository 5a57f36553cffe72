/* SPDX-License-Identifier: MIT */
#include "collector/sources/system_wide.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/sources/inherited_private.h"
#include "collector/sources/session.h"
#include "collector/system/procfs.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/table.h"

enum {
    STAT_MAX = 1024,
    FORGET_NS = 2000 * 1000 * 1000, /* what the kernel told of a task that is not of the tree is of no use after that */
    SEARCH_NS = 100 * 1000 * 1000,
    SEARCHES = 3,                /* passes through /proc: each one may find children of those that the last one found */
    EXEC_NS = 100 * 1000 * 1000, /* from the start of an exec to the first mapping of the program, at most */
    LATE_NS = 500 * 1000 * 1000, /* so long after what the kernel told of a task, its EXIT record will not come */
    UNIT_NS = 16 * 1000,
    SKEW = 20 * 1000 * 1000 / UNIT_NS, /* a task may live shorter by that, by its records, than by the accounting */
    EXIT_MOST = 600 * 1000 * 1000 / UNIT_NS * 10, /* and longer by that: it gives back much memory meanwhile */
    WORD = 64,
    BITS = PINJECT_TASKS / 8,
    TIMES = PINJECT_TASKS * sizeof(uint32_t),
};

/* An ended task, before its EXIT record is taken. The next ones have the same number. */
struct ended_task {
    struct accounting_task account;
    uint64_t told_ns;
    struct ended_task *next;
    UT_hash_handle hh;
};

/* What a live task had done when it came into the set. */
struct begun_task {
    struct accounting_task before;
    UT_hash_handle hh;
};

/* Events of a live task that accounting does not have. */
struct sampled_task {
    pid_t tid;
    uint64_t values[CONFIG_EVENTS];
    UT_hash_handle hh;
};

struct system_wide {
    struct accounting accounting, asked; /* for the ends of tasks, and for live ones */
    struct begun_task *begun;
    /* A bit for each tid. */
    uint64_t *foreign;  /* a live task that is not of the tree */
    uint64_t *gone;     /* a task of the tree has ended, and no other one has its number since */
    uint64_t *left;     /* a first thread of the tree that has ended: an exec of another thread may get its number */
    uint64_t *renamed;  /* an exec of another thread has got it */
    uint64_t *execs;    /* a COMM record says that it calls exec, and no mapping of the next program has come */
    uint32_t *began;    /* for each tid: when the task began, by its FORK record, in UNIT_NS modulo 2^32; 0: unknown */
    uint64_t search_ns; /* when members may be looked for again */
    struct ended_task *ended;
    uint64_t forgot_ns; /* when old ones were looked for */
    struct sampled_task *sampled;
};

/* ---- Bits ---- */

/* All zero; takes memory where it is written to. */
static void *new_table(size_t size)
{
    void *table = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

static void free_table(void *table, size_t size)
{
    if (table)
        munmap(table, size);
}

static bool has_bit(const uint64_t *bits, pid_t tid)
{
    return inherited_is_number(tid) && bits[tid / WORD] >> tid % WORD & 1;
}

static void set_bit(uint64_t *bits, pid_t tid, bool on)
{
    if (!inherited_is_number(tid))
        return;
    const uint64_t bit = UINT64_C(1) << tid % WORD;
    bits[tid / WORD] = on ? bits[tid / WORD] | bit : bits[tid / WORD] & ~bit;
}

/* ---- Who is in the tree ---- */

static bool is_member(const struct inherited_sets *sets, const struct inherited_set *set, pid_t tid)
{
    return inherited_is_number(tid) && sets->inside[tid] == (uint32_t)set->number;
}

static bool decide_fork(struct inherited_sets *sets, struct inherited_set *set, const struct records_task *made)
{
    struct system_wide *wide = sets->system_wide;
    /* While tasks came into the set, their creators may have ended. */
    const bool member = is_member(sets, set, made->ptid) ||
                        (made->time_ns < set->gathered_ns && is_member(sets, set, made->tid));
    set_bit(wide->left, made->tid, false);
    set_bit(wide->renamed, made->tid, false);
    set_bit(wide->execs, made->tid, false);
    set_bit(wide->gone, made->tid, false);
    set_bit(wide->foreign, made->tid, !member);
    if (inherited_is_number(made->tid))
        wide->began[made->tid] = (uint32_t)(made->time_ns / UNIT_NS);
    if (member)
        inherited_enter(sets, set, made->tid);
    else
        inherited_leave(sets, made->tid); /* the EXIT record of an earlier task with this number was lost */
    return member;
}

static bool decide_exit(struct inherited_sets *sets, struct inherited_set *set, const struct records_task *task)
{
    struct system_wide *wide = sets->system_wide;
    const bool member = is_member(sets, set, task->tid);
    set_bit(wide->foreign, task->tid, false);
    set_bit(wide->execs, task->tid, false);
    if (member) {
        set_bit(wide->left, task->tid, task->pid == task->tid);
        set_bit(wide->gone, task->tid, true);
        inherited_leave(sets, task->tid);
    }
    return member;
}

void system_wide_enter(struct inherited_sets *sets, struct inherited_set *set, pid_t tid)
{
    set_bit(sets->system_wide->foreign, tid, false);
    set_bit(sets->system_wide->gone, tid, false);
    inherited_enter(sets, set, tid);
}

bool system_wide_has_ended(const struct inherited_sets *sets, pid_t tid)
{
    return has_bit(sets->system_wide->gone, tid);
}

void system_wide_adopt(struct inherited_sets *sets, struct inherited_set *set, pid_t pid, pid_t tid)
{
    system_wide_enter(sets, set, tid);
    if (!is_member(sets, set, pid))
        set_bit(sets->system_wide->left, pid, true);
}

/* The only thread that an exec left has the number of its process from then on. */
static void note_exec(struct inherited_sets *sets, struct inherited_set *set, const struct records_comm *comm)
{
    struct system_wide *wide = sets->system_wide;
    if (!comm->exec)
        return;
    set_bit(wide->execs, comm->tid, true);
    if (!has_bit(wide->left, comm->tid))
        return;
    set_bit(wide->left, comm->tid, false);
    set_bit(wide->renamed, comm->tid, true);
    system_wide_enter(sets, set, comm->tid);
}

static bool decide(struct inherited_sets *sets, struct inherited_set *set, const struct inherited_record *kept)
{
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    if (record->type == PERF_RECORD_FORK) {
        const struct records_task made = records_parse_task(record);
        return decide_fork(sets, set, &made);
    }
    if (record->type == PERF_RECORD_EXIT) {
        const struct records_task task = records_parse_task(record);
        return decide_exit(sets, set, &task);
    }
    if (record->type == PERF_RECORD_COMM) {
        const struct records_comm comm = records_parse_comm(record);
        note_exec(sets, set, &comm);
    }
    if (record->type == PERF_RECORD_MMAP2)
        set_bit(sets->system_wide->execs, kept->tid, false);
    /* Between the end of the first thread and its COMM record, the thread that calls exec has that number already. */
    const bool member = is_member(sets, set, kept->tid) || has_bit(sets->system_wide->left, kept->tid);
    if (!member)
        set_bit(sets->system_wide->foreign, kept->tid, true);
    return member;
}

/* Records are sorted. What does the task of EXIT, the record with that INDEX, do afterwards, as far as that was read? */
enum next { NEXT_WRITES, NEXT_BEGINS /* another task with its number */, NEXT_NOTHING };

static enum next find_next(const struct inherited_records *records, size_t index, const struct inherited_set *set)
{
    const pid_t tid = records->at[index]->tid;
    for (size_t i = index + 1; i < records->count; i++) {
        const struct inherited_record *kept = records->at[i];
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
        if (kept->inherited_set != set->number)
            continue;
        if (record->type == PERF_RECORD_FORK && records_parse_task(record).tid == tid)
            return NEXT_BEGINS;
        if (kept->tid == tid && record->type != PERF_RECORD_SAMPLE) /* the CPU samples a task to its very end */
            return NEXT_WRITES;
    }
    return NEXT_NOTHING;
}

/*
 * An exec that changes the user of a task (of a setuid program) ends its events. The kernel then writes an EXIT record,
 * between the COMM record of the exec and the first mapping of the program, though the task lives on. But an exec that
 * fails late ends the task there. *RET_LATER: that is not known yet.
 */
static bool lives_on(const struct inherited_sets *sets, const struct inherited_set *set, size_t index,
                     uint64_t before_ns, bool *ret_later)
{
    const struct inherited_record *kept = sets->records.at[index];
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    if (record->type != PERF_RECORD_EXIT || !has_bit(sets->system_wide->execs, kept->tid) ||
        !is_member(sets, set, kept->tid))
        return false;
    const enum next next = find_next(&sets->records, index, set);
    *ret_later = next == NEXT_NOTHING && kept->time_ns + EXEC_NS > before_ns;
    return next == NEXT_WRITES;
}

void system_wide_decide(struct inherited_sets *sets, struct inherited_set *set, uint64_t before_ns)
{
    struct inherited_records *records = &sets->records;
    size_t count = 0;
    inherited_records_sort(records, 0);
    for (size_t i = 0; i < records->count; i++) {
        struct inherited_record *kept = records->at[i];
        bool later = false;
        const bool early = kept->time_ns < set->since_ns;
        const bool ready = kept->undecided && kept->time_ns < before_ns;
        const bool dropped = ready && (early || lives_on(sets, set, i, before_ns, &later));
        const bool open = ready && !later;
        if (open && (dropped || !decide(sets, set, kept))) {
            inherited_give_room(sets, set, kept);
            free(kept);
            continue;
        }
        kept->undecided &= !open;
        records->at[count++] = kept;
    }
    records->count = count;
}

bool system_wide_is_foreign(struct inherited_sets *sets, const struct perf_event_header *record)
{
    pid_t pid, tid;
    struct system_wide *wide = sets->system_wide;
    if (record->type == PERF_RECORD_FORK) /* its samples may be in a ring that is read before it is decided */
        set_bit(wide->foreign, records_parse_task(record).tid, false);
    if (record->type != PERF_RECORD_SAMPLE)
        return false;
    records_writer(&sets->layout, 0, record, &pid, &tid);
    return has_bit(wide->foreign, tid);
}

/* The parent of process PID; 0: unknown. */
static pid_t find_parent(pid_t pid)
{
    char *text = procfs_read(pid, "stat", STAT_MAX, NULL);
    const char *name_end = text ? strrchr(text, ')') : NULL;
    int parent = 0;
    if (!name_end || sscanf(name_end + 1, " %*c %d", &parent) != 1)
        parent = 0;
    free(text);
    return parent;
}

/* Calls VISIT for each number in directory PATH, until it returns true. Returns whether it did. */
static bool visit_numbers(const char *path, bool (*visit)(struct inherited_sets *, struct inherited_set *, pid_t),
                          struct inherited_sets *sets, struct inherited_set *set)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    bool found = false;
    while (directory && (entry = readdir(directory))) {
        const pid_t number = (pid_t)atoi(entry->d_name);
        if (number > 0)
            found |= visit(sets, set, number);
    }
    if (directory)
        closedir(directory);
    return found;
}

static bool visit_thread(struct inherited_sets *sets, struct inherited_set *set, pid_t tid)
{
    if (is_member(sets, set, tid) || has_bit(sets->system_wide->left, tid)) /* the latter is a zombie */
        return false;
    system_wide_enter(sets, set, tid);
    return true;
}

static bool visit_process(struct inherited_sets *sets, struct inherited_set *set, pid_t pid)
{
    char path[48];
    if (!is_member(sets, set, pid) && !is_member(sets, set, find_parent(pid)))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return visit_numbers(path, visit_thread, sets, set);
}

/* The EXIT records of members may be lost, too. */
static void forget_gone(struct inherited_sets *sets, const struct inherited_set *set)
{
    char path[32];
    for (pid_t tid = 1; tid <= sets->highest; tid++) {
        if (!is_member(sets, set, tid))
            continue;
        snprintf(path, sizeof(path), "/proc/%d", (int)tid);
        if (access(path, F_OK) < 0)
            inherited_leave(sets, tid);
    }
}

bool system_wide_find_members(struct inherited_sets *sets, struct inherited_set *set)
{
    struct system_wide *wide = sets->system_wide;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now < wide->search_ns)
        return false;
    wide->search_ns = now + SEARCH_NS;
    forget_gone(sets, set);
    for (unsigned i = 0; i < SEARCHES && visit_numbers("/proc", visit_process, sets, set); i++)
        ;
    return true;
}

/* ---- What they did ---- */

static void forget_ended(struct system_wide *wide, struct ended_task *first)
{
    HASH_DEL(wide->ended, first);
    for (struct ended_task *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

static void add_ended(struct system_wide *wide, const struct accounting_task *account, uint64_t now_ns)
{
    struct ended_task *task = malloc(sizeof(*task)), *first;
    if (!task)
        return;
    *task = (struct ended_task){.account = *account, .told_ns = now_ns};
    HASH_FIND(hh, wide->ended, &account->tid, sizeof(account->tid), first);
    if (first) {
        while (first->next)
            first = first->next;
        first->next = task;
        return;
    }
    HASH_ADD(hh, wide->ended, account.tid, sizeof(task->account.tid), task);
    if (!TABLE_HAS(task))
        free(task);
}

/* Removes ENDED from the list of its number. */
static void remove_ended(struct system_wide *wide, struct ended_task *ended)
{
    struct ended_task *first, *before;
    HASH_FIND(hh, wide->ended, &ended->account.tid, sizeof(ended->account.tid), first);
    for (before = first; before && before->next != ended && before != ended; before = before->next)
        ;
    if (first != ended) {
        if (before)
            before->next = ended->next;
        return;
    }
    HASH_DEL(wide->ended, first);
    struct ended_task *next = first->next;
    if (!next)
        return;
    HASH_ADD(hh, wide->ended, account.tid, sizeof(next->account.tid), next);
    if (!TABLE_HAS(next))
        free(next);
}

/*
 * How much longer the task that ended at TIME_NS lived than that of ENDED, in UNIT_NS: by its FORK record; 0 if that is
 * unknown.
 */
static int64_t find_distance(const struct system_wide *wide, const struct ended_task *ended, uint64_t time_ns)
{
    const uint32_t began = wide->began[ended->account.tid];
    const uint32_t lived = (uint32_t)(time_ns / UNIT_NS) - began;
    return began ? (int32_t)(lived - (uint32_t)(ended->account.alive_ns / UNIT_NS)) : 0;
}

/*
 * What the kernel told of the task TID that ended at TIME_NS, which the caller frees; NULL: nothing. There is more than
 * one if the EXIT record of an earlier task with this number was lost, or if an exec by a thread has changed whose it is.
 */
static struct ended_task *take_ended(struct system_wide *wide, pid_t tid, uint64_t time_ns)
{
    struct ended_task *first, *found = NULL;
    int64_t least = 0;
    if (!inherited_is_number(tid))
        return NULL;
    HASH_FIND(hh, wide->ended, &tid, sizeof(tid), first);
    for (struct ended_task *ended = first; ended; ended = ended->next) {
        const int64_t distance = find_distance(wide, ended, time_ns);
        if (distance < -SKEW || distance > EXIT_MOST || (found && llabs(distance) >= least))
            continue;
        found = ended;
        least = llabs(distance);
    }
    if (found)
        remove_ended(wide, found);
    return found;
}

/* Tasks that are not of the tree, or whose EXIT record was lost. */
static void forget_old(struct inherited_sets *sets, uint64_t now_ns)
{
    struct system_wide *wide = sets->system_wide;
    struct ended_task *task, *next;
    if (now_ns - wide->forgot_ns < FORGET_NS)
        return;
    wide->forgot_ns = now_ns;
    HASH_ITER(hh, wide->ended, task, next)
    {
        const pid_t tid = task->account.tid;
        if (now_ns - task->told_ns >= FORGET_NS && !(inherited_is_number(tid) && sets->inside[tid]))
            forget_ended(wide, task);
    }
}

static void listen(struct inherited_sets *sets)
{
    struct accounting_task account;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    int status;
    /* -ENOBUFS: some were lost. The CPU time of those tasks is estimated. */
    while ((status = accounting_next(&sets->system_wide->accounting, &account)) == 1 || status == -ENOBUFS)
        if (status == 1)
            add_ended(sets->system_wide, &account, now);
    forget_old(sets, now);
}

static void forget_sampled(struct system_wide *wide, pid_t tid)
{
    struct sampled_task *task;
    HASH_FIND(hh, wide->sampled, &tid, sizeof(tid), task);
    if (!task)
        return;
    HASH_DEL(wide->sampled, task);
    free(task);
}

static void add_sampled(struct system_wide *wide, pid_t tid, unsigned event, uint64_t value)
{
    struct sampled_task *task;
    HASH_FIND(hh, wide->sampled, &tid, sizeof(tid), task);
    if (!task) {
        task = calloc(1, sizeof(*task));
        if (!task)
            return;
        task->tid = tid;
        HASH_ADD(hh, wide->sampled, tid, sizeof(task->tid), task);
        if (!TABLE_HAS(task)) {
            free(task);
            return;
        }
    }
    task->values[event] += value;
}

/* True: SAMPLE of an event that is only counted. */
static bool note_sample(struct inherited_sets *sets, const struct inherited_record *kept,
                        const struct perf_event_header *record)
{
    const struct config_event *event = &sets->session->config->events[kept->event];
    if (record->type != PERF_RECORD_SAMPLE || event->account != CONFIG_ACCOUNT_SAMPLES)
        return false;
    const uint64_t period = event->samples ? records_period(&sets->layout, kept->event, record) : 1;
    add_sampled(sets->system_wide, kept->tid, kept->event, period ? period : event->attr.sample_period);
    return !event->samples;
}

static struct begun_task *find_begun(const struct system_wide *wide, pid_t tid)
{
    struct begun_task *begun;
    HASH_FIND(hh, wide->begun, &tid, sizeof(tid), begun);
    return begun;
}

static void forget_begun(struct system_wide *wide, pid_t tid)
{
    struct begun_task *begun = find_begun(wide, tid);
    if (!begun)
        return;
    HASH_DEL(wide->begun, begun);
    free(begun);
}

static uint64_t less(uint64_t value, uint64_t before)
{
    return value > before ? value - before : 0;
}

/* What the task had used when the set began to count it. */
static const struct accounting_task *find_before(const struct system_wide *wide, pid_t tid)
{
    static const struct accounting_task none = {0};
    const struct begun_task *begun = find_begun(wide, tid);
    return begun ? &begun->before : &none;
}

static uint64_t clock_of(const struct system_wide *wide, const struct accounting_task *account)
{
    return has_bit(wide->renamed, account->tid) ? account->cpu_ns : account->ran_ns;
}

static uint64_t value_of(const struct system_wide *wide, const struct accounting_task *account,
                         const struct config_event *event, unsigned index)
{
    const struct accounting_task *before = find_before(wide, account->tid);
    const uint64_t minor = less(account->minor_faults, before->minor_faults),
                   major = less(account->major_faults, before->major_faults);
    struct sampled_task *sampled;
    switch (event->account) {
    case CONFIG_ACCOUNT_CLOCK: return less(clock_of(wide, account), before->cpu_ns);
    case CONFIG_ACCOUNT_SWITCHES: return less(account->switches, before->switches);
    case CONFIG_ACCOUNT_FAULTS: return minor + major;
    case CONFIG_ACCOUNT_MINOR_FAULTS: return minor;
    case CONFIG_ACCOUNT_MAJOR_FAULTS: return major;
    case CONFIG_ACCOUNT_SAMPLES:
        HASH_FIND(hh, wide->sampled, &account->tid, sizeof(account->tid), sampled);
        return sampled ? sampled->values[index] : 0;
    case CONFIG_ACCOUNT_NONE: break;
    }
    return 0;
}

/* READ records of ACCOUNT, behind EXIT. Returns the last of them. */
static struct inherited_record *add_readings(struct inherited_sets *sets, struct inherited_record *exit,
                                             const struct accounting_task *account)
{
    const struct event_config *config = sets->session->config;
    struct inherited_record *last = exit;
    struct buffer bytes = BUFFER_INIT;
    /* As events of its own: they are enabled while it runs. */
    const uint64_t clock_ns = clock_of(sets->system_wide, account);
    const uint64_t ran_ns = less(clock_ns, find_before(sets->system_wide, account->tid)->cpu_ns);
    for (unsigned i = 0; i < config->count; i++) {
        const struct records_reading reading = {.value = value_of(sets->system_wide, account, &config->events[i], i),
                                                .enabled_ns = ran_ns,
                                                .running_ns = ran_ns};
        const struct records_stamp stamp = {
            .pid = exit->pid, .tid = exit->tid, .time_ns = exit->time_ns, .id = sets->ids[i], .event = i};
        bytes.size = 0;
        records_make_read(&sets->layout, &stamp, &reading, &bytes);
        struct inherited_record *kept = buffer_failed(&bytes) ? NULL : malloc(sizeof(*kept) + bytes.size);
        if (!kept)
            break;
        *kept = *exit;
        memcpy(kept->bytes, bytes.data, bytes.size);
        kept->event = i;
        last->next = kept;
        last = kept;
    }
    buffer_release(&bytes);
    return last;
}

static struct inherited_record *note_end(struct inherited_sets *sets, struct inherited_record *exit)
{
    struct system_wide *wide = sets->system_wide;
    struct inherited_record *next = exit->next, *last = exit;
    struct ended_task *ended = take_ended(wide, exit->tid, exit->time_ns);
    if (ended)
        last = add_readings(sets, exit, &ended->account);
    forget_begun(wide, exit->tid); /* another task may get its number */
    forget_sampled(wide, exit->tid);
    free(ended);
    last->next = next;
    return last;
}

/* A new record in the name of TID, which has only what add_readings() takes of it. NULL: out of memory. */
static struct inherited_record *new_place(const struct inherited_sets *sets, const struct inherited_set *set, pid_t tid)
{
    struct inherited_record *place = calloc(1, sizeof(*place));
    (void)sets;
    if (!place)
        return NULL;
    place->time_ns = clock_ns(CLOCK_MONOTONIC);
    place->inherited_set = set->number;
    place->readings = set->readings;
    place->pid = place->tid = tid; /* only the latter matters */
    return place;
}

/* Adds READ records of ACCOUNT at *END. Returns the new end. */
static struct inherited_record **add_late(struct inherited_sets *sets, const struct inherited_set *set,
                                          struct inherited_record **end, const struct accounting_task *account)
{
    struct inherited_record *place = new_place(sets, set, account->tid);
    if (!place)
        return end;
    struct inherited_record *last = add_readings(sets, place, account);
    last->next = NULL;
    *end = place->next;
    if (last != place)
        end = &last->next;
    free(place);
    return end;
}

/* Of tasks whose EXIT records were lost, as the kernel told of them long ago. */
static struct inherited_record **add_unended(struct inherited_sets *sets, const struct inherited_set *set,
                                             struct inherited_record **end, uint64_t now_ns)
{
    struct system_wide *wide = sets->system_wide;
    struct ended_task *task, *next;
    HASH_ITER(hh, wide->ended, task, next)
    {
        if (now_ns - task->told_ns < LATE_NS || !is_member(sets, set, task->account.tid))
            continue;
        end = add_late(sets, set, end, &task->account);
        forget_ended(wide, task);
    }
    return end;
}

/* At the end of the session: of all that live. */
static void add_living(struct inherited_sets *sets, const struct inherited_set *set, struct inherited_record **end)
{
    struct accounting_task account;
    for (pid_t tid = 1; tid <= sets->highest; tid++)
        if (is_member(sets, set, tid) && accounting_ask(&sets->system_wide->asked, tid, &account) == 0)
            end = add_late(sets, set, end, &account);
}

struct inherited_record *system_wide_count(struct inherited_sets *sets, const struct inherited_set *set,
                                           struct inherited_record *first, bool last)
{
    struct inherited_record **at = &first;
    listen(sets);
    while (*at) {
        struct inherited_record *kept = *at;
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
        if (kept->inherited_set != set->number) {
            at = &kept->next;
            continue;
        }
        if (kept->undecided || note_sample(sets, kept, record)) { /* the former at the end of the session: too late */
            *at = kept->next;
            free(kept);
            continue;
        }
        if (record->type == PERF_RECORD_FORK) { /* the EXIT record of an earlier task may have been lost */
            forget_sampled(sets->system_wide, records_parse_task(record).tid);
            forget_begun(sets->system_wide, records_parse_task(record).tid);
        }
        if (record->type == PERF_RECORD_EXIT)
            kept = note_end(sets, kept);
        at = &kept->next;
    }
    at = add_unended(sets, set, at, last ? UINT64_MAX : clock_ns(CLOCK_MONOTONIC));
    if (last)
        add_living(sets, set, at);
    return first;
}

int system_wide_find_count(const struct inherited_sets *sets)
{
    const struct event_config *config = sets->session->config;
    for (unsigned i = config->sampling; i < config->count; i++)
        if (config->events[i].account == CONFIG_ACCOUNT_SAMPLES)
            return (int)i;
    return -1;
}

/* It has no stack, and no other field of variable size. */
bool system_wide_is_count(const struct inherited_sets *sets, const struct perf_event_header *record)
{
    const int event = system_wide_find_count(sets);
    return event >= 0 && record->size == sizeof(*record) + records_fields_size(sets->layout.sample_type[event]);
}

/* ---- Life ---- */

int system_wide_set_before(struct system_wide *wide, const struct accounting_task *before)
{
    forget_begun(wide, before->tid);
    struct begun_task *begun = malloc(sizeof(*begun));
    if (!begun)
        return -ENOMEM;
    begun->before = *before;
    HASH_ADD(hh, wide->begun, before.tid, sizeof(begun->before.tid), begun);
    if (TABLE_HAS(begun))
        return 0;
    free(begun);
    return -ENOMEM;
}

int system_wide_ask(struct system_wide *wide, pid_t tid, struct accounting_task *ret)
{
    return accounting_ask(&wide->asked, tid, ret);
}

struct system_wide *system_wide_new(int *ret_status)
{
    struct system_wide *wide = calloc(1, sizeof(*wide));
    *ret_status = -ENOMEM;
    if (!wide)
        return NULL;
    wide->accounting.fd = wide->asked.fd = -1;
    wide->foreign = new_table(BITS);
    wide->left = new_table(BITS);
    wide->renamed = new_table(BITS);
    wide->execs = new_table(BITS);
    wide->gone = new_table(BITS);
    wide->began = new_table(TIMES);
    if (wide->foreign && wide->left && wide->renamed && wide->execs && wide->gone && wide->began)
        *ret_status = accounting_open(&wide->accounting);
    if (*ret_status == 0)
        *ret_status = accounting_open_to_ask(&wide->asked);
    if (*ret_status == 0)
        return wide;
    system_wide_free(wide);
    return NULL;
}

void system_wide_free(struct system_wide *wide)
{
    struct ended_task *ended, *next_ended;
    struct sampled_task *sampled, *next_sampled;
    struct begun_task *begun, *next_begun;
    if (!wide)
        return;
    HASH_ITER(hh, wide->ended, ended, next_ended)
    forget_ended(wide, ended);
    HASH_ITER(hh, wide->sampled, sampled, next_sampled)
    {
        HASH_DEL(wide->sampled, sampled);
        free(sampled);
    }
    HASH_ITER(hh, wide->begun, begun, next_begun)
    {
        HASH_DEL(wide->begun, begun);
        free(begun);
    }
    accounting_close(&wide->accounting);
    accounting_close(&wide->asked);
    free_table(wide->foreign, BITS);
    free_table(wide->left, BITS);
    free_table(wide->renamed, BITS);
    free_table(wide->execs, BITS);
    free_table(wide->gone, BITS);
    free_table(wide->began, TIMES);
    free(wide);
}
