/* SPDX-License-Identifier: MIT */
/* What a result file is made of: its task, exec generations, modules, coverage. Borrowed during a call. */
#ifndef COLLECTOR_OUTPUT_RESULT_TASK_H
#define COLLECTOR_OUTPUT_RESULT_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/config/event_config.h"
#include "collector/sources/attach.h"
#include "collector/stacks/stacks.h"

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
    bool later;                                /* the file of one exec generation, and there were others before it */
    const struct attach_value *before;         /* what was counted in those; NULL: unknown, or nothing */
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
    uint64_t machine_ns, others_ns;               /* see outcome.h */
    uint64_t user_ns, kernel_ns;                  /* of cpu_ns, where that is known; else 0 */
    uint64_t incomplete_files, unwritten_samples; /* see results_error(); set by result_flush() and result_finish() */
    bool complete;
    const struct result_missed *missed;
    unsigned missed_count;
    const char *stacks; /* a note: how call stacks came about; "" or NULL: none */
    const char *stolen; /* a note: see outcome.h; "" or NULL: none */
};

#endif
