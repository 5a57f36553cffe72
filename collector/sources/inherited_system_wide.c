/* SPDX-License-Identifier: MIT */
/* What inherited.h says of a system-wide set: it is opened, tasks come into it, and it takes the place of all others. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/sources/inherited.h"
#include "collector/sources/inherited_private.h"
#include "collector/sources/session.h"
#include "collector/sources/system_wide.h"
#include "collector/system/numbers.h"
#include "collector/system/procfs.h"
#include "common/clock.h"

enum {
    STATUS_MAX = 8192,
    SKEW_NS = 100 * 1000,
};

int inherited_open_system_wide(struct inherited_sets *sets, uint64_t *ret_since_ns)
{
    const long configured = sysconf(_SC_NPROCESSORS_CONF);
    const size_t count = configured > 0 ? (size_t)configured : 1;
    struct inherited_set *set = calloc(1, sizeof(*set) + count * sizeof(set->cpus[0]));
    int status = -ENOMEM;
    if (!set)
        return status;
    const uint32_t before = dump_sizes_unite(sets->session->config, &sets->session->dumps);
    set->system_wide = set->gathering = true;
    set->pidfd = -1;
    struct system_wide *wide = system_wide_new(&status);
    if (wide)
        status = inherited_open_set(sets, set, (unsigned)count, false);
    set->since_ns = *ret_since_ns = clock_ns(CLOCK_MONOTONIC);
    set->readings = sets->session->config->count; /* made from what the kernel's accounting tells */
    pthread_mutex_lock(&sets->lock);
    if (status == 0)
        status = inherited_watch_set(sets, set);
    if (status == 0) {
        sets->system_wide = wide;
        inherited_add_set(sets, set);
        __atomic_store_n(&sets->session->system_wide_set, set->number, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&sets->lock);
    if (status < 0) {
        system_wide_free(wide);
        inherited_free_set(sets, set);
        dump_sizes_restore(&sets->session->dumps, before);
    }
    return status;
}

unsigned inherited_adopt(struct inherited_sets *sets, pid_t pid, pid_t tid)
{
    unsigned readings = 0;
    pthread_mutex_lock(&sets->lock);
    struct inherited_set *set = inherited_system_wide(sets);
    const bool member = set && inherited_is_number(tid) && sets->inside[tid] == (uint32_t)set->number;
    if (set && !member && !set->gathering)
        inherited_read_all(sets); /* who made it, and who had its number before, is in the past */
    /* What is asked for a task that has ended may be handled late. */
    if (set && (member || set->gathering || !system_wide_has_ended(sets, tid))) {
        system_wide_adopt(sets, set, pid, tid);
        readings = set->readings;
    }
    pthread_mutex_unlock(&sets->lock);
    return readings;
}

int inherited_count_from_now(struct inherited_sets *sets, pid_t tid, uint64_t beyond_ns)
{
    struct accounting_task account = {0};
    pthread_mutex_lock(&sets->lock);
    int status = sets->system_wide ? system_wide_ask(sets->system_wide, tid, &account) : -ESRCH;
    account.cpu_ns = beyond_ns != INHERITED_FROM_NOW ? beyond_ns : account.ran_ns;
    if (status == 0)
        status = system_wide_set_before(sets->system_wide, &account);
    if (status < 0)
        inherited_leave(sets, tid);
    pthread_mutex_unlock(&sets->lock);
    return status;
}

void inherited_set_before(struct inherited_sets *sets, const struct accounting_task *before)
{
    pthread_mutex_lock(&sets->lock);
    struct accounting_task same_clock = *before;
    same_clock.cpu_ns = before->ran_ns;
    if (sets->system_wide)
        (void)system_wide_set_before(sets->system_wide, &same_clock); /* without memory, it is counted */
    pthread_mutex_unlock(&sets->lock);
}

/*
 * The kernel writes a record once for each event, and takes the time anew. A FORK record of an inherited event is about
 * 1 us younger than that of a CPU, which may be from before since_ns. Does WIDE have that of TID since then?
 */
static bool has_fork(const struct inherited_sets *sets, const struct inherited_set *wide, pid_t tid)
{
    for (size_t i = 0; i < sets->records.count; i++) {
        const struct inherited_record *kept = sets->records.at[i];
        const struct perf_event_header *record = kept ? (const void *)kept->bytes : NULL;
        if (kept && kept->inherited_set == wide->number && kept->time_ns >= wide->since_ns &&
            record->type == PERF_RECORD_FORK && records_parse_task(record).tid == tid)
            return true;
    }
    return false;
}

/*
 * The other sets are about to be closed, and nobody takes their last records. Returns whether WIDE has KEPT, too; else
 * KEPT is one of WIDE from now on.
 */
static bool is_in_both(const struct inherited_sets *sets, const struct inherited_set *wide,
                       struct inherited_record *kept)
{
    const struct perf_event_header *record = (const void *)kept->bytes;
    const bool early = kept->time_ns < wide->since_ns; /* from a ring that had stopped, or a slow writer */
    const bool missing = !early && record->type == PERF_RECORD_FORK && kept->time_ns < wide->since_ns + SKEW_NS &&
                         !has_fork(sets, wide, records_parse_task(record).tid);
    if (!early && !missing)
        return true;
    kept->inherited_set = wide->number;
    kept->readings = wide->readings;
    kept->root = kept->part = false;
    return false;
}

/*
 * WIDE decides about its records by time. So the tasks that are in the tree have to be those from before these records: a
 * task that has ended since may have made others. READ records of the other sets stay as they are.
 */
static void go_back(struct inherited_sets *sets, struct inherited_set *wide)
{
    struct inherited_records *records = &sets->records;
    inherited_records_sort(records, 0);
    for (size_t i = records->count; i-- > 0;) {
        struct inherited_record *kept = records->at[i];
        const struct perf_event_header *record = (const void *)kept->bytes;
        if (kept->inherited_set == wide->number || record->type == PERF_RECORD_READ || !is_in_both(sets, wide, kept))
            continue;
        if (record->type == PERF_RECORD_FORK)
            inherited_leave(sets, records_parse_task(record).tid);
        if (record->type == PERF_RECORD_EXIT)
            system_wide_enter(sets, wide, records_parse_task(record).tid);
        free(kept);
        records->at[i] = NULL;
    }
    size_t count = 0;
    for (size_t i = 0; i < records->count; i++)
        if (records->at[i])
            records->at[count++] = records->at[i];
    records->count = count;
}

/* The process of TID; 0: unknown. */
static pid_t find_process(pid_t tid)
{
    static const char key[] = "\nTgid:\t";
    char *text = procfs_read(tid, "status", STATUS_MAX, NULL);
    const char *at = text ? strstr(text, key) : NULL;
    const pid_t pid = at ? (pid_t)atoi(at + strlen(key)) : 0;
    free(text);
    return pid;
}

static void stop_events(const struct inherited_sets *sets, const int *fds)
{
    for (unsigned i = 0; i < sets->session->config->count; i++)
        if (fds[i] >= 0)
            (void)ioctl(fds[i], PERF_EVENT_IOC_DISABLE, 0); /* it returns when all copies are off */
}

/* No task writes to SET any more: then a ring that has stopped can be read to its end. */
static void stop_writers(const struct inherited_sets *sets, struct inherited_set *set)
{
    for (unsigned i = 0; i < set->cpu_count; i++)
        stop_events(sets, set->cpus[i].fds);
    if (set->counters)
        stop_events(sets, set->counters->fds);
    set->closing = true;
}

void inherited_close_others(struct inherited_sets *sets)
{
    pthread_mutex_lock(&sets->lock);
    struct inherited_set *wide = inherited_system_wide(sets);
    for (struct inherited_set *set = sets->first; wide && set; set = set->next)
        if (set != wide)
            stop_writers(sets, set);
    const uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
    inherited_read_all(sets);
    if (wide)
        go_back(sets, wide);
    for (struct inherited_set **at = &sets->first; wide && *at;) {
        struct inherited_set *set = *at;
        if (set == wide) {
            at = &set->next;
            continue;
        }
        *at = set->next;
        /* A thread may have called exec: nothing says who has that number. */
        if (set->pid > 0 && numbers_hold(set->pidfd, set->pid, set->pid))
            system_wide_adopt(sets, wide, set->pid, set->pid);
        inherited_note_untold_lost(sets, set);
        inherited_free_set(sets, set);
        __atomic_fetch_sub(&sets->live, 1, __ATOMIC_RELEASE);
    }
    for (pid_t tid = 1; wide && tid <= sets->highest; tid++)
        if (sets->inside[tid] && sets->inside[tid] != (uint32_t)wide->number)
            system_wide_adopt(sets, wide, find_process(tid), tid);
    if (wide && wide->gathering) {
        wide->gathering = false;
        wide->gathered_ns = clock_ns(CLOCK_MONOTONIC);
        system_wide_decide(sets, wide, begin_ns);
    }
    pthread_mutex_unlock(&sets->lock);
}
