/* SPDX-License-Identifier: MIT */
/*
 * The timers of threads: preload/timer.c with real timers of the kernel, rings in a file of this test, and a handler
 * that counts. Each test runs in a process of its own, since per-process state cannot be undone.
 */
#ifndef UNIT_TIMER_KIT_H
#define UNIT_TIMER_KIT_H

#include "check.h"

#include "preload/state.h"
#include "preload/sys.h"
#include "preload/timer.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { RINGS = 4 };

struct timer_seen {
    unsigned counts, expired, foreign, opened, released, forgotten, set_masked;
    int take_error;       /* error when the signal is taken */
    bool take_fails_late; /* the kernel refuses a timer with the signal */
};

extern struct timer_seen *seen; /* shared with children */
extern bool masked, taken;
extern void (*when_counted)(void);
extern void (*when_taken)(void); /* called when the signal is taken, while no other thread can do the common set-up */
extern int rings_fd;

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

struct pinject_timer_head *head_of(int ring);
struct perf_event_mmap_page *page_of(int ring);
const char *rings_path(void);
/* The number of mappings of the rings' file, without the one of head_of(). */
unsigned rings_mapped(void);
unsigned descriptors(void);
/* Whether the process has COUNT timers, if the kernel lists them. */
bool has_timers(unsigned count);
/* Use user time: until MORE expiries were seen; for MS milliseconds. */
void compute_until(unsigned more);
void compute(int ms);

void in_child(void (*test)(void));
void in_thread(void (*test)(void));
int set_up(void **state);
int tear_down(void **state);

#endif
