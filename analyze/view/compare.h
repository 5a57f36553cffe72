/* SPDX-License-Identifier: MIT */
/*
 * Two sides of a comparison added up, each of one or more runs, by what two builds have in common: see normalize.h.
 */
#ifndef ANALYZE_VIEW_COMPARE_H
#define ANALYZE_VIEW_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/map.h"
#include "analyze/view/noise.h"
#include "analyze/view/versions.h"
#include "analyze/view/view.h"

/* In the order of the words of --by of diff. */
enum compare_by { COMPARE_COMM, COMPARE_DSO, COMPARE_FUNCTION, COMPARE_STACK, COMPARE_KINDS };

struct compare_row {
    /* Numbers of texts: comm and executable; DSO; symbol and DSO. Of a stack: the row of the stack around it +
     * 1, and the function's row; of an outermost one 0, and the command's row. */
    uint32_t first, second;
    struct noise_sum sums[2]; /* before, after: of all runs of a side together */
    double shares[2];         /* percent: the mean of the runs' shares, so that each run counts the same; at the end */
    /* Percent of all of side A: the change of the row as it would be had both sides run at one speed, and had no other
     * row changed (see judge.h). With one run on each side the change of the share. */
    double points;
    uint64_t stamp;
    bool wanted; /* by --symbol and --object */
    /* Which of the two figures decides, the weight or the points, and whether the row has changed by it. */
    bool by_points, changed;
    bool out; /* of what the other rows are compared with */
    /* How large a change of the weight of a run, or of its points, must be to count. Infinite where that is not known:
     * where each side has one run, or the row too few samples. */
    double weight_limit, points_limit;
};

struct compare_table {
    struct map keys;
    struct compare_row *rows;
    size_t count, capacity;
    uint64_t *weights; /* [row][run] */
    size_t weight_capacity;
    double runs_wanted; /* of a side, to see any row change by JUDGE_SMALL of all; 0: not known */
};

/* A DSO whose file is not the one that ran, on one side at least: its functions have no names to compare. */
struct compare_gone {
    uint32_t dso;     /* number of a text */
    const char *why;  /* of symbols_why() */
    uint64_t weights[2]; /* of samples in it without a name */
};

struct compare {
    struct map_strings texts;
    struct versions versions; /* complete before the first run is looked at */
    struct compare_gone *gone;
    size_t gone_count, gone_capacity;
    struct compare_table tables[COMPARE_KINDS];
    struct compare_table selves; /* with TOTAL: of functions, by self */
    struct noise_side sides[2];
    size_t runs[2];
    uint64_t *run_weights; /* [run]: all of it; the runs before come first */
    double limit;          /* of the change of all weight, as in a row */
    bool total; /* with what was called, where that can be; else self */
    bool no_executables;
    /* To be set before compare_finish(): the machine was loaded, and the sides ran at different times; so weights are
     * not judged. */
    bool apart;
    uint64_t stamp;
};

enum compare_verdict {
    COMPARE_NOISE,   /* the runs differ as much, or with one run on each side: sampling alone may be the reason */
    COMPARE_UNKNOWN, /* more than sampling alone, but how much runs differ is not known */
    COMPARE_CHANGED,
};

/* TOTAL: functions and DSOs with everything that they called. RUNS: at least 1 on each side. */
void compare_init(struct compare *compare, const size_t runs[2], bool total);
void compare_release(struct compare *compare);
/* Of all runs, before the first is added: finds the DSOs whose functions cannot be compared. */
void compare_look(struct compare *compare, struct view *view, int side);
/* What VIEW has chosen, as run RUN of side 0 or 1. */
void compare_add(struct compare *compare, struct view *view, int side, size_t run);
/* After all runs. */
void compare_finish(struct compare *compare);

/* The rows of BY that have samples and are wanted, what has changed and largest change first: of the points when
 * BY_SHARE. */
uint32_t *compare_order(const struct compare *compare, enum compare_by by, bool by_share, size_t *ret_count);

/* Whether there are enough runs to judge. */
bool compare_judges(const struct compare *compare);
/* The mean of the runs of a side. */
double compare_weight(const struct compare *compare, const struct noise_sum sums[2], int side);
double compare_weight_of_all(const struct compare *compare, int side);
double compare_weight_change(const struct compare *compare, const struct noise_sum sums[2]);
enum compare_verdict compare_weight_verdict(const struct compare *compare, const struct compare_row *row);
enum compare_verdict compare_points_verdict(const struct compare *compare, const struct compare_row *row);
/* Whether it has enough samples, in enough runs. */
bool compare_judged(const struct compare_row *row);
/* Of all weight. */
enum compare_verdict compare_verdict(const struct compare *compare);
/* Percent of a side that DSO has, where it is compared by self. */
double compare_dso_share(const struct compare *compare, uint32_t dso, int side);
const char *compare_text(const struct compare *compare, uint32_t text);

#endif
