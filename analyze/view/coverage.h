/* SPDX-License-Identifier: MIT */
/* Reports what the profile misses, at the end of every report. */
#ifndef ANALYZE_VIEW_COVERAGE_H
#define ANALYZE_VIEW_COVERAGE_H

#include "common/json.h"
#include "analyze/view/view.h"

void coverage_print(struct view *view);
/* Prints one line of that, also for --markdown. */
void coverage_say(struct view *view, const char *text);
/* The member "coverage". */
void coverage_json(struct json *json, const struct profile *profile);

#endif
