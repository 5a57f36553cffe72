/* SPDX-License-Identifier: MIT */
#include "collector/net_records.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 256 };

void net_records_release(struct net_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        free(records->at[i]);
    free(records->at);
    *records = (struct net_records){0};
}

struct net_record *net_records_add(struct net_records *records, const struct perf_event_header *record)
{
    if (records->count == records->capacity) {
        size_t capacity = records->capacity ? 2 * records->capacity : FIRST;
        struct net_record **at = realloc(records->at, capacity * sizeof(struct net_record *));
        if (!at)
            return NULL;
        records->at = at;
        records->capacity = capacity;
    }
    struct net_record *kept = malloc(sizeof(*kept) + record->size);
    if (!kept)
        return NULL;
    *kept = (struct net_record){.order = records->order++};
    memcpy(kept->bytes, record, record->size);
    records->at[records->count++] = kept;
    return kept;
}

static int compare(const void *one, const void *other)
{
    const struct net_record *a = *(struct net_record *const *)one, *b = *(struct net_record *const *)other;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

void net_records_sort(struct net_records *records, size_t first)
{
    if (first < records->count)
        qsort(records->at + first, records->count - first, sizeof(struct net_record *), compare);
}

struct net_record *net_records_take(struct net_records *records, uint64_t before_ns)
{
    struct net_record *first = NULL, **end = &first;
    size_t taken = 0;
    net_records_sort(records, 0);
    for (; taken < records->count && records->at[taken]->time_ns < before_ns; taken++) {
        *end = records->at[taken];
        end = &(*end)->next;
    }
    *end = NULL;
    records->count -= taken;
    if (taken && records->count)
        memmove(records->at, records->at + taken, records->count * sizeof(struct net_record *));
    return first;
}
