/* SPDX-License-Identifier: MIT */
/* Private to opener.c (questions and answers) and opener_helper.c (who answers, and for whom). */
#ifndef COLLECTOR_SYSTEM_OPENER_HELPER_H
#define COLLECTOR_SYSTEM_OPENER_HELPER_H

#include "collector/system/opener.h"

#define OPENER_PATIENCE_NS INT64_C(200000000)
enum { OPENER_USERS = 64 }; /* where all have questions or helpers, the last one stands for further ones too */

struct user {
    uid_t uid;
    unsigned slow;          /* helpers that are at a question of his for long */
    unsigned hung;          /* and those that were given up, and are still there */
    unsigned queued;
    int64_t patience_ns;
    uint64_t patience_at_ns;
    uint64_t asked_ns;      /* when he was looked for last */
};

struct job {
    struct job *next;
    uint64_t ticket;
    struct user *user;
    opener_done *done;
    void *context;
    struct opener_answer answer; /* of one that no helper answered */
    struct opener_wire wire; /* cut behind its path */
};

struct jobs {
    struct job *first, **end;
};

struct helper {
    pid_t pid;              /* 0: this entry is free */
    int fd;                 /* -1: given up */
    bool apart;             /* others go on with what it does not get to */
    struct user *user;      /* apart: whose question holds it */
    struct jobs flying;
    unsigned count;
    uint64_t since_ns;      /* it is at the first of them */
    uint64_t since_cpu_ns;  /* CPU time at the first look at it that found it slow; 0: none did */
};

struct opener {
    struct helper helpers[OPENER_HELPERS];
    struct user users[OPENER_USERS];
    struct user nobody;     /* of questions that no helper is asked */
    unsigned user_count, queued;
    struct jobs queue;
    struct jobs over;       /* not answered by a helper, not handed over yet */
    uint64_t last_ticket;
    uint64_t again_ns;
    uint64_t cpu_ns;        /* of helpers that are gone */
    opener_open *open;
    struct opener_counts counts;
};

uint64_t opener_now_ns(void);

/* Lists of questions. */
void jobs_init(struct jobs *jobs);
void jobs_put(struct jobs *jobs, struct job *job);
/* The one that *AT, a link of the list, leads to. */
struct job *jobs_take(struct jobs *jobs, struct job **at);
/* All of FROM, in front of what TO has. */
void jobs_put_in_front(struct jobs *to, struct jobs *from);

/* Of the user of PID, that of all unknown ones if PID has ended. Valid as long as he has a question or a helper. */
struct user *user_find(struct opener *opener, pid_t pid);
bool user_has_patience(struct user *user, uint64_t now);

/* The helper that takes new questions. NULL: there is none. */
struct helper *helper_find(struct opener *opener);
/* True: it is gone, and its entry can be used again. */
bool helper_reap(struct opener *opener, struct helper *helper);
/* It is not needed any more, or cannot be: where it hangs it stays, and counts for USER. */
void helper_let_go(struct opener *opener, struct helper *helper, struct user *user);
/* Its CPU time up to now. */
uint64_t helper_cpu_ns(const struct helper *helper);
/*
 * Is its question to blame that it takes so long: it sleeps, or it has computed for LIMIT_NS since it was slow? Else it
 * waits for a CPU, which is no file's fault.
 */
bool helper_is_slow(struct helper *helper, uint64_t limit_ns);
/* Of ELAPSED_NS, in which it began with CPU_NS, all but what it waited for a CPU. */
uint64_t helper_busy_ns(const struct helper *helper, uint64_t elapsed_ns, uint64_t cpu_ns);
bool helper_send(struct helper *helper, const struct job *job);
/* 1, 0: nothing yet; or -errno: it is gone, or talks nonsense. */
int helper_receive(struct helper *helper, struct opener_reply *reply);

#endif
