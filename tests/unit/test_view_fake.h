/* SPDX-License-Identifier: MIT */
/* A handmade profile, so that every figure that a view shows is known: see fake_new(). */
#ifndef TEST_VIEW_FAKE_H
#define TEST_VIEW_FAKE_H

#include "analyze/view/view.h"

struct fake {
    struct profile profile;
    struct settings settings;
    struct view view;
    bool inlined; /* inlined functions have rows */
};

/*
 * Two processes: make (10.10, thread 10.11 "worker"), which started cc1 (20.20). DSO /opt/no-such/app has no file,
 * so names are app+0xOFFSET. Samples, a weight of 1 ms each:
 *
 *   10.10: main(0x100) > parse(0x200)                x 10
 *   10.11: main(0x100)                               x  5
 *   20.20: main(0x100) > recurse(0x300) three times  x 80
 *          no DSO, 0xdead000                      x  5
 *
 * Counts: task-clock of 10.10: 12 ms, + 1 ms start-up + 2 ms exit; page-faults of 20.20: 50, running half of the time.
 */
void fake_new(struct fake *fake);
/* Runs VIEW with the settings of FAKE and returns what it printed; owned by the caller. *ret_status: its status. */
char *fake_run(struct fake *fake, int (*view)(struct view *), int *ret_status);
/* The same for a view that succeeds. */
char *run(struct fake *fake, int (*view)(struct view *));
/* Runs 'diff' of FAKES, first COUNTS[0] runs of the first side, with the settings of FAKES[0]; as fake_run(). */
char *fake_diff(struct fake *const *fakes, const size_t counts[2], int *ret_status);
/* Fail, and show TEXT, unless it contains PART, or does not. */
void has(const char *text, const char *part);
void has_not(const char *text, const char *part);

#endif
