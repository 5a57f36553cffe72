/* SPDX-License-Identifier: MIT */
#include "analyze/view/cpu_use.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/view/brief.h"
#include "analyze/view/counters.h"
#include "analyze/view/heading.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/process_tree.h"
#include "analyze/view/text.h"

/* Percent. A process counts if it was busy for at least LEAST_BUSY of its own time, and used at least LEAST_OF_ALL of
 * all CPU time or of the elapsed time, whichever is less. Times alone below LEAST_ALONE of the elapsed time are not
 * reported. */
#define LEAST_BUSY         10
#define LEAST_OF_ALL       0.5
#define LEAST_ALONE        10
#define LEAST_OTHERS       0.1 /* CPUs of other programs */
#define ALL_BUSY           0.9 /* of the CPUs: from here on tasks wait for a CPU */
#define LONGEST_NAME       80  /* columns */
#define LONGEST_OF_SEVERAL 40
#define AT_THE_END         2        /* percent of the time, at most, that passed after it */
#define GAP_NS             20000000 /* a process that starts so soon after another one's end continues its work */
#define GAP_PERCENT        1        /* of the time alone: a longer gap counts as well if it is at most this */
#define MOST_NAMED         3
#define LEAST_HEAVY        10 /* percent of the time alone: from here on the process's file is named */

struct process {
    uint64_t start, end, cpu;
};

struct edge {
    uint64_t time;
    uint32_t process;
    bool ends;
};

/* A time in which only one process was busy. */
struct alone {
    uint32_t process;
    uint64_t start, end;
};

/* Consecutive such times: a compiler, then the assembler, then the linker. */
struct chain {
    const struct alone *list;
    size_t count;
    uint64_t busy; /* without the gaps */
};

/* The processes, by index of their first task; entries of other tasks are empty. */
static struct process *processes_of(const struct view *view, uint64_t *ret_cpu)
{
    const struct profile *profile = view->profile;
    struct process *processes = memory_new(profile->task_count, sizeof(*processes));
    struct process_tree lineage;
    process_tree_init(&lineage, profile, view->selection->tasks);
    *ret_cpu = 0;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        bool estimate;
        uint64_t cpu = counters_cpu(profile, task, view->selection->weights[i], &estimate);
        if (!view->selection->tasks[i] || !task->start_ns || task->end_ns <= task->start_ns || cpu == COUNTERS_UNKNOWN)
            continue;
        const uint32_t above = task->pid != task->tid ? lineage.parent[i] : PROCESS_TREE_NONE;
        const bool has_first = above != PROCESS_TREE_NONE && profile->tasks[above].pid == task->pid;
        struct process *process = &processes[has_first ? above : i];
        if (!process->end || task->start_ns < process->start)
            process->start = task->start_ns;
        if (task->end_ns > process->end)
            process->end = task->end_ns;
        process->cpu += cpu;
        *ret_cpu += cpu;
    }
    process_tree_release(&lineage);
    return processes;
}

/* The least percent of its time that a busy process has a CPU; less if other programs keep all CPUs busy. */
static double least_busy(const struct profile *profile, double used, double others)
{
    return profile->session.cpus && others > 0 && used + others >= ALL_BUSY * profile->session.cpus
               ? LEAST_BUSY * used / (used + others)
               : LEAST_BUSY;
}

static bool was_busy(const struct process *process, uint64_t whole, double least)
{
    return process->end && text_share(process->cpu, process->end - process->start) >= least &&
           text_share(process->cpu, whole) >= LEAST_OF_ALL;
}

static int by_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    int order = order_smaller(a->time, b->time);
    return order ? order : (int)b->ends - (int)a->ends;
}

/* All times in which only one process was busy, in order; owned by the caller. RET_LAST: the time of the last edge;
 * 0: at most one process was ever busy. */
static struct alone *find_alone(const struct process *processes, uint32_t count, uint64_t whole, double least,
                                size_t *ret_count, uint64_t *ret_last)
{
    struct edge *edges = memory_new(2 * (size_t)count, sizeof(*edges));
    struct alone *list = memory_new(2 * (size_t)count, sizeof(*list));
    size_t edge_count = 0, live = 0;
    uint64_t sum = 0; /* of the indices of the live processes: if there is only one, its index */
    *ret_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (was_busy(&processes[i], whole, least)) {
            edges[edge_count++] = (struct edge){processes[i].start, i, false};
            edges[edge_count++] = (struct edge){processes[i].end, i, true};
        }
    qsort(edges, edge_count, sizeof(*edges), by_time);
    for (size_t i = 0; i < edge_count; i++) {
        if (live == 1 && edges[i].time > edges[i - 1].time)
            list[(*ret_count)++] = (struct alone){(uint32_t)sum, edges[i - 1].time, edges[i].time};
        live = edges[i].ends ? live - 1 : live + 1;
        sum = edges[i].ends ? sum - edges[i].process : sum + edges[i].process;
    }
    *ret_last = edge_count > 2 ? edges[edge_count - 1].time : 0;
    free(edges);
    return list;
}

/* The longest chain in LIST[COUNT]. A short gap, in which no process or several were busy, does not end a chain. */
static struct chain find_chain(const struct alone *list, size_t count)
{
    struct chain longest = {0}, chain = {0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t gap = i ? list[i].start - list[i - 1].end : 0;
        if (!i || (gap > GAP_NS && text_share(gap, chain.busy) > GAP_PERCENT))
            chain = (struct chain){.list = &list[i]};
        chain.count++;
        chain.busy += list[i].end - list[i].start;
        if (chain.busy > longest.busy)
            longest = chain;
    }
    return longest;
}

/* "cc1 of big.c", or "cc1" */
static char *name_of(const struct profile_task *task, bool with_file, size_t columns)
{
    char *line = text_task_command(task), *program = command_program(line);
    char *file = with_file ? command_file(line) : NULL;
    char *name = memory_print("%s%s%s", program, file ? " of " : "", file ? file : ""), *clean = text_clean(name, true);
    free(name);
    name = brief_name(clean, columns, true);
    free(clean);
    free(file);
    free(program);
    free(line);
    return name;
}

static int by_length(const void *left, const void *right)
{
    const struct alone *a = left, *b = right;
    int order = order_larger(a->end - a->start, b->end - b->start);
    return order ? order : order_smaller(a->start, b->start);
}

static int by_start(const void *left, const void *right)
{
    return order_smaller(((const struct alone *)left)->start, ((const struct alone *)right)->start);
}

/* The processes of CHAIN, each once, longest first; owned by the caller. */
static struct alone *processes_in(const struct chain *chain, size_t *ret_count)
{
    struct alone *list = memory_new(chain->count, sizeof(*list));
    struct map keys = {0};
    *ret_count = 0;
    for (size_t i = 0; i < chain->count; i++) {
        const struct alone *part = &chain->list[i];
        uint32_t at = map_add(&keys, part->process, 0);
        if (at == *ret_count)
            list[(*ret_count)++] = *part;
        else
            list[at].end += part->end - part->start;
    }
    map_release(&keys);
    qsort(list, *ret_count, sizeof(*list), by_length);
    return list;
}

/* "cc1 of big.c ran alone", "cc1 of big.c, as and ld ran one after another, each alone,": names the longest ones, in the
 * order of time; owned by the caller. */
static char *who_ran_alone(const struct profile *profile, const struct chain *chain)
{
    size_t count;
    struct alone *list = processes_in(chain, &count);
    const size_t named = count < MOST_NAMED ? count : MOST_NAMED;
    char *text = memory_text(""), others[2 * TEXT_AMOUNT] = "", number[TEXT_AMOUNT];
    qsort(list, named, sizeof(*list), by_start);
    for (size_t i = 0; i < named; i++) {
        const bool heavy = text_share(list[i].end - list[i].start, chain->busy) >= LEAST_HEAVY;
        char *name = name_of(&profile->tasks[list[i].process], heavy, count > 1 ? LONGEST_OF_SEVERAL : LONGEST_NAME);
        const char *separator = !i ? "" : i + 1 == named && named == count ? " and " : ", ";
        char *more = memory_print("%s%s%s", text, separator, name);
        free(name);
        free(text);
        text = more;
    }
    if (named < count)
        snprintf(others, sizeof(others), " and %s",
                 text_plural(number, count - named, "other process", "other processes"));
    char *whole = memory_print(count > 1 ? "%s%s ran one after another, each alone," : "%s%s ran alone", text, others);
    free(text);
    free(list);
    return whole;
}

/* "cc1 of big.c ran alone for the last 3.60 s", or NULL; owned by the caller. */
static char *alone_text(const struct view *view, uint64_t elapsed, double used, double others)
{
    const struct profile *profile = view->profile;
    uint64_t all, last;
    size_t count;
    struct process *processes = processes_of(view, &all);
    struct alone *list = find_alone(processes, profile->task_count, all < elapsed ? all : elapsed,
                                    least_busy(profile, used, others), &count, &last);
    const struct chain chain = find_chain(list, count);
    char *text = NULL, amount[TEXT_AMOUNT];
    if (last && text_share(chain.busy, elapsed) >= LEAST_ALONE) {
        bool at_end = text_share(last - chain.list[chain.count - 1].end, elapsed) < AT_THE_END;
        char *who = who_ran_alone(profile, &chain);
        text = memory_print("%s for %s%s", who, at_end ? "the last " : "", text_time(amount, chain.busy));
        free(who);
    }
    free(list);
    free(processes);
    return text;
}

char *cpu_use_text(const struct view *view)
{
    const struct profile *profile = view->profile;
    const uint64_t elapsed = heading_elapsed(profile), used = heading_cpu(profile);
    if (!elapsed || !used)
        return NULL;
    const char *whole_run = view->selection->filtered ? "Whole run: " : "";
    char of[32] = "", *text;
    if (profile->session.cpus)
        snprintf(of, sizeof(of), "of %" PRIu32 " ", profile->session.cpus);
    const double average = (double)used / (double)elapsed, others = heading_others(&profile->session);
    if (others >= LEAST_OTHERS) {
        char *busy = heading_others_text(others, others, profile->session.cpus);
        text = memory_print("%s%.2f %sCPUs were busy on average with this run; %s", whole_run, average, of, busy);
        free(busy);
    } else {
        text = memory_print("%s%.2f %sCPUs were busy on average", whole_run, average, of);
    }
    if (view->selection->task_count < profile->task_count) /* other tasks, not selected, may have run meanwhile */
        return text;
    char *alone = alone_text(view, elapsed, average, others);
    if (!alone)
        return text;
    char *whole = memory_print("%s; %s", text, alone);
    free(alone);
    free(text);
    return whole;
}
