/* SPDX-License-Identifier: MIT */
#include "analyze/export/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/model/raw.h"
#include "analyze/read/bytes.h"
#include "analyze/view/memory.h"
#include "common/perfdata.h"
#include "common/report.h"

enum { LARGEST_RECORD = 65536 };

static void add_id(struct merge_event *event, uint64_t id)
{
    event->ids = memory_grow(event->ids, &event->id_capacity, event->id_count + 1, sizeof(*event->ids));
    event->ids[event->id_count++] = id;
}

/* The event of ATTR. Each file has its own ids; with several files, an event has one id in the result: its number. */
static uint32_t event_of(struct merge *merge, const struct attr *attr)
{
    const char *name = attr->name ? attr->name : "";
    struct perf_event_attr perf = attr->perf;
    perf.size = 0; /* missing members are 0; see merge_attr_size() */
    for (size_t i = 0; i < merge->event_count && !merge->one_file; i++)
        if (memcmp(&merge->events[i].attr, &perf, sizeof(perf)) == 0 && strcmp(merge->events[i].name, name) == 0)
            return (uint32_t)i;
    merge->events = memory_grow(merge->events, &merge->event_capacity, merge->event_count + 1, sizeof(*merge->events));
    struct merge_event *event = &merge->events[merge->event_count];
    *event = (struct merge_event){.attr = perf, .name = memory_text(name)};
    if (!merge->one_file)
        add_id(event, merge->event_count + 1);
    return (uint32_t)merge->event_count++;
}

/* Whether samples have values. Readers show the growth of each value; in merged files it would fall back at each new
 * file. */
static bool has_values(const struct file *file)
{
    bool has = false;
    for (uint32_t i = 0; i < file->attrs.count; i++)
        has |= (file->attrs.items[i].perf.sample_type & PERF_SAMPLE_READ) != 0;
    return has;
}

/* perf needs the event's id, and the fields at the end of each other record, at the same places; samples may differ. */
static bool fits_session(const struct merge *merge, const struct file *file)
{
    const uint64_t places = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_TID |
                            PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    const struct perf_event_attr *first = merge->event_count ? &merge->events[0].attr : &file->attrs.items[0].perf;
    for (uint32_t i = 0; i < file->attrs.count; i++) {
        const struct perf_event_attr *attr = &file->attrs.items[i].perf;
        if (((attr->sample_type ^ first->sample_type) & places) || attr->read_format != first->read_format ||
            !attr->sample_id_all || !(attr->sample_type & PERF_SAMPLE_IDENTIFIER) ||
            (attr->read_format & PERF_FORMAT_GROUP))
            return false;
    }
    return true;
}

static int take_events(struct merge *merge, const struct file *file)
{
    const struct attr_list *attrs = &file->attrs;
    if (!merge->one_file && has_values(file)) {
        report_error(
            "%s: each sample has the counts of its event group ({a,b}:S), and panalyze cannot merge such files; export "
            "this file alone",
            merge->path);
        return 1;
    }
    if (!merge->one_file && !fits_session(merge, file)) {
        report_error("%s: the file's records have a layout that cannot be merged; export this file alone", merge->path);
        return 1;
    }
    merge->event_of = memory_grow(merge->event_of, &merge->event_of_capacity, attrs->count, sizeof(*merge->event_of));
    for (uint32_t i = 0; i < attrs->count; i++)
        merge->event_of[i] = event_of(merge, &attrs->items[i]);
    for (uint32_t i = 0; merge->one_file && attrs->ids && i <= attrs->ids_mask; i++)
        if (attrs->ids[i].attr)
            add_id(&merge->events[attrs->ids[i].attr - 1], attrs->ids[i].id);
    return 0;
}

static bool take_features(struct merge *merge, const struct file *file)
{
    const bool taken = merge_features_take(merge, file);
    if (!taken)
        report_error(
            "%s: the file describes other tracepoints than an earlier file; export the files of each run separately",
            merge->path);
    return taken;
}

static int begin_file(void *context, const char *path, const struct file *file)
{
    struct merge *merge = context;
    merge->path = path;
    if (file->swap) {
        report_error(
            "%s: the file was recorded in the opposite byte order and cannot be merged; open the file itself with perf",
            path);
        return 1;
    }
    if (file->pipe && !merge->one_file) {
        report_error(
            "%s: the file was recorded to a pipe and cannot be merged with other files; export this file alone", path);
        return 1;
    }
    if (!file->pipe && !take_features(merge, file))
        return 1;
    /* In pipe format the events are among the records. */
    return file->pipe ? 0 : take_events(merge, file);
}

static int end_file(void *context, const struct file *file)
{
    struct merge *merge = context;
    merge_spool_end_file(&merge->spool);
    if (file->pipe && !take_features(merge, file))
        return 1;
    return file->pipe ? take_events(merge, file) : 0;
}

static void set_id(unsigned char *copy, size_t size, size_t at, uint64_t id)
{
    if (at + sizeof(id) <= size)
        memcpy(copy + at, &id, sizeof(id));
}

/* Replaces the ids in the record COPY by that of EVENT. All records have IDENTIFIER: see fits_session(). */
static void replace_ids(unsigned char *copy, size_t size, uint32_t type, const struct merge_event *event)
{
    uint64_t id = event->ids[0];
    uint64_t format = event->attr.read_format;
    if (type == PERF_RECORD_SAMPLE) {
        set_id(copy, size, RECORD_HEADER, id);
        return;
    }
    if (size >= RECORD_HEADER + 16)
        set_id(copy, size, size - 8, id);
    if (type == PERF_RECORD_LOST)
        set_id(copy, size, RECORD_HEADER, id);
    if (type == PERF_RECORD_READ && (format & PERF_FORMAT_ID))
        set_id(copy, size,
               RECORD_HEADER + 16 + (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8u : 0u) +
                   (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8u : 0u),
               id);
}

/* Whether ATTR is the event chosen by --event, whose value may be only a part of the name. */
static bool is_chosen_event(const struct view *view, const struct attr *attr)
{
    const struct profile_event *event = &view->profile->events[view->profile->event];
    if (attr->name && attr->name[0])
        return strcmp(attr->name, event->name) == 0;
    return attr->perf.type == event->type && attr->perf.config == event->config &&
           attr->perf.exclude_kernel == event->exclude_kernel;
}

static bool is_kept(const struct merge *merge, const struct record *record)
{
    const struct view *view = merge->view;
    const bool sample = record->type == PERF_RECORD_SAMPLE;
    if (!sample && record->type != PERF_RECORD_SWITCH) /* the others tell what samples are of */
        return true;
    if (view->selection->filtered && map_find(&merge->tasks, record->pid, record->tid) == MAP_NONE)
        return false;
    return !sample || !view->settings->event || is_chosen_event(view, record->attr);
}

static int add_record(void *context, const struct file *file, const struct record *record)
{
    struct merge *merge = context;
    const unsigned char *raw = raw_bytes(record);
    size_t size = bytes_u16(raw + 6, false);
    (void)file;
    if (record->type >= PERFDATA_RECORD_ATTR || record->type == PERF_RECORD_AUX ||
        record->type == PERF_RECORD_ITRACE_START) {
        merge->refused += record->type == PERFDATA_RECORD_AUXTRACE;
        return 0;
    }
    if (!is_kept(merge, record))
        return 0;
    if (record->type == PERF_RECORD_SAMPLE && record->time) {
        merge->first_ns = merge->sampled && merge->first_ns < record->time ? merge->first_ns : record->time;
        merge->last_ns = merge->last_ns > record->time ? merge->last_ns : record->time;
        merge->sampled = true;
    }
    if (!merge->one_file && record->attr) {
        memcpy(merge->copy, raw, size);
        replace_ids(merge->copy, size, record->type, &merge->events[merge->event_of[record->attr->index]]);
        raw = merge->copy;
    }
    merge_spool_add(&merge->spool, record->time, raw, size);
    return merge->spool.error ? 1 : 0;
}

uint32_t merge_attr_size(const struct merge *merge)
{
    size_t size = PERF_ATTR_SIZE_VER3;
    for (size_t i = 0; i < merge->event_count; i++) {
        const unsigned char *attr = (const unsigned char *)&merge->events[i].attr;
        for (size_t at = size; at < sizeof(merge->events[i].attr); at++)
            if (attr[at])
                size = (at / 8 + 1) * 8;
    }
    return (uint32_t)size;
}

static void put_front(const struct merge *merge, uint64_t data_size, const uint64_t bits[4], FILE *to)
{
    const uint32_t attr_size = merge_attr_size(merge);
    const uint64_t entry = attr_size + sizeof(struct perfdata_section);
    uint64_t at = sizeof(struct perfdata_header), ids = 0;
    for (size_t i = 0; i < merge->event_count; i++)
        ids += merge->events[i].id_count * sizeof(uint64_t);
    struct perfdata_header header = {
        .magic = PERFDATA_MAGIC,
        .size = sizeof(header),
        .attr_size = entry,
        .attrs = {at + ids, merge->event_count * entry},
        .data = {at + ids + merge->event_count * entry, data_size},
        .features = {bits[0], bits[1], bits[2], bits[3]},
    };
    fwrite(&header, sizeof(header), 1, to);
    for (size_t i = 0; i < merge->event_count; i++)
        if (merge->events[i].id_count)
            fwrite(merge->events[i].ids, sizeof(uint64_t), merge->events[i].id_count, to);
    for (size_t i = 0; i < merge->event_count; i++) {
        struct perfdata_section section = {at, merge->events[i].id_count * sizeof(uint64_t)};
        struct perf_event_attr attr = merge->events[i].attr;
        attr.size = attr_size;
        fwrite(&attr, attr_size, 1, to);
        fwrite(&section, sizeof(section), 1, to);
        at += section.size;
    }
}

static uint64_t front_size(const struct merge *merge)
{
    uint64_t size = sizeof(struct perfdata_header) +
                    merge->event_count * (merge_attr_size(merge) + sizeof(struct perfdata_section));
    for (size_t i = 0; i < merge->event_count; i++)
        size += merge->events[i].id_count * sizeof(uint64_t);
    return size;
}

/* For perf a file without any record is damaged. */
static const struct perf_event_header empty_round = {.type = PERFDATA_RECORD_FINISHED_ROUND,
                                                     .size = sizeof(empty_round)};

static int put_file(const struct merge *merge, FILE *to)
{
    uint64_t size, bits[4] = {0};
    struct buffer sections = BUFFER_INIT;
    merge_spool_write(&merge->spool, NULL, &size);
    bool empty = size == 0;
    size += empty ? sizeof(empty_round) : 0;
    merge_features_append(merge, front_size(merge) + size, &sections, bits);
    int status = buffer_failed(&sections) ? -ENOMEM : 0;
    if (status == 0) {
        put_front(merge, size, bits, to);
        if (empty)
            fwrite(&empty_round, sizeof(empty_round), 1, to);
        else
            merge_spool_write(&merge->spool, to, &size);
        fwrite(sections.data, 1, sections.size, to);
    }
    buffer_release(&sections);
    return status;
}

/* The directory of the result, which will have the same size as the spool. Owned by the caller. */
static char *spool_directory(const struct view *view)
{
    const char *output = view->settings->file, *directory = getenv("TMPDIR");
    const char *slash = output ? strrchr(output, '/') : NULL;
    if (!output || strcmp(output, "-") == 0 || strncmp(output, "/dev/", 5) == 0)
        return memory_text(directory && *directory ? directory : "/tmp");
    return slash ? memory_print("%.*s", slash == output ? 1 : (int)(slash - output), output) : memory_text(".");
}

static void choose_tasks(struct merge *merge)
{
    const struct profile *profile = merge->view->profile;
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (merge->view->selection->tasks[i])
            map_add(&merge->tasks, (uint32_t)profile->tasks[i].pid, (uint32_t)profile->tasks[i].tid);
}

static void release_merge(struct merge *merge)
{
    for (size_t i = 0; i < merge->event_count; i++) {
        free(merge->events[i].name);
        free(merge->events[i].ids);
    }
    merge_spool_close(&merge->spool);
    map_release(&merge->tasks);
    map_strings_release(&merge->build_id_paths);
    buffer_release(&merge->texts);
    buffer_release(&merge->trace_formats);
    free(merge->build_ids);
    free(merge->events);
    free(merge->event_of);
    free(merge->copy);
}

/* 0, or an exit status after a message. The caller reports merge->spool.error. */
static int gather_records(struct merge *merge)
{
    static const struct raw_visitor visitor = {begin_file, add_record, end_file};
    int status = raw_records(merge->view->profile, &visitor, merge);
    if (status == 0 && merge->event_count == 0) {
        report_error("none of the input files could be read a second time");
        status = 1;
    }
    if (status < 0)
        report_error("the records could not be read a second time: %s", strerror(-status));
    return status ? 1 : 0;
}

int merge_write(struct view *view, struct output_file *out)
{
    struct merge merge = {.view = view, .one_file = raw_count(view->profile) == 1};
    char *directory = spool_directory(view);
    merge.copy = memory_new(LARGEST_RECORD, 1);
    choose_tasks(&merge);
    int spooled = merge_spool_open(&merge.spool, directory);
    int status = spooled == 0 ? gather_records(&merge) : 1;
    if (spooled == 0 && (status == 0 || merge.spool.error))
        spooled = merge_spool_finish(&merge.spool);
    if (spooled < 0) {
        report_error("cannot write a temporary file in the directory '%s': %s", directory, strerror(-spooled));
        status = 1;
    }
    merge_features_take_dsos(&merge, view->profile);
    if (status == 0 && put_file(&merge, out->to) < 0) {
        report_error("out of memory");
        status = 1;
    }
    if (status == 0 && merge.refused)
        report_warning("the output does not contain the hardware traces (AUX) of the input: %" PRIu64
                       " records are left out",
                       merge.refused);
    release_merge(&merge);
    free(directory);
    return status;
}
