/* SPDX-License-Identifier: MIT */
/* file_records(): reads the data section, record by record. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/bytes.h"
#include "analyze/read/file.h"
#include "analyze/read/order.h"
#include "analyze/read/unzstd.h"
#include "common/perfdata.h"
#include "pinject/format.h"

#define LARGEST_RECORD 65536u
#define COMPRESSED2    83u /* PERF_RECORD_COMPRESSED2, Linux 6.16: says its own size, and is padded */
#define AHEAD          (1u << 20)
#define HELD_MOST      (64u << 20)
#define HELD_OURS      (4u << 20) /* our files are nearly in order */
#define UPDATE_NAME    2u
/*
 * Bytes of one part of a directory that are read at once. All parts together stay well below HELD_MOST, so records are
 * still sorted across the parts.
 */
#define PART_AHEAD (128u << 10)
#define PART_TURN  (64u << 10)

/* A run of records. A plain file has one. */
struct part {
    struct source *source;
    struct unzstd unzstd; /* each recording thread has a stream of its own */
    uint64_t at, left;
    uint64_t newest; /* latest time of its records so far */
    bool over;
};

struct stream {
    struct file *file;
    struct part *parts, *part; /* all, and the one being read */
    uint32_t part_count;
    struct order order;
    file_each *each;
    void *context;
    bool nested; /* reads decompressed records */
};

static int deliver_record(void *context, const unsigned char *raw, size_t size)
{
    struct stream *stream = context;
    struct file *file = stream->file;
    uint32_t type = bytes_u32(raw, file->swap);
    const struct attr *attr = type < PERFDATA_RECORD_ATTR ? attr_of_record(&file->attrs, raw, size, type, file->swap)
                                                          : NULL;
    struct record record;
    if (type == PERF_RECORD_SAMPLE && !attr) {
        file->unknown_event++;
        return 0;
    }
    if (record_parse(attr, raw, size, file->swap, &record) < 0) {
        file->broken++;
        return 0;
    }
    return stream->each(stream->context, &record);
}

/* Events and features among the records of the pipe format. Broken ones are skipped. 0 or -ENOMEM. */
static int take_attr(struct file *file, struct cursor payload)
{
    struct cursor sizes = payload;
    cursor_u32(&sizes);
    uint32_t size = cursor_u32(&sizes);
    if (size == 0)
        size = PERF_ATTR_SIZE_VER0;
    struct problem problem = {""};
    int status = attr_add(&file->attrs, &payload, size, &problem);
    while (status == 0 && cursor_left(&payload) >= 8)
        status = attr_add_id(&file->attrs, cursor_u64(&payload), &problem);
    if (status < 0 && status != -ENOMEM)
        problem_set(&file->problem, status, "%s", problem.text);
    return status == -ENOMEM ? status : 0;
}

static int take_event_update(struct file *file, struct cursor payload)
{
    uint64_t kind = cursor_u64(&payload), id = cursor_u64(&payload);
    struct attr *attr = attr_with_id(&file->attrs, id);
    if (payload.failed || kind != UPDATE_NAME || !attr)
        return 0;
    attr->name = arena_text(&file->arena, (const char *)payload.at, cursor_left(&payload));
    return attr->name ? 0 : -ENOMEM;
}

static int take_description(struct file *file, const unsigned char *raw, size_t size, uint32_t type)
{
    struct cursor payload = cursor_of(raw + RECORD_HEADER, size - RECORD_HEADER);
    payload.swap = file->swap;
    switch (type) {
    case PERFDATA_RECORD_ATTR:
        /* In file format the header has the events; perf inject leaves the records in, too. */
        return file->pipe ? take_attr(file, payload) : 0;
    case PERFDATA_RECORD_EVENT_UPDATE: return take_event_update(file, payload);
    case PERFDATA_RECORD_BUILD_ID:
        return feature_take_build_id(&file->features, payload, bytes_u16(raw + 4, file->swap));
    case PERFDATA_RECORD_HEADER_FEATURE: {
        uint64_t number = cursor_u64(&payload);
        /* After the last one perf writes an empty one with the next number. */
        bool mark = number < FEATURE_BITS && !feature_name((uint32_t)number) && cursor_left(&payload) == 0;
        return payload.failed || number >= FEATURE_BITS || mark
                   ? 0
                   : feature_take(&file->features, &file->attrs, (uint32_t)number, payload);
    }
    }
    return 0;
}

static int take_records(struct stream *stream, const unsigned char *bytes, size_t size, size_t *ret_taken);

static int decompress(struct stream *stream, const unsigned char *raw, size_t size, uint32_t type)
{
    struct file *file = stream->file;
    const unsigned char *input = raw + RECORD_HEADER;
    size_t left = size - RECORD_HEADER;
    if (type == COMPRESSED2) {
        uint64_t own = left >= 8 ? bytes_u64(input, file->swap) : UINT64_MAX;
        if (own > left - (left >= 8 ? 8 : 0))
            return problem_set(&file->problem, -EBADMSG, "a compressed record is damaged"), 0;
        input += 8;
        left = (size_t)own;
    }
    for (;;) {
        int status = unzstd_more(&stream->part->unzstd, &input, &left);
        if (status == -ENOTSUP)
            problem_set(
                &file->problem, status,
                "the file's records are compressed (perf record -z), and this panalyze was built without libzstd");
        else if (status == -EBADMSG)
            problem_set(&file->problem, status, "a compressed record is damaged");
        else if (status == -E2BIG)
            problem_set(&file->problem, status,
                        "the file's compressed records expand to a thousand times their size or more, which real "
                        "recordings never do; the rest of the file is not read");
        if (status <= 0)
            return status == -ENOMEM ? status : 0;
        size_t taken = 0;
        stream->nested = true;
        status = take_records(stream, stream->part->unzstd.bytes, stream->part->unzstd.filled, &taken);
        stream->nested = false;
        unzstd_taken(&stream->part->unzstd, taken);
        if (status != 0 || file->problem.text[0])
            return status;
    }
}

/* One whole record. */
static int take_record(struct stream *stream, const unsigned char *raw, size_t size)
{
    struct file *file = stream->file;
    uint32_t type = bytes_u32(raw, file->swap);
    file->records[type < FILE_RECORD_TYPES - 1 ? type : FILE_RECORD_TYPES - 1]++;
    /* A round of one part promises nothing about the other parts. */
    if (type == PERFDATA_RECORD_FINISHED_ROUND) {
        int status = stream->part_count > 1 ? 0 : order_round(&stream->order, deliver_record, stream);
        return status || !file->whole ? status : deliver_record(stream, raw, size);
    }
    if (type == PERFDATA_RECORD_COMPRESSED || type == COMPRESSED2) {
        int status = file->whole ? deliver_record(stream, raw, size) : 0;
        return status || stream->nested ? status : decompress(stream, raw, size, type);
    }
    if (type >= PERFDATA_RECORD_ATTR) {
        int status = take_description(file, raw, size, type);
        return status < 0 ? status : deliver_record(stream, raw, size);
    }
    const struct attr *attr = attr_of_record(&file->attrs, raw, size, type, file->swap);
    uint64_t time = record_time(attr, raw, size, type, file->swap);
    if (time == 0 || time == UINT64_MAX)
        return deliver_record(stream, raw, size);
    if (time > stream->part->newest)
        stream->part->newest = time;
    bool stable = stream->part->source->whole && !stream->nested;
    return order_push(&stream->order, time, raw, size, stable, deliver_record, stream);
}

/* Bytes that follow a record and are no part of it: tracepoint formats in a pipe, and hardware traces. */
static uint64_t extra_bytes(const struct file *file, const unsigned char *raw, size_t size)
{
    uint32_t type = bytes_u32(raw, file->swap);
    if (type == PERFDATA_RECORD_AUXTRACE && size >= RECORD_HEADER + 8)
        return bytes_u64(raw + RECORD_HEADER, file->swap);
    if (type == PERFDATA_RECORD_TRACING_DATA && file->pipe && size >= RECORD_HEADER + 4)
        return ((uint64_t)bytes_u32(raw + RECORD_HEADER, file->swap) + 7) & ~(uint64_t)7;
    return 0;
}

/* The EXTRA bytes at AT describe tracepoints. */
static int take_tracing_data(struct file *file, struct part *part, uint64_t at, uint64_t extra)
{
    const unsigned char *bytes = source_at(part->source, at, (size_t)extra);
    struct cursor content = cursor_of(bytes, bytes ? (size_t)extra : 0);
    return bytes ? feature_take(&file->features, &file->attrs, PERFDATA_TRACING_DATA, content) : 0;
}

static int take_records(struct stream *stream, const unsigned char *bytes, size_t size, size_t *ret_taken)
{
    bool swap = stream->file->swap;
    size_t at = 0;
    int status = 0;
    while (status == 0 && size - at >= RECORD_HEADER) {
        size_t length = bytes_u16(bytes + at + 6, swap);
        if (length < RECORD_HEADER) {
            problem_set(&stream->file->problem, -EBADMSG, "a compressed record is damaged");
            break;
        }
        if (length > size - at)
            break;
        status = take_record(stream, bytes + at, length);
        at += length;
    }
    *ret_taken = at;
    return status;
}

/* The next record of PART. NULL: no whole one is left; file->problem says why, unless it is the end. */
static const unsigned char *next_record(struct file *file, struct part *part, size_t *ret_size)
{
    uint64_t at = part->at, left = part->left;
    size_t want = left < LARGEST_RECORD ? (size_t)left : LARGEST_RECORD;
    const unsigned char *raw = source_at(part->source, at, want);
    if (!raw) {
        problem_set(&file->problem, -EIO,
                    "the file could not be read beyond byte %" PRIu64 ": it shrank, or the disk failed", at);
        return NULL;
    }
    size_t size = bytes_u16(raw + 6, file->swap);
    if (size < RECORD_HEADER) {
        problem_set(&file->problem, -EBADMSG,
                    "the file is damaged at byte %" PRIu64
                    ", where a record claims to have %zu bytes; the remaining %" PRIu64 " bytes are not read",
                    at, size, left);
        return NULL;
    }
    *ret_size = size;
    return size <= left ? raw : NULL;
}

/* Reads about MOST bytes of PART. */
static int read_part(struct stream *stream, struct part *part, uint64_t most)
{
    struct file *file = stream->file;
    int status = 0;
    uint64_t before = part->left;
    stream->part = part;
    while (status == 0 && part->left >= RECORD_HEADER && before - part->left < most) {
        size_t size;
        const unsigned char *raw = next_record(file, part, &size);
        part->over = !raw;
        if (!raw)
            break;
        uint64_t extra = extra_bytes(file, raw, size);
        bool traces = bytes_u32(raw, file->swap) == PERFDATA_RECORD_TRACING_DATA;
        status = take_record(stream, raw, size);
        part->over = extra > part->left - size;
        if (status == 0 && traces && extra && !part->over)
            status = take_tracing_data(file, part, part->at + size, extra);
        if (part->over)
            break;
        part->at += size + extra;
        part->left -= size + extra;
    }
    part->over |= part->left < RECORD_HEADER;
    return status;
}

/* The part whose newest time is the oldest. */
static struct part *next_part(const struct stream *stream)
{
    struct part *found = NULL;
    for (uint32_t i = 0; i < stream->part_count; i++) {
        struct part *part = &stream->parts[i];
        if (!part->over && (!found || part->newest < found->newest))
            found = part;
    }
    return found;
}

static int read_all(struct stream *stream)
{
    int status = 0;
    uint64_t turn = stream->part_count > 1 ? PART_TURN : UINT64_MAX;
    for (struct part *part; status == 0 && (part = next_part(stream));)
        status = read_part(stream, part, turn);
    for (uint32_t i = 0; i < stream->part_count; i++)
        stream->file->unread += stream->parts[i].left;
    return status;
}

static int start_parts(struct stream *stream, uint64_t limit)
{
    struct file *file = stream->file;
    stream->part_count = 1 + file->part_count;
    stream->parts = calloc(stream->part_count, sizeof(*stream->parts));
    if (!stream->parts)
        return -ENOMEM;
    file->source.ahead = AHEAD;
    stream->parts[0] = (struct part){
        .source = &file->source, .at = file->data_offset, .left = limit < file->data_size ? limit : file->data_size};
    for (uint32_t i = 0; i < file->part_count; i++) {
        file->parts[i].ahead = PART_AHEAD;
        stream->parts[1 + i] = (struct part){.source = &file->parts[i], .left = file->parts[i].size};
    }
    return 0;
}

static void release_stream(struct stream *stream)
{
    for (uint32_t i = 0; stream->parts && i < stream->part_count; i++)
        unzstd_release(&stream->parts[i].unzstd);
    free(stream->parts);
    order_release(&stream->order);
}

int file_records(struct file *file, uint64_t limit, file_each *each, void *context)
{
    bool ours = feature_present(&file->features, PINJECT_FEATURE);
    struct stream stream = {.file = file, .each = each, .context = context};
    order_init(&stream.order, ours ? HELD_OURS : HELD_MOST);
    memset(file->records, 0, sizeof(file->records));
    file->unknown_event = file->broken = file->unread = 0;
    file->problem.text[0] = '\0';
    if (file->pipe) {
        /* The records describe the events again. */
        uint32_t ids = file->attrs.id_limit;
        for (uint32_t i = 0; i < file->attrs.count; i++)
            ids += file->attrs.items[i].ids;
        attr_list_release(&file->attrs);
        file->attrs.id_limit = ids;
    }
    int status = start_parts(&stream, limit);
    if (status == 0)
        status = read_all(&stream);
    if (status == 0)
        status = order_finish(&stream.order, deliver_record, &stream);
    release_stream(&stream);
    return status;
}
