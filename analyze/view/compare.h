/* SPDX-License-Identifier: MIT */
/*
 * Sums for the two sides of a comparison, each of one or more runs, by normalized names: see versions.h.
 */
#ifndef ANALYZE_VIEW_COMPARE_H
#define ANALYZE_VIEW_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/map.h"
#include "analyze/view/significance.h"
#include "analyze/view/versions.h"
#include "analyze/view/view.h"

/* In the order of the words of diff's --by. */
enum compare_by { COMPARE_COMM, COMPARE_DSO, COMPARE_FUNCTION, COMPARE_STACK, COMPARE_KINDS };

struct compare_row {
    /* Numbers of texts: comm and executable; DSO; symbol and DSO. Of a stack: the row of the next outer stack + 1, and
     * the function's row; of the outermost stack 0, and the command's row. */
    uint32_t first, second;
    struct noise_sum sums[2]; /* before, after: over all runs of a side */
    double shares[2];         /* percent: mean of the runs' shares, so that each run counts the same; set at the end */
    /* Percent of the whole of side A: the change of the row if both sides had run at one speed and no other row had
     * changed (see judge.h). With one run on each side: the change of the share. */
    double points;
    uint64_t stamp;
    bool wanted; /* by --symbol and --dso */
    /* Which figure decides, the points or the weight, and whether the row has changed by it. */
    bool by_points, changed;
    bool out; /* not part of what the other rows are compared with */
    /* The smallest change of a run's weight, or of its points, that counts. Infinite if not known: with one run on each
     * side, or too few samples of the row. */
    double weight_limit, points_limit;
};

struct compare_table {
    struct map keys;
    struct compare_row *rows;
    size_t count, capacity;
    uint64_t *weights; /* [row][run] */
    size_t weight_capacity;
    double runs_wanted; /* runs per side that are needed to see a change of any row by JUDGE_SMALL; 0: not known */
};

/* A DSO whose file is no longer the one that ran, on at least one side: its functions have no names to compare. */
struct compare_gone {
    uint32_t dso;        /* number of a text */
    const char *why;     /* of symbols_why() */
    uint64_t weights[2]; /* of samples in it without a name */
};

struct compare {
    struct map_strings texts;
    struct versions versions; /* complete before compare_look() of the first run */
    struct compare_gone *gone;
    size_t gone_count, gone_capacity;
    struct compare_table tables[COMPARE_KINDS];
    struct compare_table selves; /* with `total`: functions by self weight */
    struct noise_side sides[2];
    size_t runs[2];
    uint64_t *run_weights; /* [run]: its whole weight; the runs of the first side come first */
    double limit;          /* smallest change of the whole weight that counts, as weight_limit of a row */
    bool total;            /* with callees, where possible; else self */
    bool no_executables;
    /* To be set before compare_finish(): the machine was loaded and the sides ran at different times, so weights are
     * not judged. */
    bool apart;
    uint64_t stamp;
};

enum compare_verdict {
    COMPARE_NOISE,   /* runs of one side differ as much; with one run on each side: sampling may be the only reason */
    COMPARE_UNKNOWN, /* more than sampling explains, but the differences between runs are not known */
    COMPARE_CHANGED,
};

/* TOTAL: functions and DSOs with everything they called. RUNS: at least 1 on each side. */
void compare_init(struct compare *compare, const size_t runs[2], bool total);
void compare_release(struct compare *compare);
/* To be called for all runs before the first compare_add(): finds the DSOs whose functions cannot be compared. */
void compare_look(struct compare *compare, struct view *view, int side);
/* Adds the selected samples of VIEW as run RUN of side 0 or 1. */
void compare_add(struct compare *compare, struct view *view, int side, size_t run);
/* To be called after all runs were added. */
void compare_finish(struct compare *compare);

/* The wanted rows of BY that have samples. Those that changed come first; then by the size of the change: of the points
 * if BY_SHARE, else of the weight. */
uint32_t *compare_order(const struct compare *compare, enum compare_by by, bool by_share, size_t *ret_count);

/* Whether there are enough runs to judge. */
bool compare_judges(const struct compare *compare);
/* Means over the runs of a side. */
double compare_weight(const struct compare *compare, const struct noise_sum sums[2], int side);
double compare_weight_of_all(const struct compare *compare, int side);
double compare_weight_change(const struct compare *compare, const struct noise_sum sums[2]);
enum compare_verdict compare_weight_verdict(const struct compare *compare, const struct compare_row *row);
enum compare_verdict compare_points_verdict(const struct compare *compare, const struct compare_row *row);
/* Whether the row has enough samples, in enough runs. */
bool compare_judged(const struct compare_row *row);
/* The verdict on the whole weight. */
enum compare_verdict compare_verdict(const struct compare *compare);
/* DSO's self share of a side in percent. */
double compare_dso_share(const struct compare *compare, uint32_t dso, int side);
const char *compare_text(const struct compare *compare, uint32_t text);

#endif
