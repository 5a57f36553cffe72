/* SPDX-License-Identifier: MIT */
#include "analyze/view/process_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/counters.h"
#include "analyze/view/coverage.h"
#include "analyze/view/heading.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "analyze/view/view.h"

/* ---- The tree ---- */

#define MOST_ANCESTORS 1000

struct index {
    struct map tids;  /* from (pid, tid) and (tid, 0) to a list of tasks */
    uint32_t *last;   /* by number in the map: the latest task so far */
    uint32_t *before; /* by task: the previous one with the same (pid, tid) */
    size_t capacity;
};

static bool started_later(const struct profile_task *task, const struct profile_task *than)
{
    return task->start_ns && than->start_ns && task->start_ns > than->start_ns;
}

/* The youngest task (PID, TID) that existed when CHILD started; pids are reused. */
static uint32_t find_task(const struct index *index, const struct profile *profile, int32_t pid, int32_t tid,
                          uint32_t child)
{
    uint32_t number = map_find(&index->tids, (uint32_t)pid, (uint32_t)tid);
    uint32_t at = number == MAP_NONE ? PROCESS_TREE_NONE : index->last[number];
    while (at != PROCESS_TREE_NONE && (at == child || started_later(&profile->tasks[at], &profile->tasks[child])))
        at = index->before[at];
    return at;
}

static uint32_t parent_of(const struct index *index, const struct profile *profile, uint32_t child)
{
    const struct profile_task *task = &profile->tasks[child];
    if (task->tid != task->pid)
        return find_task(index, profile, task->pid, task->pid, child);
    if (task->ppid <= 0)
        return PROCESS_TREE_NONE;
    uint32_t found = PROCESS_TREE_NONE;
    if (task->parent_tid > 0)
        found = find_task(index, profile, task->ppid, task->parent_tid, child);
    return found != PROCESS_TREE_NONE ? found : find_task(index, profile, task->ppid, task->ppid, child);
}

/* Tasks of damaged files may be each other's parents, or be nested too deep. */
static bool would_loop(const uint32_t *parent, uint32_t child, uint32_t above)
{
    for (uint32_t steps = 0; above != PROCESS_TREE_NONE && steps < MOST_ANCESTORS; steps++, above = parent[above])
        if (above == child)
            return true;
    return above != PROCESS_TREE_NONE;
}

static void find_parents(struct process_tree *tree, const struct profile *profile)
{
    uint32_t count = profile->task_count;
    struct index index = {.before = memory_new(count, sizeof(uint32_t))};
    for (uint32_t i = 0; i < count; i++) {
        size_t known = index.tids.count;
        uint32_t number = map_add(&index.tids, (uint32_t)profile->tasks[i].pid, (uint32_t)profile->tasks[i].tid);
        index.last = memory_grow(index.last, &index.capacity, index.tids.count, sizeof(*index.last));
        index.before[i] = number == known ? PROCESS_TREE_NONE : index.last[number];
        index.last[number] = i;
        tree->parent[i] = PROCESS_TREE_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = parent_of(&index, profile, i);
        if (parent != PROCESS_TREE_NONE && !would_loop(tree->parent, i, parent))
            tree->parent[i] = parent;
    }
    map_release(&index.tids);
    free(index.last);
    free(index.before);
}

void process_tree_init(struct process_tree *tree, const struct profile *profile, const bool *wanted)
{
    uint32_t count = profile->task_count;
    tree->parent = memory_new(count, sizeof(uint32_t));
    tree->first = memory_new(count, sizeof(uint32_t));
    tree->next = memory_new(count, sizeof(uint32_t));
    tree->root = PROCESS_TREE_NONE;
    find_parents(tree, profile);
    for (uint32_t i = 0; i < count; i++) {
        tree->first[i] = tree->next[i] = PROCESS_TREE_NONE;
        while (tree->parent[i] != PROCESS_TREE_NONE && !wanted[tree->parent[i]])
            tree->parent[i] = tree->parent[tree->parent[i]];
    }
    /* Backwards, so that siblings are in the order of their start. */
    for (uint32_t i = count; i-- > 0;) {
        if (!wanted[i])
            continue;
        uint32_t *list = tree->parent[i] == PROCESS_TREE_NONE ? &tree->root : &tree->first[tree->parent[i]];
        tree->next[i] = *list;
        *list = i;
    }
}

void process_tree_release(struct process_tree *tree)
{
    free(tree->parent);
    free(tree->first);
    free(tree->next);
}

uint32_t process_tree_next(const struct process_tree *tree, uint32_t task)
{
    if (tree->first[task] != PROCESS_TREE_NONE)
        return tree->first[task];
    while (task != PROCESS_TREE_NONE && tree->next[task] == PROCESS_TREE_NONE)
        task = tree->parent[task];
    return task == PROCESS_TREE_NONE ? PROCESS_TREE_NONE : tree->next[task];
}

/* ---- The view ---- */

#define DEEPEST          40 /* levels that are indented */
#define MOST_GENERATIONS 6  /* earlier exec generations that are named */
/* A task that ends within WAITED_NS, or within 1/WAITED_PART of its own time, after a child has only waited for it. */
#define WAITED_NS   10000000
#define WAITED_PART 50

/* The branches to the left of TASK, from its outermost shown ancestor down. */
static char *branches_text(const struct process_tree *lineage, uint32_t task, bool utf8)
{
    uint32_t line[DEEPEST];
    size_t count = 0;
    for (uint32_t at = task; lineage->parent[at] != PROCESS_TREE_NONE && count < DEEPEST; at = lineage->parent[at])
        line[count++] = at;
    char *text = memory_new(count * 12 + 1, 1), *to = text;
    for (size_t i = count; i-- > 0;) {
        bool last = lineage->next[line[i]] == PROCESS_TREE_NONE;
        if (i > 0)
            to = stpcpy(to, last ? "   " : utf8 ? "│  " : "|  ");
        else
            to = stpcpy(to, last ? utf8 ? "└─ " : "`- " : utf8 ? "├─ " : "|- ");
    }
    return text;
}

/* The names of the task's earlier programs, without the parent's program that a forked process starts with. */
static char *history_text(const struct profile *profile, const struct process_tree *lineage, uint32_t index, bool utf8)
{
    const struct profile_task *task = &profile->tasks[index];
    uint32_t parent = lineage->parent[index], first = 0;
    if (task->generation_count > 1 && parent != PROCESS_TREE_NONE) {
        const struct profile_task *above = &profile->tasks[parent];
        for (uint32_t i = 0; i < above->generation_count && first == 0; i++)
            first = strcmp(above->generations[i].exec, task->generations[0].exec) == 0;
    }
    char *text = memory_text("");
    for (uint32_t i = first; i + 1 < task->generation_count; i++) {
        bool skip = i - first >= MOST_GENERATIONS;
        const char *name = *task->generations[i].exec ? text_base(task->generations[i].exec)
                                                      : task->generations[i].comm;
        char *longer = memory_print("%s%s%s", text, skip ? "..." : name, utf8 ? " » " : " > ");
        free(text);
        text = longer;
        if (skip)
            break;
    }
    return text;
}

/* The CPU time of a task and of all tasks below it. */
struct total {
    uint64_t cpu;
    bool estimate;
};

/* State of the output: a tree, or a list of the heaviest tasks. */
struct tree {
    struct view *view;
    struct process_tree lineage;
    struct text_table *table;
    struct total *totals; /* by task */
    uint64_t origin;
    uint32_t last;     /* the task that ran last; PROCESS_TREE_NONE: not known */
    bool flat;         /* a list, without branches */
    bool marked;       /* the task `last` was shown */
    bool exit_unknown; /* a task with unknown exit status was shown */
};

static void add_label(struct tree *tree, uint32_t index)
{
    const struct profile *profile = tree->view->profile;
    const struct profile_task *task = &profile->tasks[index];
    bool utf8 = tree->view->output->utf8, thread = task->tid != task->pid;
    char *left = tree->flat ? memory_text("") : branches_text(&tree->lineage, index, utf8);
    char *before = thread ? memory_text("") : history_text(profile, &tree->lineage, index, utf8);
    tree->marked |= index == tree->last;
    char *front = memory_print("%s%s%s", left, index == tree->last ? "* " : "", before);
    char *command = text_task_command(task);
    char *name = thread && tree->flat ? memory_print("{%s} of %s", task->comm, command)
                 : thread             ? memory_print("{%s}", task->comm)
                                      : memory_text(command);
    text_table_brief(tree->table, OUTPUT_PLAIN, front, name, command_brief);
    free(name);
    free(command);
    free(front);
    free(before);
    free(left);
}

static uint64_t cpu_of(const struct view *view, uint32_t index, bool *ret_estimate)
{
    const struct profile_task *task = &view->profile->tasks[index];
    uint64_t cpu = counters_cpu(view->profile, task, view->selection->weights[index], ret_estimate);
    return cpu == COUNTERS_UNKNOWN ? 0 : cpu;
}

/* Owned by the caller. */
static struct total *find_totals(const struct tree *tree)
{
    const uint32_t tasks = tree->view->profile->task_count;
    struct total *totals = memory_new(tasks, sizeof(*totals));
    uint32_t *order = memory_new(tasks, sizeof(*order)), count = 0;
    for (uint32_t at = tree->lineage.root; at != PROCESS_TREE_NONE; at = process_tree_next(&tree->lineage, at))
        order[count++] = at;
    while (count-- > 0) { /* children first */
        const uint32_t at = order[count], parent = tree->lineage.parent[at];
        bool estimate;
        totals[at].cpu += cpu_of(tree->view, at, &estimate);
        totals[at].estimate |= estimate;
        if (parent == PROCESS_TREE_NONE)
            continue;
        totals[parent].cpu += totals[at].cpu;
        totals[parent].estimate |= totals[at].estimate;
    }
    free(order);
    return totals;
}

static void add_times(struct tree *tree, const struct profile_task *task)
{
    const struct view *view = tree->view;
    const uint64_t origin = tree->origin;
    struct text_table *table = tree->table;
    char text[TEXT_AMOUNT], time[TEXT_AMOUNT];
    if (task->start_ns && task->start_ns >= origin)
        snprintf(text, sizeof(text), "%.3f s", (double)(task->start_ns - origin) / 1e9);
    else
        snprintf(text, sizeof(text), "-");
    text_table_cell(table, OUTPUT_PLAIN, text);
    if (task->start_ns && task->end_ns >= task->start_ns)
        snprintf(text, sizeof(text), "%s%s", task->ended ? "" : ">", text_time(time, task->end_ns - task->start_ns));
    else
        snprintf(text, sizeof(text), "-");
    text_table_cell(table, OUTPUT_PLAIN, text);
    bool estimate;
    uint64_t cpu = counters_cpu(view->profile, task, view->selection->weights[task->index], &estimate);
    if (cpu == COUNTERS_UNKNOWN)
        snprintf(text, sizeof(text), "-");
    else
        snprintf(text, sizeof(text), "%s%s", estimate ? "~" : "", text_time(time, cpu));
    text_table_cell(table, OUTPUT_PLAIN, text);
    const struct total *total = &tree->totals[task->index];
    snprintf(text, sizeof(text), "%s%s", total->estimate ? "~" : "", text_time(time, total->cpu));
    text_table_cell(table, OUTPUT_PLAIN, text);
}

static void add_task(struct tree *tree, uint32_t index)
{
    const struct view *view = tree->view;
    struct text_table *table = tree->table;
    const struct profile_task *task = &view->profile->tasks[index];
    char text[TEXT_AMOUNT];
    snprintf(text, sizeof(text), "%" PRId32 ".%" PRId32, task->pid, task->tid);
    text_table_cell(table, OUTPUT_PLAIN, text);
    add_times(tree, task);
    tree->exit_unknown |= task->exit < 0 && task->tid == task->pid;
    if (task->exit >= 0)
        snprintf(text, sizeof(text), "%d", task->exit);
    else
        snprintf(text, sizeof(text), "%s", task->tid != task->pid ? "" : "-");
    text_table_cell(table, task->exit > 0 ? OUTPUT_HOT : OUTPUT_PLAIN, text);
    add_label(tree, index);
}

static uint64_t origin_of(const struct profile *profile)
{
    uint64_t origin = profile->session.start_ns;
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (profile->tasks[i].start_ns && (!origin || profile->tasks[i].start_ns < origin))
            origin = profile->tasks[i].start_ns;
    return origin;
}

/* By task: the latest end of a task below it, without its own threads. Owned by the caller. */
static uint64_t *find_ends_below(const struct tree *tree)
{
    const struct profile *profile = tree->view->profile;
    uint64_t *ends = memory_new(profile->task_count, sizeof(*ends));
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        for (uint32_t at = i;
             tree->view->selection->tasks[i] && (at = tree->lineage.parent[at]) != PROCESS_TREE_NONE;) {
            if (profile->tasks[at].pid == task->pid) /* the process of a thread */
                continue;
            if (ends[at] >= task->end_ns)
                break;
            ends[at] = task->end_ns;
        }
    }
    return ends;
}

/* Whether the task only waited before its end, like a shell that waits for its last command. */
static bool only_waited(const struct profile_task *task, uint64_t below_ns)
{
    const uint64_t part = task->end_ns > task->start_ns ? (task->end_ns - task->start_ns) / WAITED_PART : 0;
    return below_ns && below_ns + (part > WAITED_NS ? part : WAITED_NS) >= task->end_ns;
}

/* The process that ended last, among those that did not only wait at their end. */
static uint32_t find_last(const struct tree *tree)
{
    const struct profile *profile = tree->view->profile;
    uint32_t last = PROCESS_TREE_NONE, processes = 0;
    uint64_t *below = find_ends_below(tree);
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        processes += tree->view->selection->tasks[i] && task->pid == task->tid;
        if (tree->view->selection->tasks[i] && task->ended && task->pid == task->tid &&
            (last == PROCESS_TREE_NONE || task->end_ns > profile->tasks[last].end_ns) && !only_waited(task, below[i]))
            last = i;
    }
    free(below);
    return processes > 1 ? last : PROCESS_TREE_NONE;
}

struct weighed {
    uint32_t index;
    uint64_t cpu;
};

static int by_weight(const void *left, const void *right)
{
    const struct weighed *a = left, *b = right;
    int order = order_larger(a->cpu, b->cpu);
    return order ? order : order_smaller(a->index, b->index);
}

/* For -n: adds the heaviest tasks. Returns the number shown. */
static uint64_t add_heaviest(struct tree *tree, uint64_t top)
{
    const struct view *view = tree->view;
    struct weighed *list = memory_new(view->profile->task_count, sizeof(*list));
    size_t count = 0;
    for (uint32_t i = 0; i < view->profile->task_count; i++) {
        bool estimate;
        if (view->selection->tasks[i])
            list[count++] = (struct weighed){i, cpu_of(view, i, &estimate)};
    }
    qsort(list, count, sizeof(*list), by_weight);
    if (count > top)
        count = (size_t)top;
    for (size_t i = 0; i < count; i++)
        add_task(tree, list[i].index);
    free(list);
    return count;
}

static uint64_t add_all_tasks(struct tree *tree)
{
    uint64_t shown = 0;
    for (uint32_t at = tree->lineage.root; at != PROCESS_TREE_NONE; at = process_tree_next(&tree->lineage, at), shown++)
        add_task(tree, at);
    return shown;
}

static void print_notes(const struct tree *tree, uint64_t shown)
{
    const struct profile_session *session = &tree->view->profile->session;
    FILE *to = tree->view->output->to;
    const uint64_t all = tree->view->selection->task_count;
    char count[TEXT_AMOUNT], text[TEXT_AMOUNT];
    if (shown < all)
        fprintf(to, "and %s (raise -n to see more)\n",
                text_plural(count, all - shown, "lighter task", "lighter tasks"));
    if (shown)
        fputs("Total: CPU time of a task and of all tasks below it\n", to);
    if (tree->last != PROCESS_TREE_NONE) {
        const struct profile_task *task = &tree->view->profile->tasks[tree->last];
        text_time(text, task->end_ns - tree->origin);
        if (tree->marked) {
            fprintf(to, "*: ended last, %s after the start (pid %" PRId32 ")\n", text, task->pid);
        } else {
            output_text(tree->view->output, *task->comm ? task->comm : "A process");
            fprintf(to, " (pid %" PRId32 ", not shown above) ended last, %s after the start\n", task->pid, text);
        }
    }
    if (tree->exit_unknown)
        fprintf(to, "Exit -: unknown; %s\n",
                session->items_lost ? "the files are truncated"
                : !session->ours    ? "perf's files do not contain the exit status"
                : tree->view->profile->files_truncated
                    ? "the process was still running, pinject did not see its parent wait for it, or its file is "
                      "truncated"
                    : "the process was still running, or pinject did not see its parent wait for it");
}

int view_tree(struct view *view)
{
    static const struct text_table_column columns[] = {{"PID.TID", true},  {"Start", true}, {"Duration", true},
                                                       {"CPU time", true}, {"Total", true}, {"Exit", true},
                                                       {"Command"}};
    if (view->settings->json)
        return view_document(view, false);
    heading_print(view);
    fputc('\n', view->output->to);
    const uint64_t top = view->settings->top;
    struct tree tree = {.view = view, .origin = origin_of(view->profile), .flat = top && top != SETTINGS_ALL};
    process_tree_init(&tree.lineage, view->profile, view->selection->tasks);
    tree.last = find_last(&tree);
    tree.totals = find_totals(&tree);
    tree.table = text_table_new(columns, sizeof(columns) / sizeof(columns[0]), view->output->utf8);
    uint64_t shown = tree.flat ? add_heaviest(&tree, top) : add_all_tasks(&tree);
    text_table_print(tree.table, view->output, true);
    print_notes(&tree, shown);
    text_table_free(tree.table);
    free(tree.totals);
    process_tree_release(&tree.lineage);
    fputc('\n', view->output->to);
    coverage_print(view);
    return 0;
}
