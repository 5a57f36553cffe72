/* SPDX-License-Identifier: MIT */
/* What limited the speed of a run: how many CPUs were busy, and whether one process ran alone for long. */
#ifndef ANALYZE_VIEW_CPU_USE_H
#define ANALYZE_VIEW_CPU_USE_H

#include "analyze/view/view.h"

/*
 * "0.56 of 2 CPUs were busy on average; cc1 of big.c ran alone for 3.60 s". Processes that mostly waited do not count.
 * NULL: nothing can be said. Owned by the caller.
 */
char *cpu_use_text(const struct view *view);

#endif
