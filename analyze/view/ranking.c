/* SPDX-License-Identifier: MIT */
#include "analyze/view/ranking.h"

#include <string.h>

int order_functions(const struct names *names, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    struct names_function x = names_function(names, a), y = names_function(names, b);
    int order = strcmp(x.symbol, y.symbol);
    if (!order)
        order = strcmp(x.dso, y.dso);
    return order ? order : order_smaller(x.inlined, y.inlined);
}

int order_dsos(const struct names *names, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(names_dso(names, a), names_dso(names, b));
}

static int order_modules(const struct profile_module *a, const struct profile_module *b)
{
    if (a == b)
        return 0;
    if (!a || !b)
        return a ? 1 : -1;
    int order = order_smaller(a->build_id_size, b->build_id_size);
    if (!order && a->build_id_size)
        order = memcmp(a->build_id, b->build_id, a->build_id_size);
    return order ? order : order_smaller((uint32_t)a->pid, (uint32_t)b->pid);
}

int order_frames(struct names *names, const struct profile *profile, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    const struct names_place *x = names_frame(names, a), *y = names_frame(names, b);
    int order = strcmp(x->dso, y->dso);
    if (!order)
        order = order_smaller(x->address, y->address);
    if (!order)
        order = strcmp(x->symbol, y->symbol);
    /* Frames of inlined functions are not in the profile. */
    if (!order && a < profile->frame_count && b < profile->frame_count) {
        const struct profile_frame *one = &profile->frames[a], *other = &profile->frames[b];
        order = order_modules(one->module, other->module);
        if (!order)
            order = order_smaller(one->offset, other->offset);
        if (!order)
            order = order_smaller(one->ip, other->ip);
    }
    return order ? order : order_smaller(a, b);
}

int order_keys(struct names *names, const struct profile *profile, int by, uint64_t a, uint64_t b)
{
    switch (by) {
    case BY_DSO:
        return order_dsos(names, (uint32_t)a, (uint32_t)b);
    case BY_ADDRESS:
        return order_frames(names, profile, (uint32_t)a, (uint32_t)b);
    case BY_COMM:
        return strcmp((const char *)(uintptr_t)a, (const char *)(uintptr_t)b);
    case BY_TASK:
    case BY_PROCESS:
        return order_smaller(a, b);
    default:
        return order_functions(names, (uint32_t)a, (uint32_t)b);
    }
}
