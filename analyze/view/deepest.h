/* SPDX-License-Identifier: MIT */
/* Which of the functions that changed, each with everything that it called, are the reason, and which called them. */
#ifndef ANALYZE_VIEW_DEEPEST_H
#define ANALYZE_VIEW_DEEPEST_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/view/compare.h"

/*
 * Sorts ROWS[COUNT], rows of functions that changed: first those of which no single other one explains half of the
 * change, then their callers, each in the order in which they came; last callers that are nearly the whole program:
 * main, and what led there. Returns how many there are without these last ones.
 */
size_t deepest_first(const struct compare *compare, uint32_t *rows, size_t count);

#endif
