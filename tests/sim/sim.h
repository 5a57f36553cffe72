/* SPDX-License-Identifier: MIT */
/*
 * Whole sessions without a kernel. kernel.c has processes, tasks, rings and clocks as the kernel keeps them; script.c
 * makes programs that fork, exec, wait and die, and says what the preload object tells of that; world.c answers what
 * collector/tasks asks of the kernel and of other subdirectories; collector.c runs the real collector/tasks against all
 * that and checks it. All of it follows from a seed: a seed that fails does so again.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/untracked.h"

enum {
    SIM_PIDS = 32768,   /* numbers of tasks */
    SIM_FEW_PIDS = 300, /* so few are used again at once */
    SIM_TASKS = 192,    /* alive at most */
    SIM_RING = 8192,    /* bytes */
    SIM_US = 1000,
    SIM_MS = 1000 * 1000,
    SIM_SAMPLE_NS = 250 * SIM_US, /* of CPU time, between samples */
    SIM_EXECS = 16,               /* of one task, that are checked */
    SIM_CPUS = 2,
    SIM_RECORD = 256, /* bytes of the longest one */
};

/* An exec that the events of a task survived. */
struct sim_exec {
    uint64_t time_ns, counted_ns;
    bool told; /* the counts were told just before it */
};

/* Events that the descendants of a task inherit. */
struct sim_set {
    struct sim_set *next;
    uint64_t number;
    struct sim_task *root; /* NULL: it has ended */
    pid_t pid, tid;        /* of the root, also after its end; 0: in use again */
    unsigned members;      /* alive, without the root */
    bool enabled;          /* from the next exec of the root on */
    bool system_wide;      /* it has no root: tasks are in it from some time on */
};

/* The events of a task, or its part of an inherited set. The collector owns the former. They outlive the task. */
struct sim_events {
    struct attached attached; /* first: what the collector has */
    int fds[CONFIG_EVENTS];   /* of it */
    uint64_t ids[CONFIG_EVENTS];
    struct sim_events *next; /* all of the session */
    struct sim_task *task;   /* NULL: it has ended, or they were taken from it */
    struct sim_process *process;
    uint64_t serial;
    uint64_t counted_ns, slices;
    bool enabled; /* armed ones begin at an exec */
    bool hung_up;
    bool delivered; /* the collector was told of them */
    bool freed;
    unsigned files;           /* result files that were completed for them */
    uint64_t startup_ns;      /* as told: what the task had used before */
    struct sim_set *set;      /* NULL: they are its own */
    uint64_t beyond_ns;       /* of a system-wide set: CPU time of the task that it does not count */
    struct sim_events *after; /* its own: what covers the task since it lost them; NULL: nothing */
    uint64_t start_ns;
    struct {
        uint64_t ns, slices;
    } cpu[SIM_CPUS];
    uint64_t sampled, lost, lost_told; /* samples: written to the ring, or not since it was full */
    struct sim_exec execs[SIM_EXECS];  /* while they counted */
    unsigned exec_count;               /* SIM_EXECS + 1: more */
    bool snapshot;                     /* the counts were told, and they count on */
    bool reported;                     /* the last program has told its name */
    unsigned generations;              /* in its files so far */
    uint64_t hung_up_ns;
    uint64_t exit_ns; /* of its file: UINT64_MAX: unknown */
    bool left;        /* an exec that is not followed came; counts up to there matter */
};

/* A program, as what it is for us. */
enum sim_program {
    SIM_INJECTABLE,
    SIM_STATIC,  /* loads no preload object; the exec hook before it says so */
    SIM_SETUID,  /* the same, and the kernel ends the task's events in its exec */
    SIM_CLEANED, /* as injectable, but our variables were taken out of its environment: nobody says so */
    SIM_PROGRAMS,
};

struct sim_process {
    struct sim_process *next;   /* all of the session, the dead too */
    struct sim_process *parent; /* NULL: init */
    pid_t pid;
    unsigned pidfds; /* open ones */
    int pidfd;       /* their number: the same for all */
    enum sim_program program;
    bool loaded;          /* the preload object is in it, and follows it */
    bool zombie, gone;    /* has ended; and was waited for */
    bool vforked;         /* runs its parent's program: nothing but exec and _exit is to be done */
    unsigned tasks;       /* alive */
    uint64_t cpu_ns;      /* used, without children */
    uint64_t children_ns; /* of children it waited for, and theirs */
    uint64_t switches, children_switches;
    uint64_t end_ns;  /* zombie: since then */
    uint64_t exit_ns; /* what it used in its exit */
    uint64_t told_ns; /* in the files of its tasks, without exits */
    int status;
    unsigned execs;
    bool unsure;    /* all that was known of it was a thread, reported after it had called exec */
    bool passes_on; /* it has our variables, though it has not the preload object */
};

struct sim_task {
    struct sim_task *prev, *next; /* alive */
    struct sim_process *process;
    pid_t tid;
    uint64_t start_ns, cpu_ns, slices;
    struct sim_events *events; /* its own; NULL: none */
    struct sim_events *cover;  /* of an inherited set; NULL: none */
    struct sim_set *root_of;
    uint64_t sample_ns; /* CPU time at the next sample */
    bool raw;           /* made behind libc's back */
    bool announced;     /* by its creator's ring */
    bool had_events;
    bool wants_request; /* it begins with one */
    uint32_t request;   /* of this kind */
    pid_t creator;
    char comm[16];
};

/* What may go wrong in a session, in parts of 1000. */
struct sim_faults {
    unsigned late; /* a notification comes up to LATE_NS later */
    uint64_t late_ns;
    unsigned never;           /* one that carries no events is dropped */
    unsigned twice;           /* one that carries no events comes twice */
    unsigned refused;         /* the kernel refuses events */
    unsigned unasked;         /* no slot is free: the task never asks */
    unsigned unreported_wait; /* the wait is within libc: nobody tells it */
    unsigned raw_clone;       /* a child made behind libc's back, which never asks */
    unsigned no_wait;         /* a parent does not wait */
    unsigned odd_program;     /* an exec is of another program than an injectable one */
    unsigned failing_exec;
    unsigned stall;          /* the collector sleeps for up to a second */
    unsigned static_program; /* in clean sessions */
    unsigned lost_records;   /* of inherited sets */
    bool small_rings;        /* they overflow */
    bool slow;               /* reading rings takes so long that some are left for the next round */
};

struct sim {
    uint64_t seed, random;
    bool verbose;
    uint64_t now_ns;
    uint64_t given_ns; /* CPU time that all tasks have used */
    uint64_t read_ns;  /* how long the collector has read rings: the clock stands still meanwhile */
    struct sim_faults faults;
    bool clean;      /* none of these */
    bool only_waits; /* only waits are unreported */
    unsigned follow;
    bool split, snapshots;
    bool has_status;   /* the kernel tells the status of processes that are gone */
    unsigned programs; /* names given so far */
    pid_t pids;        /* numbers that are in use */
    struct sim_process *processes, *root;
    struct sim_task *tasks;
    unsigned task_count;
    struct sim_events *events;
    uint64_t serial;
    bool used[SIM_PIDS];
    struct sim_set *sets;
    uint64_t set_count;
    uint64_t inside[SIM_PIDS]; /* as the records say: numbers of sets */
    struct sim_set *wide;      /* the system-wide set; NULL: there is none */
    bool left[SIM_PIDS];       /* the first thread of such a process has ended */
    bool relief;               /* --sampler=auto */
    pid_t last_pid;
    /* What the collector is told, and when. */
    struct sim_notification {
        struct sim_notification *next;
        uint64_t due_ns;
        struct notification *notification;
    } * notifications;
    /* Records of inherited sets, oldest first. */
    struct sim_kept {
        struct sim_kept *next;
        uint64_t visible_ns;
        bool noted, dropped;
        struct inherited_record *kept;
    } * kept, *kept_last;
    uint64_t records_lost; /* not told yet */
    bool has_lost;
    uint64_t unreported_ns; /* costs of exits whose wait was not told */
    /* Result files. */
    unsigned files_open, files_done;
    uint64_t samples, counted_ns; /* in all of them; the latter with what is before and after the events */
    unsigned without_sample;
    unsigned notifications_alive;
    unsigned unknown;   /* ended tasks that were announced, and have had no events */
    const char *failed; /* what is wrong; NULL: nothing */
    /* The collector. */
    struct session session;
    struct settings settings;
    struct event_config config;
    struct tasks *collector;
};

/* What is in a record, besides who wrote it. */
struct sim_record {
    uint32_t type;
    uint16_t misc;
    const uint64_t *words;
    size_t count;
    const char *string;
};

/* One session at a time. */
extern struct sim sim;

/* Of all sessions, and those in which guesses gave tasks more CPU time than was used. */
struct sim_over {
    uint64_t sessions, most_ns;
    uint64_t covered;  /* tasks of all sessions, by inherited sets */
    uint64_t relieved; /* sessions in which tasks lost their events */
};
extern struct sim_over sim_over;

/* ---- main.c ---- */

uint64_t sim_random(void);
/* 0 to LIMIT - 1; LIMIT 0 gives 0. */
uint64_t sim_below(uint64_t limit);
/* True in PARTS of 1000. */
bool sim_chance(unsigned parts);
__attribute__((format(printf, 1, 2))) void sim_say(const char *format, ...);
/* Ends the session as a failure; the first one counts. */
__attribute__((format(printf, 1, 2))) void sim_fail(const char *format, ...);

/* ---- kernel.c ---- */

void kernel_init(void);
void kernel_free(void);
struct sim_process *kernel_find(pid_t pid);
struct sim_task *kernel_find_task(pid_t tid);
struct sim_process *kernel_of_pidfd(int pidfd);
/* TASK uses NS of CPU time. */
void kernel_run(struct sim_task *task, uint64_t ns);
/* A new process of CREATOR (NULL: the first one), or a thread of it. NULL: there are too many. */
struct sim_task *kernel_fork(struct sim_task *creator);
struct sim_task *kernel_thread(struct sim_task *creator);
/* All other threads end. TASK may get another tid. */
void kernel_exec(struct sim_task *task, enum sim_program program, const char *name);
void kernel_exit_thread(struct sim_task *task);
/* COST: CPU time that goes by after its events are gone. */
void kernel_exit(struct sim_process *process, int status, uint64_t cost_ns);
/* A zombie child of PARENT; NULL: none. */
struct sim_process *kernel_zombie_of(const struct sim_process *parent);
/* PARENT waits for the zombie CHILD, whose number is free then. */
void kernel_wait(struct sim_process *parent, struct sim_process *child);
uint64_t kernel_rusage(const struct sim_process *process);
/* Opens events on TASK. */
struct sim_events *kernel_attach(struct sim_task *task, bool armed);

/* The same as part of SET, without a ring. */
struct sim_events *kernel_cover(struct sim_task *task, struct sim_set *set);
uint64_t kernel_pair(pid_t first, pid_t second);
/* With the trailer of the configuration. The size. */
size_t kernel_make_record(unsigned char ret[SIM_RECORD], const struct sim_record *record, const struct sim_task *writer,
                          uint64_t id);

/* ---- inherited.c ---- */

/* Puts a set under TASK, unless it has one. */
void inherited_open_set(struct sim_task *task, bool on_exec);
/* Puts TASK, which asks for events, into the system-wide set. NULL: it is in it. */
struct sim_events *inherited_take_in(struct sim_task *task);
/* What a task does that is covered, or a root; the others are not in a set. */
void inherited_fork(struct sim_task *creator, struct sim_task *made);
void inherited_exec(struct sim_task *task, const struct sim_record *comm);
void inherited_write(struct sim_task *task, unsigned event, const struct sim_record *record);
void inherited_sample(struct sim_task *task);
void inherited_end(struct sim_task *task);
/* TASK is covered. */
void inherited_run(struct sim_task *task, uint64_t ns);
void inherited_free_sets(void);

/* ---- script.c ---- */

/* One step of one program. False: the first process has ended. */
bool script_step(void);
void script_begin(void);
/* What lives ends, the first process last or not. */
void script_wind_down(void);
/* Opens events on TASK from outside and tells the collector at once. */
void script_attach_late(struct sim_task *task, pid_t parent, uint64_t time_ns);

/* ---- world.c ---- */

void world_notify(struct notification *notification);
void world_drop(struct notification *notification);
/* Those that are due; ALL: all. Oldest first. */
struct notification *world_take(bool all);

/* ---- collector.c ---- */

struct result_task;
/* A file of TASK with so many samples is complete. */
void collector_check_file(const struct result_task *task, uint64_t samples);
void collector_begin(void);
/* A round, if it is time for one. */
void collector_step(void);
/* Ends the session and checks it. */
void collector_end(void);

#endif
