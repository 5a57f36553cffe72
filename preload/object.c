/* SPDX-License-Identifier: MIT */
#include "object.h"
#include "next.h"
#include "own_environ.h"
#include "pinject/pinject.h"
#include "program.h"
#include "reach.h"
#include "room.h"
#include "start.h"
#include "sys.h"
#include "thread_pool.h"
#include "timer.h"

#include <errno.h>
#include "text.h"
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

struct pinject_object pinject_object;

/*
 * Who forks, by thread: the child finds its creator in its copy. No thread-local variable, as one would show: in the
 * numbers and the size of the program's own. Two threads that meet in a slot cost a name, no more.
 */
enum { FORKING = 64, TID_BITS = 22 };
static uint64_t forking[FORKING];

/* Whose next threads and children are covered by inheritance: by thread, so that not each call has to ask. */
static uint32_t inheriting[FORKING];

_Static_assert(PINJECT_TASKS == 1 << TID_BITS, "a tid has its room beside the thread's key");

enum { SETTLE_ROUNDS = 50, SETTLE_NS = 100000 };

void pinject_object_settle(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (int i = 0; i < SETTLE_ROUNDS && __atomic_load_n(&pinject_object.busy, __ATOMIC_ACQUIRE) != 0; i++)
        sys_sleep_ns(SETTLE_NS);
}

enum pinject_image pinject_object_admits(enum pinject_image image)
{
    return image == PINJECT_IMAGE_TAKES && !pinject_object_reachable() ? PINJECT_IMAGE_REFUSES : image;
}

/*
 * A process that was made behind libc's back has our numbers and not its own, maybe in another pid namespace: there it
 * would ask for somebody else. Whose parent we are, as far as the kernel says, is in ours.
 */
static bool is_known(int32_t pid, int32_t ppid)
{
    return pid == pinject_object.pid || ppid == pinject_object.pid;
}

static struct pinject_claim claim(uint32_t kind, uint32_t flags, int32_t parent_tid)
{
    int32_t tid = sys_gettid(), pid = sys_getpid(), ppid = sys_getppid();
    struct pinject_claim mine = {NULL, 0, 0};
    if (is_known(pid, ppid))
        mine = pinject_request_claim(&pinject_object.channel, tid);
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

/* Where the task has no events the answer is the ring of its timer. */
static void send(struct pinject_claim mine)
{
    pinject_timer_start(pinject_request_send(&pinject_object.channel, mine));
}

static void ask(uint32_t kind, uint32_t flags, int32_t parent_tid)
{
    struct pinject_claim mine = claim(kind, flags, parent_tid);
    if (mine.slot)
        send(mine);
}

/*
 * The executable's name as it was given to exec, and the command line; what does not fit, or was not given to us, is in
 * /proc. What the name leads to, the collector knows from the kernel: a look into /proc/self costs the program 20 us.
 */
static void write_text(struct pinject_slot *slot)
{
    const struct pinject_object *object = &pinject_object;
    const char *name = (const char *)getauxval(AT_EXECFN);
    size_t at = name ? strnlen(name, PINJECT_PATH / 2) : 0;
    memcpy(slot->text, name ? name : "", at);
    slot->text[at++] = 0;
    slot->exec_size = (uint32_t)at;
    if (object->argc <= 0)
        slot->flags |= PINJECT_REQUEST_TEXT_CUT;
    for (int i = 0; i < object->argc && object->argv[i]; i++) {
        size_t length = strlen(object->argv[i]) + 1;
        if (length > PINJECT_TEXT - at) {
            slot->flags |= PINJECT_REQUEST_TEXT_CUT;
            break;
        }
        memcpy(slot->text + at, object->argv[i], length);
        at += length;
    }
    slot->cmdline_size = (uint32_t)at - slot->exec_size;
}

/* The program that exec was asked for; what cannot be read or does not fit is left out. */
static void write_program(struct pinject_slot *slot, const char *path, char *const *argv)
{
    struct pinject_reach reach = {0};
    long length = pinject_reach_length(&reach, path, PINJECT_PATH / 2);
    size_t at = 0;
    if (length > 0)
        memcpy(slot->text, path, at = (size_t)length);
    slot->text[at++] = 0;
    slot->exec_size = (uint32_t)at;
    for (size_t i = 0; argv && pinject_reach(&reach, &argv[i], sizeof(argv[i])) && argv[i]; i++) {
        length = pinject_reach_length(&reach, argv[i], PINJECT_TEXT - at - 1);
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

void pinject_object_net(bool covered, uint32_t flags, const char *path, char *const *argv)
{
    flags |= covered ? 0 : PINJECT_REQUEST_NET;
    struct pinject_claim mine = claim(covered ? PINJECT_NET : PINJECT_ARM, flags, 0);
    if (!mine.slot)
        return;
    write_program(mine.slot, path, argv);
    pinject_timer_count();
    pinject_request_send(&pinject_object.channel, mine);
}

static void announce_image(void)
{
    /* A timer does not survive exec as events do; each image asks. One among others with events has no bit. */
    bool covered = !(pinject_object.flags & PINJECT_SESSION_TIMER) &&
                   pinject_request_covered(&pinject_object.channel, sys_gettid());
    struct pinject_claim mine =
        covered ? claim(PINJECT_IMAGE, PINJECT_REQUEST_NO_REPLY, 0) : claim(PINJECT_PROCESS, 0, 0);
    if (!mine.slot)
        return;
    write_text(mine.slot);
    send(mine);
}

/* The session of the environment, or a new one for a bare LD_PRELOAD. */
static int find_session(char **envp)
{
    const char *path = pinject_env_value(envp, PINJECT_ENV_SESSION "=");
    if (path)
        return pinject_object_open(path);
    const char *preload = pinject_env_value(envp, "LD_PRELOAD=");
    if (!preload || !pinject_preload_has(preload, NULL))
        return -ENOENT; /* linked, dlopened, or in /etc/ld.so.preload: nobody asked for a session */
    int error = pinject_start(envp);
    pinject_object.threads = error == 0;
    pinject_object.environ_join = error == 0 && pinject_object.flags & PINJECT_SESSION_VFORK;
    return error;
}

static void init(int argc, char **argv, char **envp)
{
    struct pinject_object *object = &pinject_object;
    pinject_next();
    /* Of what valgrind runs inherited events tell: they lie under valgrind itself, a static program. */
    if (!envp || getauxval(AT_SECURE) || sys_on_valgrind())
        return;
    object->argc = argc;
    object->argv = argv;
    object->user = (uint32_t)getauxval(AT_EUID);
    int error = find_session(envp);
    if (error == -EXDEV)
        return; /* the variables stay: what is in there is counted, each time */
    bool raw_execs = error == 0 && pinject_program_execs_by_itself();
    object->environ_join &= !raw_execs;
    /* libc and posix_spawn users pass environ on; where their children are not followed, they must not see us. Nor must
       what is executed without being looked at. */
    if (error < 0 || raw_execs || object->environ_join || !(object->flags & PINJECT_SESSION_VFORK))
        pinject_own_environ_leave(envp, error < 0 ? (struct pinject_ours){NULL, NULL} : object->ours);
    if (error < 0)
        return;
    object->pid = sys_getpid();
    object->threads |= object->flags & PINJECT_SESSION_PTHREAD || object->channel.segment->root == object->pid;
    pthread_atfork(pinject_object_before_fork, NULL, pinject_object_forked);
    __atomic_store_n(&object->standing, PINJECT_FOLLOWED, __ATOMIC_RELEASE);
    announce_image();
    if (raw_execs && object->flags & PINJECT_SESSION_VFORK)
        pinject_object_inherit();
}

void pinject_object_init(int argc, char **argv, char **envp)
{
    struct pinject_object *object = &pinject_object;
    uint32_t expected = 0;
    int saved = errno;
    if (!envp)
        envp = environ;
    if (!envp) /* a hook in .preinit_array: the constructor will know more */
        return;
    if (!__atomic_compare_exchange_n(&object->begun, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    init(argc, argv, envp);
    __atomic_store_n(&object->begun, 2, __ATOMIC_RELEASE);
    errno = saved;
}

/*
 * The object is linked with -z initfirst: this runs before the constructors of every other object, so that their work
 * is seen, the threads they make are followed, and nobody has yet kept a pointer into the environment that may be
 * changed.
 */
__attribute__((constructor)) static void begin(int argc, char **argv, char **envp)
{
#ifdef __GLIBC__
    pinject_object_init(argc, argv, envp);
#else
    (void)argc, (void)argv, (void)envp;
    pinject_object_init(0, NULL, NULL);
#endif
}

static uint32_t *inheriting_slot(int32_t tid)
{
    return &inheriting[(uint32_t)tid % FORKING];
}

/* Its number may have been another's. */
static void forget_inheriting(int32_t tid)
{
    uint32_t old = (uint32_t)tid;
    __atomic_compare_exchange_n(inheriting_slot(tid), &old, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void pinject_object_thread(int32_t creator)
{
    if (!pinject_object_follows())
        return;
    forget_inheriting(sys_gettid());
    ask(PINJECT_THREAD, 0, creator);
}

static void inherit(void)
{
    int32_t tid = sys_gettid();
    /* Timers sample whom the object is in, and nobody else. */
    bool wanted = !(pinject_object.flags & PINJECT_SESSION_TIMER) &&
                  __atomic_load_n(inheriting_slot(tid), __ATOMIC_RELAXED) != (uint32_t)tid;
    struct pinject_claim mine = {NULL, 0, 0};
    if (wanted)
        mine = claim(PINJECT_INHERIT, 0, 0);
    if (mine.slot && pinject_request_send(&pinject_object.channel, mine) == 0)
        __atomic_store_n(inheriting_slot(tid), (uint32_t)tid, __ATOMIC_RELAXED);
}

void pinject_object_inherit(void)
{
    int saved = errno;
    pinject_object_ready();
    pinject_object_enter();
    if (pinject_object_follows())
        inherit();
    pinject_object_leave();
    errno = saved;
}

/* As the kernel will name the task: the last part of PATH, cut. */
static void write_name(struct pinject_slot *slot, const char *path)
{
    struct pinject_reach reach = {0};
    long length = pinject_reach_length(&reach, path, PINJECT_PATH);
    size_t at = length > 0 ? (size_t)length : 0, size = 0;
    while (at > 0 && path[at - 1] != '/')
        at--;
    for (; length > 0 && size < sizeof(slot->program) - 1 && path[at + size]; size++)
        slot->program[size] = path[at + size];
}

void pinject_object_arm(const char *path)
{
    struct pinject_claim mine = claim(PINJECT_ARM, 0, 0);
    if (!mine.slot)
        return;
    if (pinject_object.flags & PINJECT_SESSION_DUMPS)
        write_name(mine.slot, path);
    send(mine);
}

void pinject_object_spawned(int32_t pid)
{
    struct pinject_claim mine = claim(PINJECT_SPAWN, 0, sys_gettid());
    if (!mine.slot)
        return;
    mine.slot->ppid = mine.slot->pid;
    mine.slot->pid = mine.slot->tid = pid;
    pinject_request_send(&pinject_object.channel, mine);
}

void pinject_object_become(uint32_t user)
{
    struct pinject_claim mine = claim(PINJECT_BECOME, 0, 0);
    if (!mine.slot)
        return;
    mine.slot->user = user;
    pinject_request_send(&pinject_object.channel, mine);
}

void pinject_object_snapshot(void)
{
    struct pinject_claim mine = claim(PINJECT_SNAPSHOT, 0, 0);
    pinject_timer_count();
    if (mine.slot)
        pinject_request_send(&pinject_object.channel, mine);
}

void pinject_object_reaped(int32_t pid, int status, uint64_t utime_ns, uint64_t stime_ns, uint64_t switches)
{
    struct pinject_claim mine = claim(PINJECT_REAPED, PINJECT_REQUEST_NO_REPLY, 0);
    if (!mine.slot)
        return;
    mine.slot->pid = pid;
    mine.slot->status = status;
    mine.slot->utime_ns = utime_ns;
    mine.slot->stime_ns = stime_ns;
    mine.slot->switches = switches;
    pinject_request_send(&pinject_object.channel, mine);
}

/* The thread that calls, and the child's copy of it: the same address in both. */
static uint64_t forking_key(void)
{
    return (uint64_t)(sys_thread_pointer() >> 6) << TID_BITS;
}

static uint64_t *forking_slot(uint64_t key)
{
    key >>= TID_BITS;
    return &forking[(key ^ key >> 6 ^ key >> 12) % FORKING];
}

void pinject_object_before_fork(void)
{
    uint64_t key = forking_key();
    pinject_object_enter();
    if (pinject_object.standing == PINJECT_FOLLOWED && !pinject_object_sealed()) {
        bool known = is_known(sys_getpid(), sys_getppid());
        __atomic_store_n(forking_slot(key), key | (known ? (uint32_t)sys_gettid() : 0), __ATOMIC_RELAXED);
    }
    pinject_object_leave();
}

void pinject_object_forked(void)
{
    struct pinject_object *object = &pinject_object;
    uint64_t key = forking_key();
    uint64_t word = *forking_slot(key);
    object->busy = 0; /* they are not here */
    pinject_rooms_reset();
    pinject_session_forked();
    if (pinject_object_sealed()) {
        pinject_thread_pool_reset();
        pinject_object_count_sealed(PINJECT_SESSION_FORK);
        return;
    }
    if (word == 0 || object->standing != PINJECT_FOLLOWED)
        return; /* not prepared: fork() came here already, through _Fork() */
    *forking_slot(key) = 0;
    bool mine = word >> TID_BITS == key >> TID_BITS;
    int32_t parent_tid = mine ? (int32_t)(word & (PINJECT_TASKS - 1)) : 0;
    object->pid = sys_getpid();
    object->threads = object->flags & PINJECT_SESSION_PTHREAD;
    pinject_thread_pool_reset();
    pinject_timer_forked();
    pinject_object_look_at_user();
    forget_inheriting(object->pid);
    /* A parent outside our namespace has no pid here: the first child after unshare(CLONE_NEWPID). What one that is
       not known makes is as little known. */
    bool foreign = sys_getppid() == 0 || (mine && parent_tid == 0);
    if (foreign)
        __atomic_fetch_add(&object->channel.requests->foreign, 1, __ATOMIC_RELAXED);
    if (!foreign && object->flags & PINJECT_SESSION_FORK && pinject_object_follows()) {
        ask(PINJECT_FORK, 0, parent_tid);
        return;
    }
    object->standing = PINJECT_LEFT;
    pinject_timer_leave();
    pinject_object_close();
    if (object->flags & PINJECT_SESSION_VFORK)
        pinject_own_environ_forget(object->ours);
}

bool pinject_active(void)
{
    const struct pinject_object *object = &pinject_object;
    return object->standing == PINJECT_FOLLOWED && !__atomic_load_n(&object->channel.segment->closed, __ATOMIC_RELAXED);
}
