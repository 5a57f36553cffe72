/* SPDX-License-Identifier: MIT */
/* Processes and threads as /proc shows them; private to pstack/. */
#ifndef PSTACK_TARGET_H
#define PSTACK_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind.h"

enum { TARGET_NAME = 64, TARGET_FRAMES = 4096 };

/* A mapping; path points into maps_text of struct target. */
struct target_map {
    uint64_t start, end, offset, ino;
    unsigned maj, min;
    bool executable, anonymous;
    const char *path;
    struct unwind_file *file; /* set if file_asked */
    struct symbols_dso *names;
    bool file_asked, names_asked;
};

struct target_frame {
    uint64_t ip;          /* the same for a function and those inlined in it */
    const char *function; /* NULL: unknown; owned by the symbols */
    const char *dso;      /* path as mapped; NULL: memory without a file */
    const char *file;     /* source; NULL: unknown */
    uint32_t line;
    uint64_t address;       /* in the DSO */
    bool inlined, unmapped; /* unmapped: nothing was mapped there */
};

enum target_look {
    LOOK_NONE,    /* its stack could not be read: see error */
    LOOK_ASLEEP,  /* it slept in the kernel and was not touched */
    LOOK_STOPPED, /* it was stopped for a moment */
};

struct target_thread {
    pid_t tid, inner; /* inner: its tid in its own pid namespace */
    char comm[TARGET_NAME], wchan[TARGET_NAME];
    char state; /* a letter as in /proc/PID/stat; 0: it has ended */
    uint64_t cpu_ns;
    char *mark; /* owned: its call and context switches; unchanged if it slept on. NULL: it ran */
    bool in_call;
    long call; /* number of the system call, if in_call */
    uint64_t args[6];
    enum target_look look;
    int error;   /* why the stack is missing or incomplete: -errno; 0: it is not */
    bool spared; /* not stopped, as that would change its call's result or time limit: callers missing */
    struct unwind_regs regs;
    unsigned char *stack; /* owned; from the stack pointer in regs on */
    size_t stack_size;
    bool stack_full;             /* the stack continues after that */
    enum unwind_end end;         /* of the chain */
    uint64_t hash;               /* of its addresses: different hashes mean different stacks */
    struct target_frame *frames; /* owned; innermost first, at most TARGET_FRAMES */
    size_t frame_count;
    char *waits;    /* what its call waits for; owned; NULL: not known */
    bool limited;   /* its call has a time limit */
    pid_t holder;   /* tid of the thread that holds the lock, or that it joins; 0: not known */
    bool joins;     /* it waits for the end of holder */
    size_t same_as; /* index of the first thread of its process with the same frames */
};

struct target {
    pid_t pid, ppid, tracer; /* tracer: process that traces it already; 0: none */
    unsigned depth;          /* in the tree, below a process that was asked for */
    char comm[TARGET_NAME];
    char *command; /* owned; its command line, or [comm] if it has none */
    char state;    /* 0: it has ended */
    uid_t uid;
    uint64_t age_ns, cpu_ns;
    int error;               /* why it could not be read: -errno; 0: it could */
    pid_t via;               /* a live thread, since the first one may have ended: /proc/VIA shows the process */
    bool narrow;             /* a 32-bit program */
    bool other_root;         /* its root directory is not ours */
    bool inner;              /* its pid namespace is not ours */
    bool maps_again;         /* the mappings were read a second time */
    char *maps_text;         /* owned */
    struct target_map *maps; /* owned; by address */
    size_t map_count;
    struct target_thread *threads; /* owned */
    size_t thread_count;
};

/* Reads a process as it is now. 0 or -ENOMEM; if it is gone, its state is 0. */
int target_init(struct target *target, pid_t pid);
void target_release(struct target *target);
/* Reads its mappings, or reads them again. 0, -ENOMEM or -errno. Everything found for earlier mappings is dropped. */
int target_read_maps(struct target *target);
struct target_map *target_map_at(const struct target *target, uint64_t address);
struct target_thread *target_thread_of(const struct target *target, pid_t tid);
/* PIDS with all their descendants, parents first; *ret_depths: the depth of each. 0 or -ENOMEM. */
int target_tree(const pid_t *pids, size_t count, pid_t **ret, unsigned **ret_depths, size_t *ret_count);
/* The text of /proc/PID/NAME or, with TID, /proc/PID/task/TID/NAME, for free(); NULL: none. */
char *target_read(pid_t pid, pid_t tid, const char *name);
/* Reads the present state and wchan. False: it has ended. */
bool target_look(const struct target *target, struct target_thread *thread);
/* A mark of the thread, for free(). NULL: it runs, has ended, or must not be read (*ret_error: -errno). */
char *target_mark(const struct target *target, const struct target_thread *thread, int *ret_error);

#endif
