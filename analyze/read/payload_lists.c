/* SPDX-License-Identifier: MIT */
#include "analyze/read/payload_lists.h"

#include <pinject/kernel.h>
#include <string.h>

#include "common/perfdata.h"

enum { BUILD_ID = 20 };

void payload_put(struct payload_walk *walk, const char *name, enum payload_kind kind, uint64_t number)
{
    if (!walk->cursor.failed)
        walk->each(walk->context, &(struct payload_field){.name = name, .kind = kind, .number = number});
}

void payload_put_bytes(struct payload_walk *walk, const char *name, size_t size)
{
    const unsigned char *bytes = cursor_bytes(&walk->cursor, size);
    if (bytes || !walk->cursor.failed)
        walk->each(walk->context,
                   &(struct payload_field){.name = name, .kind = PAYLOAD_BYTES, .bytes = bytes, .size = size});
}

void payload_put_text(struct payload_walk *walk, const char *name, size_t size)
{
    const unsigned char *bytes = cursor_bytes(&walk->cursor, size);
    if (walk->cursor.failed)
        return;
    walk->each(walk->context, &(struct payload_field){.name = name,
                                                      .kind = PAYLOAD_TEXT,
                                                      .bytes = bytes,
                                                      .size = size ? strnlen((const char *)bytes, size) : 0});
}

/* COUNT items of at least SIZE bytes; false: the record cannot hold them. */
static bool begin_list(struct payload_walk *walk, const char *name, uint64_t count, size_t size)
{
    if (walk->cursor.failed || count > cursor_left(&walk->cursor) / size) {
        walk->cursor.failed = true;
        return false;
    }
    payload_put(walk, name, PAYLOAD_LIST, count);
    return true;
}

static void begin_item(struct payload_walk *walk)
{
    payload_put(walk, "", PAYLOAD_ITEM, 0);
}

static void end_list(struct payload_walk *walk)
{
    /* Even of a list that was cut off. */
    walk->each(walk->context, &(struct payload_field){.name = "", .kind = PAYLOAD_LIST_END});
}

void payload_read(struct payload_walk *walk)
{
    struct cursor *cursor = &walk->cursor;
    uint64_t format = walk->record->attr ? walk->record->attr->perf.read_format : 0;
    bool group = format & PERF_FORMAT_GROUP;
    uint64_t count = group ? cursor_u64(cursor) : 1;
    if (!group)
        payload_put(walk, "value", PAYLOAD_NUMBER, cursor_u64(cursor));
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        payload_put(walk, "time_enabled", PAYLOAD_NUMBER, cursor_u64(cursor));
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        payload_put(walk, "time_running", PAYLOAD_NUMBER, cursor_u64(cursor));
    if (group && !begin_list(walk, "values", count, 8))
        return;
    for (uint64_t i = 0; i < count && !cursor->failed; i++) {
        if (group) {
            begin_item(walk);
            payload_put(walk, "value", PAYLOAD_NUMBER, cursor_u64(cursor));
        }
        if (format & PERF_FORMAT_ID)
            payload_put(walk, "id", PAYLOAD_NUMBER, cursor_u64(cursor));
        if (format & RECORD_READ_LOST)
            payload_put(walk, "lost", PAYLOAD_NUMBER, cursor_u64(cursor));
    }
    if (group)
        end_list(walk);
}

void payload_mmap2(struct payload_walk *walk)
{
    struct cursor *cursor = &walk->cursor;
    if (walk->record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        uint8_t size = cursor_u8(cursor);
        cursor_skip(cursor, 3);
        struct cursor id = cursor_part(cursor, BUILD_ID);
        if (!cursor->failed)
            walk->each(walk->context, &(struct payload_field){.name = "build_id",
                                                              .kind = PAYLOAD_BYTES,
                                                              .bytes = id.at,
                                                              .size = size < BUILD_ID ? size : BUILD_ID});
    } else {
        payload_put(walk, "maj", PAYLOAD_HEX, cursor_u32(cursor));
        payload_put(walk, "min", PAYLOAD_HEX, cursor_u32(cursor));
        payload_put(walk, "ino", PAYLOAD_NUMBER, cursor_u64(cursor));
        payload_put(walk, "ino_generation", PAYLOAD_NUMBER, cursor_u64(cursor));
    }
    payload_put(walk, "prot", PAYLOAD_HEX, cursor_u32(cursor));
    payload_put(walk, "flags", PAYLOAD_HEX, cursor_u32(cursor));
    payload_put_text(walk, "filename", cursor_left(cursor));
}

void payload_namespaces(struct payload_walk *walk)
{
    static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
    uint64_t count = cursor_u64(&walk->cursor);
    if (!begin_list(walk, "namespaces", count, 16))
        return;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = i < sizeof(names) / sizeof(names[0]) ? names[i] : "later";
        begin_item(walk);
        walk->each(walk->context, &(struct payload_field){.name = "name",
                                                          .kind = PAYLOAD_TEXT,
                                                          .bytes = (const unsigned char *)name,
                                                          .size = strlen(name)});
        payload_put(walk, "dev", PAYLOAD_HEX, cursor_u64(&walk->cursor));
        payload_put(walk, "inode", PAYLOAD_HEX, cursor_u64(&walk->cursor));
    }
    end_list(walk);
}

void payload_text_poke(struct payload_walk *walk)
{
    size_t old = cursor_u16(&walk->cursor), new = cursor_u16(&walk->cursor);
    payload_put(walk, "old_len", PAYLOAD_NUMBER, old);
    payload_put(walk, "new_len", PAYLOAD_NUMBER, new);
    payload_put_bytes(walk, "old", old);
    payload_put_bytes(walk, "new", new);
}

void payload_attr(struct payload_walk *walk)
{
    struct cursor sizes = walk->cursor;
    cursor_u32(&sizes);
    uint32_t size = cursor_u32(&sizes);
    if (size == 0)
        size = PERF_ATTR_SIZE_VER0;
    struct cursor attr = cursor_part(&walk->cursor, size < PERF_ATTR_SIZE_VER0 ? SIZE_MAX : size);
    payload_put(walk, "type", PAYLOAD_NUMBER, cursor_u32(&attr));
    payload_put(walk, "size", PAYLOAD_NUMBER, cursor_u32(&attr));
    payload_put(walk, "config", PAYLOAD_HEX, cursor_u64(&attr));
    payload_put(walk, "sample_period", PAYLOAD_NUMBER, cursor_u64(&attr));
    payload_put(walk, "sample_type", PAYLOAD_HEX, cursor_u64(&attr));
    payload_put(walk, "read_format", PAYLOAD_HEX, cursor_u64(&attr));
    uint64_t count = cursor_left(&walk->cursor) / 8;
    if (!begin_list(walk, "ids", count, 8))
        return;
    for (uint64_t i = 0; i < count; i++) {
        begin_item(walk);
        payload_put(walk, "id", PAYLOAD_NUMBER, cursor_u64(&walk->cursor));
    }
    end_list(walk);
}

void payload_build_id(struct payload_walk *walk)
{
    const unsigned char *id = cursor_bytes(&walk->cursor, 24);
    /* The size is behind the bytes, if the bit for that is set. */
    size_t size = id && (walk->record->misc & 1u << 15) && id[BUILD_ID] <= BUILD_ID ? id[BUILD_ID] : BUILD_ID;
    if (id)
        walk->each(walk->context,
                   &(struct payload_field){.name = "build_id", .kind = PAYLOAD_BYTES, .bytes = id, .size = size});
    payload_put_text(walk, "filename", cursor_left(&walk->cursor));
}

void payload_id_index(struct payload_walk *walk)
{
    struct cursor *cursor = &walk->cursor;
    uint64_t count = cursor_u64(cursor);
    if (!begin_list(walk, "entries", count, 32))
        return;
    for (uint64_t i = 0; i < count; i++) {
        begin_item(walk);
        payload_put(walk, "id", PAYLOAD_NUMBER, cursor_u64(cursor));
        payload_put(walk, "idx", PAYLOAD_NUMBER, cursor_u64(cursor));
        payload_put(walk, "cpu", PAYLOAD_SIGNED, cursor_u64(cursor));
        payload_put(walk, "tid", PAYLOAD_SIGNED, cursor_u64(cursor));
    }
    end_list(walk);
    /* perf 6.0 adds, behind all of them, the machine of each. */
    if (cursor_left(cursor) == 0 || !begin_list(walk, "machines", count, 16))
        return;
    for (uint64_t i = 0; i < count; i++) {
        begin_item(walk);
        payload_put(walk, "machine_pid", PAYLOAD_SIGNED, cursor_u64(cursor));
        payload_put(walk, "vcpu", PAYLOAD_SIGNED, cursor_u64(cursor));
    }
    end_list(walk);
}

void payload_numbers(struct payload_walk *walk)
{
    uint64_t count = cursor_left(&walk->cursor) / 8;
    if (!begin_list(walk, "priv", count, 8))
        return;
    for (uint64_t i = 0; i < count; i++) {
        begin_item(walk);
        payload_put(walk, "value", PAYLOAD_HEX, cursor_u64(&walk->cursor));
    }
    end_list(walk);
}

void payload_error_guest(struct payload_walk *walk)
{
    if (cursor_left(&walk->cursor) < 8)
        return;
    payload_put(walk, "machine_pid", PAYLOAD_SIGNED, (uint64_t)(int64_t)(int32_t)cursor_u32(&walk->cursor));
    payload_put(walk, "vcpu", PAYLOAD_SIGNED, (uint64_t)(int64_t)(int32_t)cursor_u32(&walk->cursor));
}

void payload_thread_map(struct payload_walk *walk)
{
    uint64_t count = cursor_u64(&walk->cursor);
    if (!begin_list(walk, "threads", count, 24))
        return;
    for (uint64_t i = 0; i < count; i++) {
        begin_item(walk);
        payload_put(walk, "pid", PAYLOAD_SIGNED, cursor_u64(&walk->cursor));
        payload_put_text(walk, "comm", 16);
    }
    end_list(walk);
}

/* A mask of COUNT numbers of WIDTH bytes. */
static void put_mask(struct payload_walk *walk, uint16_t count, uint16_t width)
{
    if ((width != 4 && width != 8) || !begin_list(walk, "mask", count, width)) {
        walk->cursor.failed = true;
        return;
    }
    for (uint16_t i = 0; i < count; i++) {
        begin_item(walk);
        payload_put(walk, "bits", PAYLOAD_HEX, width == 8 ? cursor_u64(&walk->cursor) : cursor_u32(&walk->cursor));
    }
    end_list(walk);
}

void payload_cpu_map(struct payload_walk *walk)
{
    struct cursor *cursor = &walk->cursor;
    uint16_t type = cursor_u16(cursor), count, width;
    payload_put(walk, "map_type", PAYLOAD_NUMBER, type);
    switch (type) {
    case 0:
        count = cursor_u16(cursor);
        if (!begin_list(walk, "cpus", count, 2))
            return;
        for (uint16_t i = 0; i < count; i++) {
            begin_item(walk);
            payload_put(walk, "cpu", PAYLOAD_SIGNED, (uint64_t)(int64_t)(int16_t)cursor_u16(cursor));
        }
        end_list(walk);
        return;
    case 1:
        count = cursor_u16(cursor);
        width = cursor_u16(cursor);
        /* Numbers of 8 bytes have a gap before them. */
        if (width == 8)
            cursor_skip(cursor, 4);
        put_mask(walk, count, width);
        return;
    case 2:
        payload_put(walk, "any_cpu", PAYLOAD_NUMBER, cursor_u8(cursor));
        cursor_u8(cursor);
        payload_put(walk, "start_cpu", PAYLOAD_NUMBER, cursor_u16(cursor));
        payload_put(walk, "end_cpu", PAYLOAD_NUMBER, cursor_u16(cursor));
        return;
    default: payload_put_bytes(walk, "data", cursor_left(cursor));
    }
}

void payload_stat_config(struct payload_walk *walk)
{
    static const char *const names[] = {"aggr_mode", "interval", "scale", "aggr_level"};
    uint64_t count = cursor_u64(&walk->cursor);
    if (!begin_list(walk, "terms", count, 16))
        return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t tag = cursor_u64(&walk->cursor);
        begin_item(walk);
        payload_put(walk, "tag", PAYLOAD_NUMBER, tag);
        payload_put(walk, tag < sizeof(names) / sizeof(names[0]) ? names[tag] : "val", PAYLOAD_NUMBER,
                    cursor_u64(&walk->cursor));
    }
    end_list(walk);
}

void payload_event_update(struct payload_walk *walk)
{
    enum { UNIT, SCALE, NAME, CPUS };
    struct cursor *cursor = &walk->cursor;
    uint64_t type = cursor_u64(cursor);
    payload_put(walk, "type", PAYLOAD_NUMBER, type);
    payload_put(walk, "id", PAYLOAD_NUMBER, cursor_u64(cursor));
    switch (type) {
    case UNIT: payload_put_text(walk, "unit", cursor_left(cursor)); return;
    case SCALE: payload_put(walk, "scale", PAYLOAD_REAL, cursor_u64(cursor)); return;
    case NAME: payload_put_text(walk, "name", cursor_left(cursor)); return;
    case CPUS: payload_cpu_map(walk); return;
    default: payload_put_bytes(walk, "data", cursor_left(cursor));
    }
}

void payload_time_conv(struct payload_walk *walk)
{
    struct cursor *cursor = &walk->cursor;
    if (cursor_left(cursor) == 0)
        return;
    payload_put(walk, "time_cycles", PAYLOAD_NUMBER, cursor_u64(cursor));
    payload_put(walk, "time_mask", PAYLOAD_HEX, cursor_u64(cursor));
    payload_put(walk, "cap_user_time_zero", PAYLOAD_NUMBER, cursor_u8(cursor));
    payload_put(walk, "cap_user_time_short", PAYLOAD_NUMBER, cursor_u8(cursor));
}
