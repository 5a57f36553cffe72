/* SPDX-License-Identifier: MIT */
/*
 * Counts of events: of a whole run, and in rows (per thread, command or process). pinject-run --stat and panalyze
 * counts have the same figures in the same forms, because both fill these structures. Nothing is owned here.
 */
#ifndef COUNTS_COUNT_H
#define COUNTS_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum count_by { COUNT_ALL, COUNT_BY_THREAD, COUNT_BY_COMM, COUNT_BY_PROCESS, COUNT_BY_EXEC };

struct count_event {
    const char *name; /* "task-clock", "page-faults:u" */
    const char *unit; /* of value times scale: "Joules"; "" or NULL: a number of events */
    double scale;     /* 0: none */
    bool nanoseconds; /* the value is a time */
    bool unsupported; /* this machine does not have it: it has no values */
    uint32_t type;    /* PERF_TYPE_*, PERF_COUNT_*: what it is, for the derived figures */
    uint64_t config;
    unsigned set; /* number of its event set, which took turns with others; 0: none */
};

/* What one event counted in one row. Zeroed: nothing counted it. */
struct count_cell {
    bool present;    /* a task counted it */
    bool estimate;   /* it did not count all the time (multiplexing), so `scaled` is an estimate */
    uint64_t value;  /* the kernel's count; of task-clock with the CPU time before and after its events */
    uint64_t scaled; /* the same for the whole time; equal to value unless estimate */
    uint64_t enabled_ns, running_ns;
    uint64_t parts;     /* of several tasks, count_add(): the sum of `scaled` of those that counted it */
    uint64_t unseen_ns; /* enabled_ns of the others, in which it had no time; `scaled` assumes that they are alike */
};

/* The event had no counter of the machine at all, or no task counted it. */
static inline bool count_is_known(const struct count_cell *cell)
{
    return cell->present && !(cell->estimate && cell->running_ns == 0);
}

struct count_row {
    char comm[16]; /* "" for the whole run */
    int32_t pid, tid;
    uint32_t exec;  /* of COUNT_BY_EXEC: number of the exec; 0: before the first one */
    uint64_t tasks; /* whose counts are in it */
    uint64_t start_ns;
    const struct count_cell *cells; /* one for each event */
};

/* What is beside the counts. Zeroed: unknown. */
struct count_times {
    uint64_t elapsed_ns;
    uint64_t user_ns, system_ns; /* CPU time of the process tree by the kernel's accounting */
    bool cpu_known;
};

/* Makes CELL, of one task, a sum to which others can be added. */
void count_begin(struct count_cell *cells, size_t count);
/* Adds FROM, of one task, to the sum TO (zeroed: nothing yet); sums that do not fit become UINT64_MAX. */
void count_add(struct count_cell *to, const struct count_cell *from, size_t count);
/* VALUE for the whole time, if it was counted in RUNNING of ENABLED; VALUE if it never ran. */
uint64_t count_scale(uint64_t value, uint64_t enabled_ns, uint64_t running_ns);
/* The index of the task-clock, of all modifiers, that counts all the time; COUNT if there is none. */
size_t count_find_clock(const struct count_event *events, size_t count);
/* Did the set of event INDEX have a turn, in which any event of it was counted? True also if it is in no set. */
bool count_had_turn(const struct count_event *events, const struct count_cell *cells, size_t count, size_t index);

#endif
