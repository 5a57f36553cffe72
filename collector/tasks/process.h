/* SPDX-License-Identifier: MIT */
/* What the threads of a process share: address space, program, and its end as wait(2) reports it. */
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
 * An executed program. Shared by the tasks and exec generations that run it; immutable, but what was unknown may be
 * filled in.
 */
struct program {
    unsigned references;
    char *exec; /* path, "" when unknown */
    char *cmdline;
    size_t cmdline_size;
};

/* EXEC and CMDLINE may be NULL. NULL: out of memory. */
struct program *program_new(const char *exec, const char *cmdline, size_t cmdline_size);
struct program *program_get(struct program *program);
void program_put(struct program *program);

/* A process can begin with one of its other threads. */
enum process_leader {
    LEADER_ADMITTED,
    LEADER_MISSING, /* its notification may come yet */
    LEADER_LOST     /* the same, but its record in the rings of an inherited set was lost */
};

/* The notification of a child may come after its parent has called exec several times. */
enum { PROCESS_FORMER = 4 };

struct former_space {
    struct space space;
    uint64_t from_ns; /* the exec in which it began; 0: there was none */
};

struct process {
    struct process *next;                  /* hash chain */
    struct process *held_prev, *held_next; /* ended, but not yet written */
    struct process *parent; /* while held, if the parent is in the table; the list of such children follows */
    struct process *ended, *ended_prev, *ended_next;
    struct process *to_account; /* account.c: the next one of ENDED; and the one for which this one is accounted */
    struct process *accounts_for;
    pid_t pid, ppid;
    pid_t told_ppid; /* its parent at its request: not its creator if that has ended (or CLONE_PARENT) */
    bool limited;    /* USER is known, and has a channel of his own */
    uid_t user;
    struct share *share; /* of its user, if that is known; not ours */
    struct task *tasks;  /* live ones */
    unsigned live;
    struct task *leader; /* the first thread, until its file is written; may have ended */
    struct task *main;   /* the task that has tid == pid now, NULL: ended or never seen */
    struct space space;
    struct former_space former[PROCESS_FORMER]; /* up to each of its last execs, the last one first */
    struct program *program;                    /* of the current exec generation; NULL: unknown */
    struct program *announced;                  /* of the next one, if that will not report itself; NULL: unknown */
    uint64_t announced_ns;                      /* when it was announced */
    bool inherits;                              /* an inherited set is under it */
    bool inherit_refused;  /* an exec generation sent no request; its descendants cannot be covered */
    unsigned inherit_owed; /* tries left: the set was refused before the exec, when it was not dumpable */
    int pidfd;             /* -1: none */
    uint64_t start_ns;
    uint64_t maps_ns;           /* when its mappings were read because an address was in none; 0: at its start */
    uint64_t round, spent_ns;   /* how long its rings were read in that round of the loop */
    uint64_t told_second, told; /* in that second: bytes of copies of its mappings, and the like (task_file.c) */
    uint64_t maps_next_ns;      /* they are not read again before that, since it takes long */
    uint64_t exec_ns;           /* of the last exec */
    uint64_t renamed_ns;        /* of the last one that another thread than the first one called; 0: none did */
    uint64_t end_ns;            /* when its last task had ended, by its record, or as seen later; 0: none has ended */
    uint64_t alive_ns;          /* of tasks that have ended: it certainly lived then; at most end_ns */
    bool end_lost;              /* the record of an end was lost: the process may have ended after end_ns */
    uint64_t ended_ns;          /* the last task's end was seen; 0: it lives */
    uint64_t deadline_ns;       /* while held: write then */
    uint64_t awaited;           /* while held: in that batch it was held for a request, or for a child (sweep.c) */
    bool held;
    bool number_gone; /* while held: a sweep found that its parent has waited for it */
    bool accounted;   /* in the totals */
    bool exit_known;
    bool root;
    bool left;                 /* after exec it went on to a program that is not followed */
    bool secure;               /* its last program is setuid or unreadable, as far as the preload object saw */
    bool divided;              /* another entry of the table has what it did before, and a part of its start-up time */
    bool continued;            /* lost its events, and another entry of the table has its rest */
    bool revoked;              /* the kernel took its events away before its end */
    enum process_leader first; /* its first thread: was it admitted? */
    bool thread_refused;       /* a thread of it has no events */
    bool uncounted;            /* timers: a program of it was not counted, and only its accounting is known */
    bool untracked_children;   /* it made untracked children: they may be in its rusage */
    bool orphan;               /* its parent ended before it */
    bool waited;               /* its parent's wait was seen */
    bool status_known;
    int status;
    uint64_t ended_tasks;
    uint64_t clock_ns;          /* CPU time of its ended tasks, as counted */
    uint64_t behind_ns;         /* how much of its ended tasks may not be in clock_ns: in system-wide sets */
    uint64_t main_clock_ns;     /* part of it: of the thread that had tid == pid last, before and after that */
    uint64_t children_ns;       /* CPU time of the children that it waited for, with theirs */
    uint64_t counted_ns;        /* limited: part of it that the kernel counted, once they are accounted for */
    uint64_t guessed_ns;        /* the same of ended children whose wait was not seen (inside libc: system, popen) */
    uint64_t unwaited_ns;       /* part of these, and of theirs, that is in the tasks' unwaited_ns */
    struct stack_trust *trust;  /* --call-graph auto; NULL: nothing was compared yet */
    uint64_t rusage_ns;         /* CPU time as wait(2) reports it, with its children's; 0: unknown */
    uint64_t rusage_switches;   /* its context switches, likewise */
    uint64_t children_switches; /* part of them: of the children that it waited for */
    uint64_t exit_ns;           /* with exit_known: the cost of its exit */
    uint64_t own_ns;            /* CPU time without children, from elsewhere; 0: unknown */
};

struct process *process_new(pid_t pid, pid_t ppid, uint64_t start_ns);
/* What it maps from now on counts for SHARE. */
void process_set_share(struct process *process, struct share *share);
/* Its mappings of data are wanted, too. */
void process_take_data(struct process *process);
/* Its program ends at TIME_NS, in an exec: its mappings become a former space. The caller sets exec_ns then. */
void process_end_space(struct process *process, uint64_t time_ns);
/* The former spaces of OLD, which goes on as PROCESS. */
void process_take_former(struct process *process, struct process *old);
/*
 * What it had mapped at TIME_NS, and maybe what it has mapped since in the same program. NULL: that is not known any
 * more.
 */
struct space *process_space_at(struct process *process, uint64_t time_ns);
/* No task may be linked any more. NULL is accepted. */
void process_free(struct process *process);
/* The parent's wait: status and the CPU time of the process with its waited-for children. */
void process_set_waited(struct process *process, int status, uint64_t rusage_ns);
/*
 * CPU time that the kernel charged to the process beyond what its events counted: mostly the exit of the process
 * itself, and the exits of children that were waited for within libc (system, pclose) or in a program without the
 * preload object. False if it is unknown or implausible (children whose wait we did not see).
 */
bool process_exit_cost(const struct process *process, uint64_t *ret_ns);
/* Is it ending, or has nobody waited for it yet? Zombies keep their number. False if that is unknown. */
bool process_has_number(const struct process *process);
/* Is guessed_ns in its rusage: were these children waited for without a report of it? False if that is unknown. */
bool process_wait_was_missed(const struct process *process);
/* Asks the kernel for the status of an ended process, if its parent's wait was not seen. */
void process_ask_status(struct process *process);
/* Asks for the CPU time of an ended process that nobody waited for yet. */
void process_ask_clock(struct process *process);
/* Has it ended (a zombie too)? False when unknown. */
bool process_is_dead(const struct process *process);
/* Does it live, for certain? Its events may have ended before it. */
bool process_is_alive(const struct process *process);

#endif
