/* SPDX-License-Identifier: MIT */
/*
 * The order of lists, the same for all views and exports. The larger weight comes first. Between equal weights names
 * decide, never the numbers of functions or frames: these depend on the order in which a view first sees them, and
 * views read samples in different orders. All return < 0 (A first), 0 (the same thing) or > 0.
 */
#ifndef ANALYZE_VIEW_RANKING_H
#define ANALYZE_VIEW_RANKING_H

#include <stdint.h>

#include "analyze/view/names.h"

static inline int order_larger(uint64_t a, uint64_t b)
{
    return a == b ? 0 : a < b ? 1 : -1;
}

static inline int order_smaller(uint64_t a, uint64_t b)
{
    return order_larger(b, a);
}

/* By symbol, then DSO. */
int order_functions(const struct names *names, uint32_t a, uint32_t b);
int order_dsos(const struct names *names, uint32_t a, uint32_t b);
/* By DSO, then address. */
int order_frames(struct names *names, const struct profile *profile, uint32_t a, uint32_t b);
/* Compares keys of rows, as in histogram.h. BY: enum settings_by. */
int order_keys(struct names *names, const struct profile *profile, int by, uint64_t a, uint64_t b);

#endif
