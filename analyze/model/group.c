/* SPDX-License-Identifier: MIT */
/* Samples with PERF_SAMPLE_READ ('{a,b}:S'): one event samples, and each sample has the counts of the whole group. */
#include <errno.h>

#include "analyze/model/replay.h"
#include "analyze/read/bytes.h"

/* The last count of event ID; an inherited event has one per thread. */
struct group_value {
    uint64_t id, value;
    uint32_t tid;
};

static struct group_value *value_of(struct group_values *values, uint64_t id, uint32_t tid)
{
    uint64_t hash = lookup_mix(lookup_mix(7, id), tid);
    struct lookup_walk walk = lookup_start(&values->lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (values->items[i].id == id && values->items[i].tid == tid)
            return &values->items[i];
    if (arena_room(&values->items, &values->capacity, values->count, sizeof(*values->items)) < 0 ||
        lookup_add(&values->lookup, hash, values->count) < 0)
        return NULL;
    values->items[values->count] = (struct group_value){.id = id, .tid = tid};
    return &values->items[values->count++];
}

bool group_has(const struct record *sample)
{
    return sample->read && (sample->attr->perf.read_format & PERF_FORMAT_ID);
}

/* As in perf: what an event counted since the last sample is the period of a sample of that event at the same place. */
int group_member(struct group_values *values, const struct attr_list *attrs, const struct record *sample, uint64_t at,
                 struct group_sample *ret)
{
    uint64_t format = sample->attr->perf.read_format;
    bool group = format & PERF_FORMAT_GROUP;
    size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + (size_t) !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    const unsigned char *bytes = sample->read + at * 8 * (2 + (size_t) !!(format & RECORD_READ_LOST));
    uint64_t value = bytes_u64(bytes, sample->swap);
    uint64_t id = bytes_u64(bytes + 8 * (group ? 1 : 1 + times), sample->swap);
    ret->attr = attr_with_id(attrs, id);
    ret->value = value;
    ret->period = 0;
    if (!ret->attr)
        return 0;
    struct group_value *last = value_of(values, id, sample->attr->perf.inherit ? sample->tid : 0);
    if (!last)
        return -ENOMEM;
    /* A smaller count was reset. */
    ret->period = value >= last->value ? value - last->value : value;
    last->value = value;
    return 0;
}

void group_release(struct group_values *values)
{
    free(values->items);
    lookup_release(&values->lookup);
    *values = (struct group_values){0};
}
