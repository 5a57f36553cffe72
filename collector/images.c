/* SPDX-License-Identifier: MIT */
/* Which program runs when: exec records of the ring, matched with what the object tells of its new image. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/numbers.h"
#include "collector/tasks.h"

/*
 * A program has up to 1 MiB of arguments, a task up to TASKS_IMAGES programs: of all but the last one so much is kept,
 * and of each the first LINE_LEAST bytes.
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

/* IMAGE is not the last one of TASK (any more). */
static void bound_arguments(struct task *task, struct image *image)
{
    struct program *program = image->program;
    task->arguments -= image->arguments;
    task->arguments_cut -= image->cut;
    size_t room = task->arguments < ARGUMENTS_MAX ? ARGUMENTS_MAX - task->arguments : 0;
    room = room > LINE_LEAST ? room : LINE_LEAST;
    image->cut = program && program->cmdline_size > room;
    if (image->cut) {
        image->program = cut_program(program, room);
        program_put(program);
        task->arguments_cut++;
    }
    image->arguments = image->program ? image->program->cmdline_size : 0;
    task->arguments += image->arguments;
}

struct image *tasks_add_image(struct task *task, uint64_t start_ns, const char *comm, struct program *program)
{
    struct image *images = task->images;
    if (task->image_count >= TASKS_IMAGES) { /* the last one stands for all further ones */
        struct image *last = &images[TASKS_IMAGES - 1];
        task->images_more++;
        program_put(last->program);
        free(last->at_end);
        *last = (struct image){.start_ns = start_ns, .program = program_get(program)};
        snprintf(last->comm, sizeof(last->comm), "%s", comm);
        return last;
    }
    if (task->image_count)
        bound_arguments(task, &images[task->image_count - 1]);
    if ((task->image_count & (task->image_count - 1)) == 0) {
        images = realloc(images, (task->image_count ? 2 * task->image_count : 1) * sizeof(*images));
        if (!images)
            return NULL;
        task->images = images;
    }
    struct image *image = &images[task->image_count++];
    *image = (struct image){.start_ns = start_ns, .program = program_get(program)};
    snprintf(image->comm, sizeof(image->comm), "%s", comm);
    return image;
}

static struct image *last_image(const struct task *task)
{
    return task->image_count ? &task->images[task->image_count - 1] : NULL;
}

void tasks_begin_file(struct tasks *tasks, struct task *task)
{
    const struct image *image = last_image(task);
    const char *exec = NULL;
    if (tasks->session->settings->split) {
        if (!image || !image->program || !image->program->exec[0]) {
            task->name_known = false;
            return;
        }
        exec = image->program->exec;
    }
    if (result_new(tasks->results, task->pid, task->tid, exec, &task->result))
        task->result = NULL;
    task->name_known = true;
    task->flushed_ns = tasks->now_ns;
    for (size_t at = 0; at + sizeof(struct perf_event_header) <= task->backlog.size;) {
        const void *bytes = task->backlog.data + at;
        const struct perf_event_header *record = bytes;
        tasks_put_record(tasks, task, record, record->size);
        at += record->size;
    }
    buffer_release(&task->backlog);
    buffer_init(&task->backlog);
}

void tasks_name_file(struct tasks *tasks, struct task *task)
{
    struct image *image = last_image(task);
    struct program *program = image ? image->program : NULL;
    if (task->name_known || !image)
        return;
    if (!program || !program->exec[0]) {
        image->program = program_new(image->comm[0] ? image->comm : "?", program ? program->cmdline : NULL,
                                     program ? program->cmdline_size : 0);
        program_put(program);
    }
    tasks_begin_file(tasks, task);
}

/* The counts at the exec of TIME_NS: those of the last snapshot before it. NULL: unknown. Owned by the caller. */
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

void tasks_snapshot_arrived(struct tasks *tasks, struct task *task, struct arrival *arrival)
{
    struct image *image = last_image(task);
    if (!arrival->values)
        return;
    if (image && image->start_ns > arrival->time_ns) { /* its exec was met before it was told */
        struct image *before = task->image_count > 1 ? image - 1 : NULL;
        if (before && before->start_ns <= arrival->time_ns && !before->at_end) {
            before->at_end = arrival->values;
            arrival->values = NULL;
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
    task->snapshots[task->snapshot_count++] = (struct snapshot){arrival->time_ns, arrival->values};
    arrival->values = NULL;
}

/* The end of the way with a task that calls exec: its counts are those before. */
static void leave(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm)
{
    task->end_ns = time_ns;
    task->process->left = true;
    free(task->values);
    task->values = take_snapshot(task, time_ns);
    unseen_add(&tasks->unseen, "program not followed after exec (--follow-exec follows it)", comm->name, 1, 0);
}

bool tasks_exec(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm)
{
    struct process *process = task->process;
    if (!task->armed && !(tasks->session->settings->follow & PINJECT_SESSION_EXEC)) {
        leave(tasks, task, time_ns, comm);
        return false;
    }
    tasks->netted_images += task->netted;
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
    struct image *before = last_image(task);
    if (before && !before->at_end)
        before->at_end = take_snapshot(task, time_ns);
    if (before && tasks->session->settings->split)
        tasks_split_file(tasks, task, time_ns);
    bool first = task->armed;
    task->armed = false;
    tasks_add_image(task, time_ns, task->comm, NULL);
    if (first)
        tasks_count(tasks, task);
    if (first || tasks->session->settings->split)
        tasks_begin_file(tasks, task);
    return true;
}

void tasks_guess_program(struct tasks *tasks, struct task *task, const struct mapping *mapping)
{
    struct image *image = last_image(task);
    bool file = mapping->path[0] == '/' && mapping->path[1] != '/';
    if (!image || image->program || mapping->time_ns < image->start_ns || !file)
        return;
    struct process *process = task->process;
    /* What was said since is of the next one. */
    struct program *announced = process->announced_ns < image->start_ns ? process->announced : NULL;
    image->program = program_new(mapping->path, announced ? announced->cmdline : NULL,
                                 announced ? announced->cmdline_size : 0);
    image->named = announced && image->program;
    if (announced) {
        program_put(announced);
        process->announced = NULL;
    }
    image->resolved = image->program && !task->lost_records && !task->broken;
    if (!task->process->program)
        task->process->program = program_get(image->program);
    if (!task->name_known)
        tasks_begin_file(tasks, task);
}

static void give_program(struct tasks *tasks, struct task *task, struct image *image, struct program *program)
{
    program_put(image->program);
    image->program = program_get(program);
    if (image != last_image(task))
        bound_arguments(task, image);
    if (!task->name_known && image == last_image(task))
        tasks_begin_file(tasks, task);
}

/* A thread may be announced before the new program of its process is. It gets that program now. */
static void give_program_to_threads(struct tasks *tasks, const struct task *main, const struct image *image)
{
    for (struct task *task = main->process->tasks; task; task = task->process_next) {
        struct image *own = last_image(task);
        if (task != main && own && own->start_ns >= image->start_ns && own->program != image->program)
            give_program(tasks, task, own, image->program);
    }
}

static void set_program(struct tasks *tasks, struct task *task, struct image *image, struct program *program)
{
    if (!program)
        return;
    image->named = true;
    give_program(tasks, task, image, program);
    if (image == last_image(task)) {
        program_put(task->process->program);
        task->process->program = program_get(program);
        give_program_to_threads(tasks, task, image);
    }
    program_put(program);
}

/* An image without an exec record: there is no ring, or the record was lost. */
static struct image *add_unannounced(struct tasks *tasks, struct task *task, const struct arrival *arrival)
{
    const char *slash = arrival->exec ? strrchr(arrival->exec, '/') : NULL;
    struct records_comm comm = {.pid = task->pid, .tid = task->key, .exec = true, .name = slash ? slash + 1 : "?"};
    char name[16];
    snprintf(name, sizeof(name), "%.15s", task->timed && arrival->comm[0] ? arrival->comm : comm.name);
    comm.name = name;
    if (task->live && task->armed)
        task->startup_ns = arrival->startup_ns;
    return task->live && tasks_exec(tasks, task, arrival->time_ns, &comm) ? last_image(task) : NULL;
}

void tasks_image_arrived(struct tasks *tasks, struct task *task, const struct arrival *arrival)
{
    struct image *image = NULL;
    for (unsigned i = 0; i < task->image_count; i++)
        if (task->images[i].start_ns <= arrival->time_ns)
            image = &task->images[i];
    bool records_missing = task->counted_only || task->lost_records || task->broken;
    /* Announced as one that would be silent, it speaks. */
    bool known = task->silent && image && image == last_image(task) && !strcmp(image->comm, arrival->comm);
    bool new_one = task->timed ? !known : image && image->named && image == last_image(task) && records_missing;
    if (!image || new_one)
        image = add_unannounced(tasks, task, arrival);
    if (!image)
        return;
    if (task->timed)
        tasks_exec_timed(tasks, task, arrival);
    /* The object knows the name that was given to exec: a link, or relative. */
    const char *exec = image->resolved && image->program ? image->program->exec : arrival->exec;
    set_program(tasks, task, image, program_new(exec, arrival->cmdline, arrival->cmdline_size));
}

/* The image of the first exec behind TIME_NS; NULL: none is known. */
static struct image *find_next(struct task *task, uint64_t time_ns)
{
    for (unsigned i = 0; i < task->image_count; i++)
        if (task->images[i].start_ns > time_ns)
            return &task->images[i];
    return NULL;
}

void tasks_program_announced(struct tasks *tasks, struct process *process, const struct arrival *arrival)
{
    struct program *program =
        arrival->cmdline ? program_new(arrival->exec, arrival->cmdline, arrival->cmdline_size) : NULL;
    struct image *image = process->main ? find_next(process->main, arrival->time_ns) : NULL;
    if (image && image->program) { /* its exec was met before it was told */
        if (program && !image->named)
            set_program(tasks, process->main, image,
                        program_new(image->program->exec, program->cmdline, program->cmdline_size));
        program_put(program);
        return;
    }
    if (image && image != last_image(process->main)) { /* what it mapped first was lost, and it has gone on */
        program_put(program);
        return;
    }
    program_put(process->announced);
    process->announced = program;
    process->announced_ns = arrival->time_ns;
}

/* The kernel names a file from the root of the task, /proc from ours. */
static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), length = strlen(end);
    return length > 0 && length <= size && strcmp(path + size - length, end) == 0;
}

void tasks_look_for_programs(struct tasks *tasks, struct task *task)
{
    struct image *image = last_image(task);
    if (!image || image->named || image->looked || task->kind == PINJECT_THREAD)
        return;
    unsigned count = task->image_count;
    image->looked = true;
    char *exec = errands_exec(&tasks->session->errands, task->pid);
    size_t size = 0;
    char *cmdline = errands_cmdline(&tasks->session->errands, task->pid, &size);
    const bool anothers = numbers_are_anothers(task->process->pidfd, task->pid);
    tasks_drain(tasks, task);
    /* It may have gone on to another program meanwhile. */
    image = last_image(task);
    /* The records of a net are older than /proc. */
    bool other = task->netted && exec && (!image || !image->program || !ends_with(exec, image->program->exec));
    if (exec && cmdline && !anothers && !other && task->live && count == task->image_count && !image->named) {
        set_program(tasks, task, image, program_new(exec, cmdline, size));
        image->resolved = image->program;
        image->named = false; /* the object did not speak: its children are not followed */
    }
    free(exec);
    free(cmdline);
}
