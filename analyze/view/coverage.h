/* SPDX-License-Identifier: MIT */
/* What was not seen: said at the end of every report. */
#ifndef ANALYZE_VIEW_COVERAGE_H
#define ANALYZE_VIEW_COVERAGE_H

#include "common/json.h"
#include "analyze/view/view.h"

void coverage_print(struct view *view);
/* One line of what is said there, for --markdown too. */
void coverage_say(struct view *view, const char *text);
/* The member "coverage". */
void coverage_json(struct json *json, const struct profile *profile);

#endif
