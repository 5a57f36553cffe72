/* SPDX-License-Identifier: MIT */
/* The first lines of a report: what ran, when, and how much was seen. */
#ifndef ANALYZE_VIEW_HEADING_H
#define ANALYZE_VIEW_HEADING_H

#include "analyze/view/view.h"

void heading_print(struct view *view);
/*
 * "12.3 s elapsed, 20.1 s of CPU time (1.63 CPUs busy on average); 99.6 % of the CPU time is in this profile; no
 * samples lost", without what is not known; owned by the caller.
 */
char *heading_run(const struct view *view);
/* The program that the session began with, with its command line; NULL: not known, as in perf's own files. */
const struct profile_generation *heading_generation(const struct profile *profile);
/* The command line of the session as one line; owned by the caller. */
char *heading_command(const struct profile *profile);
/* "task-clock: 9.50 s in 9,523 samples of 312 tasks, none lost", of --stat "counted without samples: 312 tasks"; owned
 * by the caller. */
char *heading_event(const struct view *view);
/* "619 samples could not be written: 2 result files are missing or not complete", "" of no FILES; owned by the
 * caller. */
char *heading_unwritten(uint64_t files, uint64_t samples);
/* The time that the command took, and the CPU time of the whole run, where they are known; 0: they are not. */
uint64_t heading_elapsed(const struct profile *profile);
uint64_t heading_cpu(const struct profile *profile);
/* CPUs that other programs used on average while the session ran; negative: not known, or too short to tell. */
double heading_others(const struct profile_session *session);
/* "other programs used 0.05 to 0.90 of 2 CPUs": theirs alone. CPUS 0: not known. Owned by the caller. */
char *heading_others_text(double least, double most, uint32_t cpus);
/* Ten clock ticks of most kernels: what is less of user space or of the kernel, by these ticks, says nothing. */
#define HEADING_LEAST_SIDE_NS 40000000

/* CPU time that samples of the shown event stand for. False: they are no times, or there is none. */
bool heading_sampled(const struct profile *profile, uint64_t *ret_ns);
/* The time from the session's start to the last record of a task; 0: unknown. */
uint64_t heading_duration(const struct profile *profile);
/* For want of events its tasks were sampled by timers, where these could run. */
bool heading_by_timers(const struct profile *profile);
/* Kernel code could not be sampled, so that CPU time is missing from the samples. */
bool heading_misses_kernel(const struct profile *profile);
/*
 * A sentence for lists of WHAT ("Functions"): of one that calls the kernel a profile of user space has the smaller
 * part, and ranks it by that. NULL where the kernel had little of the time, or is in the profile; owned by the caller.
 */
char *heading_user_part(const struct profile *profile, const char *what);
/* "2026-11-21 10:41:02", local time, or "" when unknown. */
char *heading_when(char *ret, size_t size, uint64_t realtime_ns);

#endif
