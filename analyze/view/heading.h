/* SPDX-License-Identifier: MIT */
/* The first lines of a report: what ran, when, and how much of it was profiled. */
#ifndef ANALYZE_VIEW_HEADING_H
#define ANALYZE_VIEW_HEADING_H

#include "analyze/view/view.h"

void heading_print(struct view *view);
/* What a report without samples has in place of its table, after an empty line. */
void heading_print_no_samples(struct view *view);
/*
 * "12.3 s elapsed, 20.1 s of CPU time (1.63 CPUs busy on average); 99.6 % of the CPU time is in this profile; no
 * samples lost", without unknown parts; owned by the caller.
 */
char *heading_run(const struct view *view);
/* The first program of the session, with its command line; NULL: not known, as in files of perf. */
const struct profile_generation *heading_generation(const struct profile *profile);
/* The command line of the session as one line; owned by the caller. */
char *heading_command(const struct profile *profile);
/* "task-clock: 9.50 s in 9,523 samples of 312 tasks, none lost"; for --stat "counted, not sampled: 312 tasks"; owned
 * by the caller. */
char *heading_event(const struct view *view);
/* Whether the counts of a chosen task include those of all its descendants, which have no files: pinject-run --stat. */
bool heading_is_whole_tree(const struct view *view);
/* "619 samples could not be written: 2 result files are missing or not complete"; "" if FILES is 0; owned by the
 * caller. */
char *heading_unwritten(uint64_t files, uint64_t samples);
/* The elapsed time of the command, and the CPU time of the whole run; 0: not known. */
uint64_t heading_elapsed(const struct profile *profile);
uint64_t heading_cpu(const struct profile *profile);
/* CPUs that other programs used on average while the session ran; negative: not known, or too short to tell. */
double heading_others(const struct profile_session *session);
/* "other programs used 0.05 to 0.90 of 2 CPUs". CPUS 0: not known. Owned by the caller. */
char *heading_others_text(double least, double most, uint32_t cpus);
/* Ten clock ticks of most kernels. User and kernel times are counted in ticks, so a smaller time says nothing. */
#define HEADING_LEAST_SIDE_NS 40000000

/* The CPU time that the samples of the shown event stand for. False: the event is no time, or has none. */
bool heading_sampled(const struct profile *profile, uint64_t *ret_ns);
/* The time from the session's start to the last record of a task; 0: unknown. */
uint64_t heading_duration(const struct profile *profile);
/* Whether tasks were sampled by timers, where possible, because there were no perf events. */
bool heading_by_timers(const struct profile *profile);
/* Whether kernel code could not be sampled, so that its CPU time is not in the samples. */
bool heading_misses_kernel(const struct profile *profile);
/*
 * A sentence for lists of WHAT ("Functions"): a profile of only user space ranks functions that call the kernel by
 * their user part alone. NULL if the kernel had little of the time or is in the profile; owned by the caller.
 */
char *heading_user_part(const struct profile *profile, const char *what);
/* "2026-11-21 10:41:02", local time, or "" when unknown. */
char *heading_when(char *ret, size_t size, uint64_t realtime_ns);

#endif
