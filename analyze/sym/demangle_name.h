/* SPDX-License-Identifier: MIT */
#ifndef ANALYZE_SYM_DEMANGLE_NAME_H
#define ANALYZE_SYM_DEMANGLE_NAME_H

#include "analyze/sym/name_pool.h"

/*
 * The C++ or Rust name of RAW, as perf report prints it: no parameters, no clone suffix, no hash. RAW itself when it
 * is not mangled, cannot be demangled, or its name would be too long.
 */
const char *demangle_name(struct name_pool *pool, const char *raw);

#endif
