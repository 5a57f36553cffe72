/* SPDX-License-Identifier: MIT */
/*
 * For formats in which a process has only one name: each program that a process executes becomes a process of its own,
 * "10", then "10.1". Programs without samples are left out, except for the last one.
 */
#ifndef ANALYZE_EXPORT_LIVES_H
#define ANALYZE_EXPORT_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/export/sample_list.h"
#include "analyze/view/process_tree.h"

enum { LIVES_NUMBER = 24 };

struct lives {
    const struct profile *profile;
    struct process_tree lineage;
    uint32_t *first;   /* by task: index of its first program in `numbers` */
    uint32_t *numbers; /* by program: its number among the shown ones of its task, from 1 on; 0: it is left out */
};

struct life {
    const char *comm, *exec;
    char pid[LIVES_NUMBER];
    uint64_t start_ns, end_ns; /* 0: unknown */
    size_t from, count;        /* samples */
};

/* For the tasks with WANTED[index]. */
void lives_init(struct lives *lives, const struct profile *profile, const bool *wanted, const struct samples *samples);
void lives_release(struct lives *lives);
/* The number of programs of TASK, at least 1. */
uint32_t lives_count(const struct profile_task *task);
/*
 * Program NUMBER of TASK; false: it is left out. FROM: index of the first sample after those of TASK's earlier
 * programs; if that is another task's, the program has no samples.
 */
bool lives_get(const struct lives *lives, const struct samples *samples, const struct profile_task *task,
               uint32_t number, size_t from, struct life *ret);

#endif
