/* SPDX-License-Identifier: MIT */
/*
 * The turns of event sets in inherited sets. A call for an inherited event reaches the copies that the tasks below its
 * task have; tasks that are made later copy the state of their creator's events.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/config/event_sets.h"
#include "collector/sources/inherited_private.h"
#include "collector/sources/session.h"

static void switch_set(const struct event_config *config, const struct inherited_set *set, unsigned long request)
{
    for (unsigned cpu = 0; cpu < set->cpu_count; cpu++)
        for (unsigned i = 0; i < config->count; i++)
            if (set->cpus[cpu].fds[i] >= 0 && event_sets_switches(config, i, set->turn))
                ioctl(set->cpus[cpu].fds[i], request, 0);
}

/* Before the exec that it waits for, nothing of it may be enabled. */
static bool has_begun(struct inherited_set *set)
{
    uint64_t words[8];
    for (unsigned cpu = 0; !set->counts && cpu < set->cpu_count; cpu++) {
        const ssize_t size = read(set->cpus[cpu].fds[0], words, sizeof(words));
        set->counts = size >= (ssize_t)(2 * sizeof(words[0])) && words[1];
    }
    return set->counts;
}

void inherited_turn(struct inherited_sets *sets)
{
    const struct event_config *config = sets->session->config;
    if (config->turn_count < 2 || !inherited_live(sets))
        return;
    pthread_mutex_lock(&sets->lock);
    for (struct inherited_set *set = sets->first; set; set = set->next) {
        if (!has_begun(set))
            continue;
        switch_set(config, set, PERF_EVENT_IOC_DISABLE);
        set->turn = event_sets_next(config, set->turn);
        switch_set(config, set, PERF_EVENT_IOC_ENABLE);
    }
    pthread_mutex_unlock(&sets->lock);
}
