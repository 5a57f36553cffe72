/* SPDX-License-Identifier: MIT */
#include "collector/sources/system_wide.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/sources/inherited_private.h"
#include "collector/sources/session.h"
#include "collector/system/procfs.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/table.h"

enum {
    STAT_MAX = 1024,
    FORGET_NS = 2000 * 1000 * 1000, /* what the kernel told of a task that is not of the tree is of no use after that */
    WORD = 64,
};

/* An ended task, before its EXIT record is taken. The next ones have the same number. */
struct ended_task {
    struct accounting_task account;
    uint64_t told_ns;
    struct ended_task *next;
    UT_hash_handle hh;
};

/* Events of a live task that accounting does not have. */
struct sampled_task {
    pid_t tid;
    uint64_t values[CONFIG_EVENTS];
    UT_hash_handle hh;
};

struct system_wide {
    struct accounting accounting;
    struct accounting_task before; /* of the command */
    /* A bit for each tid. */
    uint64_t *foreign; /* a live task that is not of the tree */
    uint64_t *left;    /* a first thread of the tree that has ended: an exec of another thread may get its number */
    struct ended_task *ended;
    uint64_t forgot_ns; /* when old ones were looked for */
    struct sampled_task *sampled;
};

/* ---- Bits ---- */

static uint64_t *new_bits(void)
{
    void *bits = mmap(NULL, PINJECT_TASKS / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0);
    return bits == MAP_FAILED ? NULL : bits;
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
    const bool member = is_member(sets, set, made->ptid);
    set_bit(wide->left, made->tid, false);
    set_bit(wide->foreign, made->tid, !member);
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
    if (member) {
        set_bit(wide->left, task->tid, task->pid == task->tid);
        inherited_leave(sets, task->tid);
    }
    return member;
}

/* The only thread that an exec left has the number of its process from then on. */
static void note_exec(struct inherited_sets *sets, struct inherited_set *set, const struct records_comm *comm)
{
    struct system_wide *wide = sets->system_wide;
    if (!comm->exec || !has_bit(wide->left, comm->tid))
        return;
    set_bit(wide->left, comm->tid, false);
    inherited_enter(sets, set, comm->tid);
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
    const bool member = is_member(sets, set, kept->tid);
    if (!member)
        set_bit(sets->system_wide->foreign, kept->tid, true);
    return member;
}

void system_wide_decide(struct inherited_sets *sets, struct inherited_set *set, uint64_t before_ns)
{
    struct inherited_records *records = &sets->records;
    size_t count = 0;
    inherited_records_sort(records, 0);
    for (size_t i = 0; i < records->count; i++) {
        struct inherited_record *kept = records->at[i];
        const bool open = kept->undecided && kept->time_ns < before_ns;
        if (open && !decide(sets, set, kept)) {
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

void system_wide_enter(struct inherited_sets *sets, struct inherited_set *set, pid_t tid)
{
    set_bit(sets->system_wide->foreign, tid, false);
    inherited_enter(sets, set, tid);
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
    if (is_member(sets, set, tid))
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

void system_wide_find_members(struct inherited_sets *sets, struct inherited_set *set)
{
    while (visit_numbers("/proc", visit_process, sets, set))
        ;
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

/* The oldest one with the number TID, which the caller frees; NULL: the kernel has told nothing. */
static struct ended_task *take_ended(struct system_wide *wide, pid_t tid)
{
    struct ended_task *first;
    HASH_FIND(hh, wide->ended, &tid, sizeof(tid), first);
    if (!first)
        return NULL;
    struct ended_task *next = first->next;
    HASH_DEL(wide->ended, first);
    if (next) {
        HASH_ADD(hh, wide->ended, account.tid, sizeof(next->account.tid), next);
        if (!TABLE_HAS(next))
            free(next);
    }
    return first;
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

static uint64_t less(uint64_t value, uint64_t before)
{
    return value > before ? value - before : 0;
}

static uint64_t value_of(const struct system_wide *wide, const struct accounting_task *account,
                         const struct config_event *event, unsigned index)
{
    const struct accounting_task none = {0}, *before = account->tid == wide->before.tid ? &wide->before : &none;
    const uint64_t minor = less(account->minor_faults, before->minor_faults),
                   major = less(account->major_faults, before->major_faults);
    struct sampled_task *sampled;
    switch (event->account) {
    case CONFIG_ACCOUNT_CLOCK: return less(account->cpu_ns, before->cpu_ns);
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
    for (unsigned i = 0; i < config->count; i++) {
        const struct records_reading reading = {.value = value_of(sets->system_wide, account, &config->events[i], i),
                                                .enabled_ns = account->alive_ns,
                                                .running_ns = account->alive_ns};
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
    struct ended_task *ended = take_ended(wide, exit->tid);
    if (ended)
        last = add_readings(sets, exit, &ended->account);
    if (exit->tid == wide->before.tid)
        wide->before.tid = 0; /* another task may get its number */
    forget_sampled(wide, exit->tid);
    free(ended);
    last->next = next;
    return last;
}

struct inherited_record *system_wide_count(struct inherited_sets *sets, struct inherited_record *first)
{
    listen(sets);
    for (struct inherited_record **at = &first; *at;) {
        struct inherited_record *kept = *at;
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
        if (note_sample(sets, kept, record)) {
            *at = kept->next;
            free(kept);
            continue;
        }
        if (record->type == PERF_RECORD_FORK)
            forget_sampled(sets->system_wide, records_parse_task(record).tid);
        if (record->type == PERF_RECORD_EXIT)
            kept = note_end(sets, kept);
        at = &kept->next;
    }
    return first;
}

/* ---- Life ---- */

void system_wide_set_before(struct system_wide *wide, const struct accounting_task *before)
{
    wide->before = *before;
}

struct system_wide *system_wide_new(int *ret_status)
{
    struct system_wide *wide = calloc(1, sizeof(*wide));
    *ret_status = -ENOMEM;
    if (!wide)
        return NULL;
    wide->accounting.fd = -1;
    wide->foreign = new_bits();
    wide->left = new_bits();
    if (wide->foreign && wide->left)
        *ret_status = accounting_open(&wide->accounting);
    if (*ret_status == 0)
        return wide;
    system_wide_free(wide);
    return NULL;
}

void system_wide_free(struct system_wide *wide)
{
    struct ended_task *ended, *next_ended;
    struct sampled_task *sampled, *next_sampled;
    if (!wide)
        return;
    HASH_ITER(hh, wide->ended, ended, next_ended)
    forget_ended(wide, ended);
    HASH_ITER(hh, wide->sampled, sampled, next_sampled)
    {
        HASH_DEL(wide->sampled, sampled);
        free(sampled);
    }
    accounting_close(&wide->accounting);
    if (wide->foreign)
        munmap(wide->foreign, PINJECT_TASKS / 8);
    if (wide->left)
        munmap(wide->left, PINJECT_TASKS / 8);
    free(wide);
}
