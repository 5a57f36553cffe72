/* SPDX-License-Identifier: MIT */
#include "analyze/view/deepest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"

#define MOST_ROWS 64  /* that are judged: bits of a mask */
#define EXPLAINED 0.5 /* part of a function's change that is in one of its callees */
#define WHOLE 90      /* percent of both sides: main, and what leads to it */

enum rank { RANK_REASON, RANK_CALLER, RANK_WHOLE, RANKS };

struct callers {
    const struct compare *compare;
    const uint32_t *rows;
    size_t count;
    uint8_t *numbers;                  /* by row of a function: its index in `rows` + 1 */
    uint64_t called[MOST_ROWS];        /* by that index, in one stack: bits of its callees */
    double both[MOST_ROWS][MOST_ROWS]; /* change of the stacks in which the first calls the second */
};

/* Adds the pairs of functions in STACK, from the leaf outwards. */
static void add_stack(struct callers *callers, const struct compare_row *stack)
{
    const struct compare_row *stacks = callers->compare->tables[COMPARE_STACK].rows;
    double change = compare_weight_change(callers->compare, stack->sums);
    uint64_t deeper = 0;
    if (!(change > 0 || change < 0))
        return;
    for (const struct compare_row *row = stack; row->first; row = &stacks[row->first - 1]) {
        unsigned number = callers->numbers[row->second];
        if (!number)
            continue;
        uint64_t bit = UINT64_C(1) << (number - 1);
        callers->called[number - 1] |= deeper;
        deeper |= bit;
    }
    for (; deeper; deeper &= deeper - 1) {
        int caller = __builtin_ctzll(deeper);
        for (uint64_t called = callers->called[caller]; called; called &= called - 1)
            callers->both[caller][__builtin_ctzll(called)] += change;
        callers->called[caller] = 0;
    }
}

static bool explains(const struct callers *callers, size_t called, size_t caller)
{
    const struct compare_row *functions = callers->compare->tables[COMPARE_FUNCTION].rows;
    double change = compare_weight_change(callers->compare, functions[callers->rows[caller]].sums);
    return callers->both[caller][called] / change >= EXPLAINED;
}

/* If two functions call each other, neither is the reason for the other. */
static enum rank rank_of(const struct callers *callers, size_t at)
{
    const struct compare_row *row = &callers->compare->tables[COMPARE_FUNCTION].rows[callers->rows[at]];
    bool caller = false;
    for (size_t i = 0; i < callers->count; i++)
        caller |= i != at && explains(callers, i, at) && !explains(callers, at, i);
    if (!caller)
        return RANK_REASON;
    return row->shares[0] >= WHOLE && row->shares[1] >= WHOLE ? RANK_WHOLE : RANK_CALLER;
}

/* Rows after the first MOST_ROWS count as callers. */
static size_t sort_rows(const struct callers *callers, uint32_t *rows, size_t count)
{
    uint32_t *sorted = memory_new(count, sizeof(*sorted));
    size_t at = 0, named = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < count; i++)
            if ((i < callers->count ? rank_of(callers, i) : RANK_CALLER) == (enum rank)rank)
                sorted[at++] = rows[i];
        named = rank < RANK_WHOLE ? at : named;
    }
    memcpy(rows, sorted, count * sizeof(*rows));
    free(sorted);
    return named;
}

size_t deepest_first(const struct compare *compare, uint32_t *rows, size_t count)
{
    const struct compare_table *stacks = &compare->tables[COMPARE_STACK];
    struct callers *callers = memory_new(1, sizeof(*callers));
    if (!count) {
        free(callers);
        return 0;
    }
    callers->compare = compare;
    callers->rows = rows;
    callers->count = count < MOST_ROWS ? count : MOST_ROWS;
    callers->numbers = memory_new(compare->tables[COMPARE_FUNCTION].count, sizeof(*callers->numbers));
    for (size_t i = 0; i < callers->count; i++)
        callers->numbers[rows[i]] = (uint8_t)(i + 1);
    for (size_t i = 0; i < stacks->count; i++)
        add_stack(callers, &stacks->rows[i]);
    size_t named = sort_rows(callers, rows, count);
    free(callers->numbers);
    free(callers);
    return named;
}
