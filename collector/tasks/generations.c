/* SPDX-License-Identifier: MIT */
#include "collector/tasks/generations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

/*
 * A program has up to 1 MiB of arguments, a task up to TASKS_GENERATIONS programs. Of all but the last one together
 * ARGUMENTS_MAX bytes are kept, and of each at least the first LINE_LEAST bytes.
 */
enum { ARGUMENTS_MAX = 64 << 10, LINE_LEAST = 64 };
static const char cut_mark[] = "...";

/* NULL: out of memory. */
static struct program *cut_program(const struct program *program, size_t size)
{
    char *line = malloc(size);
    if (!line)
        return NULL;
    memcpy(line, program->cmdline, size - sizeof(cut_mark));
    memcpy(line + size - sizeof(cut_mark), cut_mark, sizeof(cut_mark));
    struct program *cut = program_new(program->exec, line, size);
    free(line);
    return cut;
}

/* GENERATION is not the last one of TASK (any more). */
static void bound_arguments(struct task *task, struct exec_generation *generation)
{
    struct program *program = generation->program;
    task->arguments -= generation->arguments;
    task->arguments_cut -= generation->cut;
    size_t room = task->arguments < ARGUMENTS_MAX ? ARGUMENTS_MAX - task->arguments : 0;
    room = room > LINE_LEAST ? room : LINE_LEAST;
    generation->cut = program && program->cmdline_size > room;
    if (generation->cut) {
        generation->program = cut_program(program, room);
        program_put(program);
        task->arguments_cut++;
    }
    generation->arguments = generation->program ? generation->program->cmdline_size : 0;
    task->arguments += generation->arguments;
}

struct exec_generation *tasks_add_generation(struct task *task, uint64_t start_ns, const char *comm,
                                             struct program *program)
{
    struct exec_generation *generations = task->generations;
    if (task->generation_count >= TASKS_GENERATIONS) { /* the last one stands for all further ones */
        struct exec_generation *last = &generations[TASKS_GENERATIONS - 1];
        task->generations_more++;
        program_put(last->program);
        free(last->at_end);
        *last = (struct exec_generation){.start_ns = start_ns, .program = program_get(program)};
        snprintf(last->comm, sizeof(last->comm), "%s", comm);
        return last;
    }
    if (task->generation_count)
        bound_arguments(task, &generations[task->generation_count - 1]);
    if ((task->generation_count & (task->generation_count - 1)) == 0) {
        generations = realloc(generations,
                              (task->generation_count ? 2 * task->generation_count : 1) * sizeof(*generations));
        if (!generations)
            return NULL;
        task->generations = generations;
    }
    struct exec_generation *generation = &generations[task->generation_count++];
    *generation = (struct exec_generation){.start_ns = start_ns, .program = program_get(program)};
    snprintf(generation->comm, sizeof(generation->comm), "%s", comm);
    return generation;
}

/* The counts at the exec of TIME_NS: those of the last snapshot before it. NULL: unknown. The caller owns them. */
static struct attach_value *take_snapshot(struct task *task, uint64_t time_ns)
{
    struct attach_value *values = NULL;
    unsigned used = 0;
    for (; used < task->snapshot_count && task->snapshots[used].time_ns <= time_ns; used++) {
        free(values);
        values = task->snapshots[used].values;
    }
    task->snapshot_count -= used;
    memmove(task->snapshots, task->snapshots + used, task->snapshot_count * sizeof(task->snapshots[0]));
    return values;
}

/* Stops following a task that calls exec: its counts are those before. */
static void leave_task(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm)
{
    task->end_ns = time_ns;
    task->process->left = true;
    tids_add(&tasks->left, task->pid);
    free(task->values);
    task->values = take_snapshot(task, time_ns);
    missed_add(&tasks->missed, "program not followed after exec (--follow-exec follows it)", comm->name, 1, 0);
}

/*
 * TASK alone is left of PROCESS. The rings of its threads are read in any order: after the exec of one, an earlier exec
 * of another changes nothing.
 */
static void begin_program(struct process *process, struct task *task, uint64_t time_ns)
{
    process_end_space(process, time_ns);
    free(process->trust);
    process->trust = NULL;
    program_put(process->program);
    process->program = NULL;
    process->exec_ns = time_ns;
    if (task->tid != task->pid)
        process->renamed_ns = time_ns;
    process->main = task;
}

bool tasks_exec(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm)
{
    struct process *process = task->process;
    if (!task_is_armed(task) && !(tasks->session->settings->follow & PINJECT_SESSION_EXEC)) {
        leave_task(tasks, task, time_ns, comm);
        return false;
    }
    tasks->inherited_generations += task_is_inherited(task);
    if (time_ns >= process->exec_ns)
        begin_program(process, task, time_ns);
    if (comm->tid != task->key)
        tasks_rename(tasks, task, comm->tid);
    if (process->main && process->main != task) /* it has that number since */
        tasks_rename(tasks, process->main, process->main->key);
    snprintf(task->comm, sizeof(task->comm), "%s", comm->name);
    struct exec_generation *before = tasks_last_generation(task);
    if (before && !before->at_end)
        before->at_end = take_snapshot(task, time_ns);
    if (before && tasks->session->settings->split)
        tasks_split_file(tasks, task, time_ns);
    bool first = task_is_armed(task);
    task->execs++;
    tasks_step(tasks, task, TASK_EVENT_EXEC);
    tasks_add_generation(task, time_ns, task->comm, NULL);
    if (first)
        tasks_count(tasks, task);
    if (first || tasks->session->settings->split)
        tasks_begin_file(tasks, task);
    return true;
}

void tasks_guess_program(struct tasks *tasks, struct task *task, const struct mapping *mapping)
{
    struct exec_generation *generation = tasks_last_generation(task);
    bool file = mapping->path[0] == '/' && mapping->path[1] != '/';
    if (!generation || generation->program || mapping->time_ns < generation->start_ns || !file)
        return;
    struct process *process = task->process;
    /* What was announced since is about the next one. */
    struct program *announced = process->announced_ns < generation->start_ns ? process->announced : NULL;
    generation->program = program_new(mapping->path, announced ? announced->cmdline : NULL,
                                      announced ? announced->cmdline_size : 0);
    generation->named = announced && generation->program;
    if (announced) {
        program_put(announced);
        process->announced = NULL;
    }
    generation->resolved = generation->program && !task->lost_records && !task->broken;
    if (!process->program && generation->start_ns >= process->exec_ns)
        process->program = program_get(generation->program);
    if (task->file == FILE_UNNAMED)
        tasks_begin_file(tasks, task);
}

static void give_program(struct tasks *tasks, struct task *task, struct exec_generation *generation,
                         struct program *program)
{
    program_put(generation->program);
    generation->program = program_get(program);
    if (generation != tasks_last_generation(task))
        bound_arguments(task, generation);
    if (task->file == FILE_UNNAMED && generation == tasks_last_generation(task))
        tasks_begin_file(tasks, task);
}

/* A thread may be announced before the new program of its process. It gets that program now. */
static void give_program_to_threads(struct tasks *tasks, const struct task *main,
                                    const struct exec_generation *generation)
{
    for (struct task *task = main->process->tasks; task; task = task->process_next) {
        struct exec_generation *own = tasks_last_generation(task);
        if (task != main && own && own->start_ns >= generation->start_ns && own->program != generation->program)
            give_program(tasks, task, own, generation->program);
    }
}

void tasks_set_program(struct tasks *tasks, struct task *task, struct exec_generation *generation,
                       struct program *program)
{
    if (!program)
        return;
    generation->named = true;
    give_program(tasks, task, generation, program);
    if (generation == tasks_last_generation(task)) {
        program_put(task->process->program);
        task->process->program = program_get(program);
        give_program_to_threads(tasks, task, generation);
    }
    program_put(program);
}
