/* SPDX-License-Identifier: MIT */
/* From the operands of the command line to the files that are read. */
#ifndef ANALYZE_INPUTS_H
#define ANALYZE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

struct inputs {
    char **paths; /* owned */
    size_t count, capacity;
};

/*
 * OPERANDS[COUNT]: files, and directories, which stand for the result files in them. None: out.PID.TID of the working
 * directory, or else perf.data, which is said. 0, or -ENOENT after a message when there is nothing to read.
 */
int inputs_find(struct inputs *inputs, const char *const *operands, size_t count);
/*
 * Whether the operands A and B name results of one place: files BASE.PID.TID with the same BASE and directory, or
 * equal.
 */
bool inputs_same_place(const char *a, const char *b);
/*
 * The same for files of a session that still runs: a result file stands for all BASE.PID.TID of its directory that are
 * there by now. BASE not NULL: that one, without OPERANDS.
 */
int inputs_follow(struct inputs *inputs, const char *base, const char *const *operands, size_t count);
void inputs_release(struct inputs *inputs);

#endif
