/* SPDX-License-Identifier: MIT */
/*
 * One look at a session that may still run. For `panalyze top` a new process makes each look (analyze/live). It passes
 * its figures to the next one as the past; the difference is the current activity.
 */
#ifndef ANALYZE_VIEW_TOP_H
#define ANALYZE_VIEW_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A task or a function, identified by a hash of its constant parts. */
struct top_past {
    uint64_t key;
    uint64_t value; /* CPU time of a task; weight of a function */
    uint64_t when;  /* of a task: time of its last record; of a function: 0 */
    uint64_t at;    /* of a task: CPU time at `until` of the head; of a function: 0 */
    double rate;    /* as shown: CPUs, or share in percent */
};

struct top_head {
    uint32_t count;    /* records that follow */
    uint32_t complete; /* 1: the session has ended, nothing will change */
    uint64_t weight;   /* of all samples */
    uint64_t until;    /* time up to which the CPU time of all tasks is known; 0: of none */
    double busy;       /* CPUs, as shown */
};

struct top_look {
    int columns, rows; /* of the screen; 0: no screen */
    int future;        /* descriptor for struct top_head and its records; -1: none */
    struct top_head head;
    const struct top_past *past; /* head.count of them, sorted by key; NULL: the first look */
};

#endif
