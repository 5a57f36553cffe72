/* SPDX-License-Identifier: MIT */
/*
 * One look at a session that may still run. What `panalyze top` shows is made by a process of its own each time
 * (analyze/live): what this one knows, the next one gets back as its past, and shows the difference as what goes on
 * now.
 */
#ifndef ANALYZE_VIEW_TOP_H
#define ANALYZE_VIEW_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A task or a function, told by a hash of what does not change of it. */
struct top_past {
    uint64_t key;
    uint64_t value; /* CPU time of a task; weight of a function */
    uint64_t when;  /* of a task: time of its last record; 0 of a function */
    uint64_t at;    /* CPU time of a task at the head's UNTIL; 0 of a function */
    double rate;    /* as shown: CPUs, or share in percent */
};

struct top_head {
    uint32_t count;    /* records that follow */
    uint32_t complete; /* 1: the session has ended, nothing will change */
    uint64_t weight;   /* of all samples */
    uint64_t until;    /* up to when the CPU time of all tasks is known; 0: of none */
    double busy;       /* CPUs, as shown */
};

struct top_look {
    int columns, rows; /* of the screen; 0: no screen */
    int future;        /* descriptor for struct top_head and its records; -1: none */
    struct top_head head;
    const struct top_past *past; /* head.count of them, sorted by key; NULL: the first look */
};

#endif
