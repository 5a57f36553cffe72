/* SPDX-License-Identifier: MIT */
/*
 * The turns of event sets. Only a task that ran since the last turn gets its next set: a set never loses its turn while
 * the task sleeps, and a sleeping task costs no system call. The kernel changes the lock word of a ring's first page
 * whenever it switches the ring's event in, so while that word stays the same, the task either sleeps or never left its
 * CPU. The time of the first event tells these two apart: it is asked for until it stands still.
 */
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/config/event_sets.h"
#include "collector/sources/attach.h"
#include "collector/sources/session.h"

static uint64_t running_ns(const struct attached *attached)
{
    uint64_t words[8];
    /* Value, time enabled, time running: the format is the same for all events (probe_attr()). */
    const ssize_t size = read(attached->fds[0], words, sizeof(words));
    return size >= (ssize_t)(3 * sizeof(words[0])) ? words[1] : 0;
}

static bool has_run(struct attached *attached)
{
    const struct perf_event_mmap_page *page = attach_ring(attached);
    const uint32_t lock = page ? __atomic_load_n(&page->lock, __ATOMIC_RELAXED) : 0;
    if (page && lock == attached->turn_lock && !attached->turn_ran)
        return false;
    const uint64_t now_ns = running_ns(attached);
    attached->turn_ran = now_ns > attached->turn_ns;
    attached->turn_lock = lock;
    attached->turn_ns = now_ns;
    return attached->turn_ran;
}

static void switch_set(const struct attached *attached, unsigned long request)
{
    const struct event_config *config = attached->session->config;
    for (unsigned i = 0; i < attached->count; i++)
        if (attached->fds[i] >= 0 && event_sets_switches(config, i, attached->set))
            ioctl(attached->fds[i], request, 0);
}

bool attach_turn(struct attached *attached)
{
    const struct event_config *config = attached->session->config;
    if (config->turn_count < 2 || attached->timer || attached->fds[0] < 0 || !has_run(attached))
        return false;
    if (attached->places) /* a worker may be about to move one of the events, which enables it again */
        pthread_mutex_lock(&attached->session->table.lock);
    switch_set(attached, PERF_EVENT_IOC_DISABLE);
    attached->set = event_sets_next(config, attached->set);
    switch_set(attached, PERF_EVENT_IOC_ENABLE);
    if (attached->places)
        pthread_mutex_unlock(&attached->session->table.lock);
    return true;
}
