/* SPDX-License-Identifier: MIT */
#include "collector/stacks/dump_size.h"

#include "collector/config/dump_event.h"
#include "collector/config/event_config.h"

/* A ring has room for so many samples with their dumps; it is read when a quarter is full. */
enum { SAMPLES_OF_RING = 16 };

/* What SIZES says, unless the user has chosen; less where the collector could not keep up: LIMIT. */
static uint32_t choose_size(const struct event_config *config, const struct dump_sizes *dumps, uint32_t limit,
                            const struct stack_sizes *sizes)
{
    const uint32_t needed = config->dump_fixed ? 0 : stack_sizes_predict(sizes);
    const uint32_t dump = needed ? needed : __atomic_load_n(&dumps->now, __ATOMIC_RELAXED);
    return limit && limit < dump ? limit : dump;
}

uint32_t dump_size(const struct event_config *config, const struct dump_sizes *dumps, uint32_t limit,
                   const struct stack_sizes *sizes, size_t size)
{
    uint32_t dump = config->dump ? choose_size(config, dumps, limit, sizes) : 0;
    uint64_t most = size / SAMPLES_OF_RING / 8 * 8;
    if (dump && most < dump)
        dump = most < STACKS_DUMP_MIN ? STACKS_DUMP_MIN : (uint32_t)most;
    return dump;
}

uint32_t dump_sizes_unite(const struct event_config *config, struct dump_sizes *dumps)
{
    const uint32_t now = __atomic_load_n(&dumps->now, __ATOMIC_RELAXED);
    if (now && now < STACKS_DUMP_RAISED && !config->dump_fixed)
        __atomic_store_n(&dumps->now, STACKS_DUMP_RAISED, __ATOMIC_RELAXED);
    return now;
}

void dump_sizes_restore(struct dump_sizes *dumps, uint32_t before)
{
    __atomic_store_n(&dumps->now, before, __ATOMIC_RELAXED);
}

size_t dump_size_pages(const struct event_config *config, const struct dump_sizes *dumps, uint32_t limit,
                       const struct stack_sizes *sizes, size_t pages)
{
    const uint32_t configured = config->dump, dump = choose_size(config, dumps, limit, sizes);
    /* Lowered since the collector is behind: the ring stays, so that more samples fit. */
    if (dump < configured && dump == limit)
        return pages;
    for (uint32_t more = configured; more < dump; more *= 2)
        pages *= 2;
    for (uint32_t less = configured; less > dump && pages > 1; less /= 2)
        pages /= 2;
    return pages;
}
