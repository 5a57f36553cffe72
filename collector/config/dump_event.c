/* SPDX-License-Identifier: MIT */
#include "collector/config/dump_event.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collector/config/event_config.h"
#include "collector/config/probe.h"
#include "common/report.h"
#include "unwind/unwind.h"

bool stacks_has(const struct event_config *config, const struct config_event *event)
{
    return config->dump && event->samples && event->attr.sample_type & PERF_SAMPLE_CALLCHAIN &&
           !event->attr.exclude_user;
}

static void add_dump(uint32_t dump, struct perf_event_attr *attr)
{
    attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr->sample_regs_user |= UNWIND_PERF_REGS; /* beside those of --user-regs */
    attr->sample_stack_user = dump;
}

void stacks_attr(const struct event_config *config, const struct config_event *event, uint32_t dump,
                 struct perf_event_attr *attr)
{
    if (stacks_has(config, event))
        add_dump(dump ? dump : config->dump, attr);
}

int stacks_try(const struct event_config *config)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    (void)config;
    return -EOPNOTSUPP;
#else
    for (unsigned i = 0; i < config->sampling; i++) {
        struct perf_event_attr attr = config->events[i].attr;
        add_dump(STACKS_DUMP_MIN, &attr);
        int fd = probe_open(&attr);
        if (fd < 0)
            return fd;
        close(fd);
    }
    return 0;
#endif
}

int stacks_configure(struct event_config *config, const struct settings *settings)
{
    bool automatic = settings->call_graph == SETTINGS_CALL_GRAPH_AUTO;
    if ((!automatic && settings->call_graph != SETTINGS_CALL_GRAPH_DWARF) || !config->sampling)
        return 0;
    if (config->source == PINJECT_SOURCE_TIMER) {
        event_config_note(
            config, "call stacks use frame pointers: unwinding by tables needs registers and stack contents, and timer "
                    "samples have neither");
        config->dump_note = settings->call_graph_given ? config->note_count : 0;
        return 0;
    }
    config->dump = settings->dump ? settings->dump : STACKS_DUMP;
    config->dump_fixed = settings->dump;
    config->dump_auto = automatic;
    config->unwinder = settings->unwinder;
    int status = stacks_try(config);
    if (status == 0)
        return 0;
    config->dump = 0;
    config->dump_auto = false;
    const char *reason = status == -EOPNOTSUPP ? "unwinding supports x86-64 and AArch64 only" : strerror(-status);
    if (automatic) {
        event_config_note(
            config, "call stacks use frame pointers: samples cannot include registers and stack contents (%s)", reason);
        config->dump_note = settings->call_graph_given ? config->note_count : 0;
        return 0;
    }
    report_error("--call-graph dwarf is not available: %s; use --call-graph fp or auto", reason);
    return status;
}
