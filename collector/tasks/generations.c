/* SPDX-License-Identifier: MIT */
#include "collector/tasks/generations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/notifications.h"
#include "collector/system/numbers.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/timer_fallback.h"

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

void tasks_snapshot_notified(struct tasks *tasks, struct task *task, struct notification *notification)
{
    struct exec_generation *generation = tasks_last_generation(task);
    if (!notification->values)
        return;
    if (generation && generation->start_ns > notification->time_ns) { /* its exec record was read before this */
        struct exec_generation *before = task->generation_count > 1 ? generation - 1 : NULL;
        if (before && before->start_ns <= notification->time_ns && !before->at_end) {
            before->at_end = notification->values;
            notification->values = NULL;
        }
        return;
    }
    if (task->snapshot_count == TASKS_SNAPSHOTS) {
        tasks_drain(tasks, task);
        if (!task->live)
            return;
    }
    if (task->snapshot_count == TASKS_SNAPSHOTS) {
        free(task->snapshots[0].values);
        memmove(task->snapshots, task->snapshots + 1, --task->snapshot_count * sizeof(task->snapshots[0]));
    }
    task->snapshots[task->snapshot_count++] = (struct snapshot){notification->time_ns, notification->values};
    notification->values = NULL;
}

/* Stops following a task that calls exec: its counts are those before. */
static void leave_task(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm)
{
    task->end_ns = time_ns;
    task->process->left = true;
    free(task->values);
    task->values = take_snapshot(task, time_ns);
    missed_add(&tasks->missed, "program not followed after exec (--follow-exec follows it)", comm->name, 1, 0);
}

bool tasks_exec(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm)
{
    struct process *process = task->process;
    if (!task->armed && !(tasks->session->settings->follow & PINJECT_SESSION_EXEC)) {
        leave_task(tasks, task, time_ns, comm);
        return false;
    }
    tasks->inherited_generations += task->inherited;
    space_release(&process->space);
    free(process->trust);
    process->trust = NULL;
    program_put(process->program);
    process->program = NULL;
    process->exec_ns = time_ns;
    process->main = task;
    if (comm->tid != task->key)
        tasks_rename(tasks, task, comm->tid);
    snprintf(task->comm, sizeof(task->comm), "%s", comm->name);
    struct exec_generation *before = tasks_last_generation(task);
    if (before && !before->at_end)
        before->at_end = take_snapshot(task, time_ns);
    if (before && tasks->session->settings->split)
        tasks_split_file(tasks, task, time_ns);
    bool first = task->armed;
    task->armed = false;
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
    if (!task->process->program)
        task->process->program = program_get(generation->program);
    if (!task->name_known)
        tasks_begin_file(tasks, task);
}

static void give_program(struct tasks *tasks, struct task *task, struct exec_generation *generation,
                         struct program *program)
{
    program_put(generation->program);
    generation->program = program_get(program);
    if (generation != tasks_last_generation(task))
        bound_arguments(task, generation);
    if (!task->name_known && generation == tasks_last_generation(task))
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

static void set_program(struct tasks *tasks, struct task *task, struct exec_generation *generation,
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

/* An exec generation without an exec record: there is no ring, or the record was lost. */
static struct exec_generation *add_unannounced(struct tasks *tasks, struct task *task,
                                               const struct notification *notification)
{
    const char *slash = notification->exec ? strrchr(notification->exec, '/') : NULL;
    struct records_comm comm = {.pid = task->pid, .tid = task->key, .exec = true, .name = slash ? slash + 1 : "?"};
    char name[16];
    snprintf(name, sizeof(name), "%.15s", task->by_timer && notification->comm[0] ? notification->comm : comm.name);
    comm.name = name;
    if (task->live && task->armed)
        task->startup_ns = notification->startup_ns;
    return task->live && tasks_exec(tasks, task, notification->time_ns, &comm) ? tasks_last_generation(task) : NULL;
}

void tasks_generation_notified(struct tasks *tasks, struct task *task, const struct notification *notification)
{
    struct exec_generation *generation = NULL;
    for (unsigned i = 0; i < task->generation_count; i++)
        if (task->generations[i].start_ns <= notification->time_ns)
            generation = &task->generations[i];
    bool records_missing = task->counted_only || task->lost_records || task->broken;
    /* It was announced as not sampled, but it reports. */
    bool known = task->not_sampled && generation && generation == tasks_last_generation(task) &&
        !strcmp(generation->comm, notification->comm);
    bool new_one = task->by_timer ? !known
        : generation && generation->named && generation == tasks_last_generation(task) && records_missing;
    if (!generation || new_one)
        generation = add_unannounced(tasks, task, notification);
    if (!generation)
        return;
    if (task->by_timer)
        tasks_exec_timer(tasks, task, notification);
    /* The preload object knows the name that was given to exec: a link, or a relative path. */
    const char *exec = generation->resolved && generation->program ? generation->program->exec : notification->exec;
    set_program(tasks, task, generation, program_new(exec, notification->cmdline, notification->cmdline_size));
}

/* The exec generation of the first exec after TIME_NS; NULL: unknown. */
static struct exec_generation *find_next(struct task *task, uint64_t time_ns)
{
    for (unsigned i = 0; i < task->generation_count; i++)
        if (task->generations[i].start_ns > time_ns)
            return &task->generations[i];
    return NULL;
}

void tasks_program_announced(struct tasks *tasks, struct process *process, const struct notification *notification)
{
    struct program *program =
        notification->cmdline ? program_new(notification->exec, notification->cmdline, notification->cmdline_size)
            : NULL;
    struct exec_generation *generation = process->main ? find_next(process->main, notification->time_ns) : NULL;
    if (generation && generation->program) { /* its exec record was read before the notification */
        if (program && !generation->named)
            set_program(tasks, process->main, generation,
                        program_new(generation->program->exec, program->cmdline, program->cmdline_size));
        program_put(program);
        return;
    }
    /* its first mapping was lost, and it has gone on */
    if (generation && generation != tasks_last_generation(process->main)) {
        program_put(program);
        return;
    }
    program_put(process->announced);
    process->announced = program;
    process->announced_ns = notification->time_ns;
}

/* The kernel names a file from the root of the task, /proc from ours. */
static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), length = strlen(end);
    return length > 0 && length <= size && strcmp(path + size - length, end) == 0;
}

void tasks_look_for_programs(struct tasks *tasks, struct task *task)
{
    struct exec_generation *generation = tasks_last_generation(task);
    if (!generation || generation->named || generation->looked || task->kind == PINJECT_THREAD)
        return;
    unsigned count = task->generation_count;
    generation->looked = true;
    char *exec = errands_exec(&tasks->session->errands, task->pid);
    size_t size = 0;
    char *cmdline = errands_cmdline(&tasks->session->errands, task->pid, &size);
    const bool anothers = numbers_are_anothers(task->process->pidfd, task->pid);
    tasks_drain(tasks, task);
    /* It may have gone on to another program meanwhile. */
    generation = tasks_last_generation(task);
    /* The records of an inherited set are older than what /proc shows. */
    bool other = task->inherited && exec &&
        (!generation || !generation->program || !ends_with(exec, generation->program->exec));
    if (exec && cmdline && !anothers && !other && task->live && count == task->generation_count && !generation->named) {
        set_program(tasks, task, generation, program_new(exec, cmdline, size));
        generation->resolved = generation->program;
        generation->named = false; /* the preload object did not report: its children are not followed */
    }
    free(exec);
    free(cmdline);
}
