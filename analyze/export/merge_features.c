/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyze/export/merge.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "common/perfdata.h"

#define ID_SIZE_KNOWN (1u << 15) /* PERF_RECORD_MISC_BUILD_ID_SIZE */
#define LONGEST_PATH  4096

/* perf's struct build_id_event; the file's name follows it. */
struct build_id_event {
    struct perf_event_header header;
    int32_t pid;
    uint8_t bytes[20];
    uint8_t size, reserved1;
    uint16_t reserved2;
};

_Static_assert(sizeof(struct build_id_event) == 36, "perf.data: build_id_event");

/* Sections that are kept from one file; each is preceded by its bit and size. */
static void begin_text(struct merge *merge, uint64_t bit, size_t *ret_at)
{
    buffer_u64(&merge->texts, bit);
    *ret_at = merge->texts.size;
    buffer_u64(&merge->texts, 0);
}

static void end_text(struct merge *merge, size_t at)
{
    uint64_t size = merge->texts.size - at - sizeof(size);
    if (!buffer_failed(&merge->texts))
        memcpy(merge->texts.data + at, &size, sizeof(size));
    buffer_align(&merge->texts, 8);
}

/* A string as in perf's sections: its length with the padding, then the text. */
static void append_string(struct buffer *to, const char *text)
{
    size_t size = (strlen(text) + 1 + 7) & ~(size_t)7;
    buffer_u32(to, (uint32_t)size);
    void *at = buffer_extend(to, size);
    if (at)
        memcpy(at, text, strlen(text));
}

/* The descriptions of tracepoints, which perf needs to open the file. False: others were described before. */
static bool take_trace_formats(struct merge *merge, const struct features *features)
{
    if (!feature_present(features, PERFDATA_TRACING_DATA))
        return true;
    struct cursor section = features->sections[PERFDATA_TRACING_DATA];
    const size_t size = cursor_left(&section);
    const void *bytes = cursor_bytes(&section, size);
    if (merge->trace_formats.size)
        return merge->trace_formats.size == size && memcmp(merge->trace_formats.data, bytes, size) == 0;
    buffer_append(&merge->trace_formats, bytes, size);
    return true;
}

static void take_texts(struct merge *merge, const struct features *features)
{
    const struct {
        uint64_t bit;
        const char *text;
    } texts[] = {
        {PERFDATA_HOSTNAME, features->hostname},
        {PERFDATA_OSRELEASE, features->osrelease},
        {PERFDATA_VERSION, features->version},
        {PERFDATA_ARCH, features->arch},
        {PERFDATA_NRCPUS, NULL},
        {PERFDATA_CPUDESC, features->cpudesc},
        {PERFDATA_CPUID, features->cpuid},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t at;
        if (texts[i].text ? !texts[i].text[0] : !features->cpus)
            continue;
        begin_text(merge, texts[i].bit, &at);
        if (texts[i].text) {
            append_string(&merge->texts, texts[i].text);
        } else {
            buffer_u32(&merge->texts, features->cpus);
            buffer_u32(&merge->texts, features->cpus);
        }
        end_text(merge, at);
    }
}

static void take_memory_and_command(struct merge *merge, const struct features *features)
{
    size_t at;
    if (features->memory_kb) {
        begin_text(merge, PERFDATA_TOTAL_MEM, &at);
        buffer_u64(&merge->texts, features->memory_kb);
        end_text(merge, at);
    }
    if (features->argument_count == 0)
        return;
    /* As for a result file, panalyze then shows the program, not pinject-run. */
    const struct profile_generation *generation = heading_generation(merge->view->profile);
    const char *const *words = generation ? generation->cmdline : features->arguments;
    const uint32_t count = generation ? generation->cmdline_count : features->argument_count;
    begin_text(merge, PERFDATA_CMDLINE, &at);
    buffer_u32(&merge->texts, count);
    for (uint32_t i = 0; i < count; i++)
        append_string(&merge->texts, words[i]);
    end_text(merge, at);
}

/* Takes the clock; its id is in the attributes of the events. */
static void take_clock(struct merge *merge, const struct file *file)
{
    const struct features *features = &file->features;
    size_t at;
    if (file->attrs.count == 0 || !file->attrs.items[0].perf.use_clockid)
        return;
    begin_text(merge, PERFDATA_CLOCKID, &at);
    buffer_u64(&merge->texts, 1); /* its resolution in ns */
    end_text(merge, at);
    if (!features->wall_ns)
        return;
    begin_text(merge, PERFDATA_CLOCK_DATA, &at);
    buffer_u32(&merge->texts, 1); /* version of this section */
    buffer_u32(&merge->texts, (uint32_t)file->attrs.items[0].perf.clockid);
    buffer_u64(&merge->texts, features->wall_ns);
    buffer_u64(&merge->texts, features->clock_ns);
    end_text(merge, at);
}

/* The build-id of that path, from ITEM or an earlier one; NULL: ITEM is not usable. */
static struct feature_build_id *take_build_id(struct merge *merge, const struct feature_build_id *item)
{
    size_t before = merge->build_id_paths.count;
    if (!item->size || !item->path[0] || strlen(item->path) >= LONGEST_PATH)
        return NULL;
    uint32_t index = map_strings_add(&merge->build_id_paths, item->path);
    if (index == before) {
        merge->build_ids = memory_grow(merge->build_ids, &merge->build_id_capacity, before + 1,
                                       sizeof(*merge->build_ids));
        merge->build_ids[index] = *item;
    }
    return &merge->build_ids[index];
}

bool merge_features_take(struct merge *merge, const struct file *file)
{
    const struct features *features = &file->features;
    if (!take_trace_formats(merge, features))
        return false;
    /* Of our files, the first task's has the most. */
    bool whole = features->argument_count > 0;
    if (!merge->described || (whole && !merge->whole)) {
        buffer_clear(&merge->texts);
        merge->whole = whole;
        take_texts(merge, features);
        take_memory_and_command(merge, features);
        take_clock(merge, file);
        merge->described = true;
    }
    for (uint32_t i = 0; i < features->build_id_count; i++)
        take_build_id(merge, &features->build_ids[i]);
    return true;
}

static void take_dso(struct merge *merge, const char *path, const unsigned char *id, size_t size, bool kernel)
{
    struct feature_build_id item = {.path = path, .size = (uint8_t)size, .kernel = kernel};
    if (!size || size > sizeof(item.id))
        return;
    memcpy(item.id, id, size);
    struct feature_build_id *known = take_build_id(merge, &item);
    /* Two files had this path, one after the other. perf allows only one build-id, which would be wrong for the
     * other. */
    if (known && known >= merge->build_ids + merge->build_ids_told &&
        (known->size != size || memcmp(known->id, item.id, sizeof(item.id)) != 0))
        known->size = 0;
}

void merge_features_take_dsos(struct merge *merge, const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    merge->build_ids_told = merge->build_id_paths.count;
    for (uint32_t i = 0; i < profile->module_count; i++) {
        const struct profile_module *module = profile->modules[i];
        /* With a build-id perf looks for a file "[vdso]"; without one it uses its own vdso. */
        if (module->path[0] == '/')
            take_dso(merge, module->path, module->build_id, module->build_id_size, false);
    }
    take_dso(merge, "[kernel.kallsyms]", session->kernel_build_id, session->kernel_build_id_size, true);
}

static void append_build_ids(const struct merge *merge, struct buffer *to)
{
    for (size_t i = 0; i < merge->build_id_paths.count; i++) {
        const struct feature_build_id *item = &merge->build_ids[i];
        const char *path = merge->build_id_paths.texts[i];
        if (!item->size)
            continue;
        size_t length = strlen(path), size = (sizeof(struct build_id_event) + length + 1 + 7) & ~(size_t)7;
        uint16_t mode = item->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
        struct build_id_event event = {
            .header = {.misc = mode | ID_SIZE_KNOWN, .size = (uint16_t)size}, .pid = -1, .size = item->size};
        memcpy(event.bytes, item->id, sizeof(event.bytes));
        unsigned char *at = buffer_extend(to, size);
        if (!at)
            return;
        memcpy(at, &event, sizeof(event));
        memcpy(at + sizeof(event), path, length);
    }
}

/* Whether all events have names; perf makes names for events without. */
static bool are_named(const struct merge *merge)
{
    for (size_t i = 0; i < merge->event_count; i++)
        if (!merge->events[i].name[0])
            return false;
    return true;
}

static void append_events(const struct merge *merge, struct buffer *to)
{
    const uint32_t attr_size = merge_attr_size(merge);
    buffer_u32(to, (uint32_t)merge->event_count);
    buffer_u32(to, attr_size);
    for (size_t i = 0; i < merge->event_count; i++) {
        const struct merge_event *event = &merge->events[i];
        struct perf_event_attr attr = event->attr;
        attr.size = attr_size;
        buffer_append(to, &attr, attr_size);
        buffer_u32(to, (uint32_t)event->id_count);
        append_string(to, event->name);
        buffer_append(to, event->ids, event->id_count * sizeof(uint64_t));
    }
}

/* The sections so far, in the order of their bits. */
struct table {
    uint64_t *bits;
    size_t count;
    struct perfdata_section sections[16];
};

static void add_section(struct table *table, uint64_t bit, uint64_t offset, uint64_t size)
{
    table->bits[bit / 64] |= 1ull << bit % 64;
    table->sections[table->count++] = (struct perfdata_section){offset, size};
}

/* Appends the kept sections with bits in [FROM, UNTIL). */
static void append_texts(const struct merge *merge, struct table *table, uint64_t from, uint64_t until,
                         struct buffer *to)
{
    for (size_t at = 0; at + 16 <= merge->texts.size;) {
        uint64_t head[2];
        memcpy(head, merge->texts.data + at, sizeof(head));
        at += sizeof(head);
        if (head[0] >= from && head[0] < until) {
            add_section(table, head[0], to->size, head[1]);
            buffer_append(to, merge->texts.data + at, head[1]);
            buffer_align(to, 8);
        }
        at += (head[1] + 7) & ~(uint64_t)7;
    }
}

void merge_features_append(const struct merge *merge, uint64_t offset, struct buffer *to, uint64_t bits[4])
{
    /* The table comes before the sections, and its size is known only when they are made: so they go to a buffer. */
    struct buffer sections = BUFFER_INIT;
    struct table table = {.bits = bits};
    if (merge->trace_formats.size)
        add_section(&table, PERFDATA_TRACING_DATA, 0, merge->trace_formats.size);
    buffer_append(&sections, merge->trace_formats.data, merge->trace_formats.size);
    buffer_align(&sections, 8);
    uint64_t at = sections.size;
    append_build_ids(merge, &sections);
    if (sections.size > at)
        add_section(&table, PERFDATA_BUILD_ID, at, sections.size - at);
    append_texts(merge, &table, 0, PERFDATA_EVENT_DESC, &sections);
    at = sections.size;
    if (are_named(merge)) {
        append_events(merge, &sections);
        add_section(&table, PERFDATA_EVENT_DESC, at, sections.size - at);
        buffer_align(&sections, 8);
    }
    if (merge->sampled) {
        add_section(&table, PERFDATA_SAMPLE_TIME, sections.size, 2 * sizeof(uint64_t));
        buffer_u64(&sections, merge->first_ns);
        buffer_u64(&sections, merge->last_ns);
    }
    append_texts(merge, &table, PERFDATA_EVENT_DESC, UINT64_MAX, &sections);
    uint64_t start = offset + table.count * sizeof(struct perfdata_section);
    for (size_t i = 0; i < table.count; i++)
        table.sections[i].offset += start;
    buffer_append(to, table.sections, table.count * sizeof(struct perfdata_section));
    buffer_append(to, sections.data, sections.size);
    to->failed |= buffer_failed(&sections) || buffer_failed(&merge->texts) || buffer_failed(&merge->trace_formats);
    buffer_release(&sections);
}
