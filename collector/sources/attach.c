/* SPDX-License-Identifier: MIT */
#include "collector/sources/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/config/event_rate.h"
#include "collector/config/event_sets.h"
#include "collector/config/probe.h"
#include "collector/sources/attach_table.h"
#include "collector/sources/deferred_munmap.h"
#include "collector/sources/inherited.h"
#include "collector/sources/pressure.h"
#include "collector/sources/rings.h"
#include "collector/sources/session.h"
#include "collector/stacks/stacks.h"
#include "common/clock.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* Reserved for result files, /proc and everything else of the collector: these, or half of the limit. */
enum { SPARE_FDS = 64 };

/* A ring takes at most this part of the memory that is left: 9 MiB hold 130 rings of 8 pages, then 380 smaller ones. */
enum { RING_SHARE = 128, DUMP_SHARE = 16 };

/* FD, unless it is one of those that are reserved. */
static int keep_event(const struct session *session, int fd)
{
    uint64_t limit = session->fd_limit, spare = limit / 2 < SPARE_FDS ? limit / 2 : SPARE_FDS;
    if (fd < 0 || (uint64_t)fd + spare < limit)
        return fd;
    close(fd);
    return -EMFILE;
}

/* Another set has the first turn: it waits until its leader is enabled. */
static bool waits_for_turn(const struct attached *attached, unsigned index)
{
    const struct event_config *config = attached->session->config;
    return config->events[index].leader == index && !event_sets_is_on(&config->events[index], attached->set);
}

/* A filter has to be there before the event counts: then set_filter() starts it. */
static bool waits_for_filter(const struct config_event *event, enum attach_how how)
{
    return event->spec && event->spec->filter && how != ATTACH_ON_EXEC;
}

/* FD or -errno: without its filter, an event would count what it should not. */
static int set_filter(const struct attached *attached, unsigned index, enum attach_how how, int fd)
{
    const struct config_event *event = &attached->session->config->events[index];
    if (fd < 0 || !event->spec || !event->spec->filter)
        return fd;
    int status = probe_filter(fd, event->spec->filter);
    if (status == 0 && waits_for_filter(event, how) && !waits_for_turn(attached, index) &&
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
        status = -errno;
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

/* A quarter of a ring of PAGES, or less. */
static uint32_t watermark(const struct event_config *config, size_t pages)
{
    const size_t quarter = pages * (size_t)sysconf(_SC_PAGESIZE) / 4;
    return config->wake_bytes && config->wake_bytes < quarter ? config->wake_bytes : (uint32_t)quarter;
}

static int open_event(struct attached *attached, unsigned index, enum attach_how how, size_t pages)
{
    const struct event_config *config = attached->session->config;
    const struct config_event *event = &config->events[index];
    struct perf_event_attr attr = event->attr;
    pid_t tid = attached->tid;
    const int group = event->leader == index ? -1 : attached->fds[event->leader];
    if (event->leader != index && group < 0)
        return -ENODEV; /* its group is not open */
    stacks_attr(config, event, attached->dump, &attr);
    event_rate_attr(event, false, &attr);
    if (event_config_varies(event))
        attr.sample_period = attach_period_now(attached, index);
    attr.enable_on_exec = how == ATTACH_ON_EXEC && event_sets_is_on(event, attached->set);
    attr.disabled = attr.enable_on_exec || waits_for_filter(event, how) || waits_for_turn(attached, index);
    if (attr.watermark)
        attr.wakeup_watermark = watermark(config, pages);
    attach_place_attr(attached, index, &attr);
    int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL && attr.freq) {
        /* Samples were expensive, and the kernel has lowered its limit since the event configuration was made. */
        int64_t limit = probe_read_sysctl("perf_event_max_sample_rate", 0);
        if (limit > 0 && (uint64_t)limit < attr.sample_freq)
            attr.sample_freq = (uint64_t)limit;
        fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
    }
    if (fd < 0)
        return -errno;
    attach_place_opened(attached, index, &attr);
    return set_filter(attached, index, how, fd);
}

/* As the budget shrinks, rings get smaller, so that late tasks have a ring too. Stack dumps need large rings: the
 * first tasks get them, up to half of the budget. */
size_t attach_ring_pages(uint64_t budget, uint64_t used, size_t wanted, bool dumps)
{
    bool large = dumps && used < budget / 2;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), left = budget > used ? budget - used : 0;
    uint64_t share = large ? budget / DUMP_SHARE : left / RING_SHARE;
    while (budget != UINT64_MAX && wanted > 1 && (wanted + 1) * page > share)
        wanted /= 2;
    return wanted;
}

static size_t choose_pages(const struct attached *attached, enum attach_how how)
{
    const struct session *session = attached->session;
    size_t pages = how == ATTACH_THREAD ? session->config->thread_ring_pages : session->config->ring_pages;
    uint64_t budget = session->ring_budget, used = __atomic_load_n(&session->ring_bytes, __ATOMIC_RELAXED);
    if (session->config->dump)
        pages = dump_size_pages(session->config, &session->dumps, attached->dump_limit, attached->sizes, pages);
    return attach_ring_pages(budget, used, pages, session->config->dump);
}

static void map_ring(struct attached *attached, size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; pages > 0; pages /= 2) {
        size_t size = (pages + 1) * page;
        void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, attached->fds[0], 0);
        if (ring != MAP_FAILED) {
            attached->ring = ring;
            attached->ring_size = pages * page;
            attached->ring_error = 0;
            __atomic_fetch_add(&attached->session->ring_bytes, size, __ATOMIC_RELAXED);
            return;
        }
        attached->ring_error = -errno;
        if (errno != EPERM && errno != ENOMEM)
            return;
    }
}

static void open_others(struct attached *attached, enum attach_how how)
{
    const struct event_config *config = attached->session->config;
    /* If descriptors are short, samples of another task are worth more than the counters of this one. */
    bool scarce = (uint64_t)attached->fds[0] >= attached->session->fd_limit / 4 * 3;
    for (unsigned i = 1; i < config->count; i++) {
        bool samples = config->events[i].samples;
        int fd = scarce && !samples ? -EMFILE : open_event(attached, i, how, 0);
        fd = keep_event(attached->session, fd);
        if (fd < 0) {
            attached->error = attached->error ? attached->error : fd;
            scarce |= fd == -EMFILE || fd == -ENFILE;
            continue;
        }
        attached->fds[i] = fd;
        /* The owner's ring takes its samples too. If there is no ring, it only counts. */
        if (samples && attached->ring && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, attached->fds[0]) < 0)
            attached->error = attached->error ? attached->error : -errno;
    }
}

/* A descriptor that reports the end of a task, if no event does. */
static int open_end(const struct attached *attached)
{
    int fd = (int)syscall(SYS_pidfd_open, attached->tid, PIDFD_THREAD);
    /* Before Linux 6.9 only processes have one. */
    if (fd < 0 && attached->tid == attached->pid)
        fd = (int)syscall(SYS_pidfd_open, attached->tid, 0);
    return fd;
}

static void count_descriptors(struct attached *attached)
{
    attached->descriptors = attached->end_fd >= 0;
    for (unsigned i = 0; i < attached->count; i++)
        attached->descriptors += attached->fds[i] >= 0;
    pressure_taken(attached->session, attached->descriptors);
}

static int open_all(struct attached *attached, enum attach_how how)
{
    if (attached->timer) {
        attached->end_fd = open_end(attached);
        attach_timer_init(attached);
        count_descriptors(attached);
        return 0;
    }
    if (attached->session->config->dump)
        attached->dump_limit = dump_limits_find(&attached->session->dumps.limits, attached->pid);
    size_t pages = choose_pages(attached, how);
    attached->dump = dump_size(attached->session->config, &attached->session->dumps, attached->dump_limit,
                               attached->sizes, pages * (size_t)sysconf(_SC_PAGESIZE));
    int fd = open_event(attached, 0, how, pages);
    fd = keep_event(attached->session, fd);
    if (fd < 0)
        return fd;
    attached->fds[0] = fd;
    map_ring(attached, pages);
    open_others(attached, how);
    if (!attached->ring)
        attached->end_fd = open_end(attached);
    count_descriptors(attached);
    return 0;
}

static struct attached *new_attached(struct session *session, pid_t pid, pid_t tid)
{
    struct attached *attached = attach_new(session->config->count);
    if (!attached)
        return NULL;
    attached->session = session;
    attached->pid = pid;
    attached->tid = attached->key = tid;
    attached->end_fd = attached->number = -1;
    attached->timer = session->config->source == PINJECT_SOURCE_TIMER;
    attached->set = event_sets_first(session->config, &session->first_sets);
    return attached;
}

/* Enters it into the table if STATUS is 0; else frees it. */
static int enter_table(struct session *session, struct attached *attached, int status, struct attached **ret)
{
    if (status == 0)
        status = attach_table_enter(session, attached);
    if (status < 0) {
        attach_free(attached);
        return status;
    }
    *ret = attached;
    return 0;
}

int attach_open(struct session *session, pid_t pid, pid_t tid, const char *name, enum attach_how how,
                struct attached **ret)
{
    if (attach_knows(session, pid, tid, NULL) || inherited_know(session->inherited_sets, tid))
        return -EEXIST;
    struct attached *attached = new_attached(session, pid, tid);
    if (!attached)
        return -ENOMEM;
    if (name && *name)
        attached->sizes = stack_predictor_find(session->dumps.predictor, name);
    int status = attach_place_init(attached, how);
    if (status == 0)
        status = attach_period_init(attached, name);
    if (status == 0)
        status = open_all(attached, how);
    status = enter_table(session, attached, status, ret);
    if (status == 0 && session_system_wide(session)) /* since the beginning of this call */
        (void)inherited_adopt(session->inherited_sets, pid, tid);
    return status;
}

int attach_open_timer(struct session *session, pid_t pid, pid_t tid, int refusal, struct attached **ret)
{
    struct attached *attached = new_attached(session, pid, tid);
    if (!attached)
        return -ENOMEM;
    attached->timer = true;
    attached->refusal = refusal;
    attached->ring_error = rings_need(session);
    return enter_table(session, attached, open_all(attached, ATTACH_RUNNING), ret);
}

void attach_complete(struct attached *attached)
{
    if (attached->timer)
        return;
    for (unsigned i = 0; i < attached->count; i++)
        if (attached->fds[i] >= 0)
            (void)ioctl(attached->fds[i], PERF_EVENT_IOC_ID, &attached->ids[i]); /* else it stays 0 */
}

void attach_enable(const struct attached *attached)
{
    /* Leaders last: what is enabled later than the leader of its group counts only from the next switch of tasks on. */
    for (unsigned i = attached->count; i-- > 0;)
        if (attached->fds[i] >= 0 && !waits_for_turn(attached, i))
            ioctl(attached->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

bool attach_disable(const struct attached *attached, uint64_t *ret_ns)
{
    struct pollfd end = {.fd = attached->ring ? attached->fds[0] : attached->end_fd, .events = POLLIN};
    /* The first one last: it has the records of what the task does. */
    for (unsigned i = attached->count; i-- > 0;)
        if (attached->fds[i] >= 0)
            (void)ioctl(attached->fds[i], PERF_EVENT_IOC_DISABLE, 0);
    *ret_ns = clock_ns(CLOCK_MONOTONIC);
    return poll(&end, 1, 0) >= 0 && !(end.revents & (attached->ring ? POLLHUP | POLLERR : POLLIN | POLLHUP));
}

uint32_t attach_switches(const struct attached *attached)
{
    const struct perf_event_mmap_page *page = attached->timer ? NULL : attach_ring(attached);
    return page ? __atomic_load_n(&page->lock, __ATOMIC_RELAXED) / 2 : 0;
}

int attach_task(struct session *session, pid_t tid, enum attach_how how, struct attached **ret)
{
    int status = attach_open(session, tid, tid, NULL, how, ret);
    if (status == 0)
        attach_complete(*ret);
    return status;
}

int attach_tree_end(const struct attached *attached, void **ret_ring)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    unsigned i = 1;
    while (i < attached->count && attached->fds[i] < 0)
        i++;
    attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
    const int dummy = i < attached->count
                          ? (int)syscall(SYS_perf_event_open, &attr, attached->tid, -1, -1, PERF_FLAG_FD_CLOEXEC)
                          : -1;
    if (dummy < 0)
        return -1;
    void *ring = mmap(NULL, page, PROT_READ, MAP_SHARED, dummy, 0);
    int fd = -1;
    if (ring != MAP_FAILED && ioctl(attached->fds[i], PERF_EVENT_IOC_SET_OUTPUT, dummy) == 0)
        fd = fcntl(attached->fds[i], F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        *ret_ring = ring;
    else if (ring != MAP_FAILED)
        munmap(ring, page);
    close(dummy); /* the mapping keeps it */
    return fd;
}

/* ---- Reading and closing ---- */

static void read_event(int fd, uint64_t format, struct attach_value *value)
{
    enum { SINGLE = 8 };                   /* more than an event without a group has */
    uint64_t words[3 + 3 * CONFIG_EVENTS]; /* a group: how many, times; value, id and lost of each, this one first */
    *value = (struct attach_value){0};
    const bool group = format & PERF_FORMAT_GROUP;
    ssize_t size = fd < 0 ? -1 : read(fd, words, group ? sizeof(words) : SINGLE * sizeof(words[0]));
    size_t count = size < 0 ? 0 : (size_t)size / sizeof(words[0]), at = 0;
    if (group)
        at++;
    if (!group && at < count)
        value->value = words[at++];
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED && at < count)
        value->enabled_ns = words[at++];
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING && at < count)
        value->running_ns = words[at++];
    if (group && at < count)
        value->value = words[at++];
    if (format & PERF_FORMAT_ID)
        at++;
    if (format & PERF_FORMAT_LOST && at < count)
        value->lost = words[at++];
}

void attach_read(const struct attached *attached, struct attach_value *values)
{
    if (attached->timer) {
        attach_timer_read(attached, values);
        return;
    }
    for (unsigned i = 0; i < attached->count; i++)
        read_event(attach_place_is_unknown(attached, i) ? -1 : attached->fds[i],
                   attached->session->config->events[i].attr.read_format, &values[i]);
}

void attach_free(struct attached *attached)
{
    if (!attached)
        return;
    attach_retire(attached->session, attached);
    if (attached->number >= 0)
        rings_give(&attached->session->rings, attached->number);
    else if (attached->ring)
        deferred_munmap_add(attached->session, attached->ring, attached->ring_size + (size_t)sysconf(_SC_PAGESIZE));
    for (unsigned i = 0; i < attached->count; i++)
        if (attached->fds[i] >= 0)
            close(attached->fds[i]);
    if (attached->end_fd >= 0)
        close(attached->end_fd);
    if (attached->descriptors)
        pressure_freed(attached->session, attached->descriptors);
    free(attached->places);
    free(attached->periods);
    free(attached);
}
