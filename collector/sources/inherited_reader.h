/* SPDX-License-Identifier: MIT */
/*
 * A thread that reads the rings of inherited sets as they fill. All tasks of a set on one CPU share one ring: while the
 * event loop unwinds stacks and writes files, or waits for a CPU, such a ring may run full. This thread only copies, so
 * the scheduler runs it soon. For inherited.c alone.
 */
#ifndef COLLECTOR_SOURCES_INHERITED_READER_H
#define COLLECTOR_SOURCES_INHERITED_READER_H

#include <pthread.h>
#include <stdbool.h>

struct inherited_sets;

struct inherited_reader {
    int rings;  /* epoll: the rings of all sets, and stop */
    int stop;   /* eventfd */
    int filled; /* eventfd: records were read, or a set has ended */
    int loop;   /* epoll, for the event loop: filled, or the rings while there is no thread */
    pthread_t thread;
    bool runs;
};

/* 0 or -errno: inherited_reader_release() in any case. */
int inherited_reader_init(struct inherited_reader *reader);
void inherited_reader_release(struct inherited_reader *reader);
/* Unless it runs. If there can be no thread, the event loop goes on to be woken by the rings. Under the lock of SETS. */
void inherited_reader_start(struct inherited_reader *reader, struct inherited_sets *sets);
/* Waits for its end. Not under the lock of the sets. */
void inherited_reader_stop(struct inherited_reader *reader);
/* The event loop is about to take what was read. */
void inherited_reader_clear(struct inherited_reader *reader);

#endif
