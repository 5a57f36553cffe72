/* SPDX-License-Identifier: MIT */
/* Functions whose names are like one that no sample has: what --symbol may have meant. */
#ifndef ANALYZE_VIEW_SUGGEST_H
#define ANALYZE_VIEW_SUGGEST_H

#include "analyze/view/view.h"

/* "symbol_table::finalize(bool)", "finalize.part.0" and "__finalize@@V1" are all called "finalize"; "" where nothing is
 * left. Owned by the caller. */
char *suggest_base(const char *symbol);
/* "; did you mean 'a::f', 'b::f' or 'f'?": the heaviest functions whose base name is that of the first --symbol; HIT:
 * of those that samples hit. "" where there is none. Owned by the caller. */
char *suggest_hint(struct view *view, bool hit);
/* Says that nothing matches --object and --symbol; the exit status. */
int suggest_refuse(struct view *view);

#endif
