/* SPDX-License-Identifier: MIT */
#include "analyze/export/lives.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/view/memory.h"
#include "common/bound.h"

uint32_t lives_count(const struct profile_task *task)
{
    return task->generation_count ? task->generation_count : 1;
}

/* The program that TASK ran at TIME_NS. */
static uint32_t program_at(const struct profile_task *task, uint64_t time_ns)
{
    size_t after = UPPER_BOUND(task->generations, task->generation_count, .start_ns, time_ns);
    return after ? (uint32_t)after - 1 : 0;
}

/* The leader of TASK's process, or TASK itself. */
static const struct profile_task *leader_of(const struct lives *lives, const struct profile_task *task)
{
    uint32_t parent = lives->lineage.parent[task->index];
    bool thread = task->pid != task->tid && parent != PROCESS_TREE_NONE &&
                  lives->profile->tasks[parent].pid == task->pid;
    return thread ? &lives->profile->tasks[parent] : task;
}

/* The program of LEADER that TASK, one of its threads or itself, ran at TIME_NS; if that is not known, the last one. */
static uint32_t program_of(const struct profile_task *leader, const struct profile_task *task, uint64_t time_ns)
{
    return program_at(leader, leader == task ? time_ns : task->start_ns ? task->start_ns : UINT64_MAX);
}

static uint32_t *number_of(const struct lives *lives, const struct profile_task *task, uint32_t program)
{
    return &lives->numbers[lives->first[task->index] + program];
}

void lives_init(struct lives *lives, const struct profile *profile, const bool *wanted, const struct samples *samples)
{
    uint32_t sum = 0;
    lives->profile = profile;
    process_tree_init(&lives->lineage, profile, wanted);
    lives->first = memory_new(profile->task_count, sizeof(*lives->first));
    for (uint32_t i = 0; i < profile->task_count; i++) {
        lives->first[i] = sum;
        sum += lives_count(&profile->tasks[i]);
    }
    lives->numbers = memory_new(sum, sizeof(*lives->numbers));
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i], *leader = leader_of(lives, task);
        *number_of(lives, task, lives_count(task) - 1) = 1;
        if (wanted[i])
            *number_of(lives, leader, program_of(leader, task, UINT64_MAX)) = 1;
    }
    for (size_t i = 0; i < samples->count; i++) {
        const struct profile_task *task = &profile->tasks[samples->items[i].task], *leader = leader_of(lives, task);
        *number_of(lives, leader, program_of(leader, task, samples->items[i].time_ns)) = 1;
    }
    for (uint32_t i = 0; i < profile->task_count; i++) {
        uint32_t shown = 0;
        for (uint32_t j = 0; j < lives_count(&profile->tasks[i]); j++)
            if (*number_of(lives, &profile->tasks[i], j))
                *number_of(lives, &profile->tasks[i], j) = ++shown;
    }
}

void lives_release(struct lives *lives)
{
    process_tree_release(&lives->lineage);
    free(lives->first);
    free(lives->numbers);
}

/* "10", and for later shown programs "10.1", "10.2". */
static void write_pid(int32_t pid, uint32_t number, char *ret)
{
    if (number > 1)
        snprintf(ret, LIVES_NUMBER, "%d.%u", pid, number - 1);
    else
        snprintf(ret, LIVES_NUMBER, "%d", pid);
}

bool lives_get(const struct lives *lives, const struct samples *samples, const struct profile_task *task,
               uint32_t number, size_t from, struct life *ret)
{
    const struct profile_task *leader = leader_of(lives, task);
    const struct profile_generation *generation = leader == task && task->generation_count ? &task->generations[number]
                                                                                           : NULL;
    const bool last = number + 1 >= lives_count(task);
    if (!*number_of(lives, task, number))
        return false;
    *ret = (struct life){.comm = last || !generation ? task->comm : generation->comm,
                         .exec = last || !generation ? task->exec : generation->exec,
                         .start_ns = number && generation ? generation->start_ns : task->start_ns,
                         .end_ns = !last         ? task->generations[number + 1].start_ns
                                   : task->ended ? task->end_ns
                                                 : 0,
                         .from = from};
    while (from < samples->count && samples->items[from].task == task->index &&
           (last || samples->items[from].time_ns < ret->end_ns))
        from++;
    ret->count = from - ret->from;
    write_pid(task->pid, *number_of(lives, leader, leader == task ? number : program_of(leader, task, 0)), ret->pid);
    return true;
}
