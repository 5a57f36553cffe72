/* SPDX-License-Identifier: MIT */
/*
 * Sums of samples by source line, by source file, or by function with inlined functions separate: report --by line,
 * file and inline.
 */
#ifndef ANALYZE_VIEW_LINE_HISTOGRAM_H
#define ANALYZE_VIEW_LINE_HISTOGRAM_H

#include "analyze/view/lines.h"
#include "analyze/view/view.h"
#include "common/json.h"

/* Advice for readers of lines or instructions. */
#define LINES_ARE_LATE                                                                                        \
    "A sample often hits the instruction that waits for a slow one (a division, a cache miss), not the slow " \
    "one itself: look at the line before, too."

/* Whether BY (enum settings_by) is one of the three. */
bool line_histogram_wanted(int by);
/* Whether one of ENTRIES[COUNT] hit a line or function that the filters leave. VIEW->lines must be set. */
bool line_histogram_find(const struct view *view, const uint32_t *entries, uint32_t count);
/* Prints the table of ENTRIES[COUNT], at most LIMIT rows. VIEW->lines must be set. */
void line_histogram_print(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit);
/* Prints the DSOs without line information, with the number of their samples and addresses, and the reason. */
void line_histogram_print_missing(struct view *view);
/* The member "lines", "files" or "inlined", and "lines_missing". */
void line_histogram_json(struct json *json, struct view *view);

#endif
