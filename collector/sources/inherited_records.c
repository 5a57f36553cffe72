/* SPDX-License-Identifier: MIT */
#include "collector/sources/inherited_records.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 256 };

void inherited_records_release(struct inherited_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        free(records->at[i]);
    free(records->at);
    *records = (struct inherited_records){0};
}

struct inherited_record *inherited_records_add(struct inherited_records *records,
                                               const struct perf_event_header *record, size_t more)
{
    if (records->count == records->capacity) {
        size_t capacity = records->capacity ? 2 * records->capacity : FIRST;
        struct inherited_record **at = realloc(records->at, capacity * sizeof(struct inherited_record *));
        if (!at)
            return NULL;
        records->at = at;
        records->capacity = capacity;
    }
    struct inherited_record *kept = malloc(sizeof(*kept) + record->size + more);
    if (!kept)
        return NULL;
    *kept = (struct inherited_record){.order = records->order++};
    memcpy(kept->bytes, record, record->size);
    records->at[records->count++] = kept;
    return kept;
}

static int compare_times(const void *one, const void *other)
{
    const struct inherited_record *a = *(struct inherited_record *const *)one,
                                  *b = *(struct inherited_record *const *)other;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

void inherited_records_sort(struct inherited_records *records, size_t first)
{
    if (first < records->count)
        qsort(records->at + first, records->count - first, sizeof(struct inherited_record *), compare_times);
}

struct inherited_record *inherited_records_take(struct inherited_records *records, uint64_t before_ns)
{
    struct inherited_record *first = NULL, **end = &first;
    size_t left = 0;
    inherited_records_sort(records, 0);
    for (size_t i = 0; i < records->count; i++) {
        struct inherited_record *kept = records->at[i];
        if (kept->time_ns >= before_ns || (kept->undecided && before_ns != UINT64_MAX)) {
            records->at[left++] = kept;
            continue;
        }
        *end = kept;
        end = &kept->next;
    }
    *end = NULL;
    records->count = left;
    return first;
}
