/* SPDX-License-Identifier: MIT */
#include "analyze/read/order.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/read/arena.h"

void order_init(struct order *order, size_t limit)
{
    *order = (struct order){.sorted = true, .limit = limit, .bytes = BUFFER_INIT, .spare = BUFFER_INIT};
}

void order_release(struct order *order)
{
    free(order->entries);
    buffer_release(&order->bytes);
    buffer_release(&order->spare);
    order_init(order, order->limit);
}

static int compare_entries(const void *left, const void *right)
{
    const struct order_entry *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static void sort_entries(struct order *order)
{
    if (!order->sorted)
        qsort(order->entries, order->count, sizeof(*order->entries), compare_entries);
    order->sorted = true;
}

/* Drops the first DONE entries and moves the rest, with their bytes, to the front. */
static int compact_entries(struct order *order, uint32_t done)
{
    buffer_clear(&order->spare);
    order->held = 0;
    for (uint32_t i = done; i < order->count; i++) {
        struct order_entry entry = order->entries[i];
        if (!entry.stable) {
            size_t at = order->spare.size;
            buffer_append(&order->spare, order->bytes.data + entry.copy, entry.size);
            entry.copy = at;
        }
        entry.sequence = i - done;
        order->held += entry.size + sizeof(entry);
        order->entries[i - done] = entry;
    }
    order->count -= done;
    struct buffer filled = order->spare;
    order->spare = order->bytes;
    order->bytes = filled;
    return buffer_failed(&order->bytes) ? -ENOMEM : 0;
}

/* Delivers the entries up to TIME, but at most MOST. */
static int deliver_entries(struct order *order, uint64_t time, uint32_t most, order_take *take, void *context)
{
    sort_entries(order);
    uint32_t done = 0;
    int status = 0;
    while (status == 0 && done < order->count && done < most && order->entries[done].time <= time) {
        const struct order_entry *entry = &order->entries[done++];
        status = take(context, entry->stable ? entry->stable : order->bytes.data + entry->copy, entry->size);
    }
    if (status != 0 || done == 0)
        return status;
    return compact_entries(order, done);
}

int order_push(struct order *order, uint64_t time, const unsigned char *record, size_t size, bool stable,
               order_take *take, void *context)
{
    if (order->held > order->limit || order->count == UINT32_MAX / 4) {
        int status = deliver_entries(order, UINT64_MAX, order->count / 2 + 1, take, context);
        if (status != 0)
            return status;
    }
    struct order_entry entry = {.time = time, .sequence = order->count, .size = (uint32_t)size};
    if (stable) {
        entry.stable = record;
    } else {
        entry.copy = order->bytes.size;
        buffer_append(&order->bytes, record, size);
    }
    if (buffer_failed(&order->bytes) || arena_room(&order->entries, &order->capacity, order->count, sizeof(entry)) < 0)
        return -ENOMEM;
    if (order->count > 0 && time < order->entries[order->count - 1].time)
        order->sorted = false;
    if (time > order->newest)
        order->newest = time;
    order->held += size + sizeof(entry);
    order->entries[order->count++] = entry;
    return 0;
}

int order_round(struct order *order, order_take *take, void *context)
{
    int status = deliver_entries(order, order->round, UINT32_MAX, take, context);
    order->round = order->newest;
    return status;
}

int order_finish(struct order *order, order_take *take, void *context)
{
    return deliver_entries(order, UINT64_MAX, UINT32_MAX, take, context);
}
