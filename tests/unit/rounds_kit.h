/* SPDX-License-Identifier: MIT */
/*
 * The event loop with a clock, a kernel and ended tasks that the test makes up: what it does in which round, how long
 * it waits, how long it lets events gather, and how many files it writes meanwhile.
 */
#ifndef UNIT_ROUNDS_KIT_H
#define UNIT_ROUNDS_KIT_H

#include "worker_fake.h"

#include "collector/collect.h"
#include "collector/tasks/tasks.h"

#define MS 1000000ull
#define S 1000000000ull
enum { ROUNDS = 64, ROUND_END = -1 };

/* What a round meets in epoll_wait(), and what it does then. */
struct round {
    int events;               /* that there are; ROUND_END: a signal that ends the session */
    uint64_t waited_ns;       /* until then */
    void (*change)(void);     /* what else has happened. In the loop's thread: no assertions */
    unsigned files;           /* written in that round */
    int timeout_ms;           /* that it was ready to wait */
    uint64_t rested_ns;       /* before it: how long events gathered, */
    unsigned gathered;        /* and files that were written meanwhile */
    bool unburied;            /* who was written is there when the next one is, or in the next round */
};

extern struct fake fake;
extern struct tasks *tasks;     /* the loop's */
extern struct round seen[ROUNDS];
extern unsigned round_number;   /* that there were */
extern uint64_t file_ns;        /* that a file takes */
extern int urgent;              /* what ppoll() finds while events gather */
extern unsigned renewed, trimmed, given_back; /* workers, results, memory */
extern unsigned answers_taken;  /* how often it took what the opener had answered */

/* Of the group: its directory. */
int rounds_enter(void **state);
int rounds_leave(void **state);
/* Of each test. */
int rounds_set_up(void **state);
int rounds_tear_down(void **state);
/* Runs a bare session of the rounds GIVEN, the last of which is its ROUND_END. What was seen before is forgotten. */
void rounds_run(const struct round *given);
/* The same of a session that ends with ROOT, which has ended; the rounds may be more than come. */
void rounds_run_root(pid_t root, const struct round *given);
/* In a round: does it wait for notifications, inherited sets, and for signals of both kinds? */
bool rounds_wait_for_all(void);
/* As rounds_run(), and compares what it did. */
void rounds_expect(const struct round *given);

/* So many tasks have ended, and their files are not written. */
void set_done(unsigned count);
void no_room(void);
void room(void);
void some_done(void);
void none_done(void);

#define TEST(function) cmocka_unit_test_setup_teardown(function, rounds_set_up, rounds_tear_down)

#endif
