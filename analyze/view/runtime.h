/* SPDX-License-Identifier: MIT */
/* Runtimes with JIT compilers, and the options that make each write the names of its JIT code. */
#ifndef ANALYZE_VIEW_RUNTIME_H
#define ANALYZE_VIEW_RUNTIME_H

#include "analyze/model/profile.h"

/*
 * What to do so that the next profile of TASK's program has the names of JIT code: "start it with ...". NULL: it is no
 * known runtime. Reads the version file beside the program, below SYMFS (NULL: none). Owned by the caller.
 */
char *runtime_advice(const struct profile_task *task, const char *symfs);

#endif
