/* SPDX-License-Identifier: MIT */
/*
 * Coverage accounting: why tasks were missed, by reason and command. Keeps untracked tasks (children that the kernel
 * announced with FORK records) until they send a request or end.
 */
#ifndef COLLECTOR_TASKS_MISSED_H
#define COLLECTOR_TASKS_MISSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/output/result.h"
#include "collector/tasks/tids.h"

/*
 * Distinct lines; further ones are counted in a last line. Targets choose the names of commands, which only get a part
 * of the lines: beyond that a reason is counted without a name, so that there is room for all reasons.
 */
enum { MISSED_LINES = 256, MISSED_NAMED = 192, MISSED_TABLE = 1024 };

/* An untracked task: the kernel announced it and it sent no request, or its request was refused. */
struct untracked_task {
    struct untracked_task *next;
    struct untracked_task *sibling, **sibling_at; /* in by_parent or threads */
    pid_t pid, tid, parent;
    bool followed;       /* the session follows it */
    bool expected;       /* missed_expected() announced it, and no FORK record yet */
    bool ended;          /* its parent waited for it */
    bool refused;        /* it sent a request, and has no events: it was counted then */
    unsigned char looks; /* how often its name was looked up */
    unsigned char tries; /* to attach it late */
    int error;           /* -errno of the last try; 0: none failed */
    uint64_t time_ns;    /* of the announcement */
    uint64_t cpu_ns;
    char comm[16]; /* "": not known */
};

struct missed {
    struct result_missed *lines; /* strings owned */
    unsigned count, named;       /* lines; those with a name */
    uint64_t uncounted;          /* tasks for which there was no memory */
    struct untracked_task *table[MISSED_TABLE];
    struct untracked_task *by_parent[MISSED_TABLE];
    struct untracked_task *threads[MISSED_TABLE]; /* followed ones, by process; they are not in by_parent */
    size_t children;
    unsigned first, first_young; /* where missed_untracked() begins in the table */
    const uint32_t *dropped;     /* atomic, of the own channel: requests that found no slot; NULL: no channel */
    struct tids requested;       /* their requests came before their announcement was read */
};

int missed_init(struct missed *missed);
void missed_release(struct missed *missed);
/* CPU_NS: 0 when unknown. Out of memory: only counted in uncounted. */
void missed_add(struct missed *missed, const char *reason, const char *comm, uint64_t count, uint64_t cpu_ns);
/* Hands the lines over; they are the caller's afterwards. */
struct result_missed *missed_take(struct missed *missed, unsigned *ret_count);

/* A FORK record: process PARENT made TID of process PID. */
void missed_announced(struct missed *missed, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns, bool followed);
/*
 * A child of vfork that will send a request after its exec, or be attached late. A FORK record may announce it too,
 * before or after.
 */
void missed_expected(struct missed *missed, pid_t parent, pid_t pid, uint64_t time_ns);
/* A request came for TID. */
void missed_requested(struct missed *missed, pid_t tid);
/* The same, for process PID, a child of PARENT: it was refused. Its CPU time may be in PARENT's rusage all the same. */
void missed_refused_child(struct missed *missed, pid_t parent, pid_t pid, uint64_t time_ns);
/* Did a request come for TID that no announcement followed? */
bool missed_has_requested(const struct missed *missed, pid_t tid);
/* The same. Can be asked once: the number may be another task's next. */
bool missed_take_requested(struct missed *missed, pid_t tid);
/* The announced child TID that sent no request, or NULL. */
struct untracked_task *missed_find(const struct missed *missed, pid_t tid);
/* Did process PARENT make others that sent no request, or were refused, and that it was not seen to wait for? */
bool missed_has_untracked(const struct missed *missed, pid_t parent);
/* Did process PID make threads that are followed, and sent no request? */
bool missed_has_thread(const struct missed *missed, pid_t pid);
/* What missed_untracked() looks for. */
struct missed_wanted {
    uint64_t before_ns;  /* announced before that */
    uint64_t patient_ns; /* a process that was announced later counts only if it has used BUSY_NS of CPU time */
    uint64_t busy_ns;
    unsigned tries; /* only tasks with fewer calls of missed_refused() */
};
/*
 * Copies into FOUND, at most SIZE of them, tasks that are to be followed, have sent no request, have not been waited
 * for, and are WANTED. Returns how many. Begins at the last task of which missed_tried() was called, so that the first
 * one is not always the same.
 */
size_t missed_untracked(struct missed *missed, const struct missed_wanted *wanted, struct untracked_task *found,
                        size_t size);
void missed_tried(struct missed *missed, pid_t tid);
/* Events for TID could not be opened: ERROR, a -errno. */
void missed_refused(struct missed *missed, pid_t tid, int error);
/*
 * Looks up the names, while they still live, of tasks that sent no request and were announced before BEFORE_NS; if
 * there are many, of some in each call. By number: a name may be that of a later task that has it.
 */
void missed_look(struct missed *missed, uint64_t before_ns);
/* Counts untracked tasks that were announced before BEFORE_NS as missed. */
void missed_settle(struct missed *missed, uint64_t before_ns);

#endif
