/* SPDX-License-Identifier: MIT */
/* Programs that generate code, and how each is told to leave the names of what it generated. */
#ifndef ANALYZE_VIEW_RUNTIME_H
#define ANALYZE_VIEW_RUNTIME_H

#include "analyze/model/profile.h"

/*
 * What to do so that the next profile of TASK's program has the names of generated code: "start it with ...". NULL: it
 * is no known runtime. Reads the version that lies beside the program, below SYMFS (NULL: none). Owned by the caller.
 */
char *runtime_advice(const struct profile_task *task, const char *symfs);

#endif
