/* SPDX-License-Identifier: MIT */
/* The programs at the top of a report of many programs. */
#ifndef ANALYZE_VIEW_PROGRAMS_H
#define ANALYZE_VIEW_PROGRAMS_H

#include "analyze/view/histogram.h"
#include "analyze/view/view.h"

/* Prints the heaviest programs: CPU time, share, runs. Prints nothing if all tasks ran the same one. */
void programs_print(struct view *view);
/*
 * If the heaviest functions of HISTOGRAM (by function, sorted, of ENTRIES[COUNT]) have little of the whole as self
 * weight: prints, for each program, the functions with the largest total weight below those that nearly all of its time
 * passes through. Of functions that call each other and have nearly the same total, it prints the outermost. Returns
 * whether it printed anything.
 */
bool programs_print_inclusive(struct view *view, struct histogram *histogram, const uint32_t *entries, uint32_t count);

#endif
