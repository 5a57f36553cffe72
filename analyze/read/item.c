/* SPDX-License-Identifier: MIT */
#include "analyze/read/item.h"

#include <errno.h>
#include <stddef.h>
#include <zlib.h>

bool item_next(struct cursor *section, struct item *ret)
{
    uint32_t type = cursor_u32(section), size = cursor_u32(section);
    if (section->failed || size < sizeof(struct pinject_item))
        return false;
    *ret = (struct item){type, cursor_part(section, size - sizeof(struct pinject_item))};
    return !ret->body.failed;
}

/* Deflate makes at most a little over a thousand bytes of one: a larger size is wrong. */
enum { MOST_GROWTH = 1040 };

/* 0, -EBADMSG or -ENOMEM. */
static int inflate_all(struct cursor packed, const unsigned char *dictionary, uint16_t known, unsigned char *to,
                       uint32_t unpacked)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed.at,
                       .avail_in = (uInt)cursor_left(&packed),
                       .next_out = to,
                       .avail_out = unpacked};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return -ENOMEM;
    int status = known ? inflateSetDictionary(&stream, dictionary, known) : Z_OK;
    if (status == Z_OK)
        status = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (status == Z_MEM_ERROR)
        return -ENOMEM;
    return status == Z_STREAM_END && stream.avail_out == 0 ? 0 : -EBADMSG;
}

int item_unpack(struct cursor section, struct cursor data, struct arena *arena, const unsigned char **ret,
                size_t *ret_size)
{
    struct item item;
    if (!item_next(&section, &item) || item.type != PINJECT_ITEM_PACKED)
        return -ENOENT;
    uint32_t unpacked = cursor_u32(&item.body);
    uint16_t method = cursor_u16(&item.body), known = cursor_u16(&item.body);
    size_t size = cursor_left(&item.body);
    *ret_size = 0;
    *ret = NULL;
    if (item.body.failed || method != 1 || known > cursor_left(&data) || size > UINT32_MAX ||
        unpacked > PINJECT_PACKED_MAX || unpacked / MOST_GROWTH > size)
        return 0;
    unsigned char *bytes = arena_take(arena, unpacked);
    if (!bytes)
        return -ENOMEM;
    int status = inflate_all(item.body, data.end - known, known, bytes, unpacked);
    if (status == 0) {
        *ret = bytes;
        *ret_size = unpacked;
    }
    return status == -ENOMEM ? status : 0;
}

bool item_session(struct item *item, struct pinject_item_session *ret)
{
    struct cursor *body = &item->body;
    /* The id is bytes, not numbers: it is never swapped, so its text is the same everywhere. */
    const void *id = cursor_bytes(body, sizeof(ret->id));
    if (id)
        __builtin_memcpy(ret->id, id, sizeof(ret->id));
    ret->start_ns = cursor_u64(body);
    ret->start_realtime_ns = cursor_u64(body);
    ret->flags = cursor_u32(body);
    ret->root = (int32_t)cursor_u32(body);
    ret->uid = cursor_u32(body);
    ret->arguments = cursor_u32(body);
    ret->bare = cursor_u32(body);
    ret->exclude_kernel = cursor_u32(body);
    return !body->failed;
}

bool item_task(struct item *item, struct pinject_item_task *ret)
{
    struct cursor *body = &item->body;
    ret->pid = (int32_t)cursor_u32(body);
    ret->tid = (int32_t)cursor_u32(body);
    ret->ppid = (int32_t)cursor_u32(body);
    ret->parent_tid = (int32_t)cursor_u32(body);
    ret->flags = cursor_u32(body);
    ret->source = cursor_u32(body);
    ret->status = (int32_t)cursor_u32(body);
    ret->kind = (int32_t)cursor_u32(body);
    ret->start_ns = cursor_u64(body);
    ret->end_ns = cursor_u64(body);
    ret->startup_ns = cursor_u64(body);
    ret->exit_ns = cursor_u64(body);
    ret->lost = cursor_u64(body);
    ret->samples = cursor_u64(body);
    return !body->failed;
}

bool item_generation(struct item *item, struct pinject_item_generation *ret)
{
    ret->start_ns = cursor_u64(&item->body);
    ret->number = cursor_u32(&item->body);
    ret->arguments = cursor_u32(&item->body);
    return !item->body.failed;
}

bool item_count(struct item *item, struct pinject_item_count *ret)
{
    struct cursor *body = &item->body;
    ret->value = cursor_u64(body);
    ret->enabled_ns = cursor_u64(body);
    ret->running_ns = cursor_u64(body);
    ret->lost = cursor_u64(body);
    ret->event = cursor_u32(body);
    ret->generation = cursor_u32(body);
    ret->nanoseconds = cursor_u32(body);
    ret->set = cursor_u32(body);
    return !body->failed;
}

bool item_unit(struct item *item, struct pinject_item_unit *ret)
{
    ret->scale = cursor_u64(&item->body);
    ret->event = cursor_u32(&item->body);
    ret->reserved = cursor_u32(&item->body);
    return !item->body.failed;
}

bool item_coverage(struct item *item, struct pinject_item_coverage *ret)
{
    struct cursor *body = &item->body;
    ret->cpu_ns = cursor_u64(body);
    ret->attributed_ns = cursor_u64(body);
    ret->tasks = cursor_u64(body);
    ret->files = cursor_u64(body);
    ret->collector_ns = cursor_u64(body);
    ret->complete = cursor_u32(body);
    ret->reserved = cursor_u32(body);
    return !body->failed;
}

bool item_machine(struct item *item, struct pinject_item_machine *ret)
{
    ret->elapsed_ns = cursor_u64(&item->body);
    ret->others_ns = cursor_u64(&item->body);
    return !item->body.failed;
}

bool item_times(struct item *item, struct pinject_item_times *ret)
{
    ret->user_ns = cursor_u64(&item->body);
    ret->kernel_ns = cursor_u64(&item->body);
    return !item->body.failed;
}

bool item_unwritten(struct item *item, struct pinject_item_unwritten *ret)
{
    ret->files = cursor_u64(&item->body);
    ret->samples = cursor_u64(&item->body);
    return !item->body.failed;
}

bool item_missed(struct item *item, struct pinject_item_missed *ret)
{
    ret->count = cursor_u64(&item->body);
    ret->cpu_ns = cursor_u64(&item->body);
    return !item->body.failed;
}

bool item_stacks(struct item *item, struct pinject_item_stacks *ret)
{
    uint64_t *const counts[] = {&ret->bottom,   &ret->truncated, &ret->too_deep, &ret->no_table, &ret->bad_memory,
                                &ret->extended, &ret->chosen,    &ret->behind,   &ret->foreign};
    *ret = (struct pinject_item_stacks){0};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        *counts[i] = cursor_u64(&item->body);
    ret->dump = cursor_u32(&item->body);
    ret->flags = cursor_u32(&item->body);
    return !item->body.failed;
}

const char *item_string(struct item *item)
{
    const char *text = cursor_string(&item->body);
    return text ? text : "";
}
