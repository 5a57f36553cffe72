/* SPDX-License-Identifier: MIT */
/*
 * --call-graph dwarf and auto: samples come from the ring with registers and a piece of stack, and go to the file with
 * a plain call chain. Context: the event loop's thread.
 */
#ifndef COLLECTOR_STACKS_STACKS_H
#define COLLECTOR_STACKS_STACKS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/config/dump_event.h"
#include "collector/config/event_config.h"
#include "collector/stacks/table_time.h"
#include "unwind/engine.h"

struct dump_sizes;
struct mapping;
struct records_layout;
struct sample_cost;
struct space;
struct stack_sizes;

enum {
    STACKS_FRAMES = 1024, /* of a user's part */
    STACKS_TAIL = 2,      /* frames below main() or a thread's start routine that frame pointers do not find */
    STACKS_BLOCKS = 1024,
    STACKS_DSOS = 1024,
    STACKS_TEXT = 512,
};
/* For unwinding what lies in rings of one user that are read at once. Beyond that: by frame pointers. */
enum { STACKS_AT_ONCE_NS = 1000 * 1000 * 1000 };

/*
 * auto: how the chains by frame pointers compared with those by tables. Frames below main() have no frame pointers in
 * libc; TAILS has those that follow the last address that frame pointers find.
 */
struct stack_trust {
    unsigned compared, wrong, taken;
    struct stack_tail {
        uint64_t after; /* 0: none */
        uint64_t ips[STACKS_TAIL];
        unsigned count;
    } tails[2];
};

/* What became of the samples with a user-space part. */
struct stack_counts {
    uint64_t ends[UNWIND_ENDS]; /* unwound by tables, by why they ended */
    uint64_t extended;          /* part of TRUNCATED: frame pointers continued the chain */
    uint64_t chosen;            /* auto: by frame pointers, because the process has them */
    uint64_t behind;            /* by frame pointers, because the collector had fallen behind */
    uint64_t foreign;           /* by frame pointers: a 32-bit program, or no registers came */
};

/* How full a task's ring was at its last rounds. */
struct stack_fill {
    bool was_full, behind; /* at the last round; at two running */
    uint64_t lost_seen;    /* records that were lost by then */
};

/* The task whose samples are unwound. Valid for one call. */
struct stack_owner {
    pid_t pid;  /* whose mapped files are asked for */
    uid_t user; /* -1: not known */
    const struct space *space;
    void *process;              /* for look_at_maps() */
    struct stack_trust **trust; /* of the process; *TRUST may be NULL: allocated when needed */
    struct stack_counts *counts;
    struct stack_fill *fill;
    struct stack_sizes *sizes; /* of its program; NULL: not known */
    uint32_t dump_limit;       /* lowered size of its dumps; 0: not lowered */
    uint64_t *at_once_ns;      /* time spent on its user's stacks in this round; NULL: no limit */
    uint64_t now_ns;
};

/* What is mapped at a block of an address space. */
struct stack_block {
    uint64_t version; /* of struct space; 0: empty */
    struct unwind_map map;
    bool mapped;
};

/* The tables of a mapped DSO, by what its mapping says. */
struct stack_dso {
    struct mapping *mapping;  /* owned, one of it; NULL: empty */
    uint64_t checked_ns;      /* when the file was looked at last */
    uint64_t ticket;          /* of the question that is not answered yet (opener.h); 0: none */
    struct unwind_file *file; /* NULL: it has none */
    pid_t pid;                /* the process that had it mapped at that look, and its user; -1: unknown */
    uid_t user;
    bool put_off; /* its tables were not read: its user's files took too long */
};

struct stacks {
    const struct event_config *config;
    const struct records_layout *layout;
    struct dump_sizes *dumps;
    struct sample_cost *cost; /* gets the time of each stack; not ours, NULL: nobody asks */
    /* Reads the mappings of OWNER's process again: true where there are new ones. */
    bool (*look_at_maps)(void *context, void *process);
    void *context;
    struct unwind_files *files;
    struct unwind_engine *engine;
    struct opener *opener; /* what reads them; not ours */
    struct stack_block blocks[STACKS_BLOCKS];
    struct stack_dso dsos[STACKS_DSOS];
    struct stack_counts counts;
    struct table_time time; /* for reading tables */
    uint64_t no_room;       /* files whose tables had no room at once */
    uint64_t lowered;       /* how often the dump was made smaller for new tasks of a user */
    uint32_t lowest;        /* then: the smallest */
    uint64_t raised;        /* how often it was made larger for all, since stacks were deeper */
    uint64_t seen, cut;     /* since the last look: chains, and those deeper than their dump */
    uint64_t ips[STACKS_FRAMES];
    _Alignas(8) unsigned char record[65536]; /* the sample that was made last */
};

/* *RET is NULL if the event configuration has no dumps. 0 or -ENOMEM. */
int stacks_new(const struct event_config *config, const struct records_layout *layout, struct dump_sizes *dumps,
               struct stacks **ret);
/* NULL is accepted. */
void stacks_free(struct stacks *stacks);

/*
 * RECORD, a sample of event EVENT as it came from the ring of OWNER, as it goes to the file; valid until the next call.
 * The same one where there is nothing to unwind. NULL: it makes no sense.
 */
const struct perf_event_header *stacks_take(struct stacks *stacks, const struct stack_owner *owner, unsigned event,
                                            const struct perf_event_header *record);
/* A round of OWNER's ring begins, FILLED bytes of SIZE wait, LOST records in all: is the collector behind? */
void stacks_round(struct stacks *stacks, const struct stack_owner *owner, uint64_t lost, uint64_t filled,
                  uint64_t size);

/* How the session's stacks came about, for the summary and the first file; "": none were unwound, or STACKS is NULL. */
void stacks_describe(const struct stacks *stacks, char ret[STACKS_TEXT]);

/* The samples in COUNTS that have a user-space part. */
uint64_t stacks_sum(const struct stack_counts *counts);

#endif
