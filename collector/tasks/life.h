/* SPDX-License-Identifier: MIT */
/*
 * The life of a task as a state machine: every change of its state goes through task_step(). Pure: no system call, no
 * memory. Context: any thread.
 */
#ifndef COLLECTOR_TASKS_LIFE_H
#define COLLECTOR_TASKS_LIFE_H

#include <stdbool.h>

enum task_life {
    TASK_RUNNING,
    TASK_ARMED, /* it has events, but runs the program of its creator (vfork, posix_spawn): counted from its exec on */
    TASK_EXITING, /* covered by an inherited set: its EXIT was read, its counts come */
    TASK_LEAVING, /* its exec led to a program that is not followed: later records are not ours */
    /* Those above are in the table of live tasks. */
    TASK_ENDED,
    TASK_STILLBORN, /* it ended while armed: it never ran a program */
    TASK_LIVES,
};

/* Why it has ended. */
enum task_cause {
    TASK_CAUSE_NONE, /* it lives */
    TASK_EXITED,
    TASK_LEFT,      /* to a program that is not followed: it lives on, without our events */
    TASK_REVOKED,   /* the kernel ended its events at an exec, and it lives on */
    TASK_CONTINUED, /* revoked, but its next program sent a new request: its rest is another task's */
    TASK_CLOSED,    /* the session ended first */
    TASK_CAUSES,
};

enum task_event {
    TASK_EVENT_EXEC,
    TASK_EVENT_LEAVE,    /* exec of a program that is not followed */
    TASK_EVENT_EXIT,     /* EXIT record of a task that an inherited set covers */
    TASK_EVENT_END,      /* the kernel says that it has ended, or ended its events */
    TASK_EVENT_CLOSE,    /* nothing more is taken from it: it left, or the session ends */
    TASK_EVENT_REVOKED,  /* what looked like its end was an exec */
    TASK_EVENT_CONTINUE, /* a new request of the same process */
    TASK_EVENTS,
};

struct task_state {
    enum task_life life;
    enum task_cause cause;
};

/* What samples and counts it. */
enum task_coverage {
    TASK_BY_EVENTS,      /* its own, with a ring */
    TASK_BY_COUNTERS,    /* its own, without a ring: counted, not sampled */
    TASK_BY_INHERITANCE, /* an inherited set */
    TASK_BY_TIMER,    /* a timer of the preload object, if that starts one; otherwise the kernel's accounting alone */
    TASK_NOT_SAMPLED, /* as by timer, but it went on to a program without one */
};

/* False: this event cannot come in this state, which stays as it is. */
bool task_step(struct task_state *state, enum task_event event);

#endif
