/* SPDX-License-Identifier: MIT */
#include "collector/events/event_catalog.h"

#include <pinject/kernel.h>
#include <stdio.h>
#include <string.h>

#include "collector/events/event_cache.h"
#include "collector/events/event_pfm.h"
#include "collector/events/event_tracepoint.h"
#include "common/events.h"

struct catalog {
    const struct event_sources *sources;
    void (*show)(void *to, const struct event_entry *entry);
    void *to;
};

static const struct {
    uint32_t type;
    uint64_t config;
    const char *text;
} descriptions[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles of the CPU while the task runs"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "retired instructions"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, "accesses to the last-level cache"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "misses of the last-level cache"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "retired branches"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "mispredicted branches"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, "bus cycles"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles in which no instruction was fetched"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles in which no instruction could be executed"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles at a constant rate, whatever the CPU's frequency is"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "CPU time of the task, in ns"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
     "CPU time of the task, measured with the CPU's clock (nearly the same as task-clock), in ns"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page faults"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN,
     "page faults that the kernel handled without reading from a disk"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults that read from a disk"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "how often the task left a CPU"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "how often the task moved to another CPU"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, "accesses to unaligned data that the kernel handled"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, "instructions that the kernel emulated"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, "counts nothing; it only carries records of tasks and mappings"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES, "switches to a task of another cgroup"},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, "records that BPF programs write to this event"},
};

const char *event_catalog_describe(uint32_t type, uint64_t config)
{
    for (size_t i = 0; i < sizeof(descriptions) / sizeof(descriptions[0]); i++)
        if (descriptions[i].type == type && descriptions[i].config == config)
            return descriptions[i].text;
    return "";
}

static void show(const struct catalog *catalog, enum event_kind kind, const char *name, const char *alias,
                 const char *description)
{
    const struct event_entry entry = {kind, name, alias, description};
    catalog->show(catalog->to, &entry);
}

static void show_generic(const struct catalog *catalog)
{
    char name[64];
    for (size_t i = 0; i < events_count; i++)
        show(catalog, EVENT_KIND_GENERIC, events_names[i].name, events_names[i].alias,
             event_catalog_describe(events_names[i].type, events_names[i].config));
    for (size_t i = 0; event_cache_name(i, name, sizeof(name)); i++)
        show(catalog, EVENT_KIND_CACHE, name, NULL,
             strstr(name, "misses") ? "misses of this cache" : "accesses to this cache");
    show(catalog, EVENT_KIND_RAW, "rHEX", NULL, "a raw event of the CPU; HEX is its config in hexadecimal");
    show(catalog, EVENT_KIND_BREAKPOINT, "mem:ADDRESS", NULL,
         "a hardware breakpoint: mem:ADDRESS[/LENGTH][:w|rw|r|x] or mem:SYMBOL");
}

static void show_alias(const struct catalog *catalog, const struct event_pmu *pmu, const char *event)
{
    struct event_alias alias;
    char name[160], text[400], scale[40] = "";
    if (event_pmu_alias(pmu, event, &alias) < 0)
        return;
    if (alias.scale > 0)
        snprintf(scale, sizeof(scale), ", times %g", alias.scale);
    snprintf(name, sizeof(name), "%s/%s/", pmu->name, event);
    snprintf(text, sizeof(text), "%s%s%s%s", alias.terms, scale, alias.unit[0] ? " " : "", alias.unit);
    show(catalog, EVENT_KIND_PMU, name, NULL, text);
}

static void show_pmus(const struct catalog *catalog)
{
    struct event_words pmus = {0};
    event_pmu_names(catalog->sources, &pmus);
    event_words_sort(&pmus);
    for (size_t i = 0; i < pmus.count; i++) {
        struct event_words events = {0};
        struct event_pmu pmu;
        if (event_pmu_find(catalog->sources, pmus.words[i], &pmu) < 0)
            continue;
        event_pmu_events(&pmu, &events);
        event_words_sort(&events);
        for (size_t j = 0; j < events.count; j++)
            show_alias(catalog, &pmu, events.words[j]);
        event_words_release(&events);
    }
    event_words_release(&pmus);
}

static void show_tracepoints(const struct catalog *catalog)
{
    struct event_words words = {0};
    event_tracepoint_find(catalog->sources, NULL, NULL, &words);
    for (size_t i = 0; i < words.count; i++)
        show(catalog, EVENT_KIND_TRACEPOINT, words.words[i], NULL, "kernel tracepoint");
    event_words_release(&words);
}

static void show_pfm(void *to, const struct event_pfm_name *name)
{
    char text[256];
    /* libpfm4's names of the kernel's own events are those of above. */
    if (strcmp(name->pmu, "perf") == 0 || strcmp(name->pmu, "perf_raw") == 0)
        return;
    snprintf(text, sizeof(text), "%s::%s%s%s", name->pmu, name->event, name->umask ? ":" : "",
             name->umask ? name->umask : "");
    show(to, name->umask ? EVENT_KIND_PFM_MASK : EVENT_KIND_PFM, text, NULL, name->description);
}

void event_catalog(const struct event_sources *sources, void (*show_one)(void *to, const struct event_entry *entry),
                   void *to)
{
    struct catalog catalog = {sources, show_one, to};
    show_generic(&catalog);
    show_pmus(&catalog);
    show_tracepoints(&catalog);
    event_pfm_list(show_pfm, &catalog);
}
