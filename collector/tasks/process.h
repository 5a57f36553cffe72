/* SPDX-License-Identifier: MIT */
/* What the threads of a process share: address space, program, and what wait(2) says of it in the end. */
#ifndef COLLECTOR_TASKS_PROCESS_H
#define COLLECTOR_TASKS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/records/space.h"

struct share;
struct stack_trust;
struct task;

/*
 * What was executed. Shared by the tasks and exec generations that run it; immutable but for filling in what was not
 * known.
 */
struct program {
    unsigned references;
    char *exec;              /* path, "" when unknown */
    char *cmdline;
    size_t cmdline_size;
};

/* EXEC and CMDLINE may be NULL. NULL: out of memory. */
struct program *program_new(const char *exec, const char *cmdline, size_t cmdline_size);
struct program *program_get(struct program *program);
void program_put(struct program *program);

struct process {
    struct process *next;        /* hash chain */
    struct process *held_prev, *held_next;   /* ended, but not yet written */
    struct process *parent;      /* while held, and the parent is in the table; its list of such children follows */
    struct process *ended, *ended_prev, *ended_next;
    struct process *to_account;  /* account.c: of ENDED, the next one; and for whom this one is accounted */
    struct process *accounts_for;
    pid_t pid, ppid;
    pid_t told_ppid;             /* its parent when it asked: not who made it, where that has ended, or CLONE_PARENT */
    bool limited;                /* USER is known, and has a channel of his own */
    uid_t user;
    struct share *share;         /* of its user, as far as that is known; not ours */
    struct task *tasks;          /* live ones */
    unsigned live;
    struct task *leader;         /* the first thread, until its file is written; may have ended */
    struct task *main;           /* the task that has tid == pid now, NULL: ended or never seen */
    struct space space;
    struct program *program;     /* of the current exec generation; NULL: unknown */
    struct program *announced;   /* of the next one, where it will not speak for itself; NULL: unknown */
    uint64_t announced_ns;       /* when that was said */
    bool inherits;               /* an inherited set is under it */
    bool inherit_refused;        /* an exec generation of it said nothing, and what comes from it cannot be covered */
    unsigned inherit_owed;       /* refused before the exec, when the process was not dumpable: tries that are left */
    int pidfd;                   /* -1: none */
    uint64_t start_ns;
    uint64_t maps_ns;            /* when its mappings were read because an address lay in none; 0: at its start */
    uint64_t round, spent_ns;    /* how long its rings were read in that round of the loop */
    uint64_t told_second, told;  /* in that second: bytes of copies of its mappings, and the like (drain.c) */
    uint64_t maps_next_ns;       /* not again before that, since it takes long */
    uint64_t exec_ns;            /* of the last exec */
    uint64_t ended_ns;           /* the last task's end was seen; 0: it lives */
    uint64_t deadline_ns;        /* while held: write then */
    bool held;
    bool accounted;              /* in the totals */
    bool exit_known;
    bool root;
    bool left;                   /* went on, after exec, to where we do not follow */
    bool secure;                 /* its last program is setuid or cannot be read, as far as the preload object saw */
    bool revoked;                /* the kernel took its events away before its end */
    bool incomplete;             /* a thread of it was not seen */
    bool uncounted;              /* timers: a program of it was not counted, and all that is known is its accounting */
    bool untracked_children;     /* it made children of which nothing is known: they may be in its rusage */
    bool orphan;                 /* its parent ended before it */
    bool waited;                 /* its parent's wait was seen */
    bool status_known;
    int status;
    uint64_t ended_tasks;
    uint64_t clock_ns;           /* CPU time of its ended tasks, as counted */
    uint64_t children_ns;        /* CPU time of the children it waited for, with theirs */
    uint64_t counted_ns;         /* limited: of it, what the kernel counted of these, once they are accounted for */
    uint64_t guessed_ns;         /* the same of ended children whose wait was not seen (inside libc: system, popen) */
    uint64_t unwaited_ns;        /* of these, and of theirs, what stands in the tasks' unwaited_ns */
    struct stack_trust *trust;   /* --call-graph auto; NULL: nothing was compared yet */
    uint64_t rusage_ns;          /* CPU time as wait(2) told, with its children's; 0: unknown */
    uint64_t rusage_switches;    /* its context switches, likewise */
    uint64_t children_switches;  /* of them, those of the children that it waited for */
    uint64_t exit_ns;            /* with exit_known: the cost of its end */
    uint64_t own_ns;             /* CPU time without children, from elsewhere; 0: unknown */
};

struct process *process_new(pid_t pid, pid_t ppid, uint64_t start_ns);
/* What it maps from now on is its share's. */
void process_set_share(struct process *process, struct share *share);
/* No task may be linked any more. NULL is accepted. */
void process_free(struct process *process);
/* The parent's wait: status and the CPU time of the process with its waited-for children. */
void process_set_waited(struct process *process, int status, uint64_t rusage_ns);
/*
 * CPU time that the kernel charged to the process beyond what its events counted: mostly the end of the process itself,
 * and the ends of children that were waited for within libc (system, pclose) or in a program without the preload
 * object. False when it is not known or not plausible (children that were waited for behind our back).
 */
bool process_exit_cost(const struct process *process, uint64_t *ret_ns);
/* It is about to end, or nobody has waited for it yet: zombies keep their number. False when that is not known. */
bool process_has_number(const struct process *process);
/* Whether guessed_ns is in its rusage: they were waited for, and that was missed. False when that is not known. */
bool process_wait_was_missed(const struct process *process);
/* Asks the kernel for the status of an ended process, if its parent's wait was not seen. */
void process_ask_status(struct process *process);
/* Asks for the CPU time of an ended process that nobody waited for yet. */
void process_ask_clock(struct process *process);
/* Has it ended (a zombie too)? False when unknown. */
bool process_is_dead(const struct process *process);

#endif
