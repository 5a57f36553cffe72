/* SPDX-License-Identifier: MIT */
/* The segment's bits of tasks that have events, or are covered by inheritance. Thread-safe, without a lock. */
#ifndef COLLECTOR_SOURCES_COVERED_H
#define COLLECTOR_SOURCES_COVERED_H

#include <stdbool.h>
#include <sys/types.h>

struct session;

/* Marks TID as covered in the segment, or not: for tasks that have events in another way. */
void covered_mark(struct session *session, pid_t tid, bool covered);

#endif
