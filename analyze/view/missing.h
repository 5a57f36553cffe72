/* SPDX-License-Identifier: MIT */
/* DSOs with samples and missing symbols: their share of the samples, the reason, and what helps. */
#ifndef ANALYZE_VIEW_MISSING_H
#define ANALYZE_VIEW_MISSING_H

#include "analyze/model/profile.h"
#include "analyze/view/view.h"

/* Prints a line for each of the heaviest. Names must be looked up before. */
void missing_print(struct view *view);
/* The same lines as notes on stderr, for views that write a file. */
void missing_tell(struct view *view);
/* How to unpack an archive beside the result file FILE, if it may have the names of the DSO PATH, which are missing for
 * the reasons MISSING (enum symbols_missing); NULL: no advice. Owned by the caller. */
char *missing_advice(const char *file, const char *path, unsigned missing);

/* Runtimes with JIT compilers, and the options that make each write the names of its JIT code. */

/*
 * What to do so that the next profile of TASK's program has the names of JIT code: "start it with ...". NULL: it is no
 * known runtime. Reads the version file beside the program, below SYMFS (NULL: none). Owned by the caller.
 */
char *runtime_advice(const struct profile_task *task, const char *symfs);

#endif
