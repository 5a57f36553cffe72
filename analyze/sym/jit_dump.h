/* SPDX-License-Identifier: MIT */
/*
 * jit-PID.dump: what a just-in-time compiler tells of the code it made, as in
 * linux/tools/perf/Documentation/jitdump-specification.txt.
 */
#ifndef ANALYZE_SYM_JIT_DUMP_H
#define ANALYZE_SYM_JIT_DUMP_H

#include "analyze/sym/name_table.h"

enum jit_dump_result {
    JIT_DUMP_READ,
    JIT_DUMP_MISSING, /* or not a regular file, or not readable */
    JIT_DUMP_FOREIGN, /* neither of this user nor of root: not read */
    JIT_DUMP_DAMAGED, /* what stands before the damage was read */
};

/*
 * Adds the functions of the dump at PATH to TABLE (not finished), in the order in which they were made. Code and line
 * numbers are skipped. Names go to the table's pool. Memory is bound: more than a fixed number of functions, or bytes
 * of names, is damage.
 */
enum jit_dump_result jit_dump_read(const char *path, struct name_table *table);

#endif
