/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model/replay.h"

#define UNKNOWN_COMM ":"

struct task *threads_task(struct replay *replay, const struct thread *thread)
{
    return replay->each || thread->task == LOOKUP_NONE ? NULL : replay->loader->tasks[thread->task];
}

uint32_t threads_process(struct replay *replay, int32_t pid)
{
    uint64_t hash = lookup_mix(3, (uint32_t)pid);
    struct lookup_walk walk = lookup_start(&replay->process_lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (replay->processes[i].pid == pid)
            return i;
    if (arena_room(&replay->processes, &replay->process_capacity, replay->process_count, sizeof(*replay->processes)) <
            0 ||
        lookup_add(&replay->process_lookup, hash, replay->process_count) < 0)
        return LOOKUP_NONE;
    replay->processes[replay->process_count] = (struct process){.pid = pid, .exec = ""};
    return replay->process_count++;
}

/* The task of a new thread: created in the first pass; in the second, found by the order of creation. */
static int assign_task(struct replay *replay, struct thread *thread)
{
    struct input *input = replay->input;
    uint32_t ordinal = replay->tasks_made++;
    if (replay->each) {
        bool known = ordinal < input->task_count;
        thread->task = known ? replay->loader->place_of_task[input->tasks[ordinal]] : LOOKUP_NONE;
        return 0;
    }
    struct task *task = task_new(replay->loader, &thread->task);
    if (!task || arena_room(&input->tasks, &input->task_capacity, input->task_count, sizeof(*input->tasks)) < 0)
        return -ENOMEM;
    input->tasks[input->task_count++] = thread->task;
    task->shown.pid = thread->pid;
    task->shown.tid = thread->tid;
    task->shown.source = PROFILE_SOURCE_PERF;
    struct task_generation *generation = task_generation_at(task, 0);
    if (!generation)
        return -ENOMEM;
    generation->shown.comm = thread->comm;
    generation->shown.exec = replay->processes[thread->process].exec;
    return 0;
}

static uint32_t find_thread(const struct replay *replay, int32_t tid)
{
    uint32_t found = LOOKUP_NONE;
    struct lookup_walk walk = lookup_start(&replay->thread_lookup, lookup_mix(4, (uint32_t)tid));
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (replay->threads[i].tid == tid)
            found = i;
    return found;
}

const struct thread *threads_find(const struct replay *replay, int32_t tid)
{
    uint32_t index = replay->own != LOOKUP_NONE ? replay->own : find_thread(replay, tid);
    return index == LOOKUP_NONE ? NULL : &replay->threads[index];
}

/* Makes a thread TID. It replaces an earlier thread of that tid in the table, which has one per tid. */
static uint32_t make_thread(struct replay *replay, int32_t pid, int32_t tid, const char *comm)
{
    struct thread fresh = {.pid = pid, .tid = tid, .comm = comm, .process = threads_process(replay, pid)};
    if (fresh.process == LOOKUP_NONE || !comm || assign_task(replay, &fresh) < 0)
        return LOOKUP_NONE;
    uint32_t index = find_thread(replay, tid);
    if (index == LOOKUP_NONE) {
        index = replay->thread_count;
        if (arena_room(&replay->threads, &replay->thread_capacity, index, sizeof(fresh)) < 0 ||
            lookup_add(&replay->thread_lookup, lookup_mix(4, (uint32_t)tid), index) < 0)
            return LOOKUP_NONE;
        replay->thread_count++;
    }
    replay->threads[index] = fresh;
    return index;
}

static const char *first_comm(struct replay *replay, int32_t tid)
{
    char text[16];
    if (tid == 0)
        return store_string(&replay->loader->store, "swapper");
    /* perf's name for an unknown thread. */
    snprintf(text, sizeof(text), UNKNOWN_COMM "%d", tid);
    return store_string(&replay->loader->store, text);
}

uint32_t threads_get(struct replay *replay, int32_t pid, int32_t tid)
{
    if (replay->own != LOOKUP_NONE)
        return replay->own;
    if (replay->last_thread < replay->thread_count) {
        const struct thread *last = &replay->threads[replay->last_thread];
        if (last->tid == tid && (last->pid == pid || pid < 0))
            return replay->last_thread;
    }
    uint32_t index = find_thread(replay, tid);
    /* pid -1: the kernel was already releasing the task. */
    if (index == LOOKUP_NONE || (replay->threads[index].pid != pid && pid >= 0)) {
        uint32_t leader = pid >= 0 && pid != tid ? find_thread(replay, pid) : LOOKUP_NONE;
        index = make_thread(replay, pid, tid,
                            leader == LOOKUP_NONE ? first_comm(replay, tid) : replay->threads[leader].comm);
    }
    replay->last_thread = index;
    return index;
}

static void fill_parents(struct profile_task *task, const struct task *leader, int32_t ppid, int32_t parent_tid)
{
    bool thread = task->pid == ppid;
    task->ppid = !thread ? ppid : leader ? leader->shown.ppid : -1;
    task->parent_tid = parent_tid > 0 ? parent_tid : 0;
}

/* A new process starts with its parent's mappings. */
static int share_space(struct replay *replay, int32_t pid, int32_t ppid)
{
    uint32_t from = threads_process(replay, ppid), to = threads_process(replay, pid);
    if (from == LOOKUP_NONE || to == LOOKUP_NONE)
        return -ENOMEM;
    struct process *child = &replay->processes[to];
    if (from != to) {
        space_share(&child->space, &replay->processes[from].space, &replay->limits);
        space_share(&child->data, &replay->processes[from].data, &replay->data_limits);
        child->exec = replay->processes[from].exec;
        child->exec_wanted = false;
    }
    return 0;
}

static void fill_birth(struct replay *replay, const struct thread *thread, int32_t ppid, int32_t parent_tid,
                       uint64_t time)
{
    struct task *task = threads_task(replay, thread);
    if (!task)
        return;
    uint32_t leader = find_thread(replay, thread->pid);
    fill_parents(&task->shown, leader == LOOKUP_NONE ? NULL : threads_task(replay, &replay->threads[leader]), ppid,
                 parent_tid);
    task->shown.start_ns = task->generations[0].shown.start_ns = time;
    if (!task->generations[0].shown.exec[0])
        task->generations[0].shown.exec = replay->processes[thread->process].exec;
}

int threads_fork(struct replay *replay, struct cursor payload)
{
    int32_t pid = (int32_t)cursor_u32(&payload), ppid = (int32_t)cursor_u32(&payload);
    int32_t tid = (int32_t)cursor_u32(&payload), parent_tid = (int32_t)cursor_u32(&payload);
    uint64_t time = cursor_u64(&payload);
    if (payload.failed || replay->own != LOOKUP_NONE || tid < 0)
        return 0;
    uint32_t parent = find_thread(replay, parent_tid), known = find_thread(replay, tid);
    /* perf reads /proc after the events started, so it may describe a thread before or after the fork record of that
     * thread. */
    bool described = known != LOOKUP_NONE && replay->threads[known].pid == pid && replay->threads[known].described;
    if (known != LOOKUP_NONE && time == 0)
        return 0;
    const char *comm = parent == LOOKUP_NONE ? first_comm(replay, tid) : replay->threads[parent].comm;
    uint32_t index = described ? known : make_thread(replay, pid, tid, comm);
    if (index == LOOKUP_NONE)
        return -ENOMEM;
    replay->threads[index].described = time == 0;
    if (!described && time != 0 && share_space(replay, pid, ppid) < 0)
        return -ENOMEM;
    fill_birth(replay, &replay->threads[index], ppid, parent_tid, time);
    return 0;
}

int threads_exit(struct replay *replay, struct cursor payload)
{
    int32_t pid = (int32_t)cursor_u32(&payload);
    cursor_u32(&payload); /* parent */
    int32_t tid = (int32_t)cursor_u32(&payload);
    cursor_u32(&payload); /* parent's thread */
    uint64_t time = cursor_u64(&payload);
    const bool described = replay->own != LOOKUP_NONE && !replay->input->lost; /* by the task item */
    uint32_t index = payload.failed || described ? LOOKUP_NONE : find_thread(replay, tid);
    if (index == LOOKUP_NONE || replay->threads[index].pid != pid)
        return 0;
    struct task *task = threads_task(replay, &replay->threads[index]);
    replay->threads[index].ended = true;
    if (task) {
        task->shown.ended = true;
        task->shown.end_ns = time;
    }
    return 0;
}

/* Adds an exec generation to the task, or renames its last one. */
static int rename_generation(struct task *task, const char *comm, bool exec, uint64_t time)
{
    bool fresh = exec && !(task->generation_count == 1 && task->shown.start_ns == 0);
    if (fresh && task->generation_count == UINT32_MAX)
        return -ENOMEM;
    struct task_generation *generation = task_generation_at(task, fresh ? task->generation_count
                                                                        : task->generation_count - 1);
    if (!generation)
        return -ENOMEM;
    generation->shown.comm = comm;
    if (exec) {
        generation->shown.start_ns = time;
        generation->shown.exec = "";
        if (task->shown.start_ns == 0)
            task->shown.start_ns = time;
    }
    return 0;
}

/* Finds the root of `perf record COMMAND`, whose events start with its exec. */
static void find_root(struct replay *replay, const struct record *record, int32_t pid, int32_t tid)
{
    struct profile_session *session = &replay->loader->profile.session;
    const struct attr_list *attrs = &replay->file->attrs;
    bool command = false;
    for (uint32_t i = 0; i < attrs->count && !command; i++)
        command = attrs->items[i].perf.enable_on_exec;
    if (command && !replay->each && !session->ours && session->root == 0 && pid == tid && record->time != 0)
        session->root = pid;
}

int threads_comm(struct replay *replay, const struct record *record)
{
    struct cursor payload = record_cursor(record);
    int32_t pid = (int32_t)cursor_u32(&payload), tid = (int32_t)cursor_u32(&payload);
    bool exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
    if (payload.failed)
        return 0;
    const char *comm = store_text(&replay->loader->store, (const char *)payload.at, cursor_left(&payload));
    uint32_t index = comm ? threads_get(replay, pid, tid) : LOOKUP_NONE;
    if (index == LOOKUP_NONE)
        return -ENOMEM;
    struct thread *thread = &replay->threads[index];
    struct process *process = &replay->processes[thread->process];
    thread->comm = comm;
    thread->described &= record->time == 0;
    process->exec_wanted |= record->time == 0 && pid == tid && !process->exec[0];
    if (exec) {
        space_reset(&process->space, &replay->limits);
        space_reset(&process->data, &replay->data_limits);
        process->exec_wanted = true;
        process->exec = "";
        find_root(replay, record, pid, tid);
    }
    struct task *task = threads_task(replay, thread);
    /* Our files have it in an item, with the command line. */
    if (!task || (replay->own != LOOKUP_NONE && !replay->input->lost && task->generation_count > 0))
        return 0;
    if (task->generation_count == 0 && !task_generation_at(task, 0))
        return -ENOMEM;
    return rename_generation(task, comm, exec, record->time);
}

int threads_rename(struct replay *replay, uint32_t thread, const char *comm)
{
    struct task *task = threads_task(replay, &replay->threads[thread]);
    replay->threads[thread].comm = comm;
    struct task_generation *generation = task ? task_generation_at(task, 0) : NULL;
    if (generation)
        generation->shown.comm = comm;
    return task && !generation ? -ENOMEM : 0;
}

int threads_own(struct replay *replay, uint32_t index)
{
    const struct profile_task *shown = replay->each ? &replay->loader->profile.tasks[index]
                                                    : &replay->loader->tasks[index]->shown;
    struct thread own = {
        .pid = shown->pid, .tid = shown->tid, .task = index, .process = threads_process(replay, shown->pid)};
    if (own.process == LOOKUP_NONE || arena_room(&replay->threads, &replay->thread_capacity, 0, sizeof(own)) < 0)
        return -ENOMEM;
    const char *comm = ours_first_comm(replay->file);
    own.comm = comm[0] ? store_string(&replay->loader->store, comm) : first_comm(replay, own.tid);
    replay->threads[0] = own;
    replay->thread_count = 1;
    replay->own = 0;
    return own.comm ? 0 : -ENOMEM;
}
