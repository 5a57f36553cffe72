/* SPDX-License-Identifier: MIT */
#include "collector/tasks/process.h"

#include <stdlib.h>
#include <string.h>

#include "collector/system/numbers.h"
#include "collector/system/pidfd.h"
#include "collector/tasks/shares.h"

/*
 * Plausible CPU time of an exit: tearing an address space down, and each thread's own. And of each switch to a task:
 * the scheduler charges it from the moment when the task was chosen, its events count when they have been switched,
 * which takes 2 to 25 us if they sample. A larger difference has another cause.
 */
enum {
    EXIT_COST_NS = 50 * 1000 * 1000,
    EXIT_COST_SHARE = 5,
    TASK_EXIT_COST_NS = 100 * 1000,
    SWITCH_COST_NS = 30 * 1000,
    CLOCK_SLACK_NS = 1000 * 1000,
    CLOCK_SLACK_SHARE = 50 /* if CPUs are taken away (steal) the two clocks differ by a percent */
};

/* A child is notified within that time. */
static const uint64_t FORMER_NS = UINT64_C(10) * 1000 * 1000 * 1000;

struct program *program_new(const char *exec, const char *cmdline, size_t cmdline_size)
{
    struct program *program = calloc(1, sizeof(*program));
    if (!program)
        return NULL;
    program->references = 1;
    program->exec = strdup(exec ? exec : "");
    if (cmdline && cmdline_size) {
        program->cmdline = malloc(cmdline_size + 1);
        program->cmdline_size = program->cmdline ? cmdline_size : 0;
    }
    if (program->cmdline) {
        memcpy(program->cmdline, cmdline, cmdline_size);
        program->cmdline[cmdline_size] = '\0';
        if (cmdline[cmdline_size - 1]) /* readers rely on the last NUL */
            program->cmdline_size++;
    }
    if (program->exec)
        return program;
    free(program->cmdline);
    free(program);
    return NULL;
}

struct program *program_get(struct program *program)
{
    if (program)
        program->references++;
    return program;
}

void program_put(struct program *program)
{
    if (!program || --program->references)
        return;
    free(program->exec);
    free(program->cmdline);
    free(program);
}

struct process *process_new(pid_t pid, pid_t ppid, uint64_t start_ns)
{
    struct process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->pid = pid;
    process->ppid = ppid;
    process->start_ns = start_ns;
    process->pidfd = -1;
    space_init(&process->space);
    for (unsigned i = 0; i < PROCESS_FORMER; i++)
        space_init(&process->former[i].space);
    return process;
}

void process_set_share(struct process *process, struct share *share)
{
    process->share = share;
    process->space.quota = &share->quota;
    for (unsigned i = 0; i < PROCESS_FORMER; i++)
        process->former[i].space.quota = &share->quota;
}

void process_take_data(struct process *process)
{
    process->space.data = true;
    for (unsigned i = 0; i < PROCESS_FORMER; i++)
        process->former[i].space.data = true;
}

void process_end_space(struct process *process, uint64_t time_ns)
{
    struct former_space *former = process->former;
    for (unsigned i = PROCESS_FORMER - 1; i > 0; i--) {
        space_move(&former[i - 1].space, &former[i].space);
        former[i].from_ns = former[i - 1].from_ns;
    }
    space_move(&process->space, &former[0].space);
    former[0].from_ns = process->exec_ns;
    for (unsigned i = 1; i < PROCESS_FORMER; i++)
        if (former[i - 1].from_ns + FORMER_NS < time_ns)
            space_release(&former[i].space);
}

void process_take_former(struct process *process, struct process *old)
{
    for (unsigned i = 0; i < PROCESS_FORMER; i++) {
        space_move(&old->former[i].space, &process->former[i].space);
        process->former[i].from_ns = old->former[i].from_ns;
    }
}

struct space *process_space_at(struct process *process, uint64_t time_ns)
{
    struct former_space *former = process->former, *end = former + PROCESS_FORMER;
    if (time_ns >= process->exec_ns)
        return &process->space;
    while (former < end && time_ns < former->from_ns)
        former++;
    return former < end ? &former->space : NULL;
}

void process_free(struct process *process)
{
    if (!process)
        return;
    space_release(&process->space);
    for (unsigned i = 0; i < PROCESS_FORMER; i++)
        space_release(&process->former[i].space);
    free(process->trust);
    program_put(process->program);
    program_put(process->announced);
    pidfd_close(process->pidfd);
    free(process);
}

void process_set_waited(struct process *process, int status, uint64_t rusage_ns)
{
    process->waited = true;
    process->status = status;
    process->status_known = true;
    process->rusage_ns = rusage_ns;
}

static uint64_t switching_ns(const struct process *process)
{
    uint64_t all = process->rusage_switches, children = process->children_switches;
    uint64_t own = all > children ? all - children : 0;
    return (own < UINT32_MAX ? own : UINT32_MAX) * SWITCH_COST_NS;
}

/*
 * OWN: CPU time of the process, with the exits of the children that were subtracted; MISSED: what these had used. A
 * child that does next to nothing uses as much again while it exits.
 */
static bool is_plausible(const struct process *process, uint64_t own, uint64_t missed, uint64_t *ret_ns)
{
    uint64_t counted = process->clock_ns + missed;
    if (!own || own + CLOCK_SLACK_NS + counted / CLOCK_SLACK_SHARE < process->clock_ns)
        return false;
    uint64_t cost = own > process->clock_ns ? own - process->clock_ns : 0;
    bool free = process->revoked || process->uncounted;
    uint64_t most = EXIT_COST_NS + own / EXIT_COST_SHARE + process->ended_tasks * TASK_EXIT_COST_NS + missed +
                    process->behind_ns;
    if (!free && cost > most + switching_ns(process))
        return false;
    *ret_ns = cost;
    return true;
}

/* What the children whose wait was not seen used in their exits: nothing else reports that. OWN: without any child. */
static uint64_t ends_of_missed(const struct process *process, uint64_t own)
{
    uint64_t guessed = process->guessed_ns, known = own + process->children_ns + guessed;
    if (!guessed || process->untracked_children || process->rusage_ns <= known)
        return 0;
    uint64_t ends = process->rusage_ns - known;
    return ends <= EXIT_COST_NS + guessed ? ends : 0;
}

/*
 * Children whose wait was not seen were waited for, most likely; else they are in nobody's rusage. Takes what is closer
 * to the process' own time: the children's time must not pass for the cost of an exit.
 */
static bool are_waited_for(const struct process *process)
{
    uint64_t most = process->rusage_ns, without = process->children_ns + process->clock_ns;
    uint64_t with = without + process->guessed_ns;
    return process->guessed_ns && most > without && (most >= with || with - most <= most - without);
}

bool process_exit_cost(const struct process *process, uint64_t *ret_ns)
{
    uint64_t most = process->rusage_ns, children = process->children_ns, guessed = process->guessed_ns;
    if (process->first != LEADER_ADMITTED || process->thread_refused || process->left)
        return false;
    /* What a program without events starts has none either: its parent's wait has all of it in one figure. */
    if (process->own_ns && !(process->revoked && process->rusage_ns)) {
        if (!is_plausible(process, process->own_ns, 0, ret_ns))
            return false;
        *ret_ns += ends_of_missed(process, process->own_ns);
        return true;
    }
    if (process->untracked_children || most < children)
        return false;
    if (!are_waited_for(process))
        return is_plausible(process, most - children, 0, ret_ns);
    if (most > children + guessed + process->clock_ns)
        return is_plausible(process, most - children - guessed, guessed, ret_ns);
    *ret_ns = 0; /* if CPUs are taken away the counters have more than the accounting */
    return true;
}

bool process_wait_was_missed(const struct process *process)
{
    uint64_t own = process->own_ns ? process->own_ns : process->clock_ns, guessed = process->guessed_ns;
    uint64_t slack = CLOCK_SLACK_NS + (own + guessed) / CLOCK_SLACK_SHARE;
    return guessed && process->rusage_ns && process->rusage_ns + slack >= own + process->children_ns + guessed;
}

void process_ask_status(struct process *process)
{
    if (!process->status_known)
        process->status_known = pidfd_status(process->pidfd, &process->status);
}

bool process_has_number(const struct process *process)
{
    return pidfd_has_number(process->pidfd);
}

void process_ask_clock(struct process *process)
{
    if (!process->waited)
        pidfd_clock(process->pidfd, process->pid, &process->own_ns);
}

bool process_is_dead(const struct process *process)
{
    /* If only a thread of it was admitted, the number has to do: if it is in use again, the process counts as alive. */
    if (process->pidfd < 0)
        return process->first != LEADER_ADMITTED && numbers_process_is_gone(process->pid);
    return pidfd_is_dead(process->pidfd);
}

bool process_is_alive(const struct process *process)
{
    return process->pidfd >= 0 && !process_is_dead(process);
}
