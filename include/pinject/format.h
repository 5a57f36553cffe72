/* SPDX-License-Identifier: MIT */
/*
 * What a result file has beyond perf.data: one feature section, number PINJECT_FEATURE, which perf skips.
 * docs/FORMAT.md describes the whole file.
 *
 * The section is a sequence of items. Each item begins with a struct pinject_item, has a size that is a multiple of 8
 * bytes, and is in the machine's byte order (that of the file's header). A reader skips unknown item types and unknown
 * bytes at the end of an item. Strings are NUL-terminated and follow the fixed part, one after the other. Times are
 * CLOCK_MONOTONIC in nanoseconds. The items of a task's file describe that task only; COVERAGE and MISSED are in the
 * root task's file.
 */
#ifndef PINJECT_FORMAT_H
#define PINJECT_FORMAT_H

#include <stdint.h>

enum { PINJECT_FEATURE = 250 };

enum pinject_item_type {
    PINJECT_ITEM_SESSION = 1,
    PINJECT_ITEM_TASK = 2,
    PINJECT_ITEM_GENERATION = 3, /* one per exec generation of the task, in order */
    PINJECT_ITEM_COUNT = 4,      /* one per event and exec generation */
    PINJECT_ITEM_COVERAGE = 5,
    PINJECT_ITEM_MISSED = 6,     /* one per reason and command */
    PINJECT_ITEM_NOTE = 7,       /* a sentence for the user */
    PINJECT_ITEM_STACKS = 8,     /* how call stacks were made, if they were unwound (--call-graph dwarf, auto) */
    PINJECT_ITEM_PACKED = 9,     /* contains all items of the section, which has no other item then */
    PINJECT_ITEM_MACHINE = 10,   /* beside COVERAGE, if it is known */
    PINJECT_ITEM_TIMES = 11,     /* the same */
    PINJECT_ITEM_UNWRITTEN = 12, /* beside COVERAGE, if something could not be written */
    PINJECT_ITEM_UNIT = 13,      /* one per event whose counts have a unit or a scale */
};

/* Upper bounds of the unpacked size and of the dictionary's size. A reader may reject more. */
#define PINJECT_PACKED_MAX     (16u << 20)
#define PINJECT_DICTIONARY_MAX 4096u

struct pinject_item {
    uint32_t type; /* enum pinject_item_type */
    uint32_t size; /* bytes of the whole item, including this header and padding: a multiple of 8 */
};

/*
 * Strings: version of pinject-run; name of the default event; reason why it is not cycles ("" when it is cycles or the
 * user chose); then arguments: the command line as typed.
 */
struct pinject_item_session {
    struct pinject_item item;
    uint64_t id[2];
    uint64_t start_ns;          /* of the session */
    uint64_t start_realtime_ns; /* the same moment, CLOCK_REALTIME */
    uint32_t flags;             /* enum pinject_session_flags of wire.h */
    int32_t root;               /* pid of the first process */
    uint32_t uid;
    uint32_t arguments;      /* number of strings of the command line */
    uint32_t bare;           /* 1: started by LD_PRELOAD alone */
    uint32_t exclude_kernel; /* 1: the kernel may not be sampled */
};

enum pinject_task_source {
    PINJECT_SOURCE_PERF = 1,       /* events of its own */
    PINJECT_SOURCE_INHERITED = 2,  /* inherited events */
    PINJECT_SOURCE_TIMER = 3,      /* timers of the preload object */
    PINJECT_SOURCE_ACCOUNTING = 4, /* only the kernel's CPU time accounting */
    PINJECT_SOURCE_CPU = 5, /* samples by events of its CPUs, counts from the kernel's accounting (--sampler=cpu) */
};

enum pinject_task_flags {
    PINJECT_TASK_ENDED = 1,        /* end_ns is the end; otherwise it is the time of the last update */
    PINJECT_TASK_STATUS = 2,       /* status is known */
    PINJECT_TASK_EXIT_COST = 4,    /* exit_ns is known */
    PINJECT_TASK_COUNTED_ONLY = 8, /* no ring: sampling was refused, or the memory for rings was used up */
    PINJECT_TASK_SPLIT = 16,       /* this file holds one exec generation only (--exec-split-results) */
    PINJECT_TASK_ROOT = 32,        /* the first task of the session */
    PINJECT_TASK_TREE = 64,        /* its counts are its own and those of all its descendants, which have no files */
};

/* No strings. */
struct pinject_item_task {
    struct pinject_item item;
    int32_t pid;
    int32_t tid;
    int32_t ppid;
    int32_t parent_tid; /* creator; 0: unknown */
    uint32_t flags;     /* enum pinject_task_flags */
    uint32_t source;    /* enum pinject_task_source */
    int32_t status;     /* as wait(2) reports it */
    int32_t kind;       /* enum pinject_kind: how it began */
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t startup_ns; /* CPU time before the events started */
    uint64_t exit_ns;    /* CPU time after the events ended (processes; from wait's rusage) */
    uint64_t lost;       /* sample records the kernel could not write */
    uint64_t samples;
};

/* Strings: comm, path of the executable, then the arguments. */
struct pinject_item_generation {
    struct pinject_item item;
    uint64_t start_ns;
    uint32_t number; /* 0 ... */
    uint32_t arguments;
};

/* String: the event's name, if the file has no attr for it. */
struct pinject_item_count {
    struct pinject_item item;
    uint64_t value;      /* the kernel's count, not scaled; startup_ns and exit_ns are not in it */
    uint64_t enabled_ns; /* with a set: of the task, whichever set had its turn */
    uint64_t running_ns; /* < enabled_ns: multiplexed */
    uint64_t lost;
    uint32_t event;       /* index of the attr in the file; UINT32_MAX: none */
    uint32_t generation;  /* number of the exec generation; UINT32_MAX: the whole task */
    uint32_t nanoseconds; /* 1: the value is a time */
    uint32_t set;         /* number, from 1, of its event set, which took turns with others; 0: none */
};

/* Strings: the unit of value times scale, or ""; the event's name, if the file has no attr for it. */
struct pinject_item_unit {
    struct pinject_item item;
    uint64_t scale; /* the bits of a double; the value of each COUNT is to be multiplied by it */
    uint32_t event; /* as in COUNT */
    uint32_t reserved;
};

/* No strings. */
struct pinject_item_coverage {
    struct pinject_item item;
    uint64_t cpu_ns;        /* of the process tree, by the kernel's accounting, plus stolen time (a note says so) */
    uint64_t attributed_ns; /* part of cpu_ns that is attributed to tasks */
    uint64_t tasks;         /* tasks seen */
    uint64_t files;         /* files written */
    uint64_t collector_ns;  /* CPU time of the collector itself; not in cpu_ns */
    uint32_t complete;      /* 0: written while the session was still running */
    uint32_t reserved;
};

/* No strings. From the session's start to its end, from /proc/stat. */
struct pinject_item_machine {
    struct pinject_item item;
    uint64_t elapsed_ns;
    uint64_t others_ns; /* CPU time of programs and kernel threads that is not in COVERAGE */
};

/* CPU time of the first process and of all its waited-for descendants, from getrusage(). */
struct pinject_item_times {
    struct pinject_item item;
    uint64_t user_ns;
    uint64_t kernel_ns;
};

/* No strings. Result files that are missing or incomplete, and the samples that they would have. */
struct pinject_item_unwritten {
    struct pinject_item item;
    uint64_t files;
    uint64_t samples;
};

/* Strings: reason, comm. */
struct pinject_item_missed {
    struct pinject_item item;
    uint64_t count;
    uint64_t cpu_ns; /* 0: unknown */
};

/* No strings. Samples with a user-space part, by how the call chain was made. The first five: by unwind tables. */
struct pinject_item_stacks {
    struct pinject_item item;
    uint64_t bottom;     /* down to the outermost frame */
    uint64_t truncated;  /* the stack was deeper than the dump */
    uint64_t too_deep;   /* more frames than the collector keeps */
    uint64_t no_table;   /* code without unwind tables */
    uint64_t bad_memory; /* another stack than the dumped one, or corrupt data */
    uint64_t extended;   /* part of TRUNCATED: frame pointers continued the chain */
    uint64_t chosen;     /* by frame pointers, because the process proved to have them (auto) */
    uint64_t behind;     /* by frame pointers, because the collector had fallen behind */
    uint64_t foreign;    /* by frame pointers: 32-bit code, or no registers in the sample */
    uint32_t dump;       /* bytes of stack with each sample, at most */
    uint32_t flags;      /* 1: auto; 2: unwound by libunwind */
};

/*
 * No strings. The packed bytes follow: raw deflate (RFC 1951, no other header), which marks its own end. Paths, task
 * numbers and counts are in the records too, so the last bytes of the file's data serve as the dictionary.
 */
struct pinject_item_packed {
    struct pinject_item item;
    uint32_t unpacked;   /* exact size of the unpacked items in bytes */
    uint16_t method;     /* 1: deflate */
    uint16_t dictionary; /* number of bytes of the data */
};

/* String: the sentence. */
struct pinject_item_note {
    struct pinject_item item;
};

_Static_assert(sizeof(struct pinject_item_session) == 64, "format: session");
_Static_assert(sizeof(struct pinject_item_task) == 88, "format: task");
_Static_assert(sizeof(struct pinject_item_generation) == 24, "format: generation");
_Static_assert(sizeof(struct pinject_item_count) == 56, "format: count");
_Static_assert(sizeof(struct pinject_item_unit) == 24, "format: unit");
_Static_assert(sizeof(struct pinject_item_coverage) == 56, "format: coverage");
_Static_assert(sizeof(struct pinject_item_machine) == 24, "format: machine");
_Static_assert(sizeof(struct pinject_item_times) == 24, "format: times");
_Static_assert(sizeof(struct pinject_item_unwritten) == 24, "format: unwritten");
_Static_assert(sizeof(struct pinject_item_missed) == 24, "format: missed");
_Static_assert(sizeof(struct pinject_item_stacks) == 88, "format: stacks");
_Static_assert(sizeof(struct pinject_item_packed) == 16, "format: packed");

#endif
