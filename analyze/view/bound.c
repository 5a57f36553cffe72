/* SPDX-License-Identifier: MIT */
#include "analyze/view/bound.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/view/brief.h"
#include "analyze/view/command.h"
#include "analyze/view/counters.h"
#include "analyze/view/family.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/order.h"
#include "analyze/view/text.h"

/* Percent. A process counts that used so much of its own time, and of all CPU time; to be alone for less is no news. */
#define LEAST_BUSY 10
#define LEAST_OF_ALL 0.5
#define LEAST_ALONE 10
#define LEAST_OTHERS 0.1 /* CPUs of other programs */
#define ALL_BUSY 0.9 /* of the CPUs: then somebody waits for one */
#define LONGEST_NAME 80 /* columns */
#define AT_THE_END 2 /* of the time: no more passed after it */

struct process {
    uint64_t start, end, cpu;
};

struct edge {
    uint64_t time;
    uint32_t process;
    bool ends;
};

/* The longest time in which one process alone was busy. */
struct alone {
    uint32_t process;
    uint64_t start, end;
};

/* By the index of their first tasks; those of other tasks are empty. */
static struct process *processes_of(const struct view *view, uint64_t *ret_cpu)
{
    const struct profile *profile = view->profile;
    struct process *processes = memory_new(profile->task_count, sizeof(*processes));
    struct family family;
    family_init(&family, profile, view->selection->tasks);
    *ret_cpu = 0;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        bool estimate;
        uint64_t cpu = counters_cpu(profile, task, view->selection->weights[i], &estimate);
        if (!view->selection->tasks[i] || !task->start_ns || task->end_ns <= task->start_ns || cpu == COUNTERS_UNKNOWN)
            continue;
        const uint32_t above = task->pid != task->tid ? family.parent[i] : FAMILY_NONE;
        const bool has_first = above != FAMILY_NONE && profile->tasks[above].pid == task->pid;
        struct process *process = &processes[has_first ? above : i];
        if (!process->end || task->start_ns < process->start)
            process->start = task->start_ns;
        if (task->end_ns > process->end)
            process->end = task->end_ns;
        process->cpu += cpu;
        *ret_cpu += cpu;
    }
    family_release(&family);
    return processes;
}

/* Percent of its time that a busy process has a CPU: where other programs keep all CPUs busy, of its part of them. */
static double least_busy(const struct profile *profile, double used, double others)
{
    return profile->session.cpus && others > 0 && used + others >= ALL_BUSY * profile->session.cpus
               ? LEAST_BUSY * used / (used + others)
               : LEAST_BUSY;
}

static bool was_busy(const struct process *process, uint64_t all, double least)
{
    return process->end && text_share(process->cpu, process->end - process->start) >= least &&
           text_share(process->cpu, all) >= LEAST_OF_ALL;
}

static int by_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    int order = order_smaller(a->time, b->time);
    return order ? order : (int)b->ends - (int)a->ends;
}

/* The time of the last edge; 0: nobody, or one alone, was busy. */
static uint64_t find_alone(const struct process *processes, uint32_t count, uint64_t all, double least,
                           struct alone *ret)
{
    struct edge *edges = memory_new(2 * (size_t)count, sizeof(*edges));
    size_t edge_count = 0, live = 0;
    uint64_t sum = 0; /* of the numbers of those that live: one alone is told by it */
    *ret = (struct alone){0};
    for (uint32_t i = 0; i < count; i++)
        if (was_busy(&processes[i], all, least)) {
            edges[edge_count++] = (struct edge){processes[i].start, i, false};
            edges[edge_count++] = (struct edge){processes[i].end, i, true};
        }
    qsort(edges, edge_count, sizeof(*edges), by_time);
    for (size_t i = 0; i < edge_count; i++) {
        if (live == 1 && edges[i].time - edges[i - 1].time > ret->end - ret->start)
            *ret = (struct alone){(uint32_t)sum, edges[i - 1].time, edges[i].time};
        live = edges[i].ends ? live - 1 : live + 1;
        sum = edges[i].ends ? sum - edges[i].process : sum + edges[i].process;
    }
    uint64_t last = edge_count > 2 ? edges[edge_count - 1].time : 0;
    free(edges);
    return last;
}

/* "cc1 of big.c" */
static char *name_of(const struct profile_task *task)
{
    char *line = text_task_command(task), *program = command_program(line), *file = command_file(line);
    char *name = memory_print("%s%s%s", program, file ? " of " : "", file ? file : ""), *clean = text_clean(name, true);
    free(name);
    name = brief_name(clean, LONGEST_NAME, true);
    free(clean);
    free(file);
    free(program);
    free(line);
    return name;
}

char *bound_text(const struct view *view)
{
    const struct profile *profile = view->profile;
    const uint64_t elapsed = heading_elapsed(profile), used = heading_cpu(profile);
    if (!elapsed || !used)
        return NULL;
    char *text = profile->session.cpus
                     ? memory_print("%.2f of %" PRIu32 " CPUs were busy on average", (double)used / (double)elapsed,
                                    profile->session.cpus)
                     : memory_print("%.2f CPUs were busy on average", (double)used / (double)elapsed);
    const double others = heading_others(profile);
    if (others >= LEAST_OTHERS) {
        char *longer = memory_print("%s with this, %.2f with other programs", text, others);
        free(text);
        text = longer;
    }
    if (view->selection->task_count < profile->task_count) /* who else ran is not looked at */
        return text;
    uint64_t all;
    struct process *processes = processes_of(view, &all);
    struct alone alone;
    const double least = least_busy(profile, (double)used / (double)elapsed, others);
    uint64_t last = find_alone(processes, profile->task_count, all, least, &alone), time = alone.end - alone.start;
    free(processes);
    if (!last || text_share(time, elapsed) < LEAST_ALONE)
        return text;
    char amount[TEXT_AMOUNT];
    bool at_end = text_share(last - alone.end, elapsed) < AT_THE_END;
    char *name = name_of(&profile->tasks[alone.process]);
    char *whole = memory_print("%s; %s ran alone for %s%s", text, name, at_end ? "the last " : "",
                                text_time(amount, time));
    free(name);
    free(text);
    return whole;
}
