/* SPDX-License-Identifier: MIT */
/*
 * The tasks and processes of a session: from the start of each to its result file. Context: the event loop's thread.
 *
 * The types are here. task_table.c has the tables and the life of the structures, notification_order.c and admit.c take
 * notifications (begin_process.c: those of new processes), drain.c reads rings, generations.c and programs.c know which
 * program runs when, task_file.c makes the result files of tasks (task_view.c), finish.c ends tasks and processes
 * (account.c adds up their CPU time), sweep.c looks at all of them.
 */
#ifndef COLLECTOR_TASKS_TASKS_H
#define COLLECTOR_TASKS_TASKS_H

#include <pinject/format.h>
#include <pinject/ring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/output/counts.h"
#include "collector/output/result.h"
#include "collector/records/kernelmap.h"
#include "collector/records/records.h"
#include "collector/records/space.h"
#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "collector/stacks/stacks.h"
#include "collector/system/machine_time.h"
#include "collector/tasks/life.h"
#include "collector/tasks/missed.h"
#include "collector/tasks/process.h"
#include "collector/tasks/shares.h"
#include "collector/tasks/tids.h"
#include "common/buffer.h"

enum {
    TASKS_TABLE = 16384,
    TASKS_GENERATIONS = 1024,
    TASKS_SNAPSHOTS = 4,
    ENDED_THREADS = 1024,
    LATE_TASKS = 4096,
    TASKS_OWED = 16,
    TASKS_EARLY_WAITS = 64,
    TASKS_UNWAITED = 256
};

/* One program that a task ran. */
struct exec_generation {
    uint64_t start_ns;
    char comm[16];
    bool named;         /* PROGRAM was reported by the preload object, not guessed from the ring or read in /proc */
    bool resolved;      /* the program's path is the kernel's, not what was given to exec */
    uint64_t told_ns;   /* when it last reported its program, by its own clock; 0: it has not */
    bool looked;        /* /proc was read already */
    uint64_t looked_ns; /* unnamed: CPU time that was counted at the first sweep since, + 1 */
    struct program *program;     /* NULL: unknown */
    size_t arguments;            /* if it is not the last one: bytes of its command line */
    bool cut;                    /* and there were more */
    struct attach_value *at_end; /* counts when it ended, config.count entries; NULL: unknown */
};

/* Counts just before an exec that may come. */
struct snapshot {
    uint64_t time_ns;
    struct attach_value *values;
};

struct task {
    struct task *next; /* hash chain; later the lists of what is to be written, freed */
    struct task *live_prev, *live_next;
    struct task *unread_prev, *unread_next;
    struct task *process_prev, *process_next;
    struct process *process; /* NULL once unlinked */
    struct attached *events; /* NULL once ended */
    struct pinject_ring ring;
    int ring_fd; /* in epoll; -1: none */
    pid_t pid, tid, ppid, parent_tid;
    pid_t key;     /* the tid that it has now: a thread that calls exec gets that of its process */
    uint32_t kind; /* enum pinject_kind */
    char comm[16];
    struct task_state state; /* changed by tasks_step() alone */
    enum task_coverage coverage;
    bool timer_started;               /* by timer: it was seen to run, so the file's source is the timer */
    bool broken;                      /* its ring was given up */
    int refusal;                      /* by timer, in a session with events: -errno why it has none */
    uint64_t drained;                 /* with its process, in that batch of notifications */
    uint64_t inherited_set;           /* by inheritance: number of its inherited set */
    uint64_t relieved_ns;             /* since then a system-wide set covers it, before that its own events; 0: no */
    bool clocked_anew;                /* relieved: READ records have all its CPU time, but what is in startup_ns */
    uint32_t switches_seen;           /* by relief.c */
    uint64_t opened_ns;               /* when its events were, by our clock */
    uint64_t attached_late_ns;        /* it sent no request: events were opened then, from outside; 0: it did */
    bool covers;                      /* an inherited set covers what it starts */
    uint64_t gone_ns;                 /* by inheritance: when a sweep found it ended; 0: none did */
    unsigned readings, readings_seen; /* inherited: READ records that its end brings, and that came */
    uint64_t start_ns, end_ns, startup_ns;
    uint64_t samples, first_sample_ns, last_sample_ns;
    uint64_t sampled_ns;    /* by inheritance: what the samples of the clock stand for */
    uint64_t *next_periods; /* by event: what its last sample said, see settle_period(); NULL: there was none */
    struct task_data *data; /* what its file has of mappings of data (mappings.c); NULL: nothing */
    uint64_t lost_records;  /* as LOST records tell */
    uint64_t limit_lost;    /* lost_records, when the task had all samples of --saturate-smpl-buffer */
    uint64_t unsettled;     /* samples that were dropped, as nobody knows of which event they are */
    struct stack_fill fill;
    struct stack_counts stacks;
    uint64_t flushed_ns;
    uint64_t *ids; /* of the configured events, behind this struct */
    int ring_error;
    struct result *result;                                /* NULL: not begun, or out of memory */
    enum { FILE_UNNAMED, FILE_BEGUN, FILE_ON_DISK } file; /* of its current result file */
    bool modules_mapped;                                  /* that file has the kernel's modules */
    struct buffer backlog; /* FILE_UNNAMED: records until the name is known (--exec-split-results) */
    struct exec_generation *generations;
    unsigned generation_count;
    unsigned generation_first; /* the first one of the file that is being written (--exec-split-results) */
    unsigned execs;            /* programs that it was seen to execute; the first one counts, if it began with it */
    unsigned generations_more; /* beyond TASKS_GENERATIONS */
    size_t arguments;          /* bytes of command lines, without the last exec generation's */
    unsigned arguments_cut;    /* exec generations whose command line was cut */
    struct snapshot snapshots[TASKS_SNAPSHOTS]; /* oldest first */
    unsigned snapshot_count;
    struct attach_value *values;         /* final; NULL while it lives */
    struct attach_value *counted_before; /* by the events that it lost (relief.h); NULL: nothing */
    struct task_told *told;              /* intervals.c; NULL: nothing */
    bool root;
    int status;             /* of its process, for the first thread; -1: unknown */
    uint64_t exit_ns;       /* cost of the exit, likewise; UINT64_MAX: unknown */
    uint64_t split_samples; /* as samples, lost_records, when the current file began */
    uint64_t split_lost, split_unsettled;
};

/* In the table of live tasks. */
static inline bool task_is_live(const struct task *task)
{
    return task->state.life < TASK_ENDED;
}

/* It has executed no program: it does not count before its exec. */
static inline bool task_is_armed(const struct task *task)
{
    return task->state.life == TASK_ARMED || task->state.life == TASK_STILLBORN;
}

/* To a program that is not followed. */
static inline bool task_has_left(const struct task *task)
{
    return task->state.life == TASK_LEAVING || task->state.cause == TASK_LEFT;
}

/* It has ended by itself, as far as its events say. */
static inline bool task_has_ended(const struct task *task)
{
    return task->state.cause == TASK_EXITED || task->state.cause == TASK_REVOKED || task->state.cause == TASK_CONTINUED;
}

static inline bool task_was_revoked(const struct task *task)
{
    return task->state.cause == TASK_REVOKED || task->state.cause == TASK_CONTINUED;
}

static inline bool task_is_inherited(const struct task *task)
{
    return task->coverage == TASK_BY_INHERITANCE;
}

/* It has no events: a timer of the preload object samples it, or nothing does (timer_fallback.c). */
static inline bool task_is_by_timer(const struct task *task)
{
    return task->coverage == TASK_BY_TIMER || task->coverage == TASK_NOT_SAMPLED;
}

/* Does it have all the samples that it may have (--saturate-smpl-buffer)? */
static inline bool task_is_saturated(const struct task *task, const struct settings *settings)
{
    return settings->saturate && task->samples >= settings->saturate;
}

/* A notification that refers to an unknown task waits so long for that task to be reported. */
enum { UNKNOWN_WAIT_NS = 15 * 1000 * 1000 };

/* A notification that came before the one that it refers to. */
struct waiting {
    struct waiting *next;
    struct notification *notification;
    uint64_t deadline_ns;
};

/* A wait of a process that is not known yet: its own notification comes later. */
struct early_wait {
    pid_t pid; /* of the waiter; 0: none */
    uint64_t time_ns, used_ns, switches;
};

/* A process that was accounted for before its parent's wait was reported. */
struct unwaited {
    pid_t pid, parent;            /* 0: none */
    bool zombie;                  /* its parent had not waited yet */
    uint64_t time_ns;             /* when it was accounted for */
    uint64_t used_ns, guessed_ns; /* what that added to the parent's unwaited_ns, guessed_ns */
};

/* A process that was attached late: what it made may have to be attached too. */
struct late_tree {
    struct late_tree *next;
    pid_t pid;
    uint64_t time_ns;
    pid_t thread; /* the last one that was looked at, with its children; 0: none */
    pid_t child;  /* of the next thread: the last child that was looked at; 0: none */
};

/*
 * A task that was attached late: a request of its own may be read after its end. The times are those of requests, so in
 * a time namespace they say nothing.
 */
struct late_task {
    pid_t tid;
    uint64_t until_ns; /* its end; UINT64_MAX: it lives */
};

/* A process whose inherited set was refused before an exec that makes it visible; that exec is over in milliseconds. */
struct owed_inherit {
    pid_t pid;
    unsigned tries; /* that are left before only sweeps try */
};

enum { TASKS_UNCOVERED = 64 };

/* A process whose program sent a message at time_ns. */
struct uncovered {
    pid_t pid, ppid;
    uint64_t time_ns;
};

struct tasks {
    struct session *session;
    const struct event_config *config;
    struct results *results;
    int epoll;
    pid_t root; /* pid of the first process; 0: not known yet */
    struct records_layout layout;
    struct kernelmap kernel;
    struct missed missed;
    struct stacks *stacks; /* NULL: samples have no stack dumps */
    int clock;             /* index of task-clock in the event configuration; -1: none */
    struct task *by_tid[TASKS_TABLE];
    struct process *by_pid[TASKS_TABLE];
    struct tids known;       /* numbers that a task of the session has had */
    struct tids unannounced; /* wrote to an inherited set, or have a part of one, and were never announced */
    struct tids refused;     /* numbers of tasks that got no events: they are counted as missed */
    struct tids left;        /* processes that went on to a program that is not followed */
    struct late_task late_tasks[LATE_TASKS]; /* indexed by tid: the last one of each index */
    pid_t ended_threads[ENDED_THREADS];      /* indexed by tid: a tracer's wait reports them like children */
    struct waiting *waiting;                 /* oldest first */
    size_t waiting_count, waiting_covered;   /* the latter: by inherited events */
    uint64_t waiting_bytes;
    struct early_wait early_waits[TASKS_EARLY_WAITS]; /* the oldest ones are forgotten */
    unsigned early_wait;                              /* the next one's place */
    struct unwaited unwaited[TASKS_UNWAITED];         /* likewise */
    unsigned next_unwaited;
    uint64_t contradictions; /* events that cannot come in the state of their task: a defect of ours */
    uint64_t hurried;        /* notifications that could not wait, since too many waited */
    /* processes attached late, whose threads and children are looked for */
    struct late_tree *late_trees, *late_trees_last;
    bool attaching;
    struct owed_inherit owed[TASKS_OWED]; /* for a process that finds no room the sweeps are enough */
    unsigned owed_count;
    uint64_t owed_ns; /* the next try */
    struct task *live;
    uint64_t live_count;
    uint64_t inherited_tasks_live, timer_live;
    uint64_t inherited_tasks;    /* that inherited sets covered, up to now */
    uint64_t inherited_taken_ns; /* what inherited sets reported is known up to then */
    /* of inherited sets, by time: the first one refers to a task that is not known yet */
    struct inherited_record *early;
    uint64_t inherited_lost;          /* records of inherited sets: a ring was full, or damaged */
    uint64_t inherited_generations;   /* starts of processes in inherited sets, and programs executed there */
    uint64_t estimated;               /* inherited tasks whose counts did not come */
    struct process *held, *held_last; /* oldest first */
    unsigned held_count;
    uint64_t held_start_ns;        /* the latest start of one that was held */
    struct process *root_process;  /* held until the very end */
    struct task *done, **done_end; /* ended and complete, to be written; oldest first */
    size_t done_count;
    struct task *graveyard;            /* freed at the end of a round: events of the same round may point there */
    uint64_t tree_startup_ns;          /* bare mode: what the first process had used before session->tree_fd counted */
    struct task *unread, *unread_last; /* tasks whose rings were not read to the end, in turn */
    uint64_t unread_count;
    /* relief.c */
    uint64_t seen_before, looked_ns; /* when the costs were last set to 0 */
    uint64_t switches_before;        /* from then to the last look */
    uint64_t look_ns;                /* when to look again; 0: nobody has looked yet */
    bool relief_refused;
    /* Programs that said they were covered, and were not: found since the last sweep, and the first ones attached. */
    struct uncovered uncovered[TASKS_UNCOVERED];
    unsigned uncovered_count, uncovered_attached;
    bool settled;    /* PINJECT_SESSION_SETTLED was set after the relief */
    uint64_t now_ns; /* of this round */
    uint64_t round;  /* its number, and how long the rings of one process are read in it */
    uint64_t share_ns;
    bool at_once; /* what is read now is read to its end: a ring of a task that ends or forks, or of an inherited set */
    /* number of the notifications, records of inherited sets, or tasks attached late that are handled together */
    uint64_t batch;
    struct shares shares; /* of users */
    bool closing;         /* nothing is held back any more */
    bool root_ended;      /* the tree did not wait for what ends now */
    /* Totals. */
    uint64_t notifications;
    uint64_t seen, processes, threads, active_max, alive;
    uint64_t samples, lost, counted_only, without_sample;
    uint64_t saturated; /* tasks with as many samples as --saturate-smpl-buffer lets them have */
    struct counts counts;
    struct counts interval; /* --print-interval: since its last round */
    uint64_t timer_fallbacks,
        timer_fallbacks_counted; /* tasks by timer in a session with events; of them: not sampled */
    int refusal;                 /* -errno of the first of them */
    struct machine_time machine; /* when the session began */
    uint64_t attributed_ns;
    uint64_t exit_ns;     /* part of it: costs of exit */
    uint64_t orphans_ns;  /* part of it: in processes that are in nobody's rusage */
    uint64_t unwaited_ns; /* part of it: in further processes whose wait was not seen */
    uint64_t broken_rings;
    uint64_t mappings_forgotten; /* of processes with too many */
    uint64_t mappings_untold;    /* not in the files of all threads, since there were too many */
    bool finds_data;             /* the rings of a process are read for the data of a task that ends */
    uint64_t data_untold;        /* mappings of data that are in no file, since there were too many */
    uint64_t unplaced;           /* tasks in which events on symbols have never had their addresses */
    uint64_t maps_next_ns;       /* no mappings are looked at before that */
    _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];
};

/* Of inherited sets, the system-wide one. */
static inline bool task_is_by_cpus(const struct tasks *tasks, const struct task *task)
{
    const uint64_t set = session_system_wide(tasks->session);
    return set && task_is_inherited(task) && task->inherited_set == set;
}

#endif
