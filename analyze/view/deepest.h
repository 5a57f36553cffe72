/* SPDX-License-Identifier: MIT */
/* Sorts changed functions (total weight) into those that are the reason for the change, and their callers. */
#ifndef ANALYZE_VIEW_DEEPEST_H
#define ANALYZE_VIEW_DEEPEST_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/view/compare.h"

/*
 * Sorts ROWS[COUNT], the rows of changed functions. First come functions where no other single row explains half of the
 * change, then their callers; each group keeps its order. Callers that are nearly the whole program (main, and what
 * leads to it) come last. Returns the number of rows without these.
 */
size_t deepest_first(const struct compare *compare, uint32_t *rows, size_t count);

#endif
