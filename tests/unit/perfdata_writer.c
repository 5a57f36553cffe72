/* SPDX-License-Identifier: MIT */
#include "perfdata_writer.h"

#include <byteswap.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/perfdata.h"

#define FIRST_ID 100u

void writer_init(struct writer *writer, bool swap, bool pipe)
{
    *writer = (struct writer){.swap = swap, .pipe = pipe, .pid = 10, .tid = 10, .time = 1000};
}

void writer_release(struct writer *writer)
{
    buffer_release(&writer->data);
    for (unsigned i = 0; i < 256; i++)
        buffer_release(&writer->features[i]);
}

void writer_u16(const struct writer *writer, struct buffer *to, uint16_t value)
{
    value = writer->swap ? bswap_16(value) : value;
    buffer_append(to, &value, sizeof(value));
}

void writer_u32(const struct writer *writer, struct buffer *to, uint32_t value)
{
    buffer_u32(to, writer->swap ? bswap_32(value) : value);
}

void writer_u64(const struct writer *writer, struct buffer *to, uint64_t value)
{
    buffer_u64(to, writer->swap ? bswap_64(value) : value);
}

void writer_text(const struct writer *writer, struct buffer *to, const char *text)
{
    size_t size = (strlen(text) + 64) / 64 * 64;
    writer_u32(writer, to, (uint32_t)size);
    memcpy(buffer_extend(to, size), text, strlen(text));
}

struct perf_event_attr *writer_attr(struct writer *writer, uint32_t type, uint64_t config, uint64_t period,
                                    const char *name)
{
    unsigned i = writer->attr_count++;
    writer->names[i] = name;
    writer->ids[i] = FIRST_ID + i;
    writer->attrs[i] = (struct perf_event_attr){.type = type,
                                                .config = config,
                                                .sample_period = period,
                                                .size = sizeof(writer->attrs[i]),
                                                .sample_type = WRITER_SAMPLE,
                                                .sample_id_all = 1};
    return &writer->attrs[i];
}

/* Bit I of the flags counts from the low end of each byte on one kind of machine, from the high end on the other. */
static void put_flags(const struct writer *writer, struct buffer *to, const struct perf_event_attr *attr)
{
    unsigned char flags[8], other[8] = {0};
    memcpy(flags, (const unsigned char *)attr + offsetof(struct perf_event_attr, wakeup_events) - 8, 8);
    for (unsigned bit = 0; bit < 64; bit++)
        if (flags[bit / 8] >> (bit % 8) & 1)
            other[bit / 8] |= (unsigned char)(0x80u >> (bit % 8));
    buffer_append(to, writer->swap ? other : flags, 8);
}

static void put_attr(const struct writer *writer, struct buffer *to, const struct perf_event_attr *attr)
{
    size_t start = to->size;
    writer_u32(writer, to, attr->type);
    writer_u32(writer, to, sizeof(*attr));
    writer_u64(writer, to, attr->config);
    writer_u64(writer, to, attr->sample_period);
    writer_u64(writer, to, attr->sample_type);
    writer_u64(writer, to, attr->read_format);
    put_flags(writer, to, attr);
    writer_u32(writer, to, attr->wakeup_events);
    writer_u32(writer, to, attr->bp_type);
    writer_u64(writer, to, attr->config1);
    writer_u64(writer, to, attr->config2);
    writer_u64(writer, to, attr->branch_sample_type);
    writer_u64(writer, to, attr->sample_regs_user);
    writer_u32(writer, to, attr->sample_stack_user);
    writer_u32(writer, to, (uint32_t)attr->clockid);
    writer_u64(writer, to, attr->sample_regs_intr);
    writer_u32(writer, to, attr->aux_watermark);
    writer_u16(writer, to, attr->sample_max_stack);
    /* Later fields stay in this machine's order. */
    buffer_append(to, (const unsigned char *)attr + (to->size - start), sizeof(*attr) - (to->size - start));
}

void writer_begin(struct writer *writer, uint32_t type, uint16_t misc)
{
    writer->record = writer->data.size;
    writer_u32(writer, &writer->data, type);
    writer_u16(writer, &writer->data, misc);
    writer_u16(writer, &writer->data, 0);
}

static void put_trailer(struct writer *writer)
{
    const struct perf_event_attr *attr = &writer->attrs[0];
    struct buffer *data = &writer->data;
    if (attr->sample_type & PERF_SAMPLE_TID) {
        writer_u32(writer, data, writer->pid);
        writer_u32(writer, data, writer->tid);
    }
    if (attr->sample_type & PERF_SAMPLE_TIME)
        writer_u64(writer, data, writer->time);
    if (attr->sample_type & PERF_SAMPLE_STREAM_ID)
        writer_u64(writer, data, 0);
    if (attr->sample_type & PERF_SAMPLE_CPU) {
        writer_u32(writer, data, writer->cpu);
        writer_u32(writer, data, 0);
    }
    if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
        writer_u64(writer, data, writer->ids[0]);
}

void writer_end(struct writer *writer)
{
    struct buffer *data = &writer->data;
    uint32_t type;
    memcpy(&type, data->data + writer->record, sizeof(type));
    type = writer->swap ? bswap_32(type) : type;
    while ((data->size - writer->record) % 8)
        buffer_append(data, "", 1);
    if (type < PERFDATA_RECORD_ATTR && type != PERF_RECORD_SAMPLE && writer->attr_count &&
        writer->attrs[0].sample_id_all)
        put_trailer(writer);
    uint16_t size = (uint16_t)(data->size - writer->record);
    size = writer->swap ? bswap_16(size) : size;
    memcpy(data->data + writer->record + 6, &size, sizeof(size));
}

static void put_task(struct writer *writer)
{
    writer_u32(writer, &writer->data, writer->pid);
    writer_u32(writer, &writer->data, writer->tid);
}

void writer_comm(struct writer *writer, const char *comm, bool exec)
{
    writer_begin(writer, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
    put_task(writer);
    buffer_string(&writer->data, comm);
    writer_end(writer);
}

void writer_mmap(struct writer *writer, uint64_t start, uint64_t size, uint64_t pgoff, const char *path)
{
    writer_begin(writer, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    put_task(writer);
    writer_u64(writer, &writer->data, start);
    writer_u64(writer, &writer->data, size);
    writer_u64(writer, &writer->data, pgoff);
    buffer_extend(&writer->data, 24);
    writer_u32(writer, &writer->data, 5);
    writer_u32(writer, &writer->data, 2);
    buffer_string(&writer->data, path);
    writer_end(writer);
}

void writer_kernel_mmap(struct writer *writer, uint64_t start, uint64_t size, uint64_t pgoff, const char *path)
{
    writer_begin(writer, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
    writer_u32(writer, &writer->data, UINT32_MAX);
    writer_u32(writer, &writer->data, 0);
    writer_u64(writer, &writer->data, start);
    writer_u64(writer, &writer->data, size);
    writer_u64(writer, &writer->data, pgoff);
    buffer_string(&writer->data, path);
    writer_end(writer);
}

static void put_birth(struct writer *writer, uint32_t type, uint32_t pid, uint32_t tid)
{
    writer_begin(writer, type, 0);
    writer_u32(writer, &writer->data, pid);
    writer_u32(writer, &writer->data, writer->pid);
    writer_u32(writer, &writer->data, tid);
    writer_u32(writer, &writer->data, writer->tid);
    writer_u64(writer, &writer->data, writer->time);
    writer_end(writer);
}

void writer_fork(struct writer *writer, uint32_t pid, uint32_t tid)
{
    put_birth(writer, PERF_RECORD_FORK, pid, tid);
}

void writer_exit(struct writer *writer)
{
    put_birth(writer, PERF_RECORD_EXIT, writer->pid, writer->tid);
}

void writer_sample(struct writer *writer, unsigned attr, uint16_t mode, uint64_t ip, uint64_t period,
                   const uint64_t *chain, uint64_t count)
{
    struct buffer *data = &writer->data;
    writer_begin(writer, PERF_RECORD_SAMPLE, mode);
    writer_u64(writer, data, writer->ids[attr]);
    writer_u64(writer, data, ip);
    put_task(writer);
    writer_u64(writer, data, writer->time);
    writer_u32(writer, data, writer->cpu);
    writer_u32(writer, data, 0);
    writer_u64(writer, data, period);
    writer_u64(writer, data, count);
    for (uint64_t i = 0; i < count; i++)
        writer_u64(writer, data, chain[i]);
    writer_end(writer);
}

void writer_round(struct writer *writer)
{
    writer_begin(writer, PERFDATA_RECORD_FINISHED_ROUND, 0);
    writer_end(writer);
}

void writer_build_id(struct writer *writer, const char *path, const unsigned char *id, uint8_t size, uint16_t mode)
{
    struct buffer *to = &writer->features[PERFDATA_BUILD_ID];
    size_t text = (strlen(path) + 8) / 8 * 8;
    writer_u32(writer, to, 0);
    writer_u16(writer, to, mode | 1u << 15);
    writer_u16(writer, to, (uint16_t)(36 + text));
    writer_u32(writer, to, UINT32_MAX);
    unsigned char *at = buffer_extend(to, 24);
    memcpy(at, id, size);
    at[20] = size;
    memcpy(buffer_extend(to, text), path, strlen(path));
}

void writer_item(struct writer *writer, uint32_t type, const void *fixed, size_t size, const char *const *strings,
                 unsigned count)
{
    struct buffer *to = &writer->features[PINJECT_FEATURE];
    size_t start = to->size;
    buffer_append(to, fixed, size);
    for (unsigned i = 0; i < count; i++)
        buffer_string(to, strings[i]);
    buffer_align(to, 8);
    struct pinject_item item = {type, (uint32_t)(to->size - start)};
    memcpy(to->data + start, &item, sizeof(item));
}

void writer_session(struct writer *writer, uint8_t id, uint64_t realtime)
{
    const char *strings[] = {"0.1.0", "task-clock", "no hardware", "make", "-j2"};
    struct pinject_item_session fixed = {
        .start_ns = 500, .start_realtime_ns = realtime, .flags = 15, .root = 10, .arguments = 2};
    memset(fixed.id, id, sizeof(fixed.id));
    writer_item(writer, PINJECT_ITEM_SESSION, &fixed, sizeof(fixed), strings, 5);
}

void writer_task(struct writer *writer, uint32_t flags, int status, uint64_t start, uint64_t end, uint64_t lost)
{
    struct pinject_item_task fixed = {.pid = (int32_t)writer->pid,
                                      .tid = (int32_t)writer->tid,
                                      .ppid = 1,
                                      .flags = flags,
                                      .source = PINJECT_SOURCE_PERF,
                                      .status = status,
                                      .start_ns = start,
                                      .end_ns = end,
                                      .startup_ns = 11,
                                      .exit_ns = 22,
                                      .lost = lost};
    writer_item(writer, PINJECT_ITEM_TASK, &fixed, sizeof(fixed), NULL, 0);
}

void writer_generation(struct writer *writer, uint32_t number, uint64_t start, const char *comm, const char *exec,
                       const char *argument)
{
    const char *strings[] = {comm, exec, argument};
    struct pinject_item_generation fixed = {.start_ns = start, .number = number, .arguments = argument ? 1 : 0};
    writer_item(writer, PINJECT_ITEM_GENERATION, &fixed, sizeof(fixed), strings, argument ? 3 : 2);
}

void writer_count(struct writer *writer, uint32_t attr, uint32_t generation, uint64_t value, uint64_t enabled,
                  uint64_t running, const char *name)
{
    struct pinject_item_count fixed = {
        .value = value, .enabled_ns = enabled, .running_ns = running, .event = attr, .generation = generation};
    writer_item(writer, PINJECT_ITEM_COUNT, &fixed, sizeof(fixed), &name, 1);
}

static void put_section(const struct writer *writer, struct buffer *to, uint64_t offset, uint64_t size)
{
    writer_u64(writer, to, offset);
    writer_u64(writer, to, size);
}

static void put_names(struct writer *writer)
{
    struct buffer *to = &writer->features[PERFDATA_EVENT_DESC];
    buffer_clear(to);
    writer_u32(writer, to, writer->attr_count);
    writer_u32(writer, to, sizeof(struct perf_event_attr));
    for (unsigned i = 0; i < writer->attr_count; i++) {
        put_attr(writer, to, &writer->attrs[i]);
        writer_u32(writer, to, 1);
        writer_text(writer, to, writer->names[i]);
        writer_u64(writer, to, writer->ids[i]);
    }
}

static void put_features(struct writer *writer, struct buffer *to)
{
    uint64_t at = to->size;
    for (unsigned i = 0; i < 256; i++)
        at += writer->features[i].size ? 16 : 0;
    for (unsigned i = 0; i < 256; i++) {
        if (writer->features[i].size)
            put_section(writer, to, at, writer->features[i].size);
        at += writer->features[i].size;
    }
    for (unsigned i = 0; i < 256; i++)
        buffer_append(to, writer->features[i].data, writer->features[i].size);
}

static void finish_disk(struct writer *writer, struct buffer *to)
{
    const size_t entry = sizeof(struct perf_event_attr) + 16, header = sizeof(struct perfdata_header);
    uint64_t attrs = header + 8 * WRITER_ATTRS, data = attrs + entry * writer->attr_count, bits[4] = {0};
    writer_u64(writer, to, PERFDATA_MAGIC);
    writer_u64(writer, to, header);
    writer_u64(writer, to, entry);
    put_section(writer, to, attrs, entry * writer->attr_count);
    put_section(writer, to, data, writer->data.size);
    put_section(writer, to, 0, 0);
    for (unsigned i = 0; i < 256; i++)
        if (writer->features[i].size)
            bits[i / 64] |= 1ull << (i % 64);
    for (unsigned i = 0; i < 4; i++)
        writer_u64(writer, to, bits[i]);
    for (unsigned i = 0; i < WRITER_ATTRS; i++)
        writer_u64(writer, to, writer->ids[i]);
    for (unsigned i = 0; i < writer->attr_count; i++) {
        put_attr(writer, to, &writer->attrs[i]);
        put_section(writer, to, header + 8 * i, 8);
    }
    buffer_append(to, writer->data.data, writer->data.size);
    put_features(writer, to);
}

static void finish_pipe(struct writer *writer, struct buffer *to)
{
    struct buffer records = writer->data;
    buffer_init(&writer->data);
    for (unsigned i = 0; i < writer->attr_count; i++) {
        writer_begin(writer, PERFDATA_RECORD_ATTR, 0);
        put_attr(writer, &writer->data, &writer->attrs[i]);
        writer_u64(writer, &writer->data, writer->ids[i]);
        writer_end(writer);
    }
    for (unsigned i = 0; i < 256; i++) {
        if (!writer->features[i].size)
            continue;
        writer_begin(writer, PERFDATA_RECORD_HEADER_FEATURE, 0);
        writer_u64(writer, &writer->data, i);
        buffer_append(&writer->data, writer->features[i].data, writer->features[i].size);
        writer_end(writer);
    }
    writer_u64(writer, to, PERFDATA_MAGIC);
    writer_u64(writer, to, 16);
    buffer_append(to, writer->data.data, writer->data.size);
    buffer_append(to, records.data, records.size);
    buffer_release(&writer->data);
    writer->data = records;
}

void writer_finish(struct writer *writer, struct buffer *ret)
{
    if (writer->attr_count > 0 && writer->names[0])
        put_names(writer);
    buffer_clear(ret);
    if (writer->pipe)
        finish_pipe(writer, ret);
    else
        finish_disk(writer, ret);
    if (buffer_failed(ret))
        abort();
}

void writer_save(struct writer *writer, const char *path)
{
    struct buffer file = BUFFER_INIT;
    writer_finish(writer, &file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || buffer_write(fd, file.data, file.size) < 0)
        abort();
    close(fd);
    buffer_release(&file);
}
