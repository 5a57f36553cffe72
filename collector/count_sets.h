/* SPDX-License-Identifier: MIT */
/* What the user has to know of event sets that took turns, beside their figures. */
#ifndef COLLECTOR_COUNT_SETS_H
#define COLLECTOR_COUNT_SETS_H

#include <stddef.h>
#include <stdint.h>

#include "counts/count.h"

/*
 * Warns of each set of EVENTS[COUNT] of which nothing was counted. CELLS: of the whole run. SWITCH_NS: as the user
 * chose it.
 */
void count_sets_warn(const struct count_event *events, const struct count_cell *cells, size_t count,
                     uint64_t switch_ns);
/* Warns if the turns took much longer than SWITCH_NS: LENGTH_NS in the mean; 0: unknown. */
void count_sets_warn_length(uint64_t length_ns, uint64_t switch_ns);

#endif
