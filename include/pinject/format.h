/* SPDX-License-Identifier: MIT */
/*
 * What a result file holds beyond perf.data: one feature section, number PINJECT_FEATURE, which perf skips.
 * docs/FORMAT.md has the whole file.
 *
 * The section is a sequence of items, each with a struct pinject_item in front, each a multiple of 8 bytes long, in the
 * machine's byte order (that of the file's header). A reader skips item types and trailing bytes that it does not know.
 * Strings are NUL-terminated, one behind the other, after the fixed part. Times are CLOCK_MONOTONIC in nanoseconds.
 * Items of one task's file describe that task only; COVERAGE, MISSED stand in the file of the root task.
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
    PINJECT_ITEM_MISSED = 6,   /* one per reason and command */
    PINJECT_ITEM_NOTE = 7,     /* a sentence for the user */
    PINJECT_ITEM_STACKS = 8,   /* how call stacks were made, where they were unwound (--call-graph dwarf, auto) */
    PINJECT_ITEM_PACKED = 9,   /* all items of the section; then it is the only one there */
    PINJECT_ITEM_MACHINE = 10, /* beside COVERAGE, where it is known */
    PINJECT_ITEM_TIMES = 11,   /* the same */
    PINJECT_ITEM_UNWRITTEN = 12, /* beside COVERAGE, where something could not be written */
};

/* No more than this is packed, and nobody has to believe in more; no more than this is the dictionary. */
#define PINJECT_PACKED_MAX (16u << 20)
#define PINJECT_DICTIONARY_MAX 4096u

struct pinject_item {
    uint32_t type; /* enum pinject_item_type */
    uint32_t size; /* bytes of the whole item with this header and padding, a multiple of 8 */
};

/*
 * Strings: version of pinject-run; default event's name; reason why it is not cycles ("" when it is or was asked for);
 * then arguments: the command line as typed.
 */
struct pinject_item_session {
    struct pinject_item item;
    uint64_t id[2];
    uint64_t start_ns;           /* of the session */
    uint64_t start_realtime_ns;  /* the same moment, CLOCK_REALTIME */
    uint32_t flags;              /* enum pinject_session_flags of wire.h */
    int32_t root;                /* pid of the first process */
    uint32_t uid;
    uint32_t arguments;          /* how many strings the command line has */
    uint32_t bare;               /* 1: started by LD_PRELOAD alone */
    uint32_t exclude_kernel;     /* 1: the kernel may not be sampled */
};

enum pinject_task_source {
    PINJECT_SOURCE_PERF = 1,       /* events of its own */
    PINJECT_SOURCE_INHERITED = 2,  /* from outside, by inheritance */
    PINJECT_SOURCE_TIMER = 3,      /* timers of the preload object */
    PINJECT_SOURCE_ACCOUNTING = 4, /* only what the kernel's accounting says */
};

enum pinject_task_flags {
    PINJECT_TASK_ENDED = 1,      /* end_ns is the end; else the time of the last record */
    PINJECT_TASK_STATUS = 2,     /* status is known */
    PINJECT_TASK_EXIT_COST = 4,  /* exit_ns is known */
    PINJECT_TASK_COUNTED_ONLY = 8, /* no ring: sampling was refused or its memory was used up */
    PINJECT_TASK_SPLIT = 16,     /* this file holds one exec generation only (--exec-split-results) */
    PINJECT_TASK_ROOT = 32,      /* the first task of the session */
};

/* No strings. */
struct pinject_item_task {
    struct pinject_item item;
    int32_t pid;
    int32_t tid;
    int32_t ppid;
    int32_t parent_tid;      /* creator, 0: unknown */
    uint32_t flags;          /* enum pinject_task_flags */
    uint32_t source;         /* enum pinject_task_source */
    int32_t status;          /* as of wait(2) */
    int32_t kind;            /* enum pinject_kind: how it began */
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t startup_ns;     /* CPU time before the events started */
    uint64_t exit_ns;        /* CPU time after the events ended (processes; from wait's rusage) */
    uint64_t lost;           /* sample records the kernel could not write */
    uint64_t samples;
};

/* Strings: comm, path of the executable, then the arguments. */
struct pinject_item_generation {
    struct pinject_item item;
    uint64_t start_ns;
    uint32_t number;         /* 0 ... */
    uint32_t arguments;
};

/* String: the event's name, where the file has no attr of it. */
struct pinject_item_count {
    struct pinject_item item;
    uint64_t value;          /* the kernel's count, not scaled; startup_ns and exit_ns are not in it */
    uint64_t enabled_ns;
    uint64_t running_ns;     /* < enabled_ns: multiplexed */
    uint64_t lost;
    uint32_t event;          /* index of the file's attr; UINT32_MAX: none */
    uint32_t generation;     /* number of the exec generation; UINT32_MAX: the whole task */
    uint32_t nanoseconds;    /* 1: the value is a time */
    uint32_t reserved;
};

/* No strings. */
struct pinject_item_coverage {
    struct pinject_item item;
    uint64_t cpu_ns;         /* of the tree, by the kernel's accounting, with what the host took: a note says that */
    uint64_t attributed_ns;  /* of it, in tasks */
    uint64_t tasks;          /* that were seen */
    uint64_t files;          /* that were written */
    uint64_t collector_ns;   /* CPU time of the collector itself, not in cpu_ns */
    uint32_t complete;       /* 0: the session was still running */
    uint32_t reserved;
};

/* No strings. From the session's start to its end, by /proc/stat. */
struct pinject_item_machine {
    struct pinject_item item;
    uint64_t elapsed_ns;
    uint64_t others_ns;      /* CPU time of programs and kernel threads that is not in COVERAGE */
};

/* CPU time of the first process and of all that were waited for: getrusage()'s. */
struct pinject_item_times {
    struct pinject_item item;
    uint64_t user_ns;
    uint64_t kernel_ns;
};

/* No strings. Result files that are missing or not complete, and the samples that would have been in them. */
struct pinject_item_unwritten {
    struct pinject_item item;
    uint64_t files;
    uint64_t samples;
};

/* Strings: reason, comm. */
struct pinject_item_missed {
    struct pinject_item item;
    uint64_t count;
    uint64_t cpu_ns;         /* 0: unknown */
};

/* No strings. Samples with a part in user space, by how its call chain came about; the first five by unwind tables. */
struct pinject_item_stacks {
    struct pinject_item item;
    uint64_t bottom;         /* down to the outermost frame */
    uint64_t truncated;      /* the stack was deeper than the dump */
    uint64_t too_deep;       /* more frames than are kept */
    uint64_t no_table;       /* code without unwind tables */
    uint64_t bad_memory;     /* another stack than the one that was dumped, or nonsense */
    uint64_t extended;       /* of TRUNCATED: frame pointers led on */
    uint64_t chosen;         /* by frame pointers, since the process proved to have them (auto) */
    uint64_t behind;         /* by frame pointers, since the collector had fallen behind */
    uint64_t foreign;        /* by frame pointers: 32-bit code, or no registers */
    uint32_t dump;           /* bytes of stack with each sample, at most */
    uint32_t flags;          /* 1: auto; 2: unwound by libunwind */
};

/*
 * No strings. The packed bytes follow (deflate, RFC 1951, without any header); they know where they end. Paths, numbers
 * of tasks and counts stand in the records too: the last bytes of the file's data are the dictionary.
 */
struct pinject_item_packed {
    struct pinject_item item;
    uint32_t unpacked;       /* bytes of the items that are packed: exactly as many come out */
    uint16_t method;         /* 1: deflate */
    uint16_t dictionary;     /* how many bytes of the data */
};

/* String: the sentence. */
struct pinject_item_note {
    struct pinject_item item;
};

_Static_assert(sizeof(struct pinject_item_session) == 64, "format: session");
_Static_assert(sizeof(struct pinject_item_task) == 88, "format: task");
_Static_assert(sizeof(struct pinject_item_generation) == 24, "format: generation");
_Static_assert(sizeof(struct pinject_item_count) == 56, "format: count");
_Static_assert(sizeof(struct pinject_item_coverage) == 56, "format: coverage");
_Static_assert(sizeof(struct pinject_item_machine) == 24, "format: machine");
_Static_assert(sizeof(struct pinject_item_times) == 24, "format: times");
_Static_assert(sizeof(struct pinject_item_unwritten) == 24, "format: unwritten");
_Static_assert(sizeof(struct pinject_item_missed) == 24, "format: missed");
_Static_assert(sizeof(struct pinject_item_stacks) == 88, "format: stacks");
_Static_assert(sizeof(struct pinject_item_packed) == 16, "format: packed");

#endif
