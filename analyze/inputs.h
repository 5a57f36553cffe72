/* SPDX-License-Identifier: MIT */
/* Finds the input files by the operands of the command line. */
#ifndef ANALYZE_INPUTS_H
#define ANALYZE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

struct inputs {
    char **paths; /* owned; "-" is the standard input */
    size_t count, capacity;
};

/*
 * OPERANDS[COUNT]: files, "-" for the standard input, and directories, which stand for the result files in them. Without operands: out.PID.TID of
 * the working directory, else perf.data (a message says so). 0, or -ENOENT after a message if there is nothing to read.
 */
int inputs_find(struct inputs *inputs, const char *const *operands, size_t count);
/*
 * Whether the operands A and B are equal, or files BASE.PID.TID with the same BASE and directory.
 */
bool inputs_same_place(const char *a, const char *b);
/*
 * The same for a session that still runs: a result file stands for all files BASE.PID.TID that its directory has by
 * now; "-" is refused. BASE not NULL: this BASE, instead of OPERANDS.
 */
int inputs_follow(struct inputs *inputs, const char *base, const char *const *operands, size_t count);
void inputs_release(struct inputs *inputs);

#endif
