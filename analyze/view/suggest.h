/* SPDX-License-Identifier: MIT */
/* Suggests functions that --symbol may have meant, if no sample matches it. */
#ifndef ANALYZE_VIEW_SUGGEST_H
#define ANALYZE_VIEW_SUGGEST_H

#include "analyze/view/view.h"

/* The base name: "finalize" for "symbol_table::finalize(bool)", "finalize.part.0" and "__finalize@@V1"; "" if nothing
 * is left. Owned by the caller. */
char *suggest_base(const char *symbol);
/* "; did you mean 'a::f', 'b::f' or 'f'?": the heaviest functions with the base name of the first --symbol; HIT: only
 * leaves of samples. "": there is none. Owned by the caller. */
char *suggest_hint(struct view *view, bool hit);
/* Reports that nothing matches --object and --symbol; returns the exit status. */
int suggest_refuse(struct view *view);

#endif
