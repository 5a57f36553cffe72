/* SPDX-License-Identifier: MIT */
/*
 * What is opened for every task: decided once, at the start, by opening it. Immutable afterwards, shared by threads.
 */
#ifndef COLLECTOR_CONFIG_EVENT_CONFIG_H
#define COLLECTOR_CONFIG_EVENT_CONFIG_H

#include <linux/perf_event.h>
#include <pinject/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/config/settings.h"

enum { CONFIG_EVENTS = 2 * SETTINGS_EVENTS, CONFIG_NOTES = 16 };

/* What an event of a task counted. */
struct attach_value {
    uint64_t value, enabled_ns, running_ns, lost;
};

struct config_event {
    char name[64];               /* as in reports: "task-clock", "page-faults:u" */
    struct perf_event_attr attr; /* as for a running task: disabled and enable_on_exec are 0 */
    bool samples;                /* writes PERF_RECORD_SAMPLE; the first one owns the ring and the side-band records */
    bool nanoseconds;
};

struct event_config {
    struct config_event events[CONFIG_EVENTS]; /* sampling ones first */
    unsigned count;
    unsigned sampling;           /* how many of them sample; with --stat none does, see dummy */
    bool dummy;                  /* --stat: events[0] is not for reports: it has the ring, for COMM, MMAP2 ... */
    enum pinject_task_source source; /* PERF; TIMER where perf_event_open is refused: nothing is opened then */
    char refusal[64];            /* why, in the words of strerror() */
    bool exclude_kernel;         /* the kernel may not be sampled */
    uint32_t dump;               /* bytes of stack with each sample, to be unwound (stacks.h); 0: none come */
    int unwinder;                /* enum unwind_engine_kind */
    bool dump_auto;              /* where frame pointers prove right they are taken */
    bool dump_fixed;             /* the user chose its size */
    /* number of the note that says why there is none though the user asked, from 1; 0: none */
    unsigned dump_note;
    size_t ring_pages;           /* data pages of the ring of a process' first thread, a power of two */
    size_t thread_ring_pages;    /* of further threads */
    char missing[CONFIG_EVENTS][64]; /* --stat: names of events that this machine does not have */
    unsigned missing_count;
    char reason[128];              /* why the default event is not cycles; "" when it is, or when the user chose */
    char notes[CONFIG_NOTES][256]; /* what was refused and dropped, a sentence each */
    unsigned note_count;
    int keepers[CONFIG_EVENTS]; /* one open event of each: the kernel's static keys stay on, opening is 5x cheaper */
};

/*
 * Default sampling event: cycles where the machine has it, else task-clock. Default counters beside it: task-clock,
 * page-faults, context-switches, cpu-migrations and the hardware ones where they exist; a sampling event that is the
 * same as a counter counts for it. With --stat and a list of events: the list and task-clock.
 * Where perf_event_open is refused altogether: task-clock in user space by timers of the preload object, and what
 * getrusage() counts. An event that the user asked for and the kernel refuses: -errno after report_error() with reason
 * and way out; a refused default is noted. With --stat one that the machine does not have is MISSING, as in perf stat.
 */
int event_config_init(struct event_config *config, const struct settings *settings);
void event_config_release(struct event_config *config);

/* A sentence for the user, in the notes. */
__attribute__((format(printf, 2, 3))) void event_config_note(struct event_config *config, const char *format, ...);

/* Index of task-clock; -1: none. */
int event_config_find_clock(const struct event_config *config);
/* CPU time that the events of a task counted in VALUES, config.count of them. */
uint64_t event_config_clock(const struct event_config *config, const struct attach_value *values);
/* Happens inside the kernel alone: with exclude_kernel it opens, but counts nothing. */
bool event_config_in_kernel(uint32_t type, uint64_t config);

#endif
