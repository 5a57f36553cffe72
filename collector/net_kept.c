/* SPDX-License-Identifier: MIT */
#include "collector/net_kept.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/net.h"

static bool make_place(struct net_kept *kept)
{
    if (kept->count < kept->capacity)
        return true;
    size_t capacity = kept->capacity ? 2 * kept->capacity : 256;
    struct net_record **records = realloc(kept->records, capacity * sizeof(struct net_record *));
    if (!records)
        return false;
    kept->records = records;
    kept->capacity = capacity;
    return true;
}

struct net_record *net_kept_add(struct net_kept *kept, const struct perf_event_header *record)
{
    struct net_record *added = make_place(kept) ? malloc(sizeof(*added) + record->size) : NULL;
    if (!added)
        return NULL;
    *added = (struct net_record){.order = kept->order++};
    memcpy(added->bytes, record, record->size);
    kept->records[kept->count++] = added;
    return added;
}

static int compare(const void *one, const void *other)
{
    const struct net_record *a = *(struct net_record *const *)one, *b = *(struct net_record *const *)other;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

struct net_record *net_kept_take(struct net_kept *kept, uint64_t before_ns)
{
    struct net_record *first = NULL, **end = &first;
    size_t taken = 0;
    if (kept->count)
        qsort(kept->records, kept->count, sizeof(struct net_record *), compare);
    for (; taken < kept->count && kept->records[taken]->time_ns < before_ns; taken++) {
        *end = kept->records[taken];
        end = &(*end)->next;
    }
    *end = NULL;
    kept->count -= taken;
    if (taken && kept->count)
        memmove(kept->records, kept->records + taken, kept->count * sizeof(struct net_record *));
    return first;
}

void net_kept_release(struct net_kept *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        free(kept->records[i]);
    free(kept->records);
    *kept = (struct net_kept){0};
}
