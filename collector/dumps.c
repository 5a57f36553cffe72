/* SPDX-License-Identifier: MIT */
/* How much of a stack comes with a sample: stacks.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collector/probe.h"
#include "collector/session.h"
#include "collector/stacks.h"
#include "common/report.h"

/* A ring has room for so many samples with their dumps; it is read when a quarter is full. */
enum { SAMPLES_OF_RING = 16 };

bool stacks_has(const struct plan *plan, const struct plan_event *event)
{
    return plan->dump && event->samples && !event->attr.exclude_user;
}

static void add_dump(uint32_t dump, struct perf_event_attr *attr)
{
    attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr->sample_regs_user = UNWIND_PERF_REGS;
    attr->sample_stack_user = dump;
}

void stacks_attr(const struct plan *plan, const struct plan_event *event, uint32_t dump, struct perf_event_attr *attr)
{
    if (stacks_has(plan, event))
        add_dump(dump ? dump : plan->dump, attr);
}

/* What NEED says, unless the user has chosen; less where the collector could not keep up: LIMIT. */
static uint32_t choose_dump(const struct session *session, uint32_t limit, const struct need *need)
{
    const uint32_t needed = session->plan->dump_fixed ? 0 : need_stack(need);
    const uint32_t dump = needed ? needed : __atomic_load_n(&session->dump, __ATOMIC_RELAXED);
    return limit && limit < dump ? limit : dump;
}

uint32_t stacks_dump(const struct session *session, uint32_t limit, const struct need *need, size_t size)
{
    uint32_t dump = session->plan->dump ? choose_dump(session, limit, need) : 0;
    uint64_t most = size / SAMPLES_OF_RING / 8 * 8;
    if (dump && most < dump)
        dump = most < STACKS_DUMP_MIN ? STACKS_DUMP_MIN : (uint32_t)most;
    return dump;
}

size_t stacks_pages(const struct session *session, uint32_t limit, const struct need *need, size_t pages)
{
    const uint32_t planned = session->plan->dump, dump = choose_dump(session, limit, need);
    /* Lowered since the collector is behind: the ring stays, so that more samples fit. */
    if (dump < planned && dump == limit)
        return pages;
    for (uint32_t more = planned; more < dump; more *= 2)
        pages *= 2;
    for (uint32_t less = planned; less > dump && pages > 1; less /= 2)
        pages /= 2;
    return pages;
}

int stacks_try(const struct plan *plan)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    (void)plan;
    return -EOPNOTSUPP;
#else
    for (unsigned i = 0; i < plan->sampling; i++) {
        struct perf_event_attr attr = plan->events[i].attr;
        add_dump(STACKS_DUMP_MIN, &attr);
        int fd = probe_open(&attr);
        if (fd < 0)
            return fd;
        close(fd);
    }
    return 0;
#endif
}

int stacks_plan(struct plan *plan, const struct settings *settings)
{
    bool automatic = settings->call_graph == SETTINGS_CALL_GRAPH_AUTO;
    if ((!automatic && settings->call_graph != SETTINGS_CALL_GRAPH_DWARF) || !plan->sampling)
        return 0;
    if (plan->source == PINJECT_SOURCE_TIMER) {
        plan_note(plan, "call stacks by frame pointers: timers do not bring what unwind tables need");
        plan->dump_note = settings->call_graph_given ? plan->note_count : 0;
        return 0;
    }
    plan->dump = settings->dump ? settings->dump : STACKS_DUMP;
    plan->dump_fixed = settings->dump;
    plan->dump_auto = automatic;
    plan->unwinder = settings->unwinder;
    int status = stacks_try(plan);
    if (status == 0)
        return 0;
    plan->dump = 0;
    plan->dump_auto = false;
    const char *reason = status == -EOPNOTSUPP ? "unwinding knows x86-64 and AArch64 only" : strerror(-status);
    if (automatic) {
        plan_note(plan, "call stacks by frame pointers: samples with registers and stack cannot be had (%s)", reason);
        plan->dump_note = settings->call_graph_given ? plan->note_count : 0;
        return 0;
    }
    report_error("--call-graph dwarf cannot be had: %s; use --call-graph fp or auto", reason);
    return status;
}
