/* SPDX-License-Identifier: MIT */
/* Figures that follow from several events, as perf stat shows them beside a count: instructions per cycle, GHz ... */
#ifndef COUNTS_COUNT_METRIC_H
#define COUNTS_COUNT_METRIC_H

#include "counts/count.h"

struct count_metric {
    double value;
    const char *unit; /* "insn per cycle", "GHz", "of all branches" ... */
    bool percent;     /* value is one; else it is a number of UNIT */
    bool rate;        /* value is so many each second of CPU time */
};

/*
 * The figure beside event INDEX. False: there is none, since an event that it needs is missing, was not counted, or
 * counted something else (other modifiers). ELAPSED_NS: 0: unknown.
 */
bool count_metric(const struct count_event *events, const struct count_cell *cells, size_t count, size_t index,
                  uint64_t elapsed_ns, struct count_metric *ret);
/* A rate of 12345 as 12.345 K. Returns the unit: "/sec", "K/sec" ... */
const char *count_rate(double *value);

#endif
