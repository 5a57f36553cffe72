/* SPDX-License-Identifier: MIT */
/*
 * A process that executes another program, for formats in which a process has one name: each program is a process of
 * its own there, "10", then "10.1". Programs in which nothing was sampled are left out; the last one is always there.
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
    uint32_t *first;   /* by task: index of its first program in NUMBERS */
    uint32_t *numbers; /* of a program among those of its task that are shown, from 1 on; 0: it is left out */
};

struct life {
    const char *comm, *exec;
    char pid[LIVES_NUMBER];
    uint64_t start_ns, end_ns; /* 0: unknown */
    size_t from, count;        /* samples */
};

/* Of the tasks with WANTED[index]. */
void lives_init(struct lives *lives, const struct profile *profile, const bool *wanted, const struct samples *samples);
void lives_release(struct lives *lives);
/* How many programs TASK has, at least 1. */
uint32_t lives_count(const struct profile_task *task);
/*
 * Program NUMBER of TASK; false: it is left out. FROM: the index of the first sample that no earlier program of TASK
 * has; of another task's it has none.
 */
bool lives_get(const struct lives *lives, const struct samples *samples, const struct profile_task *task,
               uint32_t number, size_t from, struct life *ret);

#endif
