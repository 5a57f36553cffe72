/* SPDX-License-Identifier: MIT */
/* Where --stat prints its counts: stderr, or the file of --counts-file. */
#ifndef COLLECTOR_COUNT_OUTPUT_H
#define COLLECTOR_COUNT_OUTPUT_H

#include "collector/config/settings.h"
#include "collector/outcome.h"
#include "collector/sources/session.h"

struct count_output {
    int fd; /* -1: nothing is printed */
    bool own;
};

/* Before the command starts, so that a wrong name costs nothing. 0 or -errno after report_error(). */
int count_output_open(struct count_output *output, const struct settings *settings);
/* Prints the counts (--stat), then the times (--show-time). 0 or -errno after report_error(). */
int count_output_print(const struct count_output *output, const struct session *session, struct outcome *outcome);
/*
 * Prints an interval that ended at NOW_NS after LENGTH_NS, and empties it. An error of the output is reported at the
 * end. Nothing without --print-interval.
 */
void count_output_interval(const struct count_output *output, const struct session *session, struct counts *interval,
                           uint64_t now_ns, uint64_t length_ns);
/* The command of SETTINGS, in one line. Owned by the caller; NULL: out of memory. */
char *count_output_command(const struct settings *settings);
void count_output_close(struct count_output *output);

#endif
