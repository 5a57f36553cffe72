/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/sources/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/records/values.h"
#include "collector/sources/covered.h"
#include "collector/sources/inherited_private.h"
#include "collector/sources/session.h"
#include "collector/system/numbers.h"
#include "collector/system/procfs.h"
#include "common/clock.h"
#include "common/report.h"

/*
 * Instead of a set's number: the task descends from one that ran while the set was opened, and has a part of the set.
 */
#define PART UINT32_MAX

enum {
    COPY_NS = 1000 * 1000,               /* a fork takes so long from copying its events to writing its record */
    COPY_LONGEST_NS = 200 * 1000 * 1000, /* the same with the time that its task waits for a CPU in between */
    LENT = 4 << 20,
    LENT_ALL = 32 << 20,
};

/* ---- Opening and closing ---- */

void inherited_free_set(struct inherited_sets *sets, struct inherited_set *set)
{
    inherited_close_set(sets, set);
    if (sets->session->config->inherits)
        covered_mark(sets->session, set->tid, false);
    if (set->pidfd >= 0)
        close(set->pidfd);
    if (set->root_ids)
        inherited_roots_end(&sets->roots, set->root_ids);
    free(set);
}

int inherited_watch_set(const struct inherited_sets *sets, struct inherited_set *set)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = set};
    for (unsigned i = 0; i < set->cpu_count; i++)
        if (epoll_ctl(sets->epoll, EPOLL_CTL_ADD, set->cpus[i].fds[0], &event) < 0)
            return -errno;
    /* A task writes one record into each ring of counts: they fill at the same speed. */
    if (set->counters && epoll_ctl(sets->epoll, EPOLL_CTL_ADD, set->counters->fds[0], &event) < 0)
        return -errno;
    return 0;
}

static bool is_dead(const struct inherited_set *set)
{
    struct pollfd end = {.fd = set->pidfd, .events = POLLIN};
    return set->pidfd >= 0 && poll(&end, 1, 0) > 0;
}

/* An exec failed, or the task goes from one such program to the next: it has a set already. */
static bool has_root(struct inherited_sets *sets, pid_t pid, pid_t tid)
{
    pthread_mutex_lock(&sets->lock);
    struct inherited_set *set = sets->first;
    while (set && (set->tid != tid || set->pid != pid || is_dead(set)))
        set = set->next;
    pthread_mutex_unlock(&sets->lock);
    return set;
}

/* What the root made before now has only a part of the set. */
static void become_whole(struct inherited_set *set, enum inherit_root root)
{
    if (root == INHERIT_EXECS)
        return;
    set->root_ran = root == INHERIT_RUNS;
    set->waited_ns = set->root_ran ? procfs_waited_ns(set->pid, set->tid) : 0;
    set->whole_ns = clock_ns(CLOCK_MONOTONIC);
}

/* The root's own samples may have the ids of the set's events. A single event needs none to be known. */
static int keep_root_ids(struct inherited_sets *sets, struct inherited_set *set)
{
    const size_t sampling = sets->session->config->sampling;
    if (sampling < 2)
        return 0;
    set->root_ids = inherited_roots_add(&sets->roots, set->tid, set->cpu_count * sampling);
    if (!set->root_ids)
        return -ENOMEM;
    for (unsigned i = 0; i < set->cpu_count; i++)
        memcpy(&set->root_ids->ids[i * sampling], set->cpus[i].ids, sampling * sizeof(set->cpus[i].ids[0]));
    return 0;
}

/* SET, which is open, is read from now on. Under the lock. */
void inherited_add_set(struct inherited_sets *sets, struct inherited_set *set)
{
    if (!sets->numbers) /* later sets use the same ids */
        memcpy(sets->ids, set->cpus[0].ids, sizeof(sets->ids));
    for (unsigned i = 0; set->system_wide && i < sets->session->config->count; i++)
        if (!sets->ids[i]) /* no event is opened; the kernel gives ids from 1 on */
            sets->ids[i] = UINT64_MAX - i;
    set->number = ++sets->numbers;
    set->next = sets->first;
    sets->first = set;
    __atomic_fetch_add(&sets->live, 1, __ATOMIC_RELEASE);
}

int inherited_open_of(struct inherited_sets *sets, pid_t pid, pid_t tid, int pidfd, enum inherit_root root)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    size_t count = configured > 0 ? (size_t)configured : 1;
    /* Where timers sample there are no events to inherit, and a system-wide set has all tasks of the tree. */
    if (sets->session->config->source == PINJECT_SOURCE_TIMER || session_system_wide(sets->session) ||
        inherited_know(sets, tid) || has_root(sets, pid, tid))
        return 0;
    struct inherited_set *set = inherited_has_room(sets, count) ? calloc(1, sizeof(*set) + count * sizeof(set->cpus[0]))
                                                                : NULL;
    if (!set)
        return -ENOMEM;
    struct dump_sizes *dumps = &sets->session->dumps;
    const bool first = sets->session->config->inherits && !sets->numbers;
    const uint32_t before = first ? dump_sizes_unite(sets->session->config, dumps) : 0;
    set->pid = pid;
    set->tid = tid;
    set->pidfd = pidfd < 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
    int status = inherited_open_set(sets, set, (unsigned)count, root == INHERIT_EXECS);
    become_whole(set, root);
    if (status == 0 && !numbers_hold(pidfd < 0 ? set->pidfd : pidfd, pid, tid))
        status = -ESRCH;
    pthread_mutex_lock(&sets->lock);
    /* By now a system-wide set may have taken the place of all others. */
    const bool superseded = status == 0 && session_system_wide(sets->session);
    if (status == 0 && !superseded)
        status = inherited_watch_set(sets, set);
    if (status == 0 && !superseded)
        status = keep_root_ids(sets, set);
    if (status == 0 && !superseded) {
        inherited_add_set(sets, set);
        if (sets->session->config->inherits) /* its own events alone do not count there (attach_table.c) */
            covered_mark(sets->session, tid, true);
    }
    pthread_mutex_unlock(&sets->lock);
    if (status < 0 || superseded)
        inherited_free_set(sets, set);
    if (status < 0 && first)
        dump_sizes_restore(dumps, before);
    return status;
}

/* ---- Reading: under the lock ---- */

void inherited_enter(struct inherited_sets *sets, struct inherited_set *set, pid_t tid)
{
    if (!inherited_is_number(tid))
        return;
    const uint32_t number = (uint32_t)set->number, before = sets->inside[tid];
    set->members += before != number;
    __atomic_store_n(&sets->inside[tid], number, __ATOMIC_RELAXED);
    sets->highest = tid > sets->highest ? tid : sets->highest;
    if (!before || before == PART)
        covered_mark(sets->session, tid, true);
}

void inherited_leave(struct inherited_sets *sets, pid_t tid)
{
    if (!inherited_is_number(tid) || !sets->inside[tid])
        return;
    if (__atomic_exchange_n(&sets->inside[tid], 0, __ATOMIC_RELAXED) != PART)
        covered_mark(sets->session, tid, false);
}

/* Unless another set has all of it. */
static void enter_part(struct inherited_sets *sets, const struct inherited_set *set, pid_t tid)
{
    if (!inherited_is_number(tid) || (sets->inside[tid] && sets->inside[tid] != (uint32_t)set->number))
        return;
    inherited_leave(sets, tid);
    __atomic_store_n(&sets->inside[tid], PART, __ATOMIC_RELAXED);
}

/* All tasks in the set have ended. Those whose EXIT was lost still have their numbers marked. */
static void forget_members(struct inherited_sets *sets, const struct inherited_set *set)
{
    for (pid_t tid = 1; set->members && tid <= sets->highest; tid++)
        if (sets->inside[tid] == (uint32_t)set->number)
            inherited_leave(sets, tid);
}

/*
 * Did TASK get its events before the set was whole? A fork copies the events first and writes its record last, and the
 * root may lose the CPU in between. Only the first task that the root makes afterwards can have begun before.
 */
static bool is_from_before(struct inherited_set *set, const struct records_task *task)
{
    if (task->time_ns < set->whole_ns)
        return true;
    if (!set->root_ran || task->ptid != set->tid)
        return false;
    if (!set->first_ns || task->time_ns < set->first_ns)
        set->first_ns = task->time_ns;
    const uint64_t since = task->time_ns - set->whole_ns;
    if (task->time_ns > set->first_ns || since >= COPY_LONGEST_NS)
        return false;
    if (since < COPY_NS)
        return true;
    const uint64_t waited = procfs_waited_ns(set->pid, set->tid);
    return waited < set->waited_ns /* it has ended */ || since < COPY_NS + waited - set->waited_ns;
}

/* The ring of another CPU, read later, had a task that the root made before TASK: so TASK is not its first one. */
static bool is_later(const struct inherited_set *set, const struct records_task *task)
{
    return task->ptid == set->tid && task->time_ns >= set->whole_ns && set->first_ns && task->time_ns > set->first_ns;
}

/*
 * True: the task has only a part, as its descendants have. It may be the root of another set. KNOWN: that was found
 * when the record was noted before; since then its creator may have ended, or turned out to be whole.
 */
static bool note_fork(struct inherited_sets *sets, struct inherited_set *set, const struct perf_event_header *record,
                      bool known)
{
    struct records_task task = records_parse_task(record);
    const bool by_part = inherited_is_number(task.ptid) && sets->inside[task.ptid] == PART;
    const bool by_whole = inherited_is_number(task.ptid) && sets->inside[task.ptid] == (uint32_t)set->number;
    const bool part = (known && !by_whole && !is_later(set, &task)) || is_from_before(set, &task) ||
                      (by_part && task.ptid != set->tid && task.ptid != set->pid);
    /* The root has ended, and its number is in use again. */
    if (task.tid == set->tid)
        set->tid = 0;
    if (task.tid == set->pid)
        set->pid = 0;
    if (!part)
        inherited_enter(sets, set, task.tid);
    else
        enter_part(sets, set, task.tid);
    sets->untold |= part;
    return part;
}

static void note_exit(struct inherited_sets *sets, struct inherited_set *set, const struct perf_event_header *record)
{
    const pid_t tid = records_parse_task(record).tid;
    const uint32_t number = inherited_is_number(tid) ? sets->inside[tid] : 0;
    sets->untold |= !number;
    set->members -= set->members && number == (uint32_t)set->number;
    inherited_leave(sets, tid);
}

uint64_t inherited_hand_over(struct inherited_sets *sets, pid_t tid, unsigned *ret_readings)
{
    pthread_mutex_lock(&sets->lock);
    struct inherited_set *set = sets->first;
    set->gathering = false;
    if (set->system_wide)
        inherited_read_all(sets); /* that it was made by somebody else is in the past */
    set->pid = set->tid = 0;
    if (set->pidfd >= 0)
        close(set->pidfd);
    set->pidfd = -1;
    if (set->system_wide)
        system_wide_enter(sets, set, tid);
    else
        inherited_enter(sets, set, tid);
    *ret_readings = set->readings;
    pthread_mutex_unlock(&sets->lock);
    return set->number;
}

/*
 * The only thread that an exec left has the number of its process from then on, and the first thread, which had it
 * before, has written its EXIT. The task may have ended since, as its other records may be in another ring.
 */
static void note_comm(struct inherited_sets *sets, struct inherited_set *set, const struct perf_event_header *record)
{
    const struct records_comm comm = records_parse_comm(record);
    if (!comm.exec || !inherited_is_number(comm.tid))
        return;
    sets->untold = true; /* that EXIT may be in a ring that is read later */
    if (!sets->inside[comm.tid] && comm.tid != set->tid && comm.tid != set->pid && numbers_hold(-1, comm.pid, comm.tid))
        inherited_enter(sets, set, comm.tid);
}

/* True: there is nothing to hand on. */
static bool note_lost(struct inherited_sets *sets, struct inherited_set *set, const struct perf_event_header *record)
{
    if (record->type != PERF_RECORD_LOST && record->type != PERF_RECORD_LOST_SAMPLES)
        return false;
    const uint64_t lost = records_parse_lost(record);
    sets->lost += lost;
    set->told_lost += lost;
    return true;
}

/* Records that the kernel could not write for the event of FD; 0 if it is not asked, or cannot tell. */
static uint64_t count_lost(int fd, uint64_t format)
{
    uint64_t words[5]; /* value, both times, id, lost */
    const size_t size = (1 + (size_t)__builtin_popcountll(format)) * sizeof(words[0]);
    if (fd < 0 || !(format & PERF_FORMAT_LOST) || format & PERF_FORMAT_GROUP || read(fd, words, size) != (ssize_t)size)
        return 0;
    return words[size / sizeof(words[0]) - 1];
}

/*
 * The kernel tells of lost records when it writes the next one. If there was none, only its counters have them; those of
 * a group are not asked, nor kernels before 6.0.
 */
void inherited_note_untold_lost(struct inherited_sets *sets, struct inherited_set *set)
{
    const struct event_config *config = sets->session->config;
    uint64_t lost = 0;
    for (unsigned j = 0; j < config->count; j++) {
        const uint64_t format = config->events[j].attr.read_format;
        for (unsigned i = 0; i < set->cpu_count; i++)
            lost += count_lost(set->cpus[i].fds[j], format);
        lost += set->counters ? count_lost(set->counters->fds[j], format) : 0;
    }
    if (lost <= set->told_lost)
        return;
    sets->lost += lost - set->told_lost;
    set->told_lost = lost;
}

/*
 * Workers read rings too: if nobody takes what they read, it is as if the rings were full. Records about tasks are
 * worth more than samples and context switches. A set may keep as much as its rings have, and some MiB while all sets keep little: a few
 * samples with stack dumps fill a small ring.
 */
static bool has_place(struct inherited_sets *sets, struct inherited_set *set, const struct perf_event_header *record)
{
    const bool about_task = record->type != PERF_RECORD_SAMPLE && record->type != PERF_RECORD_SWITCH;
    const uint64_t times = about_task ? 2 : 1, kept = set->kept + record->size;
    if (kept > times * set->room && (kept > times * LENT || sets->kept + record->size > times * LENT_ALL))
        return false;
    set->kept = kept;
    sets->kept += record->size;
    return true;
}

void inherited_give_room(struct inherited_sets *sets, struct inherited_set *set, const struct inherited_record *kept)
{
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    set->kept -= set->kept < record->size ? set->kept : record->size;
    sets->kept -= sets->kept < record->size ? sets->kept : record->size;
}

/*
 * The event that RECORD, in a ring of events with IDS, is of; -1: nobody knows, because the kernel filled in a sample for
 * another profiler's event first (event_config_find_shared()).
 */
static int event_of(const struct inherited_sets *sets, const uint64_t *ids, const struct perf_event_header *record)
{
    const struct event_config *config = sets->session->config;
    const int event = records_find_event(&sets->layout, ids, records_id(&sets->layout, record));
    if (event >= 0)
        return event;
    if (sets->system_wide && record->type == PERF_RECORD_SAMPLE && system_wide_is_count(sets, record))
        return system_wide_find_count(sets);
    return record->type != PERF_RECORD_SAMPLE || config->sampling == 1 ? 0 : event_config_find_shared(config);
}

static bool is_of_root(const struct inherited_set *set, pid_t pid, pid_t tid)
{
    return tid == set->tid || (tid == set->pid && pid == set->pid);
}

/* A sample of a leader has values, and a READ record has those of its own event alone. */
static void keep_values(const struct inherited_sets *sets, const struct inherited_cpu *cpu, unsigned event,
                        struct perf_event_header *record)
{
    const struct event_config *config = sets->session->config;
    if (!config->events[event].values)
        return;
    if (config->inherit_values) {
        values_place(&sets->layout, event, cpu->ids, (unsigned)cpu->number, record);
        values_shorten_read(&sets->layout, event, record);
    } else {
        values_add_none(&sets->layout, event, record);
    }
}

/* CPU: whose OUTPUT is; NULL: that of all CPUs. */
static void keep_record(struct inherited_sets *sets, struct inherited_set *set, const struct inherited_cpu *cpu,
                        const struct inherited_output *output, const struct perf_event_header *record, bool part)
{
    pid_t pid, tid;
    const int event = event_of(sets, output->ring.ids, record);
    records_writer(&sets->layout, 0, record, &pid, &tid);
    if (record->type == PERF_RECORD_SWITCH && is_of_root(set, pid, tid)) /* its own events have it */
        return;
    if (event < 0) {
        sets->lost += !is_of_root(set, pid, tid); /* the root's own events have its samples */
        return;
    }
    const struct event_config *config = sets->session->config;
    const size_t more = config->events[event].values && !config->inherit_values ? VALUES_NONE : 0;
    const bool placed = record->size + more <= UINT16_MAX && has_place(sets, set, record);
    struct inherited_record *kept = placed ? inherited_records_add(&sets->records, record, more) : NULL;
    if (!kept) {
        sets->lost++;
        set->incomplete |= record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT;
        return;
    }
    kept->inherited_set = set->number;
    kept->event = (unsigned)event;
    kept->readings = set->readings;
    kept->part = part;
    kept->undecided = set->system_wide;
    struct perf_event_header *copy = (struct perf_event_header *)(void *)kept->bytes;
    keep_values(sets, cpu, kept->event, copy);
    records_set_id(&sets->layout, sets->ids[event], copy);
    kept->pid = pid;
    kept->tid = tid;
    kept->time_ns = records_time(&sets->layout, kept->event, copy);
    kept->root = is_of_root(set, pid, tid);
}

static void take_record(struct inherited_sets *sets, struct inherited_set *set, const struct inherited_cpu *cpu,
                        const struct inherited_output *output, const struct perf_event_header *record)
{
    if (note_lost(sets, set, record))
        return;
    if (set->system_wide) {
        if (!system_wide_is_foreign(sets, record))
            keep_record(sets, set, cpu, output, record, false);
        return;
    }
    const bool part = record->type == PERF_RECORD_FORK && note_fork(sets, set, record, false);
    if (record->type == PERF_RECORD_EXIT)
        note_exit(sets, set, record);
    if (record->type == PERF_RECORD_COMM)
        note_comm(sets, set, record);
    keep_record(sets, set, cpu, output, record, part);
}

/* FD: of an inherited event, which hangs up when the last task that has it has given it up. */
static bool is_over(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) >= 0 && poll_fd.revents & (POLLHUP | POLLERR);
}

/* A task gives up its events one after the other, and writes its counts with those that count. */
static bool has_ended(const struct inherited_sets *sets, const struct inherited_set *set)
{
    bool ended = !set->system_wide;
    for (unsigned i = 0; ended && i < set->cpu_count; i++)
        ended = is_over(set->cpus[i].fds[0]);
    for (unsigned i = 0; ended && set->counters && i < sets->session->config->count; i++)
        ended = set->counters->fds[i] < 0 || is_over(set->counters->fds[i]);
    return ended;
}

/*
 * Replaces the ring of OUTPUT, and so the kernel's state of the ring's writers, which are COUNT events, FDS. It is mapped
 * by FD. If that is refused, they have none.
 */
static void renew_ring(struct inherited_sets *sets, struct inherited_output *output, int fd, const int *fds,
                       unsigned count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = output->map_size / page - 1;
    inherited_unmap_ring(sets, output);
    sets->lost++;
    if (inherited_map_ring(sets, output, fd, pages, output->ring.ids) < 0)
        return;
    for (unsigned i = 0; i < count; i++)
        if (fds[i] >= 0 && fds[i] != fd)
            (void)ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT, fd);
}

/* CPU: whose OUTPUT is; NULL: that of all CPUs. True: it is damaged. */
static bool read_output(struct inherited_sets *sets, struct inherited_set *set, const struct inherited_cpu *cpu,
                        struct inherited_output *output, bool ended)
{
    const struct perf_event_header *record;
    struct inherited_ring *ring = &output->ring;
    if (!output->map)
        return false;
    if (inherited_ring_begin(ring)) {
        while ((record = inherited_ring_next(ring, sets->scratch)))
            take_record(sets, set, cpu, output, record);
        inherited_ring_end(ring);
    }
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (!inherited_ring_has_stopped(ring, now, ended, sets->scratch))
        return false;
    while ((record = inherited_ring_next_behind(ring, now, sets->scratch)))
        take_record(sets, set, cpu, output, record);
    return true;
}

static void read_outputs(struct inherited_sets *sets, struct inherited_set *set, bool ended)
{
    const unsigned count = sets->session->config->count;
    for (unsigned i = 0; i < set->cpu_count; i++) {
        struct inherited_cpu *cpu = &set->cpus[i];
        if (read_output(sets, set, cpu, &cpu->output, ended) && !set->closing)
            renew_ring(sets, &cpu->output, cpu->fds[0], cpu->fds, count);
    }
    for (unsigned i = 0; set->counters && i < count; i++)
        if (read_output(sets, set, NULL, &set->counters->outputs[i], ended) && !set->closing)
            renew_ring(sets, &set->counters->outputs[i], set->counters->ring_fds[i], &set->counters->fds[i], 1);
}

/*
 * Rings are read one after the other. The end of a task that began on one CPU and ended on another may be read before
 * its start, and its number would stay in the set; and a task with a part may be read after its descendants. So this
 * notes the records again, by time.
 */
static void note_again(struct inherited_sets *sets, struct inherited_set *set, size_t first)
{
    inherited_records_sort(&sets->records, first);
    for (size_t i = first; i < sets->records.count; i++) {
        struct inherited_record *kept = sets->records.at[i];
        const struct perf_event_header *record = (const void *)kept->bytes;
        if (record->type == PERF_RECORD_FORK)
            kept->part = note_fork(sets, set, record, kept->part);
        if (record->type == PERF_RECORD_EXIT)
            note_exit(sets, set, record);
        if (record->type == PERF_RECORD_COMM)
            note_comm(sets, set, record);
    }
}

/* True: all tasks in the set have ended, and it was read to its end. */
static bool read_set(struct inherited_sets *sets, struct inherited_set *set)
{
    bool ended = has_ended(sets, set);
    const size_t first = sets->records.count;
    const uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), lost = set->told_lost;
    sets->untold = false;
    read_outputs(sets, set, ended || set->closing);
    set->incomplete |= set->told_lost > lost;
    if (set->system_wide && set->incomplete && !set->gathering)
        set->incomplete = !system_wide_find_members(sets, set);
    if (set->system_wide && !set->gathering)
        system_wide_decide(sets, set, begin_ns);
    else if (!set->system_wide && sets->untold)
        note_again(sets, set, first);
    return ended;
}

void inherited_read_all(struct inherited_sets *sets)
{
    /* Before the first ring is looked at: pairs with inherited_know(). */
    __atomic_fetch_add(&sets->begun, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (struct inherited_set **at = &sets->first; *at;) {
        struct inherited_set *set = *at;
        if (!read_set(sets, set)) {
            at = &set->next;
            continue;
        }
        *at = set->next;
        inherited_note_untold_lost(sets, set);
        forget_members(sets, set);
        inherited_free_set(sets, set);
        __atomic_fetch_sub(&sets->live, 1, __ATOMIC_RELEASE);
    }
}

bool inherited_know(struct inherited_sets *sets, pid_t tid)
{
    if (!inherited_live(sets) || !inherited_is_number(tid))
        return false;
    /* What TID's creator wrote is in its ring by now. Pairs with inherited_read_all(). */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const uint64_t begun = __atomic_load_n(&sets->begun, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&sets->lock);
    /*
     * Rings are many: if another thread has begun and finished reading while we waited, there is no need to read again.
     */
    if (sets->begun == begun)
        inherited_read_all(sets);
    bool inside = sets->inside[tid] && sets->inside[tid] != PART;
    pthread_mutex_unlock(&sets->lock);
    return inside;
}

bool inherited_is_root(struct inherited_sets *sets, pid_t pid)
{
    if (!inherited_live(sets))
        return false;
    pthread_mutex_lock(&sets->lock);
    const struct inherited_set *set = sets->first;
    while (set && set->pid != pid)
        set = set->next;
    pthread_mutex_unlock(&sets->lock);
    return set;
}

static bool is_marked(const struct inherited_sets *sets, pid_t tid)
{
    return sets && inherited_is_number(tid) && __atomic_load_n(&sets->inside[tid], __ATOMIC_RELAXED);
}

void inherited_forget(struct inherited_sets *sets, pid_t tid)
{
    if (!is_marked(sets, tid))
        return;
    pthread_mutex_lock(&sets->lock);
    inherited_read_all(sets);
    inherited_leave(sets, tid);
    pthread_mutex_unlock(&sets->lock);
}

void inherited_made_by(struct inherited_sets *sets, pid_t creator, pid_t tid)
{
    if (!is_marked(sets, tid))
        return;
    pthread_mutex_lock(&sets->lock);
    inherited_read_all(sets);
    const struct inherited_set *set = sets->first;
    while (set && set->tid != creator && set->pid != creator) /* after an exec the root has the latter */
        set = set->next;
    if (!set && !(inherited_is_number(creator) && sets->inside[creator]))
        inherited_leave(sets, tid);
    pthread_mutex_unlock(&sets->lock);
}

static void make_room(struct inherited_sets *sets)
{
    sets->kept = 0;
    for (struct inherited_set *set = sets->first; set; set = set->next)
        set->kept = 0;
}

struct inherited_record *inherited_take(struct inherited_sets *sets, uint64_t before_ns, uint64_t *lost)
{
    pthread_mutex_lock(&sets->lock);
    make_room(sets); /* what is read now is taken at once */
    inherited_read_all(sets);
    for (struct inherited_set *set = sets->first; set && before_ns == UINT64_MAX; set = set->next)
        inherited_note_untold_lost(sets, set); /* nothing is taken after that */
    *lost += sets->lost;
    sets->lost = 0;
    struct inherited_record *first = inherited_records_take(&sets->records, before_ns);
    if (sets->system_wide)
        first = system_wide_count(sets, inherited_system_wide(sets), first, before_ns == UINT64_MAX);
    make_room(sets); /* what stays is no older than BEFORE_NS */
    pthread_mutex_unlock(&sets->lock);
    return first;
}

/* ---- Life ---- */

bool inherited_live(const struct inherited_sets *sets)
{
    return sets && __atomic_load_n(&sets->live, __ATOMIC_ACQUIRE);
}

bool inherited_are_for_all(const struct inherited_sets *sets)
{
    return inherited_live(sets) && (sets->session->config->inherits || session_system_wide(sets->session));
}

static bool is_filling(const struct inherited_output *output)
{
    const struct pinject_ring *ring = &output->ring.ring;
    return output->map && __atomic_load_n(&ring->page->data_head, __ATOMIC_RELAXED) - ring->tail > ring->size / 2;
}

bool inherited_are_filling(struct inherited_sets *sets)
{
    bool filling = false;
    if (!inherited_live(sets))
        return false;
    pthread_mutex_lock(&sets->lock);
    for (const struct inherited_set *set = sets->first; set && !filling; set = set->next) {
        for (unsigned i = 0; i < set->cpu_count && !filling; i++)
            filling = is_filling(&set->cpus[i].output);
        /* They fill at the same speed. */
        filling |= set->counters && is_filling(&set->counters->outputs[0]);
    }
    pthread_mutex_unlock(&sets->lock);
    return filling;
}

int inherited_fd(const struct inherited_sets *sets)
{
    return sets->epoll;
}

const uint64_t *inherited_ids(const struct inherited_sets *sets)
{
    return sets->ids;
}

int inherited_event_of_root(struct inherited_sets *sets, pid_t root, uint64_t id)
{
    if (!sets)
        return -1;
    pthread_mutex_lock(&sets->lock);
    const int place = inherited_roots_find(&sets->roots, root, id);
    pthread_mutex_unlock(&sets->lock);
    return place < 0 ? -1 : place % (int)sets->session->config->sampling;
}

struct inherited_sets *inherited_new(struct session *session)
{
    struct inherited_sets *sets = calloc(1, sizeof(*sets));
    if (!sets) {
        report_error("out of memory");
        return NULL;
    }
    sets->session = session;
    records_layout_init(&sets->layout, session->config);
    inherited_roots_init(&sets->roots);
    pthread_mutex_init(&sets->lock, NULL);
    sets->epoll = epoll_create1(EPOLL_CLOEXEC);
    void *inside = mmap(NULL, PINJECT_TASKS * sizeof(*sets->inside), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sets->inside = inside == MAP_FAILED ? NULL : inside;
    if (sets->epoll < 0 || !sets->inside) {
        report_error("cannot set up inherited events for programs that do not load the preload object: %s",
                     strerror(errno));
        inherited_free(sets);
        return NULL;
    }
    return sets;
}

void inherited_free(struct inherited_sets *sets)
{
    if (!sets)
        return;
    while (sets->first) {
        struct inherited_set *set = sets->first;
        sets->first = set->next;
        inherited_free_set(sets, set);
    }
    system_wide_free(sets->system_wide);
    inherited_roots_release(&sets->roots);
    inherited_records_release(&sets->records);
    if (sets->inside)
        munmap(sets->inside, PINJECT_TASKS * sizeof(*sets->inside));
    if (sets->epoll >= 0)
        close(sets->epoll);
    pthread_mutex_destroy(&sets->lock);
    free(sets);
}
