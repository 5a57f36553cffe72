/* SPDX-License-Identifier: MIT */
#include "collector/output/features.h"

#include <errno.h>
#include <pinject/format.h>
#include <pinject/pinject.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/config/event_choice.h"
#include "collector/config/event_sets.h"
#include "collector/output/build_ids.h"
#include "collector/output/identify.h"
#include "collector/output/items.h"
#include "collector/output/packer.h"
#include "collector/records/kernelmap.h"
#include "collector/records/records.h"
#include "collector/sources/session.h"
#include "collector/system/topology.h"
#include "common/perfdata.h"

/* A longer command line is cut: it is in every file. */
enum { ARGUMENTS_MAX = 4096 };

enum { DESC_ATTR_SIZE = 8 }; /* EVENT_DESC is there for the names: of attrs it has the type and the size */

#define GROUP_NAME "{anon_group}" /* perf's, for a group without a name */

#define TRAILER_BITS                                                                                 \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
     PERF_SAMPLE_IDENTIFIER)

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

/* The sample_id trailer of records that are not samples, in the kernel's order. */
static void append_trailer(struct buffer *to, uint64_t sample_type, const int32_t task[2], uint64_t time_ns,
                           uint64_t id)
{
    if (sample_type & PERF_SAMPLE_TID)
        buffer_append(to, task, 8);
    if (sample_type & PERF_SAMPLE_TIME)
        buffer_u64(to, time_ns);
    if (sample_type & PERF_SAMPLE_ID)
        buffer_u64(to, id);
    if (sample_type & PERF_SAMPLE_STREAM_ID)
        buffer_u64(to, id);
    if (sample_type & PERF_SAMPLE_CPU)
        buffer_u64(to, UINT32_MAX); /* unknown */
    if (sample_type & PERF_SAMPLE_IDENTIFIER)
        buffer_u64(to, id);
}

/* Text as perf has it in feature sections: its length with the NUL, then the text. perf's padding is not needed. */
static void append_string(struct buffer *to, const char *text)
{
    size_t size = strlen(text) + 1;
    buffer_u32(to, (uint32_t)size);
    buffer_append(to, text, size);
}

_Static_assert(CONFIG_EVENTS <= 64, "a set of events is one word");

static void prepare_attrs(struct features *features)
{
    const struct event_config *config = features->session->config;
    /* perf wants the same trailer and read format for all events of a file, and perf script wants an address for
       each kind of event. */
    const uint64_t sample_type = (config->events[0].attr.sample_type & ~(uint64_t)PERF_SAMPLE_READ) |
                                 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    records_layout_init(&features->layout, config);
    for (unsigned i = 0; i < config->count; i++) {
        struct perf_event_attr *attr = &features->attrs[i];
        *attr = config->events[i].attr;
        attr->size = (uint32_t)features->attr_size;
        if (config->events[i].spec && event_choice_is_own(config->events[i].spec))
            attr->config1 = 0; /* an address in our memory: the name of the event has what it points to */
        attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
                            PERF_FORMAT_LOST;
        attr->sample_id_all = 1;
        /* Records of a sampling event are as its attr says; other events only have our READ records. */
        if (!config->events[i].samples) {
            attr->sample_type = sample_type;
            attr->sample_regs_user = config->events[0].attr.sample_regs_user;
            attr->sample_regs_intr = config->events[0].attr.sample_regs_intr;
            attr->branch_sample_type = config->events[0].attr.branch_sample_type;
            attr->sample_period = 0;
            attr->freq = 0;
        }
        /* As in files of perf: a reader makes samples of a group's events of the leader's. */
        const struct config_event *leader = &config->events[config->events[i].leader];
        if (!leader->values)
            continue;
        features->values = true;
        attr->sample_type = features->attrs[config->events[i].leader].sample_type;
        attr->read_format |= PERF_FORMAT_GROUP;
        /* Their values are as the kernel wrote them: before Linux 6.0 without LOST. */
        if (!(leader->attr.read_format & PERF_FORMAT_LOST))
            attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
    }
}

static void prepare_names(struct features *features)
{
    const struct event_config *config = features->session->config;
    for (unsigned i = 0; i < config->count; i++) {
        features->name_at[i] = features->names.size;
        append_string(&features->names, config->events[i].name);
    }
    features->name_at[config->count] = features->names.size;
}

/* The command line as the user typed it, from the kernel: options may have been moved in argv. */
static void prepare_arguments(struct features *features)
{
    struct buffer *arguments = &features->arguments;
    if (buffer_read_file(arguments, "/proc/self/cmdline", 16 << 20) < 0)
        return;
    if (arguments->size > ARGUMENTS_MAX) {
        arguments->size = ARGUMENTS_MAX;
        memcpy(arguments->data + ARGUMENTS_MAX - 4, "...", 4);
    }
    if (arguments->size > 0 && arguments->data[arguments->size - 1] != '\0')
        buffer_string(arguments, "");
    for (size_t i = 0; i < arguments->size; i++)
        features->argument_count += arguments->data[i] == '\0';
}

/* Sections that a reader of a file's records does not need. */
static bool is_told_once(unsigned bit)
{
    switch (bit) {
    case PERFDATA_VERSION:
    case PERFDATA_NRCPUS:
    case PERFDATA_CPUDESC:
    case PERFDATA_CPUID:
    case PERFDATA_TOTAL_MEM:
    case PERFDATA_CMDLINE:
    case PERFDATA_CPU_TOPOLOGY:
    case PERFDATA_NUMA_TOPOLOGY:
    case PERFDATA_PMU_MAPPINGS:
    case PERFDATA_CACHE:
    case PERFDATA_MEM_TOPOLOGY:
    case PERFDATA_CLOCKID: return true;
    default: return false;
    }
}

static struct buffer *begin_part(struct features *features, unsigned bit)
{
    struct features_part *part = &features->parts[features->part_count];
    struct buffer *to = is_told_once(bit) ? &features->once : &features->constant;
    *part = (struct features_part){.bit = bit, .once = is_told_once(bit), .offset = to->size};
    return to;
}

static void end_part(struct features *features, const struct buffer *to)
{
    struct features_part *part = &features->parts[features->part_count++];
    part->size = to->size - part->offset;
}

/* perf opens no file with a tracepoint that it does not describe: each file has it. */
static void prepare_trace_formats(struct features *features)
{
    const struct buffer *formats = &features->session->config->trace_formats;
    if (!formats->size)
        return;
    struct buffer *to = begin_part(features, PERFDATA_TRACING_DATA);
    buffer_append(to, formats->data, formats->size);
    end_part(features, to);
}

static void prepare_texts(struct features *features)
{
    const struct machine *machine = &features->machine;
    const struct {
        unsigned bit;
        const char *text;
    } texts[] = {
        {PERFDATA_HOSTNAME, machine->hostname},
        {PERFDATA_OSRELEASE, machine->release},
        {PERFDATA_VERSION, "pinject-" PINJECT_VERSION_STRING},
        {PERFDATA_ARCH, machine->arch},
        {PERFDATA_NRCPUS, NULL},
        {PERFDATA_CPUDESC, machine->cpu},
        {PERFDATA_CPUID, machine->cpuid},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].text && !texts[i].text[0])
            continue;
        struct buffer *to = begin_part(features, texts[i].bit);
        if (texts[i].text) {
            append_string(to, texts[i].text);
        } else {
            buffer_u32(to, machine->cpus_configured);
            buffer_u32(to, machine->cpus_online);
        }
        end_part(features, to);
    }
}

/* Sections that take long to read. The lock is held meanwhile: who needs them waits. */
void features_read_topology(struct features *features)
{
    static const enum perfdata_feature bits[FEATURES_TOPOLOGY] = {
        PERFDATA_CPU_TOPOLOGY, PERFDATA_NUMA_TOPOLOGY, PERFDATA_PMU_MAPPINGS, PERFDATA_CACHE, PERFDATA_MEM_TOPOLOGY};
    struct features_topology *topology = &features->topology;
    pthread_mutex_lock(&topology->lock);
    for (unsigned i = 0; !topology->read && i < FEATURES_TOPOLOGY; i++) {
        struct features_part *part = &topology->parts[i];
        *part = (struct features_part){.bit = bits[i], .once = true, .offset = topology->bytes.size};
        topology_append(bits[i], "/sys", features->machine.cpus_configured, &topology->bytes);
        part->size = topology->bytes.size - part->offset;
    }
    topology->read = true;
    pthread_mutex_unlock(&topology->lock);
}

static int compare_parts(const void *first, const void *second)
{
    const struct features_part *one = first, *other = second;
    return (one->bit > other->bit) - (one->bit < other->bit);
}

/* Puts them among the sections of the first task's file, once. */
static void add_topology(struct features *features)
{
    struct features_topology *topology = &features->topology;
    if (topology->added)
        return;
    features_read_topology(features);
    topology->added = true;
    const size_t before = features->once.size;
    buffer_append(&features->once, topology->bytes.data, topology->bytes.size);
    features->once.failed |= buffer_failed(&topology->bytes);
    for (unsigned i = 0; i < FEATURES_TOPOLOGY; i++) {
        struct features_part *part = &topology->parts[i];
        part->offset += before;
        if (part->size)
            features->parts[features->part_count++] = *part;
    }
    buffer_release(&topology->bytes);
    qsort(features->parts, features->part_count, sizeof(features->parts[0]), compare_parts);
}

static void prepare_numbers(struct features *features)
{
    struct buffer *to = begin_part(features, PERFDATA_TOTAL_MEM);
    buffer_u64(to, features->machine.memory_kb);
    end_part(features, to);
    to = begin_part(features, PERFDATA_CMDLINE);
    buffer_u32(to, features->argument_count);
    const char *argument = (const char *)features->arguments.data;
    for (uint32_t i = 0; i < features->argument_count; i++, argument += strlen(argument) + 1)
        append_string(to, argument);
    end_part(features, to);
    if (features->attrs[0].sample_type & PERF_SAMPLE_BRANCH_STACK) { /* empty: that it is there says all */
        to = begin_part(features, PERFDATA_BRANCH_STACK);
        end_part(features, to);
    }
    to = begin_part(features, PERFDATA_CLOCKID);
    buffer_u64(to, 1); /* the clock's resolution in ns */
    end_part(features, to);
    to = begin_part(features, PERFDATA_CLOCK_DATA);
    buffer_u32(to, 1); /* version of this section */
    buffer_u32(to, CLOCK_MONOTONIC);
    buffer_u64(to, features->session->start_realtime_ns);
    buffer_u64(to, features->session->start_ns);
    end_part(features, to);
}

/* The attrs of a file end after the last field that is set. */
static size_t find_attr_size(const struct event_config *config)
{
    for (unsigned i = 0; i < config->count; i++)
        if (config->events[i].attr.sample_regs_intr)
            return PERF_ATTR_SIZE_VER4;
    return PERF_ATTR_SIZE_VER3;
}

/* An attr with the place of its ids. */
static size_t attr_entry(const struct features *features)
{
    return features->attr_size + sizeof(struct perfdata_section);
}

int features_init(struct features *features, const struct session *session)
{
    memset(features, 0, sizeof(*features));
    features->session = session;
    features->attr_size = find_attr_size(session->config);
    features->attrs_at = sizeof(struct perfdata_header) + session->config->count * sizeof(uint64_t);
    features->front = features->attrs_at + session->config->count * attr_entry(features);
    pthread_mutex_init(&features->topology.lock, NULL);
    machine_read(&features->machine);
    prepare_attrs(features);
    prepare_names(features);
    prepare_arguments(features);
    prepare_trace_formats(features); /* in the order of their bits */
    prepare_texts(features);
    prepare_numbers(features);
    features->buildids = buildids_new();
    features->packer = packer_new();
    if (!features->buildids || !features->packer || buffer_failed(&features->names) ||
        buffer_failed(&features->constant) || buffer_failed(&features->once) || buffer_failed(&features->arguments)) {
        features_release(features);
        return -ENOMEM;
    }
    return 0;
}

void features_release(struct features *features)
{
    buffer_release(&features->constant);
    buffer_release(&features->once);
    buffer_release(&features->topology.bytes);
    pthread_mutex_destroy(&features->topology.lock);
    buffer_release(&features->names);
    buffer_release(&features->arguments);
    buffer_release(&features->kernel);
    buffer_release(&features->items);
    buildids_free(features->buildids);
    packer_free(features->packer);
    features->buildids = NULL;
    features->packer = NULL;
}

/*
 * perf warns about a file whose events include the kernel if the file does not say where the kernel is. If that is
 * secret, the upper half of the addresses stands for it.
 */
const struct buffer *features_kernel(struct features *features)
{
    const struct event_config *config = features->session->config;
    bool sees_kernel = false;
    for (unsigned i = 0; i < config->count; i++)
        sees_kernel = sees_kernel || !config->events[i].attr.exclude_kernel;
    if (features->kernel_known || !sees_kernel)
        return &features->kernel;
    features->kernel_known = true;
    struct records_stamp stamp = {.pid = -1};
    struct kernelmap map;
    kernelmap_init(&map);
    kernelmap_make(&map, &features->layout, &stamp, &features->kernel);
    kernelmap_release(&map);
    if (features->kernel.size == 0)
        records_make_kernel(&features->layout, &stamp, UINT64_MAX / 2 + 1, UINT64_MAX / 2, 0, "[kernel.kallsyms]",
                            &features->kernel);
    identify_kernel(features->buildids, &features->kernel);
    return &features->kernel;
}

uint64_t features_events(const struct features *features, const uint64_t ids[CONFIG_EVENTS])
{
    uint64_t events = 0;
    for (unsigned i = 0; i < features->session->config->count; i++)
        if (ids[i])
            events |= 1ull << i;
    /* perf does not read a file without any attr. */
    return events ? events : 1;
}

void features_header(const struct features *features, const uint64_t ids[CONFIG_EVENTS], struct perfdata_header *ret)
{
    const int count = __builtin_popcountll(features_events(features, ids));
    *ret = (struct perfdata_header){
        .magic = PERFDATA_MAGIC,
        .size = sizeof(*ret),
        .attr_size = attr_entry(features),
        .attrs = {features->attrs_at, (uint64_t)count * attr_entry(features)},
        .data = {features->front, 0},
    };
}

void features_front(const struct features *features, const uint64_t ids[CONFIG_EVENTS], unsigned char *front)
{
    const unsigned count = features->session->config->count;
    const uint64_t events = features_events(features, ids);
    struct perfdata_header header;
    features_header(features, ids, &header);
    memcpy(front, &header, sizeof(header));
    memcpy(front + sizeof(header), ids, count * sizeof(uint64_t));
    unsigned char *at = front + features->attrs_at;
    for (unsigned i = 0; i < count; i++) {
        if (!(events >> i & 1))
            continue;
        struct perfdata_section section = {sizeof(header) + i * sizeof(uint64_t), ids[i] ? sizeof(uint64_t) : 0};
        memcpy(at, &features->attrs[i], features->attr_size);
        memcpy(at + features->attr_size, &section, sizeof(section));
        at += attr_entry(features);
    }
}

/* The counts of a file: of one exec generation with --exec-split-results, else of the whole task. NULL: unknown. */
static const struct attach_value *file_values(const struct result_task *task)
{
    if (!(task->flags & PINJECT_TASK_SPLIT) || task->generation_count != 1)
        return task->values;
    return task->generations[0].counted ? task->generations[0].values : NULL;
}

static bool is_hidden(const struct event_config *config, unsigned event)
{
    return config->dummy && event == 0;
}

static uint64_t take(uint64_t value, uint64_t *read)
{
    const uint64_t more = value > *read ? value - *read : 0;
    *read += more;
    return more;
}

void features_reads(const struct features *features, const struct result_task *task, struct attach_value *read,
                    struct buffer *to)
{
    struct attach_value none[CONFIG_EVENTS] = {0};
    const struct event_config *config = features->session->config;
    const struct attach_value *values = file_values(task);
    const int32_t ids[2] = {task->pid, task->tid};
    for (unsigned i = 0; values && i < config->count; i++) {
        /* perf takes the number of a group's events for the first value. */
        if (!task->ids[i] || is_hidden(config, i) || features->attrs[i].read_format & PERF_FORMAT_GROUP)
            continue;
        const uint64_t sample_type = features->attrs[i].sample_type;
        const int trailer = __builtin_popcountll(sample_type & TRAILER_BITS);
        struct perf_event_header header = {.type = PERF_RECORD_READ,
                                           .size = (uint16_t)(sizeof(header) + (6 + trailer) * 8)};
        buffer_append(to, &header, sizeof(header));
        buffer_append(to, ids, sizeof(ids));
        struct attach_value *before = read ? &read[i] : &none[i];
        const struct attach_value value = event_sets_value(config, i, values);
        const uint64_t numbers[] = {take(value.value, &before->value), take(value.enabled_ns, &before->enabled_ns),
                                    take(value.running_ns, &before->running_ns), task->ids[i],
                                    take(value.lost, &before->lost)};
        buffer_append(to, numbers, sizeof(numbers));
        append_trailer(to, sample_type, ids, task->end_ns, task->ids[i]);
    }
}

static void append_event_desc(const struct features *features, const uint64_t ids[CONFIG_EVENTS], struct buffer *to)
{
    uint64_t events = features_events(features, ids);
    buffer_u32(to, (uint32_t)__builtin_popcountll(events));
    buffer_u32(to, DESC_ATTR_SIZE);
    for (unsigned i = 0; i < features->session->config->count; i++) {
        if (!(events >> i & 1))
            continue;
        struct perf_event_attr attr = features->attrs[i];
        attr.size = DESC_ATTR_SIZE;
        buffer_append(to, &attr, DESC_ATTR_SIZE);
        buffer_u32(to, ids[i] ? 1 : 0);
        buffer_append(to, features->names.data + features->name_at[i], features->name_at[i + 1] - features->name_at[i]);
        if (ids[i])
            buffer_u64(to, ids[i]);
    }
}

/* The groups of the file's events; nothing if it has none. */
static void append_group_desc(const struct features *features, uint64_t events, struct buffer *to)
{
    const struct event_config *config = features->session->config;
    const size_t at = to->size;
    uint32_t groups = 0;
    for (unsigned leader = 0; leader < config->count; leader++) {
        uint32_t members = 0;
        for (unsigned i = leader; i < config->count; i++)
            members += (events >> i & 1) && config->events[i].grouped && config->events[i].leader == leader;
        if (members < 2 || !(events >> leader & 1))
            continue;
        if (groups++ == 0)
            buffer_u32(to, 0);
        append_string(to, GROUP_NAME);
        buffer_u32(to, (uint32_t)__builtin_popcountll(events & ((1ull << leader) - 1)));
        buffer_u32(to, members);
    }
    if (groups && !buffer_failed(to))
        memcpy(to->data + at, &groups, sizeof(groups));
}

/* The table of a file's sections, filled in while they are written. */
struct table {
    uint64_t *bits;
    size_t count;
    struct perfdata_section sections[PERFDATA_CLOCK_DATA + 2];
};

static void note_section(struct table *table, unsigned bit, uint64_t offset, uint64_t size)
{
    table->bits[bit / 64] |= 1ull << bit % 64;
    table->sections[table->count++] = (struct perfdata_section){offset, size};
}

/* Notes the constant sections whose bits are in [FROM, UNTIL), in the file of the first task (ROOT) or another. */
static void note_parts(const struct features *features, struct table *table, const uint64_t at[2], bool root,
                       unsigned from, unsigned until)
{
    for (unsigned i = 0; i < features->part_count; i++) {
        const struct features_part *part = &features->parts[i];
        if (part->bit >= from && part->bit < until && (root || !part->once))
            note_section(table, part->bit, at[part->once] + part->offset, part->size);
    }
}

static size_t count_parts(const struct features *features, bool root)
{
    size_t count = 0;
    for (unsigned i = 0; i < features->part_count; i++)
        count += root || !features->parts[i].once;
    return count;
}

/* Packed if that is smaller. */
static void append_items(struct features *features, const struct result_task *task,
                         const struct result_coverage *coverage, const char *note, struct buffer *to, size_t data,
                         size_t data_end)
{
    struct buffer *items = &features->items;
    buffer_clear(items);
    items_append(features->session, &features->arguments, features->argument_count,
                 features_events(features, task->ids), task, coverage, note, items);
    if (buffer_failed(items))
        to->failed = true;
    else if (!packer_append(features->packer, items, to, data, data_end))
        buffer_append(to, items->data, items->size);
}

void features_sections(struct features *features, const struct result_task *task,
                       const struct result_coverage *coverage, const char *note, uint64_t offset, struct buffer *to,
                       size_t data, uint64_t bits[4])
{
    struct table table = {.bits = bits};
    memset(bits, 0, 4 * sizeof(bits[0]));
    /* The table comes before the sections, so its size must be known first: the constant sections, EVENT_DESC,
       SAMPLE_TIME, perhaps GROUP_DESC, and our own. */
    const size_t start = to->size;
    const bool root = task->flags & PINJECT_TASK_ROOT;
    if (root)
        add_topology(features);
    to->failed |= root && buffer_failed(&features->once);
    struct buffer groups = BUFFER_INIT;
    append_group_desc(features, features_events(features, task->ids), &groups);
    to->failed |= buffer_failed(&groups);
    buffer_extend(to, (count_parts(features, root) + 3 + (groups.size > 0)) * sizeof(struct perfdata_section));
#define HERE (offset + (to->size - start))
    const uint64_t constant[2] = {HERE, HERE + features->constant.size};
    buffer_append(to, features->constant.data, features->constant.size);
    buffer_append(to, features->once.data, root ? features->once.size : 0);
    note_parts(features, &table, constant, root, 0, PERFDATA_EVENT_DESC);
    uint64_t at = HERE;
    append_event_desc(features, task->ids, to);
    note_section(&table, PERFDATA_EVENT_DESC, at, HERE - at);
    note_parts(features, &table, constant, root, PERFDATA_EVENT_DESC, PERFDATA_GROUP_DESC);
    if (groups.size)
        note_section(&table, PERFDATA_GROUP_DESC, HERE, groups.size);
    buffer_append(to, groups.data, groups.size);
    buffer_release(&groups);
    note_parts(features, &table, constant, root, PERFDATA_GROUP_DESC, PERFDATA_SAMPLE_TIME);
    note_section(&table, PERFDATA_SAMPLE_TIME, HERE, 2 * sizeof(uint64_t));
    buffer_u64(to, task->first_sample_ns);
    buffer_u64(to, task->last_sample_ns);
    note_parts(features, &table, constant, root, PERFDATA_SAMPLE_TIME, PINJECT_FEATURE);
    buffer_align(to, 8);
    at = HERE;
    append_items(features, task, coverage, note, to, data, start);
    note_section(&table, PINJECT_FEATURE, at, HERE - at);
#undef HERE
    if (!buffer_failed(to))
        memcpy(to->data + start, table.sections, table.count * sizeof(table.sections[0]));
}
