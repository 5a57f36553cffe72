/* SPDX-License-Identifier: MIT */
/*
 * jit-PID.dump: a JIT compiler's description of its code, as in
 * linux/tools/perf/Documentation/jitdump-specification.txt.
 */
#ifndef ANALYZE_SYM_JIT_DUMP_H
#define ANALYZE_SYM_JIT_DUMP_H

#include "analyze/sym/name_table.h"

enum jit_dump_result {
    JIT_DUMP_READ,
    JIT_DUMP_MISSING, /* or not a regular file, or not readable */
    JIT_DUMP_FOREIGN, /* owned neither by this user nor by root: not read */
    JIT_DUMP_DAMAGED, /* what comes before the damage was read */
};

/*
 * Adds the functions of the dump at PATH to TABLE (not finished), in the order in which they were generated. Code and
 * line numbers are skipped. Names go to the table's pool. Memory is bounded: more functions, or bytes of names, than a
 * fixed limit count as damage.
 */
enum jit_dump_result jit_dump_read(const char *path, struct name_table *table);

#endif
