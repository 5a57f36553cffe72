/* SPDX-License-Identifier: MIT */
#include "analyze/read/attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/bytes.h"

#define MOST_ATTRS 16384
#define HEADER     sizeof(struct perf_event_header)
#define FLAGS_AT   40 /* offset of the bit field that follows read_format */

_Static_assert(offsetof(struct perf_event_attr, wakeup_events) == FLAGS_AT + 8, "the flags are 8 bytes");

void attr_list_release(struct attr_list *list)
{
    free(list->items);
    free(list->ids);
    *list = (struct attr_list){.sample_id_at = -1, .other_id_back = -1};
}

static void swap_u32(void *at)
{
    uint32_t value = bytes_u32(at, true);
    memcpy(at, &value, sizeof(value));
}

static void swap_u64(void *at)
{
    uint64_t value = bytes_u64(at, true);
    memcpy(at, &value, sizeof(value));
}

/* A machine of the other byte order also orders bit fields from the other end of each byte. */
static void mirror_bits(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned value = bytes[i];
        value = (value & 0xf0) >> 4 | (value & 0x0f) << 4;
        value = (value & 0xcc) >> 2 | (value & 0x33) << 2;
        value = (value & 0xaa) >> 1 | (value & 0x55) << 1;
        bytes[i] = (unsigned char)value;
    }
}

static void swap_attr(struct perf_event_attr *attr)
{
    swap_u32(&attr->type);
    swap_u32(&attr->size);
    swap_u64(&attr->config);
    swap_u64(&attr->sample_period);
    swap_u64(&attr->sample_type);
    swap_u64(&attr->read_format);
    mirror_bits((unsigned char *)attr + FLAGS_AT, 8);
    swap_u32(&attr->wakeup_events);
    swap_u32(&attr->bp_type);
    swap_u64(&attr->config1);
    swap_u64(&attr->config2);
    swap_u64(&attr->branch_sample_type);
    swap_u64(&attr->sample_regs_user);
    swap_u32(&attr->sample_stack_user);
    swap_u32(&attr->clockid);
    swap_u64(&attr->sample_regs_intr);
    attr->sample_max_stack = bswap_16(attr->sample_max_stack);
}

/* The size in bytes of the fields of SAMPLE_TYPE that are among BITS. */
static int fields_size(uint64_t sample_type, const uint64_t *bits, size_t count)
{
    int bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += (sample_type & bits[i]) ? 8 : 0;
    return bytes;
}

static int sample_id_position(uint64_t sample_type)
{
    static const uint64_t before[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR};
    if (sample_type & PERF_SAMPLE_IDENTIFIER)
        return 0;
    return (sample_type & PERF_SAMPLE_ID) ? fields_size(sample_type, before, sizeof(before) / sizeof(before[0])) : -1;
}

static int other_id_position(const struct perf_event_attr *attr)
{
    static const uint64_t behind[] = {PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU};
    if (!attr->sample_id_all)
        return -1;
    if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
        return 8;
    if (!(attr->sample_type & PERF_SAMPLE_ID))
        return -1;
    return 8 + fields_size(attr->sample_type, behind, sizeof(behind) / sizeof(behind[0]));
}

int attr_add(struct attr_list *list, struct cursor *bytes, size_t size, struct problem *problem)
{
    struct attr attr = {.index = list->count};
    size_t known = size < sizeof(attr.perf) ? size : sizeof(attr.perf);
    const void *at = cursor_bytes(bytes, size);
    if (!at || size < PERF_ATTR_SIZE_VER0)
        return problem_set(problem, -EBADMSG, "the description of an event is truncated");
    if (list->count >= MOST_ATTRS)
        return problem_set(problem, -EBADMSG, "the file describes more than %d events", MOST_ATTRS);
    if (arena_room(&list->items, &list->capacity, list->count, sizeof(attr)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    memcpy(&attr.perf, at, known);
    if (bytes->swap)
        swap_attr(&attr.perf);
    if (list->count == 0) {
        /* perf refuses files whose events disagree about this, so the first event decides for all. */
        list->sample_id_at = sample_id_position(attr.perf.sample_type);
        list->other_id_back = other_id_position(&attr.perf);
    }
    list->items[list->count++] = attr;
    return 0;
}

static uint32_t hash_of_id(uint64_t id)
{
    return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32);
}

static void put_id(struct attr_list *list, uint64_t id, uint32_t attr)
{
    uint32_t at = hash_of_id(id) & list->ids_mask;
    while (list->ids[at].attr && list->ids[at].id != id)
        at = (at + 1) & list->ids_mask;
    list->ids_used += !list->ids[at].attr;
    list->ids[at] = (struct attr_id){id, attr};
}

static int grow_ids(struct attr_list *list)
{
    struct attr_id *old = list->ids;
    uint32_t old_places = old ? list->ids_mask + 1 : 0, places = old ? 2 * old_places : 16;
    struct attr_id *ids = calloc(places, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    list->ids = ids;
    list->ids_mask = places - 1;
    list->ids_used = 0;
    for (uint32_t i = 0; i < old_places; i++)
        if (old[i].attr)
            put_id(list, old[i].id, old[i].attr);
    free(old);
    return 0;
}

int attr_add_id(struct attr_list *list, uint64_t id, struct problem *problem)
{
    struct attr *attr = &list->items[list->count - 1];
    if (list->id_limit == 0)
        return problem_set(
            problem, -EBADMSG,
            "the event descriptions list more ids than a file of this size can hold: the file is damaged");
    list->id_limit--;
    if ((!list->ids || list->ids_used >= list->ids_mask / 2) && grow_ids(list) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    if (attr->ids++ == 0)
        attr->first_id = id;
    put_id(list, id, list->count);
    return 0;
}

struct attr *attr_with_id(const struct attr_list *list, uint64_t id)
{
    if (!list->ids)
        return NULL;
    uint32_t at = hash_of_id(id) & list->ids_mask;
    while (list->ids[at].attr && list->ids[at].id != id)
        at = (at + 1) & list->ids_mask;
    return list->ids[at].attr ? &list->items[list->ids[at].attr - 1] : NULL;
}

const struct attr *attr_of_id(const struct attr_list *list, uint64_t id)
{
    if (list->count <= 1)
        return list->items;
    const struct attr *attr = attr_with_id(list, id);
    return attr || id ? attr : list->items;
}

const struct attr *attr_of_record(const struct attr_list *list, const unsigned char *raw, size_t size, uint32_t type,
                                  bool swap)
{
    if (list->count <= 1)
        return list->items;
    if (type == PERF_RECORD_SAMPLE) {
        if (list->sample_id_at < 0)
            return list->items;
        size_t at = HEADER + (size_t)list->sample_id_at;
        return at + 8 <= size ? attr_of_id(list, bytes_u64(raw + at, swap)) : NULL;
    }
    if (list->other_id_back < 0)
        return list->items;
    size_t back = (size_t)list->other_id_back;
    return HEADER + back <= size ? attr_of_id(list, bytes_u64(raw + size - back, swap)) : NULL;
}
