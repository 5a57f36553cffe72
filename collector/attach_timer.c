/* SPDX-License-Identifier: MIT */
/* Tasks that a timer of the object samples: no event, a ring of our own, and counts that the object writes into it. */
#include "collector/attach.h"

#include <time.h>

#include "collector/session.h"

static uint64_t interval_of(const struct plan *plan)
{
    /* --stat: only that the counts are there when the task is killed. */
    const uint64_t seldom = 100000000;
    return plan->sampling ? plan->events[0].attr.sample_period : seldom;
}

static uint64_t flags_of(const struct plan *plan)
{
    uint64_t flags = plan->sampling ? PINJECT_TIMER_SAMPLES : 0;
    return flags | (plan->events[0].attr.sample_type & PERF_SAMPLE_CALLCHAIN ? PINJECT_TIMER_CHAINS : 0);
}

void attach_timer_open(struct attached *attached)
{
    struct session *session = attached->session;
    int number = rings_take(&session->rings, interval_of(session->plan), flags_of(session->plan));
    if (number < 0) {
        attached->ring_error = number;
        return;
    }
    attached->number = number;
    attached->ring = rings_page(&session->rings, number);
    attached->ring_size = PINJECT_RING_DATA;
    /* The answer, which releases it, comes after this. */
    rings_head(&session->rings, number)->id = attached->ids[0];
}

/* How long the session runs: what the target wrote can be no more. */
static uint64_t elapsed_ns(const struct session *session)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - session->start_ns;
}

static uint64_t read_clock(const struct attached *attached, const struct pinject_timer_head *head, uint64_t most)
{
    uint64_t used = __atomic_load_n(&head->cpu_ns, __ATOMIC_RELAXED);
    used = used > attached->base_ns ? used - attached->base_ns : 0;
    return used < most ? used : most;
}

static uint64_t read_lost(const struct pinject_timer_head *head, uint64_t most_ns)
{
    const uint64_t tick = 100000; /* shorter than any kernel's */
    uint64_t lost = __atomic_load_n(&head->lost, __ATOMIC_RELAXED);
    return lost < most_ns / tick ? lost : most_ns / tick;
}

void attach_timer_read(const struct attached *attached, struct attach_value *values)
{
    const struct plan *plan = attached->session->plan;
    const struct pinject_timer_head *head =
        attached->number < 0 ? NULL : rings_head(&attached->session->rings, attached->number);
    uint64_t most = elapsed_ns(attached->session), clock = head ? read_clock(attached, head, most) : 0;
    for (unsigned i = 0; i < attached->count; i++) {
        const struct perf_event_attr *attr = &plan->events[i].attr;
        values[i] = (struct attach_value){.enabled_ns = clock, .running_ns = clock};
        if (!head || attr->type != PERF_TYPE_SOFTWARE)
            continue;
        if (attr->config == PERF_COUNT_SW_TASK_CLOCK)
            values[i].value = clock;
        else if (attr->config == PERF_COUNT_SW_PAGE_FAULTS)
            values[i].value = __atomic_load_n(&head->faults, __ATOMIC_RELAXED);
        else if (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES)
            values[i].value = __atomic_load_n(&head->switches, __ATOMIC_RELAXED);
        if (plan->events[i].samples)
            values[i].lost = read_lost(head, most);
    }
}
