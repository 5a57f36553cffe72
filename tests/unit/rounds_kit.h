/* SPDX-License-Identifier: MIT */
/*
 * The event loop with a fake clock, kernel and ended tasks. Tests check what it does in each round, how long it waits,
 * how long it lets events gather, and how many files it writes meanwhile.
 */
#ifndef UNIT_ROUNDS_KIT_H
#define UNIT_ROUNDS_KIT_H

#include "worker_fake.h"

#include "collector/collect.h"
#include "collector/tasks/tasks.h"

#define MS 1000000ull
#define S  1000000000ull
enum { ROUNDS = 64, ROUND_END = -1 };

/* What a round gets from epoll_wait(), and what it does then. */
struct round {
    int events;           /* number of events; ROUND_END: a signal that ends the session */
    uint64_t waited_ns;   /* time until they come */
    void (*change)(void); /* other changes. Runs in the loop's thread: no assertions */
    unsigned files;       /* written in that round */
    int timeout_ms;       /* of its epoll_wait() */
    uint64_t rested_ns;   /* before the round: how long events gathered, */
    unsigned gathered;    /* and the files written meanwhile */
    bool unburied;        /* a written task still exists when the next one is written, or in the next round */
};

extern struct fake fake;
extern struct tasks *tasks; /* of the loop */
extern struct round seen[ROUNDS];
extern unsigned round_number;                 /* rounds so far */
extern uint64_t file_ns;                      /* time to write a file */
extern int urgent;                            /* result of ppoll() while events gather */
extern unsigned renewed, trimmed, given_back; /* counts for workers, results, memory */
extern unsigned answers_taken;                /* how often it took answers of the opener */

/* For the group of tests: make and remove its directory. */
int rounds_enter(void **state);
int rounds_leave(void **state);
/* For each test. */
int rounds_set_up(void **state);
int rounds_tear_down(void **state);
/* Runs a bare session with the rounds GIVEN, of which the last is its ROUND_END. Clears `seen` first. */
void rounds_run(const struct round *given);
/* The same for a session that ends with ROOT, which has already ended; not all rounds need to happen. */
void rounds_run_root(pid_t root, const struct round *given);
/* In a round: does it wait for notifications, inherited sets, and both kinds of signals? */
bool rounds_wait_for_all(void);
/* As rounds_run(), and compares the results with GIVEN. */
void rounds_expect(const struct round *given);

/* Sets the number of ended tasks whose files are not written yet. */
void set_done(unsigned count);
void no_room(void);
void room(void);
void some_done(void);
void none_done(void);

#define TEST(function) cmocka_unit_test_setup_teardown(function, rounds_set_up, rounds_tear_down)

#endif
