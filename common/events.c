/* SPDX-License-Identifier: MIT */
#include "common/events.h"

#include <pinject/kernel.h>
#include <strings.h>

#define HARDWARE(config, name, alias)                                  \
    {                                                                  \
        name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, false \
    }
#define SOFTWARE(config, name, alias)                                  \
    {                                                                  \
        name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, false \
    }
#define CLOCK(config, name)                                          \
    {                                                                \
        name, NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, true \
    }

const struct event_name events_names[] = {
    HARDWARE(CPU_CYCLES, "cycles", "cpu-cycles"),
    HARDWARE(INSTRUCTIONS, "instructions", NULL),
    HARDWARE(CACHE_REFERENCES, "cache-references", NULL),
    HARDWARE(CACHE_MISSES, "cache-misses", NULL),
    HARDWARE(BRANCH_INSTRUCTIONS, "branches", "branch-instructions"),
    HARDWARE(BRANCH_MISSES, "branch-misses", NULL),
    HARDWARE(BUS_CYCLES, "bus-cycles", NULL),
    HARDWARE(STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", "idle-cycles-frontend"),
    HARDWARE(STALLED_CYCLES_BACKEND, "stalled-cycles-backend", "idle-cycles-backend"),
    HARDWARE(REF_CPU_CYCLES, "ref-cycles", NULL),
    CLOCK(TASK_CLOCK, "task-clock"),
    CLOCK(CPU_CLOCK, "cpu-clock"),
    SOFTWARE(PAGE_FAULTS, "page-faults", "faults"),
    SOFTWARE(PAGE_FAULTS_MIN, "minor-faults", NULL),
    SOFTWARE(PAGE_FAULTS_MAJ, "major-faults", NULL),
    SOFTWARE(CONTEXT_SWITCHES, "context-switches", "cs"),
    SOFTWARE(CPU_MIGRATIONS, "cpu-migrations", "migrations"),
    SOFTWARE(ALIGNMENT_FAULTS, "alignment-faults", NULL),
    SOFTWARE(EMULATION_FAULTS, "emulation-faults", NULL),
    SOFTWARE(DUMMY, "dummy", NULL),
    SOFTWARE(CGROUP_SWITCHES, "cgroup-switches", NULL),
    SOFTWARE(BPF_OUTPUT, "bpf-output", NULL),
};
const size_t events_count = sizeof(events_names) / sizeof(events_names[0]);

const struct event_name *events_find_name(const char *name)
{
    for (size_t i = 0; i < events_count; i++)
        if (strcasecmp(events_names[i].name, name) == 0 ||
            (events_names[i].alias && strcasecmp(events_names[i].alias, name) == 0))
            return &events_names[i];
    return NULL;
}

const struct event_name *events_find(uint32_t type, uint64_t config)
{
    for (size_t i = 0; i < events_count; i++)
        if (events_names[i].type == type && events_names[i].config == config)
            return &events_names[i];
    return NULL;
}
