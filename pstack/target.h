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

/* A mapping; PATH is the maps' text, which the process owns. */
struct target_map {
    uint64_t start, end, offset, ino;
    unsigned maj, min;
    bool executable, anonymous;
    const char *path;
    struct unwind_file *file; /* where FILE_ASKED */
    struct symbols_dso *names;
    bool file_asked, names_asked;
};

struct target_frame {
    uint64_t ip;              /* the same for a function and what is inlined in it */
    const char *function;     /* NULL: unknown; the symbols own it */
    const char *dso;          /* path as mapped; NULL: memory without a file */
    const char *file;         /* source; NULL: unknown */
    uint32_t line;
    uint64_t address;         /* in the object */
    bool inlined, unmapped;   /* UNMAPPED: nothing was mapped there */
};

enum target_look {
    LOOK_NONE,                /* its stack could not be had: see error */
    LOOK_ASLEEP,              /* it slept in the kernel, and was left alone */
    LOOK_STOPPED,             /* it was stopped for a moment */
};

struct target_thread {
    pid_t tid, inner;         /* INNER: its number in its own pid name space */
    char comm[TARGET_NAME], wchan[TARGET_NAME];
    char state;               /* a letter as in /proc/PID/stat; 0: it has ended */
    uint64_t cpu_ns;
    char *mark;               /* owned: its call and how often it ran; equal ones: it slept in between. NULL: it ran */
    bool in_call;
    long call;                /* number of the system call, where IN_CALL */
    uint64_t args[6];
    enum target_look look;
    int error;                /* why there is no stack, or not all of it: -errno; 0 */
    bool spared;              /* callers are missing, since a stop would change its call's result or time limit */
    struct unwind_regs regs;
    unsigned char *stack;     /* owned; from regs' stack pointer on */
    size_t stack_size;
    bool stack_full;          /* it goes on behind that */
    enum unwind_end end;      /* of the chain */
    uint64_t hash;            /* of its addresses: other ones mean another stack */
    struct target_frame *frames; /* owned; innermost first, TARGET_FRAMES at most */
    size_t frame_count;
    char *waits;              /* what its call waits for; owned, NULL: nothing is known */
    bool limited;             /* its call has a time limit */
    pid_t holder;             /* who has that, or the thread whose end it waits for: a tid; 0: not known */
    bool joins;               /* HOLDER is a thread whose end it waits for */
    size_t same_as;           /* index of the first thread of its process with the same frames */
};

struct target {
    pid_t pid, ppid, tracer;  /* TRACER: who traces it already; 0: nobody */
    unsigned depth;           /* below a process that was asked for */
    char comm[TARGET_NAME];
    char *command;            /* owned; its words, or [comm] where it has none */
    char state;               /* 0: it has ended */
    uid_t uid;
    uint64_t age_ns, cpu_ns;
    int error;                /* why it could not be looked at: -errno; 0 */
    pid_t via;                /* a thread that lives: its first one may have ended. /proc/VIA is that of the process */
    bool narrow;              /* a 32-bit program */
    bool other_root;          /* its paths are not ours */
    bool inner;               /* its pid name space is not ours */
    bool maps_again;          /* they were read a second time */
    char *maps_text;          /* owned */
    struct target_map *maps;  /* owned; by address */
    size_t map_count;
    struct target_thread *threads; /* owned */
    size_t thread_count;
};

/* A process as it is now. 0, or -ENOMEM; one that is gone has state 0. */
int target_init(struct target *target, pid_t pid);
void target_release(struct target *target);
/* Reads its mappings (anew). 0, -ENOMEM or -errno. What was found of the earlier ones is gone. */
int target_read_maps(struct target *target);
struct target_map *target_map_at(const struct target *target, uint64_t address);
struct target_thread *target_thread_of(const struct target *target, pid_t tid);
/* PIDS with all that descends from them, parents first, each with its depth in *RET_DEPTHS. 0 or -ENOMEM. */
int target_tree(const pid_t *pids, size_t count, pid_t **ret, unsigned **ret_depths, size_t *ret_count);
/* The text of /proc/PID/NAME or, with TID, /proc/PID/task/TID/NAME, for free(); NULL: none. */
char *target_read(pid_t pid, pid_t tid, const char *name);
/* State and wchan as they are now; false: it has ended. */
bool target_look(const struct target *target, struct target_thread *thread);
/* A mark of the thread, for free(); NULL: it runs, has ended, or may not be looked at (*RET_ERROR: -errno then). */
char *target_mark(const struct target *target, const struct target_thread *thread, int *ret_error);

#endif
