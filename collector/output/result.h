/* SPDX-License-Identifier: MIT */
/*
 * One result file: a complete perf.data file for one task (or one exec generation of it), readable at every moment
 * while it grows. Context: the event loop's thread only.
 *
 * An update is written in this order: header without features; data and feature sections after it; header with sizes
 * and features. So neither a killed collector nor a full disk leaves a header that promises what is not there. The
 * first version gets its name when it is complete. If the file system cannot do that, it is written without its header,
 * which follows; in one write if all of it fits a page. SIGXFSZ is ignored, so that a limit of the file size is an
 * error like others.
 */
#ifndef COLLECTOR_OUTPUT_RESULT_H
#define COLLECTOR_OUTPUT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/output/result_task.h"

/* What all files of a session share: names taken, machine description, cache of build ids. */
struct results;
struct result;
struct mapping;
struct opener;
struct session;

/* Files of earlier sessions that were renamed to free their names for this one. */
uint64_t results_moved(const struct results *results);
/* Checks that files can be created at BASE before the command starts: 0 or -errno after report_error(). Older files
 * are replaced only when a task gets their name. */
int results_new(struct session *session, struct results **ret);
void results_free(struct results *results);
/* Reads what the first task's file says about the machine, while there is time; else it is read when that file is
 * written. RESULTS may be NULL. Any thread. */
void results_read_machine(struct results *results);
/* PID has MAPPING now: its build id will be needed (buildids_expect()). RESULTS may be NULL. */
void results_expect(struct results *results, pid_t pid, const struct mapping *mapping, uint64_t now_ns);
/* What reads the files of targets. */
struct opener *results_opener(const struct results *results);
/* Frees memory that is only kept for the next files. */
void results_trim(struct results *results);
uint64_t results_written(const struct results *results); /* files */
uint64_t results_bytes(const struct results *results);
/* The first error of writing (disk full ...), 0: none; *ret_files: those that are missing or incomplete,
 * *ret_samples: those that they would have. Reported once by report_error() when it happens. */
int results_error(const struct results *results, uint64_t *ret_files, uint64_t *ret_samples);
/* What such an error means: -ESTALE, a file was deleted, moved or replaced while it was written. */
const char *results_reason(int error);

/*
 * Starts the file of a task: BASE.PID.TID, with EXEC (non-NULL: --exec-split-results) BASE.PID.TID.EXEC (made safe for
 * a file name); when this session wrote that name already (pid reuse) ~1, ~2 ... is added. Nothing is on disk before
 * the first result_flush().
 */
int result_new(struct results *results, pid_t pid, pid_t tid, const char *exec, struct result **ret);
/* Appends one record in file form (struct perf_event_header first, size a multiple of 8). In memory until it is
 * flushed. */
int result_record(struct result *result, const void *record, size_t size);
/* Bytes not yet on disk. */
size_t result_pending(const struct result *result);
/* Writes everything so far, with features as of TASK; the file is complete afterwards. COVERAGE may be NULL. 0 or
 * -errno (counted, see results_error()). */
int result_flush(struct result *result, const struct result_task *task, const struct result_coverage *coverage);
/*
 * Adds READ records with what TASK counted since the last ones, of the time TASK->end_ns: --print-interval. 0 or -errno.
 */
int result_read(struct result *result, const struct result_task *task);
/* Adds the counts, or what is not in READ records yet, as READ records, flushes and closes; frees RESULT always. */
int result_finish(struct result *result, const struct result_task *task, const struct result_coverage *coverage);
const char *result_path(const struct result *result);

#endif
