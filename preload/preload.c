/* SPDX-License-Identifier: MIT */
#include "next.h"
#include "own_environ.h"
#include "session.h"
#include "state.h"
#include "pinject/pinject.h"
#include "preload.h"
#include "program.h"
#include "room.h"
#include "safe_read.h"
#include "start.h"
#include "sys.h"
#include "thread_records.h"
#include "timer.h"

#include <errno.h>
#include "text.h"
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

struct pinject_preload pinject_preload;

/*
 * Which threads are in fork: the child finds its creator in its copy. Not a thread-local variable, as the program would
 * notice it, by the number and size of its own. Two threads in one slot only lose the creator's tid.
 */
enum { FORKING = 64, TID_BITS = 22 };
static uint64_t forking[FORKING];

/* Threads whose next threads and children are covered by inheritance, so that not every call sends a request. */
static uint32_t inheriting[FORKING];

_Static_assert(PINJECT_TASKS == 1 << TID_BITS, "a tid has its room beside the thread's key");

enum { SETTLE_ROUNDS = 50, SETTLE_NS = 100000 };

void pinject_preload_settle(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (int i = 0; i < SETTLE_ROUNDS && __atomic_load_n(&pinject_preload.busy, __ATOMIC_ACQUIRE) != 0; i++)
        sys_sleep_ns(SETTLE_NS);
}

enum pinject_exec_kind pinject_preload_admits(enum pinject_exec_kind exec_kind)
{
    return exec_kind == PINJECT_EXEC_TAKES && !pinject_preload_reachable() ? PINJECT_EXEC_REFUSES : exec_kind;
}

/*
 * A process that was made behind libc's back has a copy of our pid, not its own, and may be in another pid namespace:
 * there its request would name another task. A process whose parent is ours, by the kernel's word, is in our namespace.
 */
static bool is_known_process(int32_t pid, int32_t ppid)
{
    return pid == pinject_preload.pid || ppid == pinject_preload.pid;
}

/*
 * In a session that became system-wide (--sampler=auto), a process that had events of its own until then is in the set,
 * as its covered bit says. That of a child of fork may not be set yet: its parent looked before.
 */
bool pinject_preload_inherits(void)
{
    struct pinject_preload *preload = &pinject_preload;
    if (__atomic_load_n(&preload->inherits, __ATOMIC_RELAXED))
        return true;
    if (preload->state != PINJECT_FOLLOWED ||
        !(__atomic_load_n(&preload->channel.segment->flags, __ATOMIC_RELAXED) & PINJECT_SESSION_SYSTEM_WIDE) ||
        !pinject_request_covered(&preload->channel, preload->pid))
        return false;
    if (sys_getpid() == preload->pid) /* else a child of vfork, in its parent's memory */
        __atomic_store_n(&preload->inherits, true, __ATOMIC_RELAXED);
    return true;
}

static struct pinject_claim claim_slot(uint32_t kind, uint32_t flags, int32_t parent_tid)
{
    int32_t tid = sys_gettid(), pid = sys_getpid(), ppid = sys_getppid();
    struct pinject_claim mine = {NULL, 0, 0};
    if (is_known_process(pid, ppid)) {
        mine = pinject_request_claim(&pinject_preload.channel, tid);
        if (!mine.slot && pinject_preload.inherits && !sys_is_real_time()) /* which looks once, and does not wait */
            pinject_request_note_stall(&pinject_preload.channel);
    }
    if (!mine.slot)
        return mine;
    mine.slot->kind = kind;
    mine.slot->flags = flags;
    mine.slot->pid = pid;
    mine.slot->tid = tid;
    mine.slot->ppid = ppid;
    mine.slot->parent_tid = parent_tid;
    mine.slot->startup_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sys_get_name(mine.slot->comm);
    return mine;
}

/* If the task has no events the answer is its timer's ring. */
static void send_request(struct pinject_claim mine)
{
    pinject_timer_start(pinject_request_send(&pinject_preload.channel, mine));
}

static void ask_for_events(uint32_t kind, uint32_t flags, int32_t parent_tid)
{
    struct pinject_claim mine = claim_slot(kind, flags, parent_tid);
    if (mine.slot)
        send_request(mine);
}

/*
 * Writes the executable's name as given to exec, and the command line. What does not fit, or was not given to us, is in
 * /proc. The collector gets the resolved path from the kernel: a look into /proc/self costs the program 20 us.
 */
static void write_text(struct pinject_slot *slot)
{
    const struct pinject_preload *preload = &pinject_preload;
    const char *name = (const char *)getauxval(AT_EXECFN);
    size_t at = name ? strnlen(name, PINJECT_PATH / 2) : 0;
    memcpy(slot->text, name ? name : "", at);
    slot->text[at++] = 0;
    slot->exec_size = (uint32_t)at;
    if (preload->argc <= 0)
        slot->flags |= PINJECT_REQUEST_TEXT_CUT;
    for (int i = 0; i < preload->argc && preload->argv[i]; i++) {
        size_t length = strlen(preload->argv[i]) + 1;
        if (length > PINJECT_TEXT - at) {
            slot->flags |= PINJECT_REQUEST_TEXT_CUT;
            break;
        }
        memcpy(slot->text + at, preload->argv[i], length);
        at += length;
    }
    slot->cmdline_size = (uint32_t)at - slot->exec_size;
}

/* Writes the program that exec was asked for; what cannot be read or does not fit is left out. */
static void write_program(struct pinject_slot *slot, const char *path, char *const *argv)
{
    struct pinject_safe_read safe = {0};
    long length = pinject_safe_length(&safe, path, PINJECT_PATH / 2);
    size_t at = 0;
    if (length > 0)
        memcpy(slot->text, path, at = (size_t)length);
    slot->text[at++] = 0;
    slot->exec_size = (uint32_t)at;
    for (size_t i = 0; argv && pinject_safe_read(&safe, &argv[i], sizeof(argv[i])) && argv[i]; i++) {
        length = pinject_safe_length(&safe, argv[i], PINJECT_TEXT - at - 1);
        if (length < 0) {
            slot->flags |= PINJECT_REQUEST_TEXT_CUT;
            break;
        }
        memcpy(slot->text + at, argv[i], (size_t)length + 1);
        at += (size_t)length + 1;
        if (at >= PINJECT_TEXT - 1) {
            slot->flags |= PINJECT_REQUEST_TEXT_CUT;
            break;
        }
    }
    slot->cmdline_size = (uint32_t)at - slot->exec_size;
}

void pinject_preload_inherit_exec(bool covered, uint32_t flags, const char *path, char *const *argv)
{
    flags |= covered ? 0 : PINJECT_REQUEST_INHERIT_EXEC;
    struct pinject_claim mine = claim_slot(covered ? PINJECT_INHERIT_EXEC : PINJECT_ARM, flags, 0);
    if (!mine.slot)
        return;
    write_program(mine.slot, path, argv);
    pinject_timer_count();
    pinject_request_send(&pinject_preload.channel, mine);
}

/*
 * Is this process covered for certain? As the child of one that is, though the kernel's record of its making may not be
 * read yet. Of all others the collector has to make sure: of a program that somebody outside of the tree started with
 * our variables, of the first process, and of another user's.
 */
static bool is_in_set(void)
{
    const struct pinject_preload *preload = &pinject_preload;
    const struct pinject_segment *segment = preload->channel.segment;
    const int32_t root = __atomic_load_n(&segment->root, __ATOMIC_RELAXED);
    return preload->flags & PINJECT_SESSION_SETTLED && preload->user == segment->user && root != 0 &&
           root != preload->pid &&
           (pinject_request_covered(&preload->channel, preload->pid) ||
            pinject_request_covered(&preload->channel, sys_getppid()));
}

static void announce_generation(void)
{
    struct pinject_preload *preload = &pinject_preload;
    /*
     * A timer does not survive exec as events do: each exec generation sends a request. In a session with events a task
     * with a timer has no covered bit.
     */
    const bool in_set = is_in_set();
    const bool covered = in_set || (!(preload->flags & PINJECT_SESSION_TIMER) &&
                                    pinject_request_covered(&preload->channel, sys_gettid()));
    const bool waits = !covered || preload->flags & PINJECT_SESSION_PLACES;
    struct pinject_claim mine = claim_slot(covered ? PINJECT_GENERATION : PINJECT_PROCESS,
                                           waits ? 0 : PINJECT_REQUEST_NO_REPLY, 0);
    if (!mine.slot && in_set && !sys_is_real_time()) /* nobody waits for an answer, so nobody else finds out */
        pinject_request_note_stall(&preload->channel);
    if (!mine.slot)
        return;
    write_text(mine.slot);
    /* Otherwise it wakes a worker at once: the covered bit may be that of an earlier task, and then it has no events. */
    if (in_set && !waits)
        mine.slot->flags |= PINJECT_REQUEST_NO_WAIT |
                            (mine.slot->flags & PINJECT_REQUEST_TEXT_CUT ? 0 : PINJECT_REQUEST_ASYNCHRONOUS);
    send_request(mine);
    /* Before it answers a new program, the collector has read whether the task inherits events. */
    preload->inherits = preload->flags & PINJECT_SESSION_INHERITS &&
                        (in_set || pinject_request_covered(&preload->channel, sys_gettid()));
}

/* The session of the environment, or a new one for a bare LD_PRELOAD. */
static int find_session(char **envp)
{
    const char *path = pinject_env_value(envp, PINJECT_ENV_SESSION "=");
    if (path)
        return pinject_preload_open(path);
    const char *preload = pinject_env_value(envp, "LD_PRELOAD=");
    if (!preload || !pinject_ld_preload_has(preload, NULL))
        return -ENOENT; /* linked, dlopened, or in /etc/ld.so.preload: nobody asked for a session */
    int error = pinject_start(envp);
    pinject_preload.threads = error == 0;
    pinject_preload.environ_join = error == 0 && pinject_preload.flags & PINJECT_SESSION_VFORK;
    return error;
}

static void init_process(int argc, char **argv, char **envp)
{
    struct pinject_preload *preload = &pinject_preload;
    pinject_next();
    /* Inherited events cover programs in valgrind: they are under valgrind itself, a static program. */
    if (!envp || getauxval(AT_SECURE) || sys_on_valgrind())
        return;
    preload->argc = argc;
    preload->argv = argv;
    preload->user = (uint32_t)getauxval(AT_EUID);
    int error = find_session(envp);
    if (error == -EXDEV)
        return; /* keep the variables: every process there is counted */
    bool raw_execs = error == 0 && pinject_program_execs_by_itself();
    preload->environ_join &= !raw_execs;
    /* libc and callers of posix_spawn pass environ on: if their children are not followed, it must not name us. The
       same if programs are executed without our judging them. */
    if (error < 0 || raw_execs || preload->environ_join || !(preload->flags & PINJECT_SESSION_VFORK))
        pinject_own_environ_leave(envp, error < 0 ? (struct pinject_ours){NULL, NULL} : preload->ours);
    if (error < 0)
        return;
    preload->pid = sys_getpid();
    preload->threads |= preload->flags & PINJECT_SESSION_PTHREAD || preload->channel.segment->root == preload->pid;
    pthread_atfork(pinject_preload_before_fork, NULL, pinject_preload_forked);
    __atomic_store_n(&preload->state, PINJECT_FOLLOWED, __ATOMIC_RELEASE);
    announce_generation();
    preload->threads &= !preload->inherits;
    if (raw_execs && preload->flags & PINJECT_SESSION_VFORK)
        pinject_preload_inherit();
}

void pinject_preload_init(int argc, char **argv, char **envp)
{
    struct pinject_preload *preload = &pinject_preload;
    uint32_t expected = 0;
    int saved = errno;
    if (!envp)
        envp = environ;
    if (!envp) /* a hook in .preinit_array: the constructor has it */
        return;
    if (!__atomic_compare_exchange_n(&preload->begun, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    init_process(argc, argv, envp);
    __atomic_store_n(&preload->begun, 2, __ATOMIC_RELEASE);
    errno = saved;
}

/*
 * Linked with -z initfirst: this runs before the constructors of every other DSO. So we see what they do, and follow
 * the threads that they make, and nobody has a pointer yet into the environment, which may be changed.
 */
__attribute__((constructor)) static void init_at_load(int argc, char **argv, char **envp)
{
#ifdef __GLIBC__
    pinject_preload_init(argc, argv, envp);
#else
    (void)argc, (void)argv, (void)envp;
    pinject_preload_init(0, NULL, NULL);
#endif
}

static uint32_t *inheriting_slot(int32_t tid)
{
    return &inheriting[(uint32_t)tid % FORKING];
}

/* The tid may have been another task's. */
static void forget_inheriting(int32_t tid)
{
    uint32_t old = (uint32_t)tid;
    __atomic_compare_exchange_n(inheriting_slot(tid), &old, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void pinject_preload_thread(int32_t creator)
{
    /* Its creator had events of its own. That the process inherits by now says nothing of this thread. */
    if (!pinject_preload_follows())
        return;
    forget_inheriting(sys_gettid());
    ask_for_events(PINJECT_THREAD, 0, creator);
}

static void request_inheritance(void)
{
    int32_t tid = sys_gettid();
    /* Timers sample only processes that the preload object is in. */
    bool wanted = !(pinject_preload.flags & PINJECT_SESSION_TIMER) && !pinject_preload_inherits() &&
                  __atomic_load_n(inheriting_slot(tid), __ATOMIC_RELAXED) != (uint32_t)tid;
    struct pinject_claim mine = {NULL, 0, 0};
    if (wanted)
        mine = claim_slot(PINJECT_INHERIT, 0, 0);
    if (mine.slot && pinject_request_send(&pinject_preload.channel, mine) == 0)
        __atomic_store_n(inheriting_slot(tid), (uint32_t)tid, __ATOMIC_RELAXED);
}

void pinject_preload_inherit(void)
{
    int saved = errno;
    pinject_preload_ready();
    pinject_preload_enter();
    if (pinject_preload_follows())
        request_inheritance();
    pinject_preload_leave();
    errno = saved;
}

/* The name that the kernel will give the task: the last part of PATH, cut. */
static void write_name(struct pinject_slot *slot, const char *path)
{
    struct pinject_safe_read safe = {0};
    long length = pinject_safe_length(&safe, path, PINJECT_PATH);
    size_t at = length > 0 ? (size_t)length : 0, size = 0;
    while (at > 0 && path[at - 1] != '/')
        at--;
    for (; length > 0 && size < sizeof(slot->program) - 1 && path[at + size]; size++)
        slot->program[size] = path[at + size];
}

void pinject_preload_arm(const char *path)
{
    struct pinject_claim mine = claim_slot(PINJECT_ARM, 0, 0);
    if (!mine.slot)
        return;
    if (pinject_preload.flags & PINJECT_SESSION_DUMPS)
        write_name(mine.slot, path);
    send_request(mine);
}

void pinject_preload_spawned(int32_t pid)
{
    struct pinject_claim mine = claim_slot(PINJECT_SPAWN, 0, sys_gettid());
    if (!mine.slot)
        return;
    mine.slot->ppid = mine.slot->pid;
    mine.slot->pid = mine.slot->tid = pid;
    pinject_request_send(&pinject_preload.channel, mine);
}

void pinject_preload_become(uint32_t user)
{
    struct pinject_claim mine = claim_slot(PINJECT_BECOME, 0, 0);
    if (!mine.slot)
        return;
    mine.slot->user = user;
    pinject_request_send(&pinject_preload.channel, mine);
}

void pinject_preload_snapshot(void)
{
    struct pinject_claim mine = claim_slot(PINJECT_SNAPSHOT, 0, 0);
    pinject_timer_count();
    if (mine.slot)
        pinject_request_send(&pinject_preload.channel, mine);
}

void pinject_preload_reaped(int32_t pid, int status, uint64_t utime_ns, uint64_t stime_ns, uint64_t switches)
{
    struct pinject_claim mine = claim_slot(PINJECT_REAPED, PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_ASYNCHRONOUS, 0);
    if (!mine.slot)
        return;
    mine.slot->pid = pid;
    mine.slot->status = status;
    mine.slot->utime_ns = utime_ns;
    mine.slot->stime_ns = stime_ns;
    mine.slot->switches = switches;
    pinject_request_send(&pinject_preload.channel, mine);
}

/* Identifies the calling thread, and the child's copy of it: both have the same address. */
static uint64_t forking_key(void)
{
    return (uint64_t)(sys_thread_pointer() >> 6) << TID_BITS;
}

static uint64_t *forking_slot(uint64_t key)
{
    key >>= TID_BITS;
    return &forking[(key ^ key >> 6 ^ key >> 12) % FORKING];
}

void pinject_preload_before_fork(void)
{
    uint64_t key = forking_key();
    pinject_preload_enter();
    if (pinject_preload.state == PINJECT_FOLLOWED && !pinject_preload_blocked()) {
        bool known = is_known_process(sys_getpid(), sys_getppid());
        pinject_preload_inherits();
        __atomic_store_n(forking_slot(key), key | (known ? (uint32_t)sys_gettid() : 0), __ATOMIC_RELAXED);
    }
    pinject_preload_leave();
}

void pinject_preload_forked(void)
{
    struct pinject_preload *preload = &pinject_preload;
    uint64_t key = forking_key();
    uint64_t word = *forking_slot(key);
    preload->busy = 0; /* those threads are not here */
    pinject_rooms_reset();
    pinject_session_forked();
    if (pinject_preload_blocked()) {
        pinject_thread_records_reset();
        pinject_preload_count_blocked(PINJECT_SESSION_FORK);
        return;
    }
    if (word == 0 || preload->state != PINJECT_FOLLOWED)
        return; /* not prepared: fork() came here already, through _Fork() */
    *forking_slot(key) = 0;
    bool mine = word >> TID_BITS == key >> TID_BITS;
    int32_t parent_tid = mine ? (int32_t)(word & (PINJECT_TASKS - 1)) : 0;
    preload->pid = sys_getpid();
    preload->threads = preload->flags & PINJECT_SESSION_PTHREAD && !preload->inherits;
    pinject_thread_records_reset();
    pinject_timer_forked();
    pinject_preload_look_at_user();
    forget_inheriting(preload->pid);
    /* A parent outside our pid namespace has no pid here: the first child after unshare(CLONE_NEWPID). A process
       that is not known makes children that are not known. */
    bool foreign = sys_getppid() == 0 || (mine && parent_tid == 0);
    if (foreign)
        __atomic_fetch_add(&preload->channel.requests->foreign, 1, __ATOMIC_RELAXED);
    if (!foreign && preload->flags & PINJECT_SESSION_FORK && pinject_preload_follows()) {
        if (!preload->inherits)
            ask_for_events(PINJECT_FORK, 0, parent_tid);
        return;
    }
    preload->state = PINJECT_LEFT;
    pinject_timer_leave();
    pinject_preload_close();
    if (preload->flags & PINJECT_SESSION_VFORK)
        pinject_own_environ_forget(preload->ours);
}

bool pinject_active(void)
{
    const struct pinject_preload *preload = &pinject_preload;
    return preload->state == PINJECT_FOLLOWED && !__atomic_load_n(&preload->channel.segment->closed, __ATOMIC_RELAXED);
}
