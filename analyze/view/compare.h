/* SPDX-License-Identifier: MIT */
/* Two profiles added up side by side, by what two builds have in common: see identity.h. */
#ifndef ANALYZE_VIEW_COMPARE_H
#define ANALYZE_VIEW_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/map.h"
#include "analyze/view/noise.h"
#include "analyze/view/view.h"

/* In the order of the words of --by of diff. */
enum compare_by { COMPARE_COMM, COMPARE_OBJECT, COMPARE_FUNCTION, COMPARE_STACK, COMPARE_KINDS };

struct compare_row {
    /* Numbers of texts: comm and executable; object; symbol and object. Of a stack: the row of the stack around it +
     * 1, and the function's row; of an outermost one 0, and the command's row. */
    uint32_t first, second;
    struct noise_sum sums[2]; /* before, after */
    uint64_t stamp;
    bool wanted; /* by --symbol and --object */
};

struct compare_table {
    struct map keys;
    struct compare_row *rows;
    size_t count, capacity;
};

struct compare {
    struct map_strings texts;
    struct compare_table tables[COMPARE_KINDS];
    struct noise_side sides[2];
    bool total; /* with what was called, where that can be; else self */
    bool no_executables;
    uint64_t stamp;
};

/* TOTAL: functions and objects with everything that they called. */
void compare_init(struct compare *compare, bool total);
void compare_release(struct compare *compare);
/* What VIEW has chosen, as side 0 or 1. */
void compare_add(struct compare *compare, struct view *view, int side);
/* After both. */
void compare_finish(struct compare *compare);

/* The rows of BY that have samples and are wanted, largest change first: of the share when BY_SHARE. */
uint32_t *compare_order(const struct compare *compare, enum compare_by by, bool by_share, size_t *ret_count);

double compare_share_change(const struct compare *compare, const struct compare_row *row); /* percentage points */
const char *compare_text(const struct compare *compare, uint32_t text);

#endif
