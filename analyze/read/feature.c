/* SPDX-License-Identifier: MIT */
#include "analyze/read/feature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/item.h"
#include "analyze/read/record.h"
#include "common/perfdata.h"
#include "pinject/format.h"

#define KERNEL_MODE   1u
#define ID_SIZE_KNOWN (1u << 15) /* PERF_RECORD_MISC_BUILD_ID_SIZE */
#define KIND_MASK     7u         /* PERF_RECORD_MISC_CPUMODE_MASK */

void features_init(struct features *features, struct arena *arena)
{
    *features = (struct features){
        .arena = arena, .hostname = "", .osrelease = "", .version = "", .arch = "", .cpudesc = "", .cpuid = ""};
}

void features_release(struct features *features)
{
    free(features->build_ids);
    features->build_ids = NULL;
    features->build_id_count = features->build_id_capacity = 0;
}

const char *feature_name(uint32_t number)
{
    static const char *const names[] = {
        [1] = "TRACING_DATA",
        "BUILD_ID",
        "HOSTNAME",
        "OSRELEASE",
        "VERSION",
        "ARCH",
        "NRCPUS",
        "CPUDESC",
        "CPUID",
        "TOTAL_MEM",
        "CMDLINE",
        "EVENT_DESC",
        "CPU_TOPOLOGY",
        "NUMA_TOPOLOGY",
        "BRANCH_STACK",
        "PMU_MAPPINGS",
        "GROUP_DESC",
        "AUXTRACE",
        "STAT",
        "CACHE",
        "SAMPLE_TIME",
        "MEM_TOPOLOGY",
        "CLOCKID",
        "DIR_FORMAT",
        "BPF_PROG_INFO",
        "BPF_BTF",
        "COMPRESSED",
        "CPU_PMU_CAPS",
        "CLOCK_DATA",
        "HYBRID_TOPOLOGY",
        "PMU_CAPS",
    };
    if (number == PINJECT_FEATURE)
        return "PINJECT";
    return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

/* A struct perf_header_string: its length, then as many bytes, padded. NULL: none, or out of memory. */
static const char *take_string(struct features *features, struct cursor *content)
{
    uint32_t length = cursor_u32(content);
    const char *bytes = cursor_bytes(content, length);
    return bytes ? arena_text(features->arena, bytes, length) : NULL;
}

static void take_text(struct features *features, struct cursor *content, const char **ret)
{
    const char *text = take_string(features, content);
    if (text)
        *ret = text;
}

static void take_arguments(struct features *features, struct cursor *content)
{
    uint32_t count = cursor_u32(content);
    /* Each argument needs at least 4 bytes: a larger count is wrong, and no memory is allocated for it. */
    if (count > cursor_left(content) / 4 || features->arguments)
        return;
    features->arguments = arena_take(features->arena, count * sizeof(char *));
    for (uint32_t i = 0; features->arguments && i < count; i++) {
        const char *argument = take_string(features, content);
        if (!argument)
            break;
        features->arguments[features->argument_count++] = argument;
    }
}

static void name_event(struct attr_list *attrs, uint32_t index, uint64_t first_id, uint32_t ids, const char *name)
{
    struct attr *attr = ids ? attr_with_id(attrs, first_id) : NULL;
    if (!attr && index < attrs->count)
        attr = &attrs->items[index];
    if (attr && name)
        attr->name = name;
}

static void take_event_names(struct features *features, struct attr_list *attrs, struct cursor *content)
{
    uint32_t count = cursor_u32(content);
    uint32_t attr_size = cursor_u32(content);
    for (uint32_t i = 0; i < count && !content->failed && i < attrs->count; i++) {
        cursor_skip(content, attr_size);
        uint32_t ids = cursor_u32(content);
        const char *name = take_string(features, content);
        uint64_t first = ids ? cursor_u64(content) : 0;
        if (ids > 1)
            cursor_skip(content, 8 * ((size_t)ids - 1));
        if (!content->failed)
            name_event(attrs, i, first, ids, name);
    }
}

int feature_take_build_id(struct features *features, struct cursor content, uint16_t misc)
{
    struct feature_build_id item = {.size = FEATURE_ID_SIZE, .kernel = (misc & KIND_MASK) == KERNEL_MODE};
    cursor_u32(&content); /* pid */
    const unsigned char *id = cursor_bytes(&content, 24);
    if (!id)
        return 0;
    memcpy(item.id, id, sizeof(item.id));
    if (misc & ID_SIZE_KNOWN)
        item.size = id[FEATURE_ID_SIZE] <= FEATURE_ID_SIZE ? id[FEATURE_ID_SIZE] : FEATURE_ID_SIZE;
    item.path = arena_text(features->arena, (const char *)content.at, cursor_left(&content));
    if (!item.path ||
        arena_room(&features->build_ids, &features->build_id_capacity, features->build_id_count, sizeof(item)) < 0)
        return -ENOMEM;
    features->build_ids[features->build_id_count++] = item;
    return 0;
}

static int take_build_ids(struct features *features, struct cursor *content)
{
    int status = 0;
    while (status == 0 && cursor_left(content) >= RECORD_HEADER) {
        cursor_u32(content); /* type: 0 in files of older versions */
        uint16_t misc = cursor_u16(content);
        uint16_t size = cursor_u16(content);
        struct cursor item = cursor_part(content, size >= RECORD_HEADER ? size - (size_t)RECORD_HEADER : SIZE_MAX);
        if (item.failed)
            break;
        status = feature_take_build_id(features, item, misc);
    }
    return status;
}

static void take_clock(struct features *features, struct cursor *content)
{
    cursor_u32(content); /* version */
    cursor_u32(content); /* clock id: the attributes have it */
    uint64_t wall = cursor_u64(content);
    uint64_t clock = cursor_u64(content);
    if (!content->failed) {
        features->wall_ns = wall;
        features->clock_ns = clock;
    }
}

static int take_pinject(struct features *features, struct cursor *content)
{
    int status = item_unpack(*content, features->data_end, features->arena, &features->pinject,
                             &features->pinject_size);
    if (status != -ENOENT)
        return status;
    features->pinject_size = cursor_left(content);
    features->pinject = arena_copy(features->arena, content->at, features->pinject_size);
    return features->pinject ? 0 : -ENOMEM;
}

static void take_sample_time(struct features *features, struct cursor *content)
{
    uint64_t first = cursor_u64(content), last = cursor_u64(content);
    if (!content->failed) {
        features->sample_first_ns = first;
        features->sample_last_ns = last;
    }
}

/* The bytes of a file are only there until the next read. */
static int keep_section(struct features *features, uint32_t number, const struct cursor *content)
{
    if (number >= FEATURE_KEPT || number == PERFDATA_BUILD_ID || number == PERFDATA_EVENT_DESC)
        return 0;
    const void *copy = arena_copy(features->arena, content->at, cursor_left(content));
    if (!copy)
        return -ENOMEM;
    features->sections[number] = cursor_of(copy, cursor_left(content));
    features->sections[number].swap = content->swap;
    return 0;
}

int feature_take(struct features *features, struct attr_list *attrs, uint32_t number, struct cursor content)
{
    if (number >= FEATURE_BITS)
        return 0;
    features->present[number / 64] |= 1ull << (number % 64);
    if (keep_section(features, number, &content) < 0)
        return -ENOMEM;
    switch (number) {
    case PERFDATA_BUILD_ID: return take_build_ids(features, &content);
    case PERFDATA_HOSTNAME: take_text(features, &content, &features->hostname); break;
    case PERFDATA_OSRELEASE: take_text(features, &content, &features->osrelease); break;
    case PERFDATA_VERSION: take_text(features, &content, &features->version); break;
    case PERFDATA_ARCH: take_text(features, &content, &features->arch); break;
    case PERFDATA_CPUDESC: take_text(features, &content, &features->cpudesc); break;
    case PERFDATA_CPUID: take_text(features, &content, &features->cpuid); break;
    case PERFDATA_NRCPUS:
        features->cpus_available = cursor_u32(&content);
        features->cpus = cursor_u32(&content);
        break;
    case PERFDATA_TOTAL_MEM: features->memory_kb = cursor_u64(&content); break;
    case PERFDATA_CMDLINE: take_arguments(features, &content); break;
    case PERFDATA_EVENT_DESC: take_event_names(features, attrs, &content); break;
    case PERFDATA_SAMPLE_TIME: take_sample_time(features, &content); break;
    case PERFDATA_CLOCK_DATA: take_clock(features, &content); break;
    case PERFDATA_COMPRESSED:
        cursor_u32(&content); /* version */
        features->compression = cursor_u32(&content);
        break;
    case PINJECT_FEATURE: return take_pinject(features, &content);
    }
    return 0;
}
