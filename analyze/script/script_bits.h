/* SPDX-License-Identifier: MIT */
/* Numbers in samples whose bits have names. */
#ifndef ANALYZE_SCRIPT_SCRIPT_BITS_H
#define ANALYZE_SCRIPT_SCRIPT_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Room for any text below. */
enum { BITS_TEXT = 320 };

/* These write into RET[BITS_TEXT] and return it. */
/* "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK N/A" of union perf_mem_data_src. */
char *bits_data_source(char *ret, uint64_t value);
/* The same part by part, as perf report and perf script name them: "LOAD", "L1 hit", "None", "L1 or L2 hit", ... */
enum bits_access { ACCESS_OPERATION, ACCESS_LEVEL, ACCESS_SNOOP, ACCESS_TLB, ACCESS_LOCK, ACCESS_BLOCK, ACCESS_PARTS };
char *bits_access(char *ret, enum bits_access part, uint64_t value);
/* "4K", "2M", "N/A" */
char *bits_page_size(char *ret, uint64_t bytes);
/* "AX", "X0", "r40" of a machine (uname -m; "": this one) */
char *bits_register(char *ret, const char *machine, unsigned bit);
/* PERF_BR_*: "COND", "CALL"; "-": not known. */
const char *bits_branch_type(unsigned type, unsigned new_type);

#endif
