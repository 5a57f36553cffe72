/* SPDX-License-Identifier: MIT */
#include "collector/records/records.h"

#include <string.h>

enum { RECORD_STRING_MAX = 4096 };

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    char comm[];
};
struct task_record {
    struct perf_event_header header;
    uint32_t pid, ppid, tid, ptid;
    uint64_t time;
};
struct mmap_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, size, offset;
    char path[];
};
struct mmap2_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, size, offset;
    uint32_t maj, min;
    uint64_t ino, ino_generation;
    uint32_t prot, flags;
    char path[];
};

static const uint64_t id_parts[] = {PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
                                    PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER};
enum { ID_PARTS = sizeof(id_parts) / sizeof(id_parts[0]) };

void records_layout_init(struct records_layout *layout, const struct event_config *config)
{
    *layout = (struct records_layout){.count = config->count};
    layout->lost_known = config->count > 0;
    layout->read_format = config->count > 0 ? config->events[0].attr.read_format & ~(uint64_t)PERF_FORMAT_GROUP : 0;
    for (unsigned i = 0; i < config->count; i++) {
        layout->sample_type[i] = config->events[i].attr.sample_type;
        if (!(config->events[i].attr.read_format & PERF_FORMAT_LOST))
            layout->lost_known = false;
    }
}

/* Bytes of the sample_id at the end of each record that is no sample. */
static size_t trailer_size(uint64_t sample_type)
{
    size_t size = 0;
    for (unsigned i = 0; i < ID_PARTS; i++)
        size += sample_type & id_parts[i] ? 8 : 0;
    return size;
}

static uint64_t word_at(const struct perf_event_header *record, size_t offset)
{
    uint64_t word;
    memcpy(&word, (const char *)record + offset, sizeof(word));
    return word;
}

size_t records_fields_size(uint64_t type)
{
    return 8 * (size_t)__builtin_popcountll(type);
}

int records_find_event(const struct records_layout *layout, const uint64_t *ids, uint64_t id)
{
    for (unsigned i = 0; i < layout->count; i++)
        if (ids[i] == id && id)
            return (int)i;
    return -1;
}

uint64_t records_id(const struct records_layout *layout, const struct perf_event_header *record)
{
    if (record->size < sizeof(*record) + 8 || !(layout->sample_type[0] & PERF_SAMPLE_IDENTIFIER))
        return 0;
    return word_at(record, record->type == PERF_RECORD_SAMPLE ? sizeof(*record) : record->size - 8u);
}

unsigned records_event(const struct records_layout *layout, const uint64_t *ids, const struct perf_event_header *record)
{
    const int event = records_find_event(layout, ids, records_id(layout, record));
    return event < 0 ? 0 : (unsigned)event;
}

/* Offset of the time in a sample, 0: it has none. */
static size_t sample_time_offset(uint64_t type)
{
    size_t offset = sizeof(struct perf_event_header);
    if (!(type & PERF_SAMPLE_TIME))
        return 0;
    offset += type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
    offset += type & PERF_SAMPLE_IP ? 8 : 0;
    offset += type & PERF_SAMPLE_TID ? 8 : 0;
    return offset;
}

uint64_t records_time(const struct records_layout *layout, unsigned event, const struct perf_event_header *record)
{
    uint64_t type = layout->sample_type[event];
    size_t offset = sample_time_offset(type);
    if (record->type != PERF_RECORD_SAMPLE && offset) {
        size_t size = trailer_size(type);
        if (record->size < sizeof(*record) + size)
            return 0;
        offset = record->size - size + (type & PERF_SAMPLE_TID ? 8 : 0);
    }
    return offset && record->size >= offset + 8 ? word_at(record, offset) : 0;
}

uint64_t records_address(const struct records_layout *layout, unsigned event, const struct perf_event_header *record)
{
    const uint64_t type = layout->sample_type[event],
                   before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    const size_t offset = sizeof(*record) + records_fields_size(type & before);
    const bool has = record->type == PERF_RECORD_SAMPLE && type & PERF_SAMPLE_ADDR && record->size >= offset + 8;
    return has ? word_at(record, offset) : 0;
}

/* Offset of the period in a sample; 0: it has none. */
static size_t period_offset(const struct records_layout *layout, unsigned event, const struct perf_event_header *record)
{
    const uint64_t type = layout->sample_type[event];
    const size_t offset = sizeof(*record) + records_fields_size(type & RECORDS_FIELDS_TO_PERIOD);
    bool has = record->type == PERF_RECORD_SAMPLE && type & PERF_SAMPLE_PERIOD && record->size >= offset + 8;
    return has ? offset : 0;
}

uint64_t records_period(const struct records_layout *layout, unsigned event, const struct perf_event_header *record)
{
    const size_t offset = period_offset(layout, event, record);
    return offset ? word_at(record, offset) : 0;
}

void records_set_period(const struct records_layout *layout, unsigned event, uint64_t period,
                        struct perf_event_header *record)
{
    const size_t offset = period_offset(layout, event, record);
    if (offset)
        memcpy((char *)record + offset, &period, sizeof(period));
}

void records_writer(const struct records_layout *layout, unsigned event, const struct perf_event_header *record,
                    pid_t *ret_pid, pid_t *ret_tid)
{
    uint64_t type = layout->sample_type[event];
    size_t offset = sizeof(*record) + (type & PERF_SAMPLE_IDENTIFIER ? 8 : 0) + (type & PERF_SAMPLE_IP ? 8 : 0);
    uint32_t task[2] = {0, 0};
    if (record->type != PERF_RECORD_SAMPLE) {
        size_t trailer = trailer_size(type);
        offset = record->size >= sizeof(*record) + trailer ? record->size - trailer : record->size;
    }
    if (type & PERF_SAMPLE_TID && offset + sizeof(task) <= record->size)
        memcpy(task, (const char *)record + offset, sizeof(task));
    *ret_pid = (pid_t)task[0];
    *ret_tid = (pid_t)task[1];
}

void records_set_id(const struct records_layout *layout, uint64_t id, struct perf_event_header *record)
{
    if (record->size < sizeof(*record) + 8 || !(layout->sample_type[0] & PERF_SAMPLE_IDENTIFIER))
        return;
    size_t offset = record->type == PERF_RECORD_SAMPLE ? sizeof(*record) : record->size - 8u;
    memcpy((char *)record + offset, &id, sizeof(id));
}

/* Smallest size without the sample_id, and the offset of its string (0: none). */
static size_t fixed_size(uint32_t type, size_t *ret_string)
{
    *ret_string = 0;
    switch (type) {
    case PERF_RECORD_COMM: *ret_string = sizeof(struct comm_record); return *ret_string + 8;
    case PERF_RECORD_MMAP: *ret_string = sizeof(struct mmap_record); return *ret_string + 8;
    case PERF_RECORD_MMAP2: *ret_string = sizeof(struct mmap2_record); return *ret_string + 8;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: return sizeof(struct task_record);
    case PERF_RECORD_LOST:
    case PERF_RECORD_READ: return sizeof(struct perf_event_header) + 16;
    case PERF_RECORD_LOST_SAMPLES: return sizeof(struct perf_event_header) + 8;
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE: return sizeof(struct perf_event_header) + 24;
    default: return sizeof(struct perf_event_header);
    }
}

bool records_check(const struct records_layout *layout, const struct perf_event_header *record)
{
    if (record->type == PERF_RECORD_SAMPLE)
        return record->size >= sizeof(*record) + 8;
    size_t string, trailer = trailer_size(layout->sample_type[0]);
    size_t least = fixed_size(record->type, &string);
    if (record->size < least + trailer)
        return false;
    return !string || memchr((const char *)record + string, '\0', record->size - trailer - string);
}

struct records_comm records_parse_comm(const struct perf_event_header *record)
{
    const struct comm_record *comm = (const struct comm_record *)record;
    return (struct records_comm){(pid_t)comm->pid, (pid_t)comm->tid, (record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0,
                                 comm->comm};
}

struct records_task records_parse_task(const struct perf_event_header *record)
{
    const struct task_record *task = (const struct task_record *)record;
    return (struct records_task){(pid_t)task->pid, (pid_t)task->ppid, (pid_t)task->tid, (pid_t)task->ptid, task->time};
}

struct records_mmap records_parse_mmap(const struct perf_event_header *record)
{
    const struct mmap2_record *map = (const struct mmap2_record *)record;
    return (struct records_mmap){.pid = (pid_t)map->pid,
                                 .tid = (pid_t)map->tid,
                                 .path = map->path,
                                 .values = {.start = map->start,
                                            .size = map->size,
                                            .offset = map->offset,
                                            .maj = map->maj,
                                            .min = map->min,
                                            .ino = map->ino,
                                            .ino_generation = map->ino_generation,
                                            .prot = map->prot,
                                            .data = record->misc & PERF_RECORD_MISC_MMAP_DATA,
                                            .flags = map->flags}};
}

struct records_reading records_parse_read(const struct records_layout *layout, const struct perf_event_header *record)
{
    size_t at = sizeof(*record) + 8, end = record->size - trailer_size(layout->sample_type[0]);
    const uint64_t parts[] = {PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_FORMAT_ID,
                              PERF_FORMAT_LOST};
    uint64_t words[4] = {0}, value = at + 8 <= end ? word_at(record, at) : 0;
    at += 8;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (layout->read_format & parts[i] && at + 8 <= end) {
            words[i] = word_at(record, at);
            at += 8;
        }
    return (struct records_reading){value, words[0], words[1], words[3]};
}

uint64_t records_parse_lost(const struct perf_event_header *record)
{
    return word_at(record, sizeof(*record) + (record->type == PERF_RECORD_LOST ? 8 : 0));
}

bool records_mentions(const struct perf_event_header *record, uint64_t start, uint64_t end)
{
    for (size_t offset = sizeof(*record); offset + 8 <= record->size; offset += 8) {
        uint64_t word = word_at(record, offset);
        if (word >= start && word < end)
            return true;
    }
    return false;
}

/* Makes room for a record of SIZE bytes, STRING after it, aligned, and the sample_id. NULL when out of memory. */
static void *begin(struct buffer *buffer, uint64_t sample_type, size_t size, const char *string,
                   struct perf_event_header header)
{
    size_t length = strnlen(string, RECORD_STRING_MAX - 1);
    size_t body = size + ((length + 8) & ~(size_t)7);
    size_t whole = body + trailer_size(sample_type);
    unsigned char *record = buffer_extend(buffer, whole);
    if (!record)
        return NULL;
    header.size = (uint16_t)whole;
    memcpy(record, &header, sizeof(header));
    memcpy(record + size, string, length);
    return record;
}

static void put_word(unsigned char **at, bool wanted, uint64_t word)
{
    if (wanted) {
        memcpy(*at, &word, sizeof(word));
        *at += sizeof(word);
    }
}

static void put_trailer(unsigned char *record, uint64_t type, const struct records_stamp *stamp)
{
    struct perf_event_header header;
    uint32_t task[2] = {(uint32_t)stamp->pid, (uint32_t)stamp->tid};
    uint64_t word;
    memcpy(&header, record, sizeof(header));
    memcpy(&word, task, sizeof(word));
    unsigned char *at = record + header.size - trailer_size(type);
    put_word(&at, type & PERF_SAMPLE_TID, word);
    put_word(&at, type & PERF_SAMPLE_TIME, stamp->time_ns);
    put_word(&at, type & PERF_SAMPLE_ID, stamp->id);
    put_word(&at, type & PERF_SAMPLE_STREAM_ID, stamp->id);
    put_word(&at, type & PERF_SAMPLE_CPU, UINT32_MAX); /* the kernel wrote it nowhere */
    put_word(&at, type & PERF_SAMPLE_IDENTIFIER, stamp->id);
}

void records_make_comm(const struct records_layout *layout, const struct records_stamp *stamp, const char *comm,
                       struct buffer *buffer)
{
    uint64_t type = layout->sample_type[stamp->event];
    struct perf_event_header header = {.type = PERF_RECORD_COMM};
    struct comm_record *record = begin(buffer, type, sizeof(*record), comm, header);
    if (!record)
        return;
    record->pid = (uint32_t)stamp->pid;
    record->tid = (uint32_t)stamp->tid;
    put_trailer((unsigned char *)record, type, stamp);
}

void records_make_read(const struct records_layout *layout, const struct records_stamp *stamp,
                       const struct records_reading *reading, struct buffer *buffer)
{
    const uint64_t type = layout->sample_type[stamp->event], format = layout->read_format;
    const uint64_t times = format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING),
                   rest = format & (PERF_FORMAT_ID | PERF_FORMAT_LOST);
    const size_t words = 2 + (size_t)__builtin_popcountll(times) + (size_t)__builtin_popcountll(rest);
    const size_t whole = sizeof(struct perf_event_header) + 8 * words + trailer_size(type);
    const uint32_t task[2] = {(uint32_t)stamp->pid, (uint32_t)stamp->tid};
    const struct perf_event_header header = {.type = PERF_RECORD_READ, .size = (uint16_t)whole};
    unsigned char *record = buffer_extend(buffer, whole);
    if (!record)
        return;
    memcpy(record, &header, sizeof(header));
    memcpy(record + sizeof(header), task, sizeof(task));
    unsigned char *at = record + sizeof(header) + sizeof(task);
    put_word(&at, true, reading->value);
    put_word(&at, format & PERF_FORMAT_TOTAL_TIME_ENABLED, reading->enabled_ns);
    put_word(&at, format & PERF_FORMAT_TOTAL_TIME_RUNNING, reading->running_ns);
    put_word(&at, format & PERF_FORMAT_ID, stamp->id);
    put_word(&at, format & PERF_FORMAT_LOST, reading->lost);
    put_trailer(record, type, stamp);
}

void records_make_mmap(const struct records_layout *layout, const struct records_stamp *stamp,
                       const struct mapping *mapping, struct buffer *buffer)
{
    uint64_t type = layout->sample_type[stamp->event];
    const uint16_t misc = PERF_RECORD_MISC_USER | (mapping->data ? PERF_RECORD_MISC_MMAP_DATA : 0);
    struct perf_event_header header = {.type = PERF_RECORD_MMAP2, .misc = misc};
    struct mmap2_record *record = begin(buffer, type, sizeof(*record), mapping->path, header);
    if (!record)
        return;
    record->pid = (uint32_t)stamp->pid;
    record->tid = (uint32_t)stamp->tid;
    record->start = mapping->start;
    record->size = mapping->size;
    record->offset = mapping->offset;
    record->maj = mapping->maj;
    record->min = mapping->min;
    record->ino = mapping->ino;
    record->ino_generation = mapping->ino_generation;
    record->prot = mapping->prot;
    record->flags = mapping->flags;
    put_trailer((unsigned char *)record, type, stamp);
}

void records_make_kernel(const struct records_layout *layout, const struct records_stamp *stamp, uint64_t start,
                         uint64_t size, uint64_t offset, const char *name, struct buffer *buffer)
{
    uint64_t type = layout->sample_type[stamp->event];
    struct perf_event_header header = {.type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL};
    struct mmap_record *record = begin(buffer, type, sizeof(*record), name, header);
    if (!record)
        return;
    record->pid = (uint32_t)-1;
    record->tid = 0;
    record->start = start;
    record->size = size;
    record->offset = offset;
    put_trailer((unsigned char *)record, type, stamp);
}
