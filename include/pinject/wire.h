/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the preload object in the targets and the collector.
 *
 * The target has no kernel resource: no event and no descriptor. When a task begins, the preload object writes a
 * request into a slot, rings a doorbell and waits, for a bounded time, for the answer. Meanwhile the collector opens
 * the task's events from outside.
 *
 *   collector -> preload object
 *       struct pinject_segment, the file PATH (the value of PINJECT_SESSION). Only the collector writes to it. Preload
 *       objects open it read-only, so that no mapping of theirs can ever become writable, and trust it only if root or
 *       their own user owns the file.
 *   preload object -> collector
 *       struct pinject_requests, the files PATH.UID.NAME, mode 0600: one "channel" for each user of the session. The
 *       segment has their names. All processes of that user write to it, and the collector trusts no byte of it. Nobody
 *       else can open it.
 *
 * A process that gives up its user by the setuid() family changes to its new user's channel: private memory replaces
 * its mapping of the old channel. Before root gives up its user it requests the new user's channel (BECOME), unless the
 * segment's `users` has it.
 *
 * If a process cannot reach the files (another /dev/shm, chroot, the first process of a user for whom nobody requested
 * a channel), it connects to the abstract Unix socket whose name is PINJECT_SOCKET_PREFIX and the name of the segment's
 * file. The collector learns the peer's process and user from the kernel, and sends one byte with two descriptors: PATH
 * for reading, and that user's channel. It reads nothing from the peer.
 *
 * Trust: the collector copies a slot before it looks at it, checks the copy, and asks the kernel for what matters. A
 * request may name only tasks of the session's tree; in a channel of another user than the collector's, only tasks of
 * that user. The preload object cannot trust its channel either, since other processes of the user write there. It
 * reads only the state of its own slot, a result that is a small number, and counters that shorten waits.
 * docs/SECURITY.md says what remains possible.
 *
 * Life of a slot: state = generation << 8 | phase, a futex word. Each claim increments the generation, so that a slow
 * party never answers, or frees, the next owner's request.
 *
 *   FREE -> CLAIMED    preload object, by compare-and-swap; fills the slot
 *   CLAIMED -> POSTED  preload object, by compare-and-swap, release; pairs with the collector's acquire. Sets its bit
 *                      in a doorbell and wakes that doorbell
 *   POSTED -> TAKEN    collector, compare-and-swap, acquire; copies the slot and acts
 *   TAKEN -> ANSWERED  collector, compare-and-swap, release, then FUTEX_WAKE; pairs with the preload object's acquire
 *   ANSWERED -> FREE   preload object, after it read the result
 *   TAKEN -> FREE      collector, for requests with PINJECT_REQUEST_NO_REPLY
 *   POSTED, TAKEN -> ABANDONED -> FREE
 *                      the preload object's wait timed out (compare-and-swap); the collector frees the slot when it
 *                      meets it (its own compare-and-swap to ANSWERED fails), and still attaches the task
 *   CLAIMED, ANSWERED -> FREE
 *                      collector, when the task in `owner` is gone, or the slot did not change for some seconds: a
 *                      preload object that was stopped meanwhile finds another generation and goes on without an
 *                      answer
 *
 * If perf_event_open is refused (PINJECT_SESSION_TIMER), or the kernel hides a task from the collector (it is not
 * dumpable), the preload object samples its own threads with timers. Then there is another file beside the segment. Its
 * name is the segment's path, PINJECT_RINGS_SUFFIX, a dot and the segment's `rings`. It has at most PINJECT_RINGS_MAX
 * rings of PINJECT_RING_STRIDE bytes each. The collector creates it before the first answer that gives a ring. The
 * answer to PROCESS, FORK and THREAD is the number of the task's ring + 1 (0: no room for a ring, or the task has
 * events). The preload object maps that ring alone. A ring begins with a struct perf_event_mmap_page and follows the
 * kernel's protocol (pinject/ring.h); a struct pinject_timer_head is at PINJECT_TIMER_HEAD. A task keeps its ring
 * across exec: each exec generation asks again and gets the same ring. In a session with events such a task has no bit
 * in `covered`.
 */
#ifndef PINJECT_WIRE_H
#define PINJECT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define PINJECT_WIRE_MAGIC   0x31656c69776a6e70ull /* "pnjwile1", little endian */
#define PINJECT_WIRE_VERSION 8u

/*
 * Environment. All other PINJECT_* variables are options of a collector that the preload object starts:
 * docs/ENVIRONMENT.md.
 */
#define PINJECT_ENV_SESSION   "PINJECT_SESSION"   /* path of the segment file */
#define PINJECT_ENV_COLLECTOR "PINJECT_COLLECTOR" /* path of pinject-run, for the bare LD_PRELOAD */

#define PINJECT_SOCKET_PREFIX "pinject:" /* abstract: after a NUL */

enum {
    PINJECT_SLOTS = 256,
    PINJECT_SLOTS_FIRST = 64, /* other slots are used only if none of these is free, or the collector is stalled */
    PINJECT_DOORBELLS = 64,   /* at most that many worker threads */
    PINJECT_CPUS = 4096,      /* higher CPU numbers use doorbell 0 */
    PINJECT_TASKS = 1 << 22,  /* PID_MAX_LIMIT: bits of the covered map */
    PINJECT_USERS = 32,       /* users with a channel, at most */
    PINJECT_PATH = 4096,
    PINJECT_WAIT_US = 50000,       /* how long a preload object usually waits for an answer, at most */
    PINJECT_WAIT_MAX_US = 1000000, /* no preload object waits longer, whatever the segment says; with probes it does */
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
#define PINJECT_STATE_PHASE(state)       ((state)&0xffu)
#define PINJECT_STATE_GENERATION(state)  ((state) >> 8)

enum pinject_kind {
    /*
     * A new exec generation of a task without events (root of a bare LD_PRELOAD, child of posix_spawn): open them,
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
     * First message of a new exec generation of a task that already has events (exec, armed vfork child). No reply,
     * unless PINJECT_SESSION_PLACES is set. With PINJECT_SESSION_SETTLED the task may be new, too. Text.
     */
    PINJECT_GENERATION = 5,
    /* A covered task is about to exec: read its counters now. Only with PINJECT_SESSION_SNAPSHOT. No text. */
    PINJECT_SNAPSHOT = 6,
    /* A child was waited for: pid, status, utime_ns, stime_ns, switches (with its own waited-for children). No reply.
       No text. */
    PINJECT_REAPED = 7,
    /* A task with events is about to exec a non-injectable program (static, other class, other libc): open inherited
       events under it that start inside that exec. Text: the program that will run. Context as ARM. */
    PINJECT_INHERIT_EXEC = 8,
    /* pid and tid are a child that posix_spawn made; it runs a non-injectable program. Open its events. No text. */
    PINJECT_SPAWN = 9,
    /* A task with events is about to make others that cannot send requests (threads that libc makes internally,
       children in another pid namespace): open inherited events under it. No text. */
    PINJECT_INHERIT = 10,
    /* The process is about to give up root for `user`: create that user's channel, if there is none. Only through
       the channel of uid 0. No text. */
    PINJECT_BECOME = 11,
    PINJECT_KINDS, /* all are below */
};

enum pinject_request_flags {
    PINJECT_REQUEST_NO_REPLY = 1,
    PINJECT_REQUEST_TEXT_CUT = 2,     /* the command line did not fit; /proc/PID/cmdline has all of it */
    PINJECT_REQUEST_NO_WAIT = 4,      /* the preload object does not wait (stalled collector), but wants the events */
    PINJECT_REQUEST_INHERIT_EXEC = 8, /* ARM: also INHERIT_EXEC, with its text */
    /*
     * ARM, INHERIT_EXEC: the program is setuid or unreadable, so the kernel may end all events in that exec. No
     * inherited set is opened.
     */
    PINJECT_REQUEST_SECURE = 16,
    /*
     * REAPED, GENERATION: nothing is opened for it, and all there is to know is in the slot. It wakes no worker (or only
     * so that slots do not run out): the collector's loop takes it in its next round. Only with NO_REPLY.
     */
    PINJECT_REQUEST_ASYNCHRONOUS = 32,
};

/*
 * One request. The preload object writes everything but state and result while it owns the slot (CLAIMED); the
 * collector writes result (TAKEN).
 */
struct pinject_slot {
    uint32_t state;
    int32_t owner;  /* tid of the claimer, written right after the claim */
    uint32_t kind;  /* enum pinject_kind */
    uint32_t flags; /* enum pinject_request_flags */
    int32_t pid;    /* the task that the request is about, in the collector's pid namespace */
    int32_t tid;
    int32_t ppid;          /* its parent process */
    int32_t parent_tid;    /* the thread that created it; 0: unknown */
    uint64_t time_ns;      /* CLOCK_MONOTONIC, when the request was written */
    uint64_t startup_ns;   /* CPU time of the task before the events started (its CLOCK_THREAD_CPUTIME_ID) */
    uint64_t utime_ns;     /* REAPED */
    uint64_t stime_ns;     /* REAPED */
    int32_t status;        /* REAPED: as wait(2) reports it */
    int32_t result;        /* answer: 0 or -errno */
    uint32_t exec_size;    /* text: name of the executable as given to exec (AT_EXECFN), with its NUL */
    uint32_t cmdline_size; /* text: the arguments that follow it, each with its NUL */
    char comm[16];         /* name of the task (PR_GET_NAME) */
    char program[16];      /* ARM, with DUMPS: its name after the exec, from the program's path; "": unknown */
    uint64_t switches;     /* REAPED: context switches, including those of its waited-for children */
    uint32_t user;         /* BECOME */
    uint32_t reserved;
    char text[PINJECT_TEXT];
};

/*
 * A doorbell: the worker thread of a CPU sleeps on count. A preload object that posted slot N sets bit N of pending
 * (release), increments count, and wakes the worker if sleeping is set. The worker takes the bits with an exchange
 * (acquire), so it searches no slot. An asynchronous message only sets its bit and wakes no worker: the collector's loop
 * takes it in its next round, or a worker that happens to run earlier.
 */
struct pinject_doorbell {
    uint32_t count;    /* futex word */
    uint32_t sleeping; /* the worker is about to sleep or sleeps: a wake is needed (both sides order it with seq_cst) */
    uint64_t reserved;
    uint64_t pending[PINJECT_SLOTS / 64];
    uint64_t reserved_too[2];
};

enum pinject_stalled {
    PINJECT_STALLED_NO = 0,
    PINJECT_STALLED_YES = 1,  /* a wait timed out: no preload object waits any more */
    PINJECT_STALLED_FULL = 2, /* and no slot was free: no preload object looks for one */
};

enum pinject_session_flags {
    PINJECT_SESSION_FORK = 1,    /* follow children of fork */
    PINJECT_SESSION_VFORK = 2,   /* follow children of vfork and of posix_spawn */
    PINJECT_SESSION_PTHREAD = 4, /* follow threads */
    PINJECT_SESSION_EXEC = 8,    /* follow across exec */
    /* the preload object announces every exec (for counts per exec generation, or if following ends at exec) */
    PINJECT_SESSION_SNAPSHOT = 16,
    PINJECT_SESSION_REAPED = 32, /* the preload object reports what wait() returns about children */
    /* While it lives, the collector holds a record lock (fcntl, F_WRLCK) on the first byte of the file. F_GETLK
       gives the holder's pid in the caller's pid namespace. This shows whether both are in the same namespace, and
       costs a tenth of reading /proc/self/ns/pid. */
    PINJECT_SESSION_LOCKED = 64,
    PINJECT_SESSION_TIMER = 128,
    /* No events: the preload object samples with timers. Each exec generation sends PROCESS, never GENERATION.
           ARM (with INHERIT_EXEC) and INHERIT_EXEC say that the next exec generation has no timer. */
    PINJECT_SESSION_DUMPS = 256,  /* samples have a stack dump: ARM gives the name of the program that will run */
    PINJECT_SESSION_PLACES = 512, /* GENERATION waits for its answer: events get their addresses in the new program */
    PINJECT_SESSION_RATE_AUTO = 1024, /* only in result files: pinject-run chose the rate (-F auto) */
    /* Tasks inherit their events from the command: FORK and THREAD are needed only if an exec has ended the events. */
    PINJECT_SESSION_INHERITS = 2048,
    /* With INHERITS: no task has events, but each CPU. The collector may set both while the session runs; then a result
       file has this flag alone. */
    PINJECT_SESSION_SYSTEM_WIDE = 4096,
    /*
     * With INHERITS: a new program is covered, and need not ask, if `covered` has its own bit or its parent's. Not set
     * after a change to SYSTEM_WIDE, while a task from before may execute its first program; nor without SYSTEM_WIDE,
     * after an exec that may have ended the events.
     */
    PINJECT_SESSION_SETTLED = 8192,
    PINJECT_SESSION_ALL = 15,
};

/*
 * A user's channel, by the uid in the collector's user namespace. The file is PATH.USER.NAME; NAME is random, so that
 * nobody can have created that file before.
 */
struct pinject_user {
    uint32_t user;
    uint32_t reserved;
    uint64_t name; /* 0: the channel's file has no name; the socket gives it */
};

/* Collector to preload objects. Everything before `closed` is complete before any other process sees the file. */
struct pinject_segment {
    uint64_t magic;
    uint32_t version;
    uint32_t size;              /* sizeof(struct pinject_segment) */
    uint64_t id[2];             /* session id */
    uint64_t pid_namespace;     /* inode of /proc/PID/ns/pid of the collector: pids are valid only there */
    uint32_t flags;             /* enum pinject_session_flags */
    uint32_t doorbells_used;    /* 1 ... PINJECT_DOORBELLS */
    uint32_t wait_us;           /* how long a preload object waits for an answer, at most */
    int32_t collector;          /* pid */
    int32_t root;               /* pid of the first process; 0 until it is known */
    uint32_t user;              /* the collector's uid in its own user namespace: the owner of PATH uses its channel */
    char path[PINJECT_PATH];    /* of the segment file; the value of PINJECT_SESSION */
    char preload[PINJECT_PATH]; /* of the preload object, as LD_PRELOAD has it */
    char outfile[PINJECT_PATH]; /* absolute BASE of the result files: for pinject-run --wait */
    uint8_t doorbell_of_cpu[PINJECT_CPUS];
    uint32_t filters;        /* seccomp filters that the collector is under; UINT32_MAX: unknown */
    uint64_t user_namespace; /* inode of /proc/PID/ns/user of the collector: its uids are valid only there */

    uint32_t closed __attribute__((aligned(64))); /* atomic: the session is over; send no request any more */
    uint32_t users_count;                         /* atomic, release: number of complete entries of users */
    struct pinject_user users[PINJECT_USERS];
    /* Atomic, release: the random end of the name of the rings' file, so that nobody can have created that file
       before. 0: there is no such file yet. */
    uint64_t rings;
    /* One bit per tid that has events, atomic: set before the answer, cleared when the task has ended. A hint: when
       a request comes, the collector decides by its own tables. With PINJECT_SESSION_INHERITS: one bit per tid whose
       children and threads inherit events. */
    uint64_t covered[PINJECT_TASKS / 64] __attribute__((aligned(64)));
};

/* From preload objects of one user to the collector, and its answers. Both sides write it; all accesses are atomic. */
struct pinject_requests {
    /*
     * enum pinject_stalled, set by preload objects. The collector resets it to NO with its next answer; a sweep ends
     * FULL
     */
    uint32_t stalled;
    uint32_t unanswered; /* counted by preload objects: went on without an answer (timeout, stalled) */
    uint32_t dropped;    /* counted by preload objects: requests that found no free slot */
    uint32_t foreign;    /* counted by preload objects: tasks of another pid namespace */
    /* counted by preload objects: starts not announced, because the program's seccomp filter forbids our calls */
    uint32_t blocked;
    uint32_t hint;          /* where to look for a free slot next */
    uint32_t slots_claimed; /* set by preload objects: slots from here on were never claimed and need no page */

    struct pinject_doorbell doorbells[PINJECT_DOORBELLS] __attribute__((aligned(64)));
    struct pinject_slot slots[PINJECT_SLOTS] __attribute__((aligned(4096)));
};

#define PINJECT_RINGS_SUFFIX ".rings"
enum {
    PINJECT_RINGS_MAX = 4096,
    PINJECT_RING_DATA = 64 << 10, /* bytes, after as many for the head: some machines have pages of that size */
    PINJECT_RING_STRIDE = 2 * PINJECT_RING_DATA,
    PINJECT_TIMER_HEAD = 2048, /* after all fields of struct perf_event_mmap_page */
};

enum pinject_timer_flags {
    PINJECT_TIMER_SAMPLES = 1, /* otherwise only the counts are updated (--stat) */
    PINJECT_TIMER_CHAINS = 2,  /* with call chains */
};

/*
 * What the preload object and the collector exchange about a ring. Each field has one writer; all accesses are atomic,
 * relaxed.
 */
struct pinject_timer_head {
    /* Written by the collector before it answers. */
    uint64_t id; /* of the sampling event: IDENTIFIER of the samples */
    uint64_t interval_ns;
    uint64_t flags; /* enum pinject_timer_flags */
    /* Preload object. 1: this thread is not its process' first and is about to exec; it will become the first. */
    uint64_t execs;
    /* Preload object: the kernel's figures of the thread, with each sample and at its end. */
    uint64_t cpu_ns; /* CLOCK_THREAD_CPUTIME_ID */
    uint64_t faults;
    uint64_t switches;
    uint64_t lost;    /* samples for which there was no room */
    uint32_t started; /* number of the task's exec generations that started a timer */
    int32_t error;    /* -errno of the last failed start of a timer */
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
