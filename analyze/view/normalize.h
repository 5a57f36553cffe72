/* SPDX-License-Identifier: MIT */
/* What two builds or two runs have in common: names without what a build, a directory or a version puts into them. */
#ifndef ANALYZE_VIEW_NORMALIZE_H
#define ANALYZE_VIEW_NORMALIZE_H

#include "analyze/model/profile.h"

/* Both are owned by the caller. "/opt/b/libx.so.1.2.3" is "libx.so". */
char *normalize_dso(const char *path);
/* "parse.isra.0", "parse.part.3.cold" and "parse(int) [clone .cold]" are the function that they are parts of. */
char *normalize_symbol(const char *symbol);
/* The executable that TASK was when it was called COMM; "" when unknown. */
const char *normalize_executable(const struct profile_task *task, const char *comm);

#endif
