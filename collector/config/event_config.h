/* SPDX-License-Identifier: MIT */
/*
 * The event configuration: the events that every task gets. Decided once at the start, by opening them; then immutable
 * and shared by threads.
 */
#ifndef COLLECTOR_CONFIG_EVENT_CONFIG_H
#define COLLECTOR_CONFIG_EVENT_CONFIG_H

#include <linux/perf_event.h>
#include <pinject/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/config/settings.h"
#include "common/buffer.h"

/* Those that the user chose, and the defaults beside them. Sets of them are words of 64 bits. */
enum { CONFIG_EVENTS = EVENTS_MAX + 16, CONFIG_NOTES = CONFIG_EVENTS + 16 };

/* What an event of a task counted. */
struct attach_value {
    uint64_t value, enabled_ns, running_ns, lost;
};

/* Where the count of a task comes from, if no event is opened on it (system_wide). */
enum config_account {
    CONFIG_ACCOUNT_NONE,
    CONFIG_ACCOUNT_CLOCK, /* the kernel's accounting of the task: its CPU time, */
    CONFIG_ACCOUNT_SWITCHES,
    CONFIG_ACCOUNT_FAULTS,
    CONFIG_ACCOUNT_MINOR_FAULTS,
    CONFIG_ACCOUNT_MAJOR_FAULTS,
    CONFIG_ACCOUNT_SAMPLES, /* the sum of its samples' periods; of what is rare, a sample each time */
};

struct config_event {
    char name[EVENT_NAME];       /* as in reports: "task-clock", "page-faults:u" */
    struct perf_event_attr attr; /* as for a running task: disabled and enable_on_exec are 0 */
    bool samples;                /* writes PERF_RECORD_SAMPLE; the first one owns the ring and the side-band records */
    bool nanoseconds;
    bool period_is_next;  /* see event_rate_is_next() */
    uint64_t random_mask; /* its periods change: attr's, and a random part of these bits; 0: they do not */
    uint64_t random_seed;
    bool had_cost;   /* by_cost, if its period were not that of all tasks (event_config.inherits) */
    bool by_cost;    /* its period changes with what samples cost each task (sample_cost.h); attr's is the shortest */
    bool grouped;    /* one of several that the kernel schedules together */
    bool values;     /* its samples have the counts of its group: PERF_SAMPLE_READ (records/values.h) */
    unsigned leader; /* index of its group's leader: at most its own, which it is without a group */
    unsigned set;    /* number from 1 of its event set (event_sets.h); 0: it counts all the time */
    enum config_account account;   /* only with system_wide */
    const struct event_spec *spec; /* what the user said of it, in the settings; NULL: a default */
};

/* Does the collector change its periods: are they random, or chosen by cost? */
static inline bool event_config_varies(const struct config_event *event)
{
    return event->random_mask || event->by_cost;
}

struct event_config {
    struct config_event events[CONFIG_EVENTS]; /* sampling ones first */
    unsigned count;
    unsigned sampling;               /* how many of them sample; with --stat none does, see dummy */
    bool sampler_wanted;             /* the user chose a sampler */
    bool inherits;                   /* all tasks inherit the events of the command (--sampler=inherit, or auto) */
    bool whole_tree;                 /* --stat: the events of the command are inherited; no other task has events */
    bool system_wide;                /* no task has events: there is one set for each CPU, as if all inherited it
                                        (--sampler=cpu); inherits is set, too */
    bool system_wide_later;          /* that is possible, and is done when the events of the tasks cost too much
                                        (--sampler=auto): session.system_wide_set */
    unsigned whole_tree_note;        /* number, from 1, of the note that says so; 0: each task is counted by itself */
    bool dummy;                      /* --stat: events[0] is not reported: it has the ring, for COMM, MMAP2 ... */
    enum pinject_task_source source; /* PERF; TIMER if perf_event_open is refused: nothing is opened then */
    char refusal[64];                /* why, as strerror() says it */
    bool exclude_kernel;             /* the kernel may not be sampled */
    uint32_t dump;                   /* bytes of stack with each sample, to be unwound (stacks.h); 0: none */
    int unwinder;                    /* enum unwind_engine_kind */
    bool inherit_values;             /* inherited events have the counts of their groups, too */
    bool dump_auto;                  /* frame pointers are used if they prove right */
    bool dump_fixed;                 /* the user chose its size */
    /* number, from 1, of the note that says why there are none though the user asked; 0: none */
    unsigned dump_note;
    unsigned values_note;     /* the same of modifier S: which samples have no counts of their group */
    size_t ring_pages;        /* data pages of the ring of a process' first thread, a power of two */
    size_t thread_ring_pages; /* of further threads */
    uint32_t wake_bytes;      /* the reader is woken when so many wait; 0: a quarter of the ring */
    bool varies;              /* periods of an event change: event_config_varies() */
    bool rate_auto;           /* -F auto: the period of an event is by_cost, or was chosen before the start */
    bool data;                /* samples have addresses of data: mappings of data are recorded, too */
    const struct event_program *program;     /* of breakpoints on its symbols, if it is position-independent; or NULL */
    char missing[CONFIG_EVENTS][EVENT_NAME]; /* --stat: names of events that this machine does not have */
    unsigned missing_count;
    unsigned turns[EVENTS_MAX];    /* numbers of the event sets, in order; each has an event */
    unsigned turn_count;           /* 0: there are no sets */
    char reason[128];              /* why the default event is not cycles; "" when it is, or when the user chose */
    char notes[CONFIG_NOTES][256]; /* what was refused and dropped, a sentence each */
    unsigned note_count;
    struct buffer trace_formats; /* of tracepoints (trace_formats.h); empty: there are none, or they cannot be read */
    int keepers[CONFIG_EVENTS]; /* one open event of each: the kernel's static keys stay on, so opening is 5x cheaper */
};

/*
 * Default sampling event: cycles if the machine has it, else task-clock. Default counters beside it: task-clock,
 * page-faults, context-switches, cpu-migrations and the hardware ones that exist; a sampling event that is the same as
 * a counter replaces it. With --stat and a list of events: the list and task-clock. If perf_event_open is refused
 * altogether: task-clock in user space by timers of the preload object, and what getrusage() counts. If the kernel
 * refuses an event that the user asked for: -errno after report_error() with reason and remedy; a refused default is
 * noted. With --stat an event that the machine does not have is MISSING, as in perf stat. In event_setup.c.
 */
int event_config_init(struct event_config *config, const struct settings *settings);
void event_config_release(struct event_config *config);
/* Closes the keepers: no further task gets events. */
void event_config_close_keepers(struct event_config *config);

/* Adds a sentence for the user to the notes. */
__attribute__((format(printf, 2, 3))) void event_config_note(struct event_config *config, const char *format, ...);

/* Index of task-clock; -1: none. */
int event_config_find_clock(const struct event_config *config);
/*
 * The only sampled event whose samples the kernel may fill in for another event: software events but the clocks. When
 * one happens, the kernel fills in a sample once for all events of the task that sample it, whoever opened them. -1:
 * several or none of these sample.
 */
int event_config_find_shared(const struct event_config *config);
/* CPU time that the events of a task counted in VALUES, config.count of them. */
uint64_t event_config_clock(const struct event_config *config, const struct attach_value *values);
/* True if it happens only inside the kernel: with exclude_kernel it opens, but counts nothing. */
bool event_config_in_kernel(uint32_t type, uint64_t config);

#endif
