/* SPDX-License-Identifier: MIT */
/* How much of a stack comes with a sample: stacks.h. */
#include "collector/session.h"
#include "collector/stacks.h"

/* A ring has room for so many samples with their dumps; it is read when a quarter is full. */
enum { SAMPLES_OF_RING = 16 };

/* What SIZES says, unless the user has chosen; less where the collector could not keep up: LIMIT. */
static uint32_t choose_dump(const struct session *session, uint32_t limit, const struct stack_sizes *sizes)
{
    const uint32_t needed = session->config->dump_fixed ? 0 : stack_sizes_predict(sizes);
    const uint32_t dump = needed ? needed : __atomic_load_n(&session->dump, __ATOMIC_RELAXED);
    return limit && limit < dump ? limit : dump;
}

uint32_t stacks_dump(const struct session *session, uint32_t limit, const struct stack_sizes *sizes, size_t size)
{
    uint32_t dump = session->config->dump ? choose_dump(session, limit, sizes) : 0;
    uint64_t most = size / SAMPLES_OF_RING / 8 * 8;
    if (dump && most < dump)
        dump = most < STACKS_DUMP_MIN ? STACKS_DUMP_MIN : (uint32_t)most;
    return dump;
}

size_t stacks_pages(const struct session *session, uint32_t limit, const struct stack_sizes *sizes, size_t pages)
{
    const uint32_t configured = session->config->dump, dump = choose_dump(session, limit, sizes);
    /* Lowered since the collector is behind: the ring stays, so that more samples fit. */
    if (dump < configured && dump == limit)
        return pages;
    for (uint32_t more = configured; more < dump; more *= 2)
        pages *= 2;
    for (uint32_t less = configured; less > dump && pages > 1; less /= 2)
        pages /= 2;
    return pages;
}
