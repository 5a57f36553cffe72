/* SPDX-License-Identifier: MIT */
#include "analyze/read/feature_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/read/trace_format.h"
#include "common/buffer.h"
#include "common/perfdata.h"

/* The section that is being read. */
struct reading {
    const struct features *features;
    struct feature_facts *facts;
    struct arena *arena;
    struct cursor content;
    uint32_t feature, item;
    bool no_memory;
};

static void add_fact(struct reading *reading, const char *name, const char *text, uint64_t number)
{
    struct feature_facts *facts = reading->facts;
    if (arena_room(&facts->items, &facts->capacity, facts->count, sizeof(*facts->items)) < 0) {
        reading->no_memory = true;
        return;
    }
    facts->items[facts->count++] = (struct feature_fact){reading->feature, reading->item, name, text, number};
}

static void add_text(struct reading *reading, const char *name, const char *text, size_t size)
{
    const char *copy = arena_text(reading->arena, text, size);
    if (copy)
        add_fact(reading, name, copy, 0);
    else
        reading->no_memory = true;
}

/* Facts after what could not be read would be invented. */
static void add_number(struct reading *reading, const char *name, uint64_t number)
{
    if (!reading->content.failed)
        add_fact(reading, name, NULL, number);
}

static void take_number32(struct reading *reading, const char *name)
{
    uint32_t number = cursor_u32(&reading->content);
    add_number(reading, name, number);
}

static void take_number64(struct reading *reading, const char *name)
{
    uint64_t number = cursor_u64(&reading->content);
    add_number(reading, name, number);
}

static void take_text(struct reading *reading, const char *name)
{
    uint32_t size = cursor_u32(&reading->content);
    const char *text = cursor_bytes(&reading->content, size);
    if (text)
        add_text(reading, name, text, size);
}

/* Whether to go on with another of the items, which needs at least SIZE bytes. */
static bool goes_on(struct reading *reading, uint64_t left, size_t size)
{
    if (left > 0 && cursor_left(&reading->content) < size)
        reading->content.failed = true;
    return left > 0 && !reading->content.failed && !reading->no_memory;
}

/* A list of texts, each an item of its own. */
static void take_texts(struct reading *reading, const char *name)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 4); left--, reading->item++)
        take_text(reading, name);
}

static void take_one_text(struct reading *reading)
{
    take_text(reading, "text");
}

static void take_cpu_count(struct reading *reading)
{
    take_number32(reading, "available");
    take_number32(reading, "online");
}

static void take_memory(struct reading *reading)
{
    take_number64(reading, "total_kb");
}

static void take_arguments(struct reading *reading)
{
    take_texts(reading, "argument");
}

static bool is_at_end(const struct reading *reading)
{
    return cursor_left(&reading->content) == 0;
}

/* Each revision of perf appended something: the ids of cores and packages, then the dies. */
static void take_cpu_topology(struct reading *reading)
{
    const uint32_t cpus = reading->features->cpus_available;
    take_texts(reading, "package_cpus");
    take_texts(reading, "core_cpus");
    if (is_at_end(reading) || cpus == 0)
        return;
    struct cursor ids = reading->content;
    if (cpus > cursor_left(&ids) / 8) {
        reading->content.failed = true;
        return;
    }
    cursor_skip(&reading->content, 8 * (size_t)cpus);
    bool dies = !is_at_end(reading);
    if (dies)
        take_texts(reading, "die_cpus");
    for (uint32_t cpu = 0; goes_on(reading, cpus - cpu, dies ? 4 : 0); cpu++, reading->item++) {
        add_number(reading, "cpu", cpu);
        add_number(reading, "core", cursor_u32(&ids));
        uint32_t package = cursor_u32(&ids);
        if (dies)
            take_number32(reading, "die");
        add_number(reading, "package", package);
    }
}

static void take_numa_topology(struct reading *reading)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 24); left--, reading->item++) {
        take_number32(reading, "node");
        take_number64(reading, "total_kb");
        take_number64(reading, "free_kb");
        take_text(reading, "cpus");
    }
}

static void take_pmu_mappings(struct reading *reading)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 8); left--, reading->item++) {
        uint32_t type = cursor_u32(&reading->content);
        take_text(reading, "pmu");
        add_number(reading, "type", type);
    }
}

static void take_groups(struct reading *reading)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 12); left--, reading->item++) {
        take_text(reading, "group");
        take_number32(reading, "leader");
        take_number32(reading, "members");
    }
}

static void take_traces(struct reading *reading)
{
    for (uint64_t left = cursor_u64(&reading->content); goes_on(reading, left, 16); left--, reading->item++) {
        take_number64(reading, "offset");
        take_number64(reading, "size");
    }
}

static void take_caches(struct reading *reading)
{
    cursor_u32(&reading->content); /* version */
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 28); left--, reading->item++) {
        static const char *const numbers[] = {"level", "line_bytes", "sets", "ways"};
        static const char *const texts[] = {"type", "size", "cpus"};
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
            take_number32(reading, numbers[i]);
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            take_text(reading, texts[i]);
    }
}

static void take_sample_time(struct reading *reading)
{
    take_number64(reading, "first_ns");
    take_number64(reading, "last_ns");
}

/* Appends bits FROM to UNTIL - 1 to a list of ranges: "0-23,32-199". */
static void append_range(struct buffer *to, uint64_t from, uint64_t until)
{
    char text[48];
    const char *comma = to->size ? "," : "";
    int size = from + 1 == until ? snprintf(text, sizeof(text), "%s%" PRIu64, comma, from)
                                 : snprintf(text, sizeof(text), "%s%" PRIu64 "-%" PRIu64, comma, from, until - 1);
    buffer_append(to, text, (size_t)size);
}

static void take_bits(struct reading *reading, const char *name, uint64_t bits)
{
    const uint64_t none = UINT64_MAX;
    struct buffer text = BUFFER_INIT;
    if (bits > 8 * (uint64_t)cursor_left(&reading->content)) {
        reading->content.failed = true;
        return;
    }
    uint64_t from = none;
    for (uint64_t at = 0, word = 0; at < bits; at++) {
        if (at % 64 == 0)
            word = cursor_u64(&reading->content);
        bool set = word >> at % 64 & 1;
        if (set && from == none)
            from = at;
        if (set || from == none)
            continue;
        append_range(&text, from, at);
        from = none;
    }
    if (from != none)
        append_range(&text, from, bits);
    if (buffer_failed(&text))
        reading->no_memory = true;
    else if (!reading->content.failed)
        add_text(reading, name, text.size ? (const char *)text.data : "", text.size);
    buffer_release(&text);
}

static void take_memory_topology(struct reading *reading)
{
    cursor_u64(&reading->content); /* version */
    take_number64(reading, "block_bytes");
    reading->item++;
    for (uint64_t left = cursor_u64(&reading->content); goes_on(reading, left, 24); left--, reading->item++) {
        take_number64(reading, "node");
        cursor_u64(&reading->content); /* the size of the bit set, again */
        take_bits(reading, "blocks", cursor_u64(&reading->content));
    }
}

static void take_clock_resolution(struct reading *reading)
{
    take_number64(reading, "resolution_ns");
}

static void take_version(struct reading *reading)
{
    take_number64(reading, "version");
}

/* Of each program the kernel's struct bpf_prog_info, and the arrays that it points to. */
static void take_bpf_programs(struct reading *reading)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 16); left--, reading->item++) {
        uint32_t info_size = cursor_u32(&reading->content), arrays_size = cursor_u32(&reading->content);
        cursor_u64(&reading->content); /* which arrays */
        struct cursor info = cursor_part(&reading->content, info_size);
        cursor_skip(&reading->content, arrays_size);
        uint32_t type = cursor_u32(&info), id = cursor_u32(&info);
        const unsigned char *tag = cursor_bytes(&info, 8);
        uint32_t jited = cursor_u32(&info), translated = cursor_u32(&info);
        char text[17] = "";
        for (size_t i = 0; tag && i < 8; i++)
            snprintf(text + 2 * i, 3, "%02x", tag[i]);
        if (info.failed) {
            reading->content.failed = true;
            return;
        }
        add_number(reading, "program", id);
        add_number(reading, "type", type);
        add_text(reading, "tag", text, sizeof(text));
        add_number(reading, "jited_bytes", jited);
        add_number(reading, "translated_bytes", translated);
    }
}

static void take_bpf_types(struct reading *reading)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 8); left--, reading->item++) {
        uint32_t id = cursor_u32(&reading->content), size = cursor_u32(&reading->content);
        cursor_skip(&reading->content, size);
        add_number(reading, "btf", id);
        add_number(reading, "bytes", size);
    }
}

static void take_compression(struct reading *reading)
{
    static const char *const names[] = {"version", "type", "level", "ratio", "buffer_bytes"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint32_t number = cursor_u32(&reading->content);
        if (i == 1 && number == 1 && !reading->content.failed)
            add_text(reading, "type", "zstd", 4);
        else
            add_number(reading, names[i], number);
    }
}

/* COUNT pairs of the texts "name" and "value". */
static void take_capabilities(struct reading *reading, uint32_t count)
{
    for (; goes_on(reading, count, 8); count--, reading->item++) {
        take_text(reading, "name");
        take_text(reading, "value");
    }
}

static void take_cpu_capabilities(struct reading *reading)
{
    take_capabilities(reading, cursor_u32(&reading->content));
}

/* The name of a PMU comes after its capabilities, and is an item of its own. */
static void take_pmu_capabilities(struct reading *reading)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 8); left--, reading->item++) {
        uint32_t count = cursor_u32(&reading->content);
        struct cursor back = reading->content;
        for (uint32_t i = 0; i < 2 * (uint64_t)count && !reading->content.failed; i++)
            cursor_skip(&reading->content, cursor_u32(&reading->content));
        take_text(reading, "pmu");
        struct cursor after = reading->content;
        reading->content = back;
        reading->item++;
        take_capabilities(reading, count);
        reading->content = after;
        reading->item--;
    }
}

static void take_clock_data(struct reading *reading)
{
    static const char *const names[] = {
        [CLOCK_REALTIME] = "realtime",
        [CLOCK_MONOTONIC] = "monotonic",
        [CLOCK_MONOTONIC_RAW] = "monotonic_raw",
        [CLOCK_BOOTTIME] = "boottime",
        [CLOCK_TAI] = "tai",
    };
    take_number32(reading, "version");
    uint32_t clock = cursor_u32(&reading->content);
    add_number(reading, "clock_id", clock);
    if (!reading->content.failed && clock < sizeof(names) / sizeof(names[0]) && names[clock])
        add_fact(reading, "clock", names[clock], 0);
    take_number64(reading, "wall_clock_ns");
    take_number64(reading, "clock_ns");
}

static void take_hybrid_topology(struct reading *reading)
{
    for (uint32_t left = cursor_u32(&reading->content); goes_on(reading, left, 8); left--, reading->item++) {
        take_text(reading, "pmu");
        take_text(reading, "cpus");
    }
}

/* The section's numbers first, then each tracepoint. */
static void take_tracing_data(struct reading *reading)
{
    struct trace_formats formats;
    int status = trace_formats_read(reading->content, reading->arena, &formats);
    reading->no_memory |= status == -ENOMEM;
    reading->content.failed = status == 0 ? formats.damaged : true;
    if (status < 0)
        return;
    add_fact(reading, "version", formats.version, 0);
    add_fact(reading, "long_bytes", NULL, formats.long_bytes);
    add_fact(reading, "page_bytes", NULL, formats.page_bytes);
    for (uint32_t i = 0; i < formats.event_count; i++) {
        const struct trace_event *event = &formats.events[i];
        reading->item++;
        add_fact(reading, "system", event->system, 0);
        add_fact(reading, "event", event->name, 0);
        add_fact(reading, "id", NULL, event->id);
        add_fact(reading, "fields", NULL, event->field_count);
    }
}

typedef void take_section(struct reading *reading);

static take_section *const takers[FEATURE_KEPT] = {
    [PERFDATA_TRACING_DATA] = take_tracing_data,
    [PERFDATA_HOSTNAME] = take_one_text,
    [PERFDATA_OSRELEASE] = take_one_text,
    [PERFDATA_VERSION] = take_one_text,
    [PERFDATA_ARCH] = take_one_text,
    [PERFDATA_NRCPUS] = take_cpu_count,
    [PERFDATA_CPUDESC] = take_one_text,
    [PERFDATA_CPUID] = take_one_text,
    [PERFDATA_TOTAL_MEM] = take_memory,
    [PERFDATA_CMDLINE] = take_arguments,
    [PERFDATA_CPU_TOPOLOGY] = take_cpu_topology,
    [PERFDATA_NUMA_TOPOLOGY] = take_numa_topology,
    [PERFDATA_PMU_MAPPINGS] = take_pmu_mappings,
    [PERFDATA_GROUP_DESC] = take_groups,
    [PERFDATA_AUXTRACE] = take_traces,
    [PERFDATA_CACHE] = take_caches,
    [PERFDATA_SAMPLE_TIME] = take_sample_time,
    [PERFDATA_MEM_TOPOLOGY] = take_memory_topology,
    [PERFDATA_CLOCKID] = take_clock_resolution,
    [PERFDATA_DIR_FORMAT] = take_version,
    [PERFDATA_BPF_PROG_INFO] = take_bpf_programs,
    [PERFDATA_BPF_BTF] = take_bpf_types,
    [PERFDATA_COMPRESSED] = take_compression,
    [PERFDATA_CPU_PMU_CAPS] = take_cpu_capabilities,
    [PERFDATA_CLOCK_DATA] = take_clock_data,
    [PERFDATA_HYBRID_TOPOLOGY] = take_hybrid_topology,
    [PERFDATA_PMU_CAPS] = take_pmu_capabilities,
};

int feature_facts_read(const struct features *features, struct arena *arena, struct feature_facts *ret)
{
    struct reading reading = {.features = features, .facts = ret, .arena = arena};
    for (uint32_t number = 0; number < FEATURE_KEPT && !reading.no_memory; number++) {
        if (!takers[number] || !feature_present(features, number))
            continue;
        reading.feature = number;
        reading.item = 0;
        reading.content = features->sections[number];
        takers[number](&reading);
        if (reading.content.failed)
            add_fact(&reading, "problem", "the section ends early", 0);
    }
    return reading.no_memory ? -ENOMEM : 0;
}

void feature_facts_release(struct feature_facts *facts)
{
    free(facts->items);
    *facts = (struct feature_facts){0};
}
