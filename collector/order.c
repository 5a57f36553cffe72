/* SPDX-License-Identifier: MIT */
/*
 * Arrivals in the order of their times, and those that wait for another one. The times are the targets' own words: no
 * order of them may cost more than another.
 */
#include <stdlib.h>

#include "collector/tasks.h"

enum {
    WAITING_MAX = 4096,                 /* so many wait at most */
    CHECKS = 16384,                     /* of those that wait, in one round */
    RUNS = 32,                          /* sorted lists of 2^N arrivals: more than there is memory for */
};

/* Both are sorted; of equal times those of OLDER come first. */
static struct arrival *merge(struct arrival *older, struct arrival *newer)
{
    struct arrival *first = NULL, **end = &first;
    while (older && newer) {
        struct arrival **from = older->time_ns <= newer->time_ns ? &older : &newer;
        *end = *from;
        end = &(*end)->next;
        *from = *end;
    }
    *end = older ? older : newer;
    return first;
}

/* By time, those of the same time as they came: runs of 1, 2, 4 ... arrivals, merged as a binary counter counts. */
static struct arrival *sort(struct arrival *arrivals)
{
    struct arrival *runs[RUNS] = {NULL}, *sorted = NULL;
    while (arrivals) {
        struct arrival *run = arrivals;
        unsigned i = 0;
        arrivals = run->next;
        run->next = NULL;
        for (; i < RUNS - 1 && runs[i]; i++) {
            run = merge(runs[i], run);
            runs[i] = NULL;
        }
        runs[i] = runs[i] ? merge(runs[i], run) : run;
    }
    for (unsigned i = 0; i < RUNS; i++)
        sorted = merge(runs[i], sorted);
    return sorted;
}

/* *AT: where the last one went, and no later one goes before. */
static void let_wait(struct tasks *tasks, struct arrival *arrival, struct waiting ***at)
{
    bool room = !tasks->closing && tasks->waiting_count < WAITING_MAX &&
                tasks->waiting_bytes + arrival_text(arrival) <= ARRIVALS_BYTES;
    struct waiting *waiting = room ? malloc(sizeof(*waiting)) : NULL;
    if (!waiting) {
        tasks->hurried += !tasks->closing;
        tasks_admit(tasks, arrival);
        return;
    }
    *waiting = (struct waiting){.arrival = arrival, .deadline_ns = tasks->now_ns + UNKNOWN_WAIT_NS};
    while (**at && (**at)->arrival->time_ns <= arrival->time_ns)
        *at = &(**at)->next;
    waiting->next = **at;
    **at = waiting;
    *at = &waiting->next;
    tasks->waiting_count++;
    tasks->waiting_bytes += arrival_text(arrival);
}

/* Again from the start after each that was taken: another one may have waited for it. What is left waits on. */
static void retry_waiting(struct tasks *tasks)
{
    unsigned checks = 0;
    for (struct waiting **at = &tasks->waiting; *at && checks < CHECKS;) {
        struct waiting *waiting = *at;
        bool due = tasks->closing || waiting->deadline_ns <= tasks->now_ns;
        checks += !due;
        if (!due && !tasks_is_ready(tasks, waiting->arrival)) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        tasks->waiting_count--;
        tasks->waiting_bytes -= arrival_text(waiting->arrival);
        tasks_admit(tasks, waiting->arrival);
        free(waiting);
        at = &tasks->waiting;
    }
}

void tasks_arrive(struct tasks *tasks, struct arrival *arrivals)
{
    struct waiting **at = &tasks->waiting;
    tasks->batch++;
    arrivals = sort(arrivals);
    while (arrivals) {
        struct arrival *arrival = arrivals;
        arrivals = arrival->next;
        arrival->next = NULL;
        tasks->arrivals++;
        if (tasks_is_ready(tasks, arrival))
            tasks_admit(tasks, arrival);
        else
            let_wait(tasks, arrival, &at);
    }
    retry_waiting(tasks);
}
