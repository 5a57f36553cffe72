/* SPDX-License-Identifier: MIT */
/* Private to opener.c (questions and answers) and opener_helper.c (helpers and users). */
#ifndef COLLECTOR_SYSTEM_OPENER_HELPER_H
#define COLLECTOR_SYSTEM_OPENER_HELPER_H

#include "collector/system/opener.h"

#define OPENER_PATIENCE_NS INT64_C(200000000)
enum { OPENER_USERS = 64 }; /* if all of them have questions or helpers, further users share the last one */

struct user {
    uid_t uid;
    unsigned slow; /* helpers that have been at a question of his for long */
    unsigned hung; /* helpers that were given up, and still exist */
    unsigned queued;
    int64_t patience_ns;
    uint64_t patience_at_ns;
    uint64_t asked_ns; /* when he was looked up last */
};

struct job {
    struct job *next;
    uint64_t ticket;
    struct user *user;
    opener_done *done;
    void *context;
    struct opener_answer answer; /* of one that no helper answered */
    struct opener_wire wire;     /* cut after its path */
};

struct jobs {
    struct job *first, **end;
};

struct helper {
    pid_t pid;         /* 0: this entry is free */
    int fd;            /* -1: given up */
    bool apart;        /* others go on with the rest of its questions */
    struct user *user; /* apart: the user whose question holds it */
    struct jobs flying;
    unsigned count;
    uint64_t since_ns;     /* when it began with the first of them */
    uint64_t since_cpu_ns; /* CPU time when it was first found slow; 0: it was not */
};

struct opener {
    struct helper helpers[OPENER_HELPERS];
    struct user users[OPENER_USERS];
    struct user nobody; /* of questions that need no helper */
    unsigned user_count, queued;
    struct jobs queue;
    struct jobs over; /* not answered by a helper, and not handed over yet */
    uint64_t last_ticket;
    uint64_t again_ns;
    uint64_t cpu_ns; /* of helpers that have ended */
    opener_open *open;
    struct opener_counts counts;
};

uint64_t opener_now_ns(void);

/* Lists of questions. */
void jobs_init(struct jobs *jobs);
void jobs_put(struct jobs *jobs, struct job *job);
/* Takes the one that *AT, a link of the list, leads to. */
struct job *jobs_take(struct jobs *jobs, struct job **at);
/* Puts all of FROM before those of TO. */
void jobs_put_in_front(struct jobs *to, struct jobs *from);

/*
 * The user of PID; the one of all unknown processes if PID has ended. Valid as long as he has a question or a helper.
 */
struct user *user_find(struct opener *opener, pid_t pid);
bool user_has_patience(struct user *user, uint64_t now);

/* The helper that takes new questions. NULL: there is none. */
struct helper *helper_find(struct opener *opener);
/* True: it is gone, and its entry can be used again. */
bool helper_reap(struct opener *opener, struct helper *helper);
/* It is not needed any more, or not usable: if it hangs it stays, and counts for USER. */
void helper_let_go(struct opener *opener, struct helper *helper, struct user *user);
/* Its CPU time up to now. */
uint64_t helper_cpu_ns(const struct helper *helper);
/*
 * Is its question the reason that it takes so long: it sleeps, or it has computed for LIMIT_NS since it was slow? Else
 * it waits for a CPU, which is no file's fault.
 */
bool helper_is_slow(struct helper *helper, uint64_t limit_ns);
/* ELAPSED_NS without the time that it waited for a CPU. CPU_NS: its CPU time at the beginning. */
uint64_t helper_busy_ns(const struct helper *helper, uint64_t elapsed_ns, uint64_t cpu_ns);
bool helper_send(struct helper *helper, const struct job *job);
/* 1; 0: nothing yet; or -errno: it is gone, or sent nonsense. */
int helper_receive(struct helper *helper, struct opener_reply *reply);

#endif
