/* SPDX-License-Identifier: MIT */
/*
 * The timers of threads: preload/timer.c with real timers of the kernel, rings in a file of this test, and a handler
 * that counts. Each test runs in a process of its own, as what is set up once in a process stays.
 */
#ifndef UNIT_TIMER_KIT_H
#define UNIT_TIMER_KIT_H

#include "check.h"

#include "preload/preload.h"
#include "preload/sys.h"
#include "preload/timer.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { RINGS = 4 };

struct timer_seen {
    unsigned counts, expired, foreign, opened, released, forgotten, set_masked;
    int take_error;          /* of the signal */
    bool take_fails_late;    /* the kernel refuses a timer with it */
};

extern struct timer_seen *seen; /* shared with children */
extern bool masked, taken;
extern void (*when_counted)(void);
extern void (*when_taken)(void); /* the signal, while no other thread can make what all timers have in common */
extern int rings_fd;

#define MUST(condition)                                                                       \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);         \
            _exit(1);                                                                         \
        }                                                                                     \
    } while (0)

struct pinject_timer_head *head_of(int ring);
struct perf_event_mmap_page *page_of(int ring);
const char *rings_path(void);
/* Mappings of the rings' file, but for the one of head_of(). */
unsigned rings_mapped(void);
unsigned descriptors(void);
/* Whether the process has COUNT timers, where the kernel lists them. */
bool has_timers(unsigned count);
/* User time, until so many expiries were seen; so much of it. */
void compute_until(unsigned more);
void compute(int ms);

void in_child(void (*test)(void));
void in_thread(void (*test)(void));
int set_up(void **state);
int tear_down(void **state);

#endif
