/* SPDX-License-Identifier: MIT */
/*
 * The standard input as an input file, whose name is "-". panalyze reads a file more than once and a pipe gives its
 * bytes once, so they are kept in a temporary file that has no name. A regular file that is read from its start is
 * taken as it is.
 */
#ifndef ANALYZE_READ_STANDARD_INPUT_H
#define ANALYZE_READ_STANDARD_INPUT_H

#include <stdbool.h>

#include "analyze/read/problem.h"

/* Whether PATH stands for the standard input. A file of this name is "./-". */
bool standard_input_is(const char *path);
/*
 * A descriptor, owned by the caller, of a regular file with what the standard input had. The first call reads the
 * standard input to its end, later ones give the same file. It stops at bytes that are no perf.data. Not for several
 * threads at a time. -errno with the reason in PROBLEM.
 */
int standard_input_open(struct problem *problem);

#endif
