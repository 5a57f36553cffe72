/* SPDX-License-Identifier: MIT */
/*
 * What the user asked for: options of the command line, or PINJECT_* variables for a bare LD_PRELOAD. Read-only after
 * parsing.
 */
#ifndef COLLECTOR_CONFIG_SETTINGS_H
#define COLLECTOR_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/events/event_list.h"

enum settings_call_graph {
    SETTINGS_CALL_GRAPH_FP,
    SETTINGS_CALL_GRAPH_NONE,
    SETTINGS_CALL_GRAPH_DWARF,
    SETTINGS_CALL_GRAPH_AUTO,
};

#define SETTINGS_OUTFILE "out" /* the default */

struct periods {
    uint64_t values[EVENTS_MAX];
    unsigned count;     /* 0: the same for all events */
    const char *option; /* the name of the one that said a period; NULL: none */
};

/* --smpl-periods-random: of each event of -e, as PERIODS has them. */
struct random_periods {
    uint64_t masks[EVENTS_MAX], seeds[EVENTS_MAX]; /* a mask of 0: the period is always the same */
    unsigned count;
};

/* --sampler */
enum settings_sampler {
    SETTINGS_SAMPLER_AUTO,    /* as TASK, until that costs too much; then as CPU, if that is possible for all events */
    SETTINGS_SAMPLER_TASK,    /* each task has events of its own */
    SETTINGS_SAMPLER_INHERIT, /* each task inherits the events of the command */
    SETTINGS_SAMPLER_CPU,     /* each CPU has events, which see all tasks; those of others are forgotten */
};

struct settings {
    const char *outfile;      /* BASE of the result files, "out" */
    const char *directory;    /* their directory, as the user called it; NULL: only BASE was named */
    bool linger;              /* after the command exits, wait for the tasks that it left running */
    unsigned mode;            /* of all files with profile data, 0600 */
    struct event_list events; /* -e; none: the default of the machine */
    unsigned levels;          /* -u and -k: enum event_level; 0: neither */
    /* The last --priv-levels after each -e, by the number of -e before it. */
    const char *set_levels[EVENTS_MAX + 1];
    bool rate_given;        /* -F or -c */
    uint64_t frequency;     /* Hz, 999; 0 when a period is given */
    bool frequency_auto;    /* -F auto, the default: of clock events at most that, by what samples cost each task */
    uint64_t period;        /* -c; 0: frequency */
    struct periods periods; /* -c N,N: of each event of -e */
    struct random_periods random;
    uint64_t saturate;        /* --saturate-smpl-buffer: samples of a task, then it is only counted; 0: no limit */
    bool sample_cpu;          /* --sample-cpu */
    bool switch_events;       /* --switch-events: records of context switches */
    bool data;                /* -d: addresses and their sources */
    bool values;              /* --smpl-values: counts of the group's events in each sample */
    uint64_t user_regs;       /* --user-regs: attr.sample_regs_user; 0: none */
    uint64_t intr_regs;       /* --intr-regs: attr.sample_regs_intr; 0: none */
    uint64_t branches;        /* -b and -j: attr.branch_sample_type; 0: none */
    int call_graph;           /* enum settings_call_graph */
    int unwinder;             /* enum unwind_engine_kind */
    int sampler;              /* enum settings_sampler */
    bool call_graph_given;    /* by the user: then it is reported if it is not possible */
    uint32_t dump;            /* dwarf, auto: bytes of stack; 0: the usual number */
    bool stat;                /* counting only; the rest, up to follow, is only for that */
    int count_by;             /* enum count_by: rows of the counts */
    int count_form;           /* enum count_form */
    int count_digits;         /* enum count_digits */
    const char *separator;    /* -x: of CSV */
    const char *counts_file;  /* where the counts go; NULL: stderr */
    uint64_t interval_ns;     /* --print-interval; 0: none */
    uint64_t switch_ns;       /* --switch-timeout: each -e is a set, and they take turns; 0: all -e are one list */
    uint64_t repeat;          /* number of runs; 0: one, without statistics */
    unsigned run;             /* the number of this run, from 1; 0: there is only one, or all */
    const char *pre, *post;   /* shell commands before and after each run; NULL: none */
    bool append;              /* to that file */
    bool with_header;         /* before the counts: the machine and the session */
    const char *count_option; /* the first of these options that was given; NULL: none */
    bool show_time;           /* --show-time, of the command */
    bool no_cmd_output;       /* the command writes to /dev/null */
    unsigned follow;          /* enum pinject_session_flags: FORK, VFORK, PTHREAD, EXEC; PTHREAD is always on for
                                   the first process. All if nothing is given */
    bool follow_given;        /* by the user */
    bool split;               /* --exec-split-results */
    bool quiet;
    bool strict;              /* --strict: an incomplete profile is a failure */
    bool live;                /* --live: a live view while the command runs */
    const char *live_to;      /* the terminal or file; NULL: the controlling terminal */
    uint64_t stacks_after_ns; /* --stacks-after: time after the start; 0: not */
    unsigned verbose;         /* number of -v */
    bool bare;                /* started by the preload object */
    char *const *command;     /* ended by NULL; NULL in bare mode */
};

#endif
