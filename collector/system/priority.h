/* SPDX-License-Identifier: MIT */
/* How soon the scheduler runs a thread of the collector. */
#ifndef COLLECTOR_SYSTEM_PRIORITY_H
#define COLLECTOR_SYSTEM_PRIORITY_H

#include <stdbool.h>

/*
 * For a thread that works for microseconds while somebody waits for it: lets it run soon after it is woken. What the
 * kernel refuses is left as it is. Threads that it makes have that too, and may ask again. Not for the process' first
 * thread.
 */
void priority_ask_for_quick_wakes(void);
/* The part of that which needs no right: a short time slice. For a process of its own. */
void priority_ask_for_short_slices(void);
/*
 * Can threads run before the programs of another session: may they have a real-time priority, or does the scheduler
 * make no group of each session (autogroups)? If not, an answer to a program in a session of its own takes up to
 * milliseconds. Context: a thread with the usual policy.
 */
bool priority_outruns_other_sessions(void);

#endif
