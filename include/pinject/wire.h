/* SPDX-License-Identifier: MIT */
/*
 * What the preload object in the targets and the collector share, as a protocol of two directions.
 *
 * The target owns nothing of the kernel's: it has no event and no descriptor. When a task begins, the preload object
 * writes a request into a slot, rings a doorbell and waits, for a bounded time, for the answer; the collector opens the
 * task's events from outside in the meantime.
 *
 *   collector -> preload object struct pinject_segment, the file PATH (the value of PINJECT_SESSION). Only the
 *   collector
 *                         writes to it. Preload objects open it read-only, so that no mapping of theirs can ever become
 *                         writable, and believe it only if root or their own user owns the file.
 *   preload object -> collector struct pinject_requests, the files PATH.UID.NAME, mode 0600: one for each user of the
 *   session
 *                         ("channel"); the segment has their names. All processes of that user write to it, and the
 *                         collector takes every byte for hostile. Nobody else can open it.
 *
 * A process that gives up its user by the setuid() family changes to its new user's channel: memory of its own replaces
 * what it held of the old one. Root asks for that channel before it goes (BECOME), unless the segment's users has it.
 *
 * Where the files cannot be reached (another /dev/shm, chroot, the first process of a user that nobody asked for), a
 * connection to the abstract Unix socket PINJECT_SOCKET_PREFIX and the name of the segment's file gives both: the
 * collector learns the peer's process and user from the kernel, and sends one byte with two descriptors, PATH for
 * reading and that user's channel. Nothing is read from the peer.
 *
 * Trust: the collector copies a slot before it looks at it, checks what it copied, and asks the kernel for what
 * matters: a request may name only tasks of the session's tree, and in a channel of another user than the collector's
 * only tasks of that user. What a preload object reads in its channel is hostile too (other processes of the user write
 * there): the generation of its own slot, a result that is a small number, and counters that shorten waits.
 * docs/SECURITY.md says what remains possible.
 *
 * Life of a slot: state = generation << 8 | phase, a futex word. Each claim increments the generation, so that a slow
 * party never answers, or gives back, the next owner's request.
 *
 *   FREE -> CLAIMED    preload object, by compare-and-swap; fills the slot
 *   CLAIMED -> POSTED preload object, by compare-and-swap, release; pairs with the collector's acquire. Sets its bit in
 *   a doorbell
 *                      and wakes that doorbell
 *   POSTED -> TAKEN    collector, compare-and-swap, acquire; copies the slot and acts
 *   TAKEN -> ANSWERED  collector, compare-and-swap, release, then FUTEX_WAKE; pairs with the preload object's acquire
 *   ANSWERED -> FREE   preload object, after it read the result
 *   TAKEN -> FREE      collector, for requests with PINJECT_REQUEST_NO_REPLY
 *   POSTED, TAKEN -> ABANDONED -> FREE the preload object's patience ran out (compare-and-swap); the collector frees
 *   the slot
 *                      when it meets it (its own compare-and-swap to ANSWERED fails), and still attaches the task.
 *   CLAIMED, ANSWERED -> FREE  collector, when the task in `owner` is gone, or the slot did not move for some seconds:
 *                      a preload object that was stopped meanwhile finds another generation, and goes on without an
 *                      answer.
 *
 * Where perf_event_open is refused (PINJECT_SESSION_TIMER), or the kernel hides a task from the collector (it is not
 * dumpable), the preload object samples its own threads with timers. Then there is another file beside the segment, its
 * path, PINJECT_RINGS_SUFFIX, a dot and the segment's `rings`: PINJECT_RINGS_MAX rings at most, PINJECT_RING_STRIDE
 * bytes each. The collector makes it before the first answer that gives a ring. The answer to PROCESS, FORK and THREAD
 * is the number of the task's ring + 1 (0: no room for a ring, or events), which the preload object maps alone. A ring
 * begins with a struct perf_event_mmap_page, its protocol is that of the kernel's (pinject/ring.h); at
 * PINJECT_TIMER_HEAD stands a struct pinject_timer_head. A task keeps its ring across exec: each exec generation asks
 * again, and is given the same. In a session with events such a task has no bit in `covered`.
 */
#ifndef PINJECT_WIRE_H
#define PINJECT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define PINJECT_WIRE_MAGIC 0x31656c69776a6e70ull /* "pnjwile1", little endian */
#define PINJECT_WIRE_VERSION 7u

/*
 * Environment. All others of PINJECT_* are options of a collector that the preload object starts: docs/ENVIRONMENT.md.
 */
#define PINJECT_ENV_SESSION "PINJECT_SESSION"     /* path of the segment file */
#define PINJECT_ENV_COLLECTOR "PINJECT_COLLECTOR" /* path of pinject-run, for the bare LD_PRELOAD */

#define PINJECT_SOCKET_PREFIX "pinject:" /* abstract: after a NUL */

enum {
    PINJECT_SLOTS = 256,
    PINJECT_SLOTS_FIRST = 64,   /* while one of these is free, and the collector not stalled, no other is touched */
    PINJECT_DOORBELLS = 64,     /* at most that many worker threads */
    PINJECT_CPUS = 4096,        /* CPU numbers beyond use doorbell 0 */
    PINJECT_TASKS = 1 << 22,    /* PID_MAX_LIMIT: bits of the covered map */
    PINJECT_USERS = 32,         /* with a channel, at most */
    PINJECT_PATH = 4096,
    PINJECT_WAIT_MAX_US = 50000, /* no preload object waits longer, whatever the segment says */
    PINJECT_SLOT_SIZE = 4096,
    PINJECT_TEXT = PINJECT_SLOT_SIZE - 128,
};

enum pinject_phase {
    PINJECT_FREE = 0,
    PINJECT_CLAIMED = 1,
    PINJECT_POSTED = 2,
    PINJECT_TAKEN = 3,
    PINJECT_ANSWERED = 4,
    PINJECT_ABANDONED = 5,
};

#define PINJECT_STATE(generation, phase) (((uint32_t)(generation) << 8) | (uint32_t)(phase))
#define PINJECT_STATE_PHASE(state) ((state) & 0xffu)
#define PINJECT_STATE_GENERATION(state) ((state) >> 8)

enum pinject_kind {
    /*
     * A new exec generation in a task without events (root of a bare LD_PRELOAD, child of posix_spawn): open them,
     * running. Text.
     */
    PINJECT_PROCESS = 1,
    /* Child of fork(), in the atfork handler: open events, running; the address space is a copy of the parent's. No
       text. */
    PINJECT_FORK = 2,
    /* A new thread of a followed process, before its start routine: open events, running. No text. */
    PINJECT_THREAD = 3,
    /* A task without events that is about to exec (child of vfork): open events that start inside execve. No text.
       Context: the child runs on the parent's memory; stack only. */
    PINJECT_ARM = 4,
    /*
     * First message of a new exec generation in a task that has events already (exec, armed vfork child). No reply.
     * Text.
     */
    PINJECT_GENERATION = 5,
    /* A covered task is about to exec: read its counters now. Only with PINJECT_SESSION_SNAPSHOT. No text. */
    PINJECT_SNAPSHOT = 6,
    /* A child was waited for: pid, status, utime_ns, stime_ns, switches (with its own waited-for children). No reply.
       No text. */
    PINJECT_REAPED = 7,
    /* A task that has events is about to exec a program that cannot be injected (static, other class, other libc): what
       it starts is to be covered from outside, from inside that exec on. Text: what will run. Context as ARM. */
    PINJECT_INHERIT_EXEC = 8,
    /* A child made by posix_spawn, and pid and tid are its: it runs a program that cannot be injected. Open its events.
       No text. */
    PINJECT_SPAWN = 9,
    /* A task that has events is about to make others that cannot ask for themselves (threads of libc's own, children in
       another pid namespace): what it makes from now on is to be covered by inheritance. No text. */
    PINJECT_INHERIT = 10,
    /* The process is about to give up root for `user`: that user's channel is to be made, if there is none. Through the
       channel of uid 0 alone. No text. */
    PINJECT_BECOME = 11,
    PINJECT_KINDS, /* all are below */
};

enum pinject_request_flags {
    PINJECT_REQUEST_NO_REPLY = 1,
    PINJECT_REQUEST_TEXT_CUT = 2,     /* the command line did not fit: /proc/PID/cmdline has it all */
    PINJECT_REQUEST_NO_WAIT = 4,      /* the preload object does not wait (stalled collector), but wants the events */
    PINJECT_REQUEST_INHERIT_EXEC = 8, /* ARM: as INHERIT_EXEC, with its text */
    /*
     * ARM, INHERIT_EXEC: the program is setuid or cannot be read, so that the kernel may end all events in that exec.
     * No inherited set.
     */
    PINJECT_REQUEST_SECURE = 16,
};

/*
 * One request. The preload object writes everything but state while it owns the slot (CLAIMED); the collector writes
 * result (TAKEN).
 */
struct pinject_slot {
    uint32_t state;
    int32_t owner;          /* tid of the claimer, written right after the claim */
    uint32_t kind;          /* enum pinject_kind */
    uint32_t flags;         /* enum pinject_request_flags */
    int32_t pid;            /* the task that the request is about, in the collector's pid namespace */
    int32_t tid;
    int32_t ppid;           /* its parent process */
    int32_t parent_tid;     /* the thread that created it; 0: unknown */
    uint64_t time_ns;       /* CLOCK_MONOTONIC, when the request was written */
    uint64_t startup_ns;    /* CPU time of the task before the events started (its CLOCK_THREAD_CPUTIME_ID) */
    uint64_t utime_ns;      /* REAPED */
    uint64_t stime_ns;      /* REAPED */
    int32_t status;         /* REAPED: as of wait(2) */
    int32_t result;         /* answer: 0 or -errno */
    uint32_t exec_size;     /* text: name of the executable as it was given to exec (AT_EXECFN), with its NUL */
    uint32_t cmdline_size;  /* text: behind it the arguments, each with its NUL */
    char comm[16];          /* name of the task (PR_GET_NAME) */
    char program[16];       /* ARM, with DUMPS: the name that it will have by its program's path; "": not known */
    uint64_t switches;      /* REAPED: context switches, with those of the children that it waited for */
    uint32_t user;          /* BECOME */
    uint32_t reserved;
    char text[PINJECT_TEXT];
};

/*
 * A doorbell: the worker thread of a CPU sleeps on count. A preload object that posted slot N sets bit N of pending
 * (release), increments count and wakes it when sleeping is set; the worker takes the bits with an exchange (acquire),
 * so no slot is searched for. REAPED only sets its bit: nobody waits for it, and the collector's loop takes it in its
 * next round, a worker if it comes by before.
 */
struct pinject_doorbell {
    uint32_t count;     /* futex word */
    uint32_t sleeping; /* the worker is about to sleep or sleeps: a wake is needed (both sides order it with seq_cst) */
    uint64_t reserved;
    uint64_t pending[PINJECT_SLOTS / 64];
    uint64_t reserved_too[2];
};

enum pinject_stalled {
    PINJECT_STALLED_NO = 0,
    PINJECT_STALLED_YES = 1,  /* a wait ran out: nobody waits any more */
    PINJECT_STALLED_FULL = 2, /* and no slot was free: nobody looks for one */
};

enum pinject_session_flags {
    PINJECT_SESSION_FORK = 1,     /* follow children of fork */
    PINJECT_SESSION_VFORK = 2,    /* follow children of vfork and of posix_spawn */
    PINJECT_SESSION_PTHREAD = 4,  /* follow threads */
    PINJECT_SESSION_EXEC = 8,     /* follow across exec */
    /* the preload object announces every exec (counts per exec generation, or exec ends the following) */
    PINJECT_SESSION_SNAPSHOT = 16,
    PINJECT_SESSION_REAPED = 32, /* the preload object reports what wait() tells of children */
    /* The collector holds a record lock (fcntl, F_WRLCK) on the first byte of the file while it lives. F_GETLK names
       the holder by its number in the asking task's pid namespace: whether both have the same, for a tenth of what
       /proc/self/ns/pid costs. */
    PINJECT_SESSION_LOCKED = 64,
    PINJECT_SESSION_TIMER = 128,
        /* no events: the preload object samples with timers. Each exec generation says PROCESS, never GENERATION;
                                    ARM (with INHERIT_EXEC) and INHERIT_EXEC say that no timer will be in the next
                                    one */
    PINJECT_SESSION_DUMPS = 256, /* samples come with a piece of stack: ARM says by its name what will run */
    PINJECT_SESSION_ALL = 15,
};

/* Whose channel there is, by the collector's numbers. Its file is PATH.USER.NAME: nobody can have made that before. */
struct pinject_user {
    uint32_t user;
    uint32_t reserved;
    uint64_t name; /* 0: the file has none, and the socket gives it */
};

/* Collector to preload objects. Everything before `closed` is complete before anybody else sees the file. */
struct pinject_segment {
    uint64_t magic;
    uint32_t version;
    uint32_t size;            /* sizeof(struct pinject_segment) */
    uint64_t id[2];           /* session id */
    uint64_t pid_namespace;   /* inode of /proc/PID/ns/pid of the collector: only there do pids mean the same */
    uint32_t flags;           /* enum pinject_session_flags */
    uint32_t doorbells_used;  /* 1 ... PINJECT_DOORBELLS */
    uint32_t wait_us;         /* how long a preload object waits for an answer, at most */
    int32_t collector;        /* pid */
    int32_t root;             /* pid of the first process; 0 until it is known */
    uint32_t user;            /* of the collector, as it sees itself: whose channel who owns PATH uses */
    char path[PINJECT_PATH];     /* of the segment file: the value of PINJECT_SESSION */
    char preload[PINJECT_PATH];  /* of the preload object, as it stands in LD_PRELOAD */
    char outfile[PINJECT_PATH];  /* absolute BASE of the result files: for pinject-run --wait */
    uint8_t doorbell_of_cpu[PINJECT_CPUS];
    uint32_t filters;         /* seccomp filters that the collector is under; UINT32_MAX: unknown */
    uint64_t user_namespace;  /* inode of /proc/PID/ns/user of the collector: only there do its numbers of users hold */

    uint32_t closed __attribute__((aligned(64))); /* atomic: the session is over, ask nothing any more */
    uint32_t users_count;     /* atomic, release: entries of users that are complete */
    struct pinject_user users[PINJECT_USERS];
    /* Atomic, release: the random end of the name of the rings' file, once there is one: nobody can have made that
       before. 0: there is none. */
    uint64_t rings;
    /* One bit per tid that has events, atomic: set before the answer, cleared when the task has ended. A hint: the
       collector decides by what it knows when it gets the request. */
    uint64_t covered[PINJECT_TASKS / 64] __attribute__((aligned(64)));
};

/* Preload objects of one user to the collector, and its answers. Written by both sides; all accesses atomic. */
struct pinject_requests {
    /* enum pinject_stalled, by preload objects. Collector: NO with its next answer; a sweep ends FULL */
    uint32_t stalled;
    uint32_t unanswered;    /* preload objects count: went on without an answer (time out, stalled) */
    uint32_t dropped;       /* preload objects count: requests that found no free slot */
    uint32_t foreign;       /* preload objects count: tasks of another pid namespace */
    /* preload objects count: starts not announced, as the program's seccomp filter forbids our calls */
    uint32_t blocked;
    uint32_t hint;          /* where to look for a free slot next */
    uint32_t slots_claimed; /* preload objects: slots from here on were never claimed, and need no page */

    struct pinject_doorbell doorbells[PINJECT_DOORBELLS] __attribute__((aligned(64)));
    struct pinject_slot slots[PINJECT_SLOTS] __attribute__((aligned(4096)));
};

#define PINJECT_RINGS_SUFFIX ".rings"
enum {
    PINJECT_RINGS_MAX = 4096,
    PINJECT_RING_DATA = 64 << 10, /* bytes, behind as much for the head: pages are that large on some machines */
    PINJECT_RING_STRIDE = 2 * PINJECT_RING_DATA,
    PINJECT_TIMER_HEAD = 2048,    /* behind all fields of struct perf_event_mmap_page */
};

enum pinject_timer_flags {
    PINJECT_TIMER_SAMPLES = 1, /* else only the counts are kept up to date (--stat) */
    PINJECT_TIMER_CHAINS = 2,  /* with call chains */
};

/*
 * What preload object and collector tell each other about a ring. Each field has one writer; all accesses atomic,
 * relaxed.
 */
struct pinject_timer_head {
    /* Collector, before it answers. */
    uint64_t id;          /* of the sampling event: the samples' IDENTIFIER */
    uint64_t interval_ns;
    uint64_t flags;       /* enum pinject_timer_flags */
    /* Object: 1: the thread, not its process' first, is about to exec, and will go on as that one. */
    uint64_t execs;
    /* Object: what the kernel says of the thread, with each sample and at its end. */
    uint64_t cpu_ns;      /* CLOCK_THREAD_CPUTIME_ID */
    uint64_t faults;
    uint64_t switches;
    uint64_t lost;        /* samples that found no room */
    uint32_t started;     /* exec generations of the task that started a timer */
    int32_t error;        /* -errno why the last one could not */
};

_Static_assert(sizeof(struct pinject_timer_head) == 72, "wire: head of a timer's ring");

_Static_assert(sizeof(struct pinject_doorbell) % 64 == 0, "wire: a doorbell shares no cache line");
_Static_assert(offsetof(struct pinject_slot, text) == 128, "wire: text of a slot");
_Static_assert(sizeof(struct pinject_slot) == PINJECT_SLOT_SIZE, "wire: slots are pages");
_Static_assert(offsetof(struct pinject_segment, path) == 64, "wire: header");
_Static_assert(offsetof(struct pinject_segment, covered) % 64 == 0, "wire: covered map");
_Static_assert(offsetof(struct pinject_segment, covered) - offsetof(struct pinject_segment, closed) == 576,
               "wire: what the segment tells later");
_Static_assert(offsetof(struct pinject_requests, slots) % 4096 == 0, "wire: slots are pages");

#endif
