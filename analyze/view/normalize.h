/* SPDX-License-Identifier: MIT */
/* Name normalization: removes what a build, directory or version adds to a name, so that two builds or runs match. */
#ifndef ANALYZE_VIEW_NORMALIZE_H
#define ANALYZE_VIEW_NORMALIZE_H

#include "analyze/model/profile.h"

/* Both results are owned by the caller. "/opt/b/libx.so.1.2.3" is "libx.so". */
char *normalize_dso(const char *path);
/* "parse.isra.0", "parse.part.3.cold" and "parse(int) [clone .cold]" become the function that they are parts of. */
char *normalize_symbol(const char *symbol);
/* The executable of TASK while its name was COMM; "" if unknown. */
const char *normalize_executable(const struct profile_task *task, const char *comm);

#endif
