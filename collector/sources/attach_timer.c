/* SPDX-License-Identifier: MIT */
/*
 * Tasks that a timer of the preload object samples: no event, a ring of our own, and counts that the preload object
 * writes into it.
 */
#include "collector/sources/attach.h"

#include "collector/sources/rings.h"
#include "collector/sources/session.h"
#include "common/clock.h"

static bool is_software(const struct perf_event_attr *attr, uint64_t config)
{
    return attr->type == PERF_TYPE_SOFTWARE && attr->config == config;
}

/* For a task both are the time that it runs. */
static bool is_clock(const struct perf_event_attr *attr)
{
    return is_software(attr, PERF_COUNT_SW_TASK_CLOCK) || is_software(attr, PERF_COUNT_SW_CPU_CLOCK);
}

int attach_timer_event(const struct event_config *config)
{
    for (unsigned i = 0; i < config->count; i++)
        if (config->events[i].samples && is_clock(&config->events[i].attr) && !config->events[i].attr.exclude_user)
            return (int)i;
    return -1;
}

bool attach_timer_counts(const struct event_config *config, unsigned index)
{
    const struct perf_event_attr *attr = &config->events[index].attr;
    /* Clocks count all of a task's time, whatever their samples exclude; getrusage() excludes nothing. */
    bool all = !attr->exclude_user && !attr->exclude_kernel;
    return is_clock(attr) ||
           (all && (is_software(attr, PERF_COUNT_SW_PAGE_FAULTS) || is_software(attr, PERF_COUNT_SW_CONTEXT_SWITCHES)));
}

static uint64_t interval_of(const struct event_config *config)
{
    /* Nothing is sampled: the timer only keeps the counts up to date in case the task is killed. */
    const uint64_t seldom = 100000000;
    int event = attach_timer_event(config);
    return event < 0 ? seldom : config->events[event].attr.sample_period;
}

static uint64_t flags_of(const struct event_config *config)
{
    int event = attach_timer_event(config);
    if (event < 0)
        return 0;
    bool chains = config->events[event].attr.sample_type & PERF_SAMPLE_CALLCHAIN;
    return PINJECT_TIMER_SAMPLES | (chains ? PINJECT_TIMER_CHAINS : 0);
}

void attach_timer_init(struct attached *attached)
{
    const struct event_config *config = attached->session->config;
    const int sampled = attach_timer_event(config);
    attached->armed = true;
    for (unsigned i = 0; i < attached->count; i++)
        /* The dummy owns the file's records of names and mappings. */
        if (attach_timer_counts(config, i) || (int)i == sampled || (config->dummy && i == 0))
            attached->ids[i] = rings_next_id(&attached->session->rings);
}

void attach_timer_open(struct attached *attached)
{
    struct session *session = attached->session;
    if (attached->ring_error)
        return;
    int number = rings_take(&session->rings, interval_of(session->config), flags_of(session->config));
    if (number < 0) {
        __atomic_store_n(&attached->ring_error, number, __ATOMIC_RELAXED);
        return;
    }
    attached->number = number;
    attached->ring_size = PINJECT_RING_DATA;
    /* The answer, which releases it, comes later. */
    int event = attach_timer_event(session->config);
    rings_head(&session->rings, number)->id = attached->ids[event < 0 ? 0 : event];
    /* Last: pairs with the acquire in attach_ring(). The event loop may know the task already. */
    __atomic_store_n(&attached->ring, rings_page(&session->rings, number), __ATOMIC_RELEASE);
}

/* How long the session runs: an upper bound of what the target wrote. */
static uint64_t elapsed_ns(const struct session *session)
{
    return clock_ns(CLOCK_MONOTONIC) - session->start_ns;
}

static uint64_t read_clock(const struct attached *attached, const struct pinject_timer_head *head, uint64_t most)
{
    uint64_t base = (uint64_t)__atomic_load_n(&attached->base_ns, __ATOMIC_RELAXED);
    /* The value may be anything. */
    int64_t used = (int64_t)(__atomic_load_n(&head->cpu_ns, __ATOMIC_RELAXED) - base);
    return used < 0 ? 0 : (uint64_t)used < most ? (uint64_t)used : most;
}

void attach_timer_tell_exec(const struct attached *thread, struct attached *first)
{
    const struct rings *rings = &thread->session->rings;
    if (thread->number < 0 || !__atomic_load_n(&rings_head(rings, thread->number)->execs, __ATOMIC_RELAXED))
        return;
    first->exec_clock_ns = __atomic_load_n(&rings_head(rings, thread->number)->cpu_ns, __ATOMIC_RELAXED);
    first->exec_told = true;
}

void attach_timer_rebase(struct attached *attached)
{
    if (!attached->exec_told || attached->number < 0)
        return;
    struct pinject_timer_head *head = rings_head(&attached->session->rings, attached->number);
    uint64_t counted = read_clock(attached, head, elapsed_ns(attached->session));
    /* The preload object waits for our answer: nobody else writes. */
    __atomic_store_n(&head->cpu_ns, attached->exec_clock_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&attached->base_ns, (int64_t)(attached->exec_clock_ns - counted), __ATOMIC_RELAXED);
    attached->exec_told = false;
}

static uint64_t read_lost(const struct pinject_timer_head *head, uint64_t most_ns)
{
    const uint64_t tick = 100000; /* shorter than any kernel's */
    uint64_t lost = __atomic_load_n(&head->lost, __ATOMIC_RELAXED);
    return lost < most_ns / tick ? lost : most_ns / tick;
}

void attach_timer_read(const struct attached *attached, struct attach_value *values)
{
    const struct event_config *config = attached->session->config;
    const struct pinject_timer_head *head = attach_ring(attached)
                                                ? rings_head(&attached->session->rings, attached->number)
                                                : NULL;
    uint64_t most = elapsed_ns(attached->session), clock = head ? read_clock(attached, head, most) : 0;
    for (unsigned i = 0; i < attached->count; i++) {
        const struct perf_event_attr *attr = &config->events[i].attr;
        values[i] = (struct attach_value){0};
        if (!attached->ids[i])
            continue;
        values[i].enabled_ns = values[i].running_ns = clock;
        if (!head || !attach_timer_counts(config, i))
            continue;
        if (is_clock(attr))
            values[i].value = clock;
        else if (attr->config == PERF_COUNT_SW_PAGE_FAULTS)
            values[i].value = __atomic_load_n(&head->faults, __ATOMIC_RELAXED);
        else
            values[i].value = __atomic_load_n(&head->switches, __ATOMIC_RELAXED);
        if ((int)i == attach_timer_event(config))
            values[i].lost = read_lost(head, most);
    }
}
