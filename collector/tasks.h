/* SPDX-License-Identifier: MIT */
/*
 * The tasks and processes of a session: from the arrival of each to its result file. Context: the event loop's thread.
 *
 * tasks.c has the tables and the life of the structures, order.c and admit.c take arrivals, drain.c reads rings,
 * timed.c those of timers, images.c knows which program runs when, finish.c makes result files of tasks (task_view.c)
 * and ends processes (account.c adds up their CPU time).
 */
#ifndef COLLECTOR_TASKS_H
#define COLLECTOR_TASKS_H

#include <pinject/format.h>
#include <pinject/ring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/attach.h"
#include "collector/counts.h"
#include "collector/kernelmap.h"
#include "collector/machine_time.h"
#include "collector/process.h"
#include "collector/records.h"
#include "collector/result.h"
#include "collector/session.h"
#include "collector/shares.h"
#include "collector/space.h"
#include "collector/stacks.h"
#include "collector/tids.h"
#include "collector/unseen.h"
#include "common/buffer.h"

enum { TASKS_TABLE = 16384, TASKS_IMAGES = 1024, TASKS_SNAPSHOTS = 4, ENDED_THREADS = 1024, TASKS_OWED = 16 };

/* One program that a task ran. */
struct image {
    uint64_t start_ns;
    char comm[16];
    bool named;                    /* PROGRAM was told by the object, not guessed from the ring or read in /proc */
    bool resolved;                 /* the program's path is the kernel's, not what was given to exec */
    bool looked;                   /* /proc was asked already */
    uint64_t looked_ns;            /* unnamed: CPU time that was counted at the first sweep since, + 1 */
    struct program *program;       /* NULL: unknown */
    size_t arguments;              /* not the last one: bytes of its command line */
    bool cut;                      /* and there were more */
    struct attach_value *at_end;   /* counts when it ended, plan.count entries; NULL: unknown */
};

/* Counts just before an exec that may come. */
struct snapshot {
    uint64_t time_ns;
    struct attach_value *values;
};

struct task {
    struct task *next;             /* hash chain; later the lists of what is to be written, freed */
    struct task *live_prev, *live_next;
    struct task *unread_prev, *unread_next;
    struct task *process_prev, *process_next;
    struct process *process;       /* NULL once unlinked */
    struct attached *events;       /* NULL once ended */
    struct pinject_ring ring;
    int ring_fd;                   /* in epoll; -1: none */
    pid_t pid, tid, ppid, parent_tid;
    pid_t key;                     /* the tid that it has now: a thread that calls exec gets that of its process */
    uint32_t kind;                 /* enum pinject_kind */
    char comm[16];
    bool live;                     /* in the table */
    bool unread;                   /* in the list of those whose rings are read on in the next round */
    bool ended;                    /* it has ended itself; else we stopped following, or the session ended */
    bool left;                     /* an exec led to where we do not follow: later records are not ours */
    bool armed;                    /* has no image yet: nothing of it exists until exec */
    bool counted;                  /* in the totals of tasks */
    bool counted_only;
    bool modules_mapped;
    bool on_disk;
    bool timed;                    /* has no events: a timer of the object samples, or nothing does (timed.c) */
    bool timer_started;
    int refusal;                   /* timed, in a session with events: -errno why it has none */
    bool silent;                   /* went on to a program in which no timer runs */
    bool broken;                   /* its ring was given up */
    uint64_t drained;              /* with its process, in that batch of arrivals */
    bool netted;                   /* covered by a net: no events of its own */
    uint64_t net;                  /* of it: the net's number */
    uint64_t found_ns;             /* it did not ask: events were opened then, from outside; 0: it did */
    bool exiting;                  /* netted: its EXIT was read */
    bool revoked;                  /* its events ended before it: the kernel took them away at an exec */
    bool goes_on;                  /* revoked, but its next image asked anew */
    bool covers;                   /* what it starts is in a net */
    uint64_t gone_ns;              /* netted: a sweep met it ended; 0: none did */
    unsigned readings, readings_seen; /* netted: READ records that its end brings, and that came */
    uint64_t start_ns, end_ns, startup_ns;
    uint64_t samples, first_sample_ns, last_sample_ns;
    uint64_t sampled_ns;           /* netted: what the samples of the clock stand for */
    uint64_t lost_records;         /* as LOST records tell */
    uint64_t lost_seen;            /* of them, at the last round */
    bool was_full, behind;         /* its ring, at the last round; at two running */
    struct stack_counts stacks;
    uint64_t flushed_ns;
    uint64_t ids[PLAN_EVENTS];
    int ring_error;
    struct result *result;         /* NULL: not begun, or out of memory */
    struct buffer backlog;         /* records until the result's name is known (--exec-split-results) */
    bool name_known;
    struct image *images;
    unsigned image_count;
    unsigned image_first;          /* the first one of the file that is being written (--exec-split-results) */
    unsigned images_more;          /* beyond TASKS_IMAGES */
    size_t arguments;              /* bytes of command lines, but for the last image's */
    unsigned arguments_cut;        /* images of which there were more */
    struct snapshot snapshots[TASKS_SNAPSHOTS]; /* oldest first */
    unsigned snapshot_count;
    struct attach_value *values;   /* final; NULL while it lives */
    bool root, status_known, exit_known;
    int status;                    /* of its process, for the first thread */
    uint64_t exit_ns;
    uint64_t split_samples;        /* as samples, lost_records: when the current file began */
    uint64_t split_lost;
};

/* So long what refers to an unknown task waits for that to be told of. */
enum { UNKNOWN_WAIT_NS = 15 * 1000 * 1000 };

/* An arrival that came before the one that it refers to. */
struct waiting {
    struct waiting *next;
    struct arrival *arrival;
    uint64_t deadline_ns;
};

/* A process that was found: what it made may have to be found as well. */
struct family {
    struct family *next;
    pid_t pid;
    uint64_t time_ns;
    pid_t thread;                  /* the last one that was looked at, with its children; 0: none */
    pid_t child;                   /* of the next one: the last child that was; 0: none */
};

/* A process whose net was refused before an exec that makes it visible: that is over in milliseconds. */
struct owed_net {
    pid_t pid;
    unsigned tries; /* that are left before it is the sweeps' matter alone */
};

struct tasks {
    struct session *session;
    const struct plan *plan;
    struct results *results;
    int epoll;
    pid_t root;                    /* pid of the first process; 0: not known yet */
    struct records_layout layout;
    struct kernelmap kernel;
    struct unseen unseen;
    struct stacks *stacks;         /* NULL: samples bring none */
    int clock;                     /* index of task-clock in the plan; -1: none */
    struct task *by_tid[TASKS_TABLE];
    struct process *by_pid[TASKS_TABLE];
    struct tids known;             /* numbers that a task of the session has had */
    struct tids unannounced;       /* of who wrote to a net, or has a part of one, and was never made known */
    pid_t ended_threads[ENDED_THREADS]; /* their numbers, by themselves: a tracer's wait tells of them as of children */
    struct waiting *waiting;       /* oldest first */
    size_t waiting_count;
    uint64_t waiting_bytes;
    uint64_t hurried;              /* arrivals that could not wait, since too many did */
    struct family *families, *families_last; /* found processes whose threads and children are looked for */
    bool adopting;
    struct owed_net owed[TASKS_OWED]; /* for who finds no room sweeps are enough */
    unsigned owed_count;
    uint64_t owed_ns;              /* the next try */
    struct task *live;
    uint64_t live_count;
    uint64_t netted_live, timed_live;
    uint64_t nets_taken_ns;        /* what nets told is known up to then */
    struct net_record *early;      /* of nets, by time: the first one refers to a task that is not known yet */
    uint64_t net_lost;             /* records of nets: a ring was full, or damaged */
    uint64_t netted_images;        /* starts of processes in nets, and programs that were executed there */
    uint64_t estimated;            /* netted tasks whose counts did not come */
    struct process *held, *held_last; /* oldest first; account.c */
    unsigned held_count;
    struct process *root_process;  /* held until the very end */
    struct task *done, **done_end; /* ended and complete, to be written; oldest first */
    size_t done_count;
    struct task *graveyard;        /* freed at the end of a round: events of the same round may point there */
    uint64_t tree_startup_ns;      /* bare mode: what the first process had used before session->tree_fd counted */
    struct task *unread, *unread_last; /* whose rings were not read to their ends, in turn */
    uint64_t unread_count;
    uint64_t now_ns;               /* of this round */
    uint64_t round;                /* its number, and how long the rings of one process are read in it */
    uint64_t share_ns;
    bool at_once;                  /* what is read now is read to its end: a ring of who ends or forks, a net's */
    uint64_t batch;                /* number of arrivals, of nets' records, of found tasks that are taken together */
    struct shares shares;          /* of users */
    bool closing;                  /* nothing is held back any more */
    bool root_ended;               /* what ends now was not waited for by the tree */
    /* Totals. */
    uint64_t arrivals;
    uint64_t seen, processes, threads, active_max, alive;
    uint64_t samples, lost, counted_only, without_sample;
    struct counts counts;
    uint64_t stood_in, stood_in_counted; /* timed, in a session with events; of them, not sampled */
    int refusal;                   /* -errno why the first of them was */
    struct machine_time machine;   /* when the session began */
    uint64_t attributed_ns;
    uint64_t exit_ns;              /* of it, costs of exit */
    uint64_t orphans_ns;           /* of it, in processes that are in nobody's rusage */
    uint64_t unwaited_ns;          /* of it, in further processes whose wait was not seen */
    uint64_t broken_rings;
    uint64_t mappings_forgotten;   /* of processes that had too many */
    uint64_t mappings_untold;      /* not in the files of all threads, since they were too many */
    uint64_t maps_next_ns;         /* nobody's mappings are looked at before that */
    _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];
};

uint64_t tasks_now_ns(void);
/* EPOLL: ring descriptors are added to it, with the task as data. 0 or -errno. */
int tasks_init(struct tasks *tasks, struct session *session, struct results *results, int epoll);
/* Frees everything, written or not. */
void tasks_release(struct tasks *tasks);
struct task *tasks_find(const struct tasks *tasks, pid_t tid);
struct process *tasks_find_process(const struct tasks *tasks, pid_t pid);
/* A process of its own: added to the table. NULL: out of memory. */
struct process *tasks_add_process(struct tasks *tasks, pid_t pid, pid_t ppid, uint64_t start_ns);
void tasks_remove_process(struct tasks *tasks, struct process *process);
/* Adds TASK to the table, to its process and to epoll. */
void tasks_link(struct tasks *tasks, struct task *task, struct process *process);
/* The kernel knows it by another tid from now on. */
void tasks_rename(struct tasks *tasks, struct task *task, pid_t tid);
/* The opposite of tasks_link(); closes its events. The task stays. */
void tasks_unlink(struct tasks *tasks, struct task *task);
/* Freed at the next tasks_bury(). */
void tasks_discard(struct tasks *tasks, struct task *task);
void tasks_bury(struct tasks *tasks);
/* It exists: an image of it runs. */
void tasks_count(struct tasks *tasks, struct task *task);
/* Of the ring's owner, for made records. */
struct records_stamp tasks_stamp(const struct tasks *tasks, const struct task *task, uint64_t time_ns);
/* CPU time that the events of TASK counted in VALUES. */
uint64_t tasks_clock(const struct tasks *tasks, const struct attach_value *values);

/*
 * order.c: takes over and frees ARRIVALS, a list. Doors answer before they tell, so that a child may be told of before
 * its parent, and the wait for a process before the process: what refers to somebody unknown waits a moment.
 */
void tasks_arrive(struct tasks *tasks, struct arrival *arrivals);
/* admit.c */
/* Is the one known that ARRIVAL refers to? */
bool tasks_is_ready(const struct tasks *tasks, const struct arrival *arrival);
/* Whatever it tells. Takes over what ARRIVAL holds, and frees it. */
void tasks_admit(struct tasks *tasks, struct arrival *arrival);
/* A wait told of the end of arrival->pid. */
void tasks_reaped(struct tasks *tasks, const struct arrival *arrival);
/* Is TID a thread, no process? One of the last that ended, too. */
bool tasks_knows_thread(const struct tasks *tasks, pid_t tid);

/* drain.c */
/* All that its ring has. */
void tasks_drain(struct tasks *tasks, struct task *task);
/* As far as its process has time in this round; what is left comes in the next one, in turn with others. */
void tasks_drain_some(struct tasks *tasks, struct task *task);
/* That, at the beginning of a round. */
void tasks_drain_rest(struct tasks *tasks);
void tasks_forget_unread(struct tasks *tasks, struct task *task);
/*
 * All that its rings had when the batch of arrivals began that is taken now: once for each of its tasks, however many
 * arrivals refer to it.
 */
void tasks_drain_process(struct tasks *tasks, struct process *process);
/* May BYTES more be spent, in this second, on what is known of the address space of PROCESS? Then they are. */
bool tasks_may_tell(struct tasks *tasks, struct process *process, uint64_t bytes);
/* Names, mappings of its address space: what stands at the start of a file. */
void tasks_introduce(struct tasks *tasks, struct task *task, uint64_t time_ns);
/* Asks for the build ids of all that is mapped in PROCESS, while it is there. */
void tasks_expect_files(struct tasks *tasks, const struct process *process);
/* One record of the task. False: nothing that comes after it is wanted. */
bool tasks_take_record(struct tasks *tasks, struct task *task, const struct perf_event_header *record);
/* A sample that the kernel wrote; of a timer's task: while a net samples it. */
void tasks_take_sample(struct tasks *tasks, struct task *task, const struct perf_event_header *record);
/* Is the task that a FORK record tells of one to follow? */
bool tasks_follows(const struct tasks *tasks, const struct records_task *made);
/* One record to the file of the task. */
void tasks_put_record(struct tasks *tasks, struct task *task, const void *record, size_t size);

/* netted.c */
/* Everything that the nets tell; but for ALL, what is so young that some of it may be on its way stays there. */
void tasks_take_nets(struct tasks *tasks, bool all);
/* For sweeps: has it ended without the net telling so, or all of it? */
bool tasks_netted_gone(const struct tasks *tasks, struct task *task);
/* The clock of one whose counts did not come, or not all: by the scheduler's account, or (true) by its samples. */
bool tasks_netted_estimate(const struct tasks *tasks, struct task *task);

/* strangers.c */
/* Opens events for tasks that were announced and have not asked. In sweeps, each for a bounded time. */
void tasks_adopt_strangers(struct tasks *tasks);
void tasks_forget_families(struct tasks *tasks);
/* What is under PROCESS cannot be seen: ERROR, a -errno. */
void tasks_tell_no_net(struct tasks *tasks, const struct process *process, int error);
/* TASK's program has said nothing for a while: what comes from it is covered by inheritance. */
void tasks_cover_silent(struct tasks *tasks, struct task *task);
/* PROCESS is owed a net (net_owed): it is tried again soon, and in sweeps. */
void tasks_owe_net(struct tasks *tasks, struct process *process);
/* In a sweep: tries to lay the net that PROCESS is owed. */
void tasks_retry_net(struct tasks *tasks, struct process *process);
/* Between sweeps, where owed_count is not 0. */
void tasks_retry_nets_soon(struct tasks *tasks);
/* The same for threads and children of PID, which was found, that nobody knows. TIME_NS: since when it is known. */
void tasks_adopt_family(struct tasks *tasks, pid_t pid, uint64_t time_ns);
/* timed.c: tasks without events */
/* Does RECORD, of a ring that the target fills, make sense? What it says of itself is replaced by what we know. */
bool tasks_check_timed(const struct tasks *tasks, const struct task *task, void *record);
/* A sample that is about to be written: the mappings are brought up to date where it lies in none. */
void tasks_meet_timed(struct tasks *tasks, const struct task *task, const struct perf_event_header *record);
/*
 * Reads the mappings of PROCESS once more, unless that was a moment ago or it has ended: true when it did. What is new
 * goes to the files of its tasks.
 */
bool tasks_look_at_maps(struct tasks *tasks, struct process *process);
/* It has a ring since its first image that can start a timer. */
void tasks_ring_timed(struct task *task);
/* Where timers sample: ARRIVAL may tell of an exec to where none runs. */
void tasks_silent_timed(struct tasks *tasks, struct arrival *arrival);
/* A new image, whose exec has been entered: its mappings. */
void tasks_exec_timed(struct tasks *tasks, struct task *task, const struct arrival *arrival);
/* Whether its timer runs; and the last look at it. */
void tasks_look_timed(const struct tasks *tasks, struct task *task);
void tasks_end_timed(struct tasks *tasks, struct task *task);

/* images.c */
struct image *tasks_add_image(struct task *task, uint64_t start_ns, const char *comm, struct program *program);
/* The exec record of TIME_NS was read. False: the task is not followed any further. */
bool tasks_exec(struct tasks *tasks, struct task *task, uint64_t time_ns, const struct records_comm *comm);
/* The first thing that is mapped after an exec is the executable. */
void tasks_guess_program(struct tasks *tasks, struct task *task, const struct mapping *mapping);
/* The program of PROCESS's next exec, which will not speak for itself. The exec may be in the ring, or read already. */
void tasks_program_announced(struct tasks *tasks, struct process *process, const struct arrival *arrival);
/* IMAGE arrivals, after draining. */
void tasks_image_arrived(struct tasks *tasks, struct task *task, const struct arrival *arrival);
/* SNAPSHOT arrivals. The exec may be in the ring already: no draining before. */
void tasks_snapshot_arrived(struct tasks *tasks, struct task *task, struct arrival *arrival);
/* Asks /proc for the programs of images that the object told nothing about. */
void tasks_look_for_programs(struct tasks *tasks, struct task *task);
/* Starts the file for the task's current image. */
void tasks_begin_file(struct tasks *tasks, struct task *task);
/* --exec-split-results: nothing said what the program is, and its file waits no longer. */
void tasks_name_file(struct tasks *tasks, struct task *task);

/* finish.c */
/*
 * The task's end was seen: drains, counts, gives its events back. The file is written later, that of its process' first
 * thread last.
 */
void tasks_task_ended(struct tasks *tasks, struct task *task, bool ended);
/* Ends the file of image IMAGE_FIRST because the next one begins (--exec-split-results). */
void tasks_split_file(struct tasks *tasks, struct task *task, uint64_t end_ns);
void tasks_flush(struct tasks *tasks, struct task *task);
/* Writes and frees a process without live tasks; the root's file waits for tasks_finish_root(). */
void tasks_finish_process(struct tasks *tasks, struct process *process);
/* Writes COUNT of the tasks that are complete. Creating files is slow; ends and arrivals come first. */
void tasks_write(struct tasks *tasks, size_t count);
/* Rings, growing files, held processes, unseen children; about ten times a second. */
void tasks_sweep(struct tasks *tasks);
/*
 * The end of the session: everything that still lives is written as it stands. The root's file is last:
 * tasks_finish_root().
 */
void tasks_close(struct tasks *tasks);
void tasks_finish_root(struct tasks *tasks, const struct result_coverage *coverage);

#endif
