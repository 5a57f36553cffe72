/* SPDX-License-Identifier: MIT */
/* A report of many programs begins with them. */
#ifndef ANALYZE_VIEW_PROGRAMS_H
#define ANALYZE_VIEW_PROGRAMS_H

#include "analyze/view/histogram.h"
#include "analyze/view/view.h"

/* The heaviest programs: CPU time, share, runs. Nothing where all tasks ran the same one. */
void programs_print(struct view *view);
/*
 * Where the heaviest functions of HISTOGRAM (by function, sorted, of ENTRIES[COUNT]) have little of the whole by
 * themselves: those of each program that have most of its time with what they called, below those through which nearly
 * all of it went. Of functions that call each other and have nearly the same the outermost is shown. Whether it printed
 * some.
 */
bool programs_print_inclusive(struct view *view, struct histogram *histogram, const uint32_t *entries, uint32_t count);

#endif
