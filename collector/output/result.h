/* SPDX-License-Identifier: MIT */
/*
 * One result file: a complete perf.data file for one task (or one exec generation of it), readable at every moment
 * while it grows. Context: the event loop's thread only.
 *
 * Order of writing an update: header without features, data and feature sections behind it, header with sizes and
 * features; so a reader, a killed collector or a full disk never meet a header that promises what is not there. The
 * first version gets its name when it is complete; where the file system cannot do that, it is written without its
 * header, which follows, in one write where all of it fits a page.
 * SIGXFSZ is ignored, so that a limit of the file size is an error like others.
 */
#ifndef COLLECTOR_OUTPUT_RESULT_H
#define COLLECTOR_OUTPUT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "collector/stacks/stacks.h"

/* What all files of a session share: names taken, machine description, cache of build ids. */
struct results;
struct result;
struct mapping;
struct opener;

struct result_generation {
    uint64_t start_ns;
    const char *comm;
    const char *exec;    /* "" when unknown */
    const char *cmdline; /* arguments, each NUL-terminated */
    size_t cmdline_size;
    bool counted;                              /* values are known */
    struct attach_value values[CONFIG_EVENTS]; /* of this exec generation alone */
};

/* A DSO that was mapped executable: what its build id is looked up by. */
struct result_module {
    const char *path;
    uint32_t maj, min;
    uint64_t ino, ino_generation;
};

/* A task as it stands now. Borrowed during the call. */
struct result_task {
    pid_t pid, tid, ppid, parent_tid;
    uint32_t flags;  /* enum pinject_task_flags */
    uint32_t source; /* enum pinject_task_source */
    uint32_t kind;   /* enum pinject_kind */
    int status;
    uint64_t start_ns, end_ns, startup_ns, exit_ns, lost, samples;
    uint64_t first_sample_ns, last_sample_ns; /* 0: none */
    struct stack_counts stacks;
    uint64_t ids[CONFIG_EVENTS];
    struct attach_value values[CONFIG_EVENTS]; /* of the whole task */
    const struct result_generation *generations;
    unsigned generation_count;
    const char *const *notes;
    unsigned note_count;
};

struct result_missed {
    const char *reason;
    const char *comm;
    uint64_t count, cpu_ns;
    bool chosen; /* the options do not ask for it */
};

/* For the file of the root task, when the session ends. */
struct result_coverage {
    uint64_t cpu_ns, attributed_ns, tasks, files, collector_ns;
    uint64_t machine_ns, others_ns; /* see outcome.h */
    uint64_t user_ns, kernel_ns;    /* of cpu_ns, where that is known; else 0 */
    uint64_t incomplete_files, unwritten_samples; /* see results_error(); set by result_flush() and result_finish() */
    bool complete;
    const struct result_missed *missed;
    unsigned missed_count;
    const char *stacks; /* a note: how call stacks came about; "" or NULL: none */
    const char *stolen; /* a note: see outcome.h; "" or NULL: none */
};

/* Files of earlier sessions that were renamed, so that this one's have their names. */
uint64_t results_moved(const struct results *results);
/* Checks that files can be created at BASE before the command starts: 0 or -errno after report_error(). Older files are
 * replaced only by name, when a task gets it. */
int results_new(struct session *session, struct results **ret);
void results_free(struct results *results);
/* PID has MAPPING by now: its build id will be needed (buildids_expect()). Of NULL: nothing. */
void results_expect(struct results *results, pid_t pid, const struct mapping *mapping, uint64_t now_ns);
/* Who reads the files of targets. */
struct opener *results_opener(const struct results *results);
/* Frees what is kept for the next files only. */
void results_trim(struct results *results);
uint64_t results_written(const struct results *results); /* files */
uint64_t results_bytes(const struct results *results);
/* The first error of writing (disk full ...), 0: none; *ret_files: those that are missing or not complete,
 * *ret_samples: what would have been in them. Said once by report_error() when it happens. */
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
/* Adds the counts as READ records, flushes and closes; frees RESULT always. */
int result_finish(struct result *result, const struct result_task *task, const struct result_coverage *coverage);
const char *result_path(const struct result *result);

#endif
