/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/request.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/channel.h"
#include "collector/found.h"
#include "collector/net.h"
#include "collector/numbers.h"
#include "collector/origin.h"
#include "collector/procfs.h"
#include "collector/session.h"
#include "common/clock.h"

/* CPU time that a task may have used before the session began (the first one of a bare LD_PRELOAD). */
#define BEFORE_NS UINT64_C(60000000000)
/* CPU time that a start takes: of more the kernel is asked. */
#define START_NS UINT64_C(5000000)

/* ---- Copying and checking ---- */

/* Word by word, each once: the owner may write meanwhile, and what is checked must be what is used. */
static void copy_words(void *to, const void *from, size_t size)
{
    uint64_t *at = to;
    const uint64_t *word = from;
    for (size_t i = 0; i < (size + 7) / 8; i++)
        at[i] = __atomic_load_n(&word[i], __ATOMIC_RELAXED);
}

static bool is_task(int32_t tid)
{
    return tid > 0 && tid < PINJECT_TASKS;
}

/* The program that comes cannot be injected. */
static bool wants_net(uint32_t kind, uint32_t flags)
{
    return kind == PINJECT_NET || (kind == PINJECT_ARM && flags & PINJECT_REQUEST_NET);
}

static bool has_text(uint32_t kind, uint32_t flags)
{
    return kind == PINJECT_PROCESS || kind == PINJECT_IMAGE || wants_net(kind, flags);
}

/* A time that cannot be is no time. */
static void check_times(const struct session *session, struct pinject_slot *slot)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t most = now - session->start_ns + (session->settings->bare ? BEFORE_NS : 0);
    if (slot->time_ns < session->start_ns)
        slot->time_ns = session->start_ns;
    if (slot->time_ns > now)
        slot->time_ns = now;
    if (slot->startup_ns > most)
        slot->startup_ns = 0;
    /* Of a process with its children: all CPUs at once. */
    if (slot->utime_ns > most * session->cpus || slot->stime_ns > most * session->cpus - slot->utime_ns)
        slot->utime_ns = slot->stime_ns = 0;
}

/* After an exec every thread is its process' first. */
static bool is_of_first_thread(uint32_t kind)
{
    return kind == PINJECT_PROCESS || kind == PINJECT_FORK || kind == PINJECT_ARM || kind == PINJECT_IMAGE ||
           kind == PINJECT_SPAWN;
}

int request_copy(const struct session *session, const struct pinject_slot *from, struct request *ret)
{
    struct pinject_slot *slot = &ret->slot;
    copy_words(slot, from, offsetof(struct pinject_slot, text));
    if (slot->kind < PINJECT_PROCESS || slot->kind >= PINJECT_KINDS || !is_task(slot->pid) ||
        (slot->kind != PINJECT_REAPED && !is_task(slot->tid)) || slot->ppid < 0 || slot->parent_tid < 0)
        return -EINVAL;
    if (is_of_first_thread(slot->kind) && slot->pid != slot->tid)
        return -EINVAL;
    if (slot->kind == PINJECT_BECOME && slot->user == UINT32_MAX) /* no user's number: it would stay root's */
        return -EINVAL;
    if (!has_text(slot->kind, slot->flags))
        slot->exec_size = slot->cmdline_size = 0;
    if (slot->exec_size > PINJECT_TEXT || slot->cmdline_size > PINJECT_TEXT - slot->exec_size)
        return -EINVAL;
    size_t size = slot->exec_size + slot->cmdline_size;
    copy_words(slot->text, from->text, size);
    ret->end = '\0';
    if (size < PINJECT_TEXT)
        slot->text[size] = '\0';
    if (slot->exec_size > 0 && slot->text[slot->exec_size - 1] != '\0')
        return -EINVAL;
    check_times(session, slot);
    return 0;
}

/* ---- Acting ---- */

static void take_text(const struct request *request, struct arrival *arrival)
{
    const struct pinject_slot *slot = &request->slot;
    if (slot->exec_size > 0 && !arrival->exec)
        arrival->exec = strdup(slot->text);
    bool running = !wants_net(slot->kind, slot->flags);
    if (slot->flags & PINJECT_REQUEST_TEXT_CUT && !running)
        return; /* of a program to come: /proc tells it later */
    if (slot->flags & PINJECT_REQUEST_TEXT_CUT) {
        arrival->cmdline = procfs_cmdline(slot->pid, &arrival->cmdline_size);
        if (arrival->cmdline)
            return;
    }
    arrival->cmdline_size = slot->cmdline_size;
    if (slot->cmdline_size == 0)
        return;
    /* One byte more: the last argument ends, whatever was written. */
    arrival->cmdline = malloc(slot->cmdline_size + 1u);
    if (!arrival->cmdline) {
        arrival->cmdline_size = 0;
        return;
    }
    memcpy(arrival->cmdline, slot->text + slot->exec_size, slot->cmdline_size);
    arrival->cmdline[slot->cmdline_size] = '\0';
    if (arrival->cmdline[slot->cmdline_size - 1] != '\0')
        arrival->cmdline_size++;
}

static struct arrival *new_arrival(const struct pinject_slot *slot)
{
    struct arrival *arrival = calloc(1, sizeof(*arrival));
    if (!arrival)
        return NULL;
    arrival->kind = slot->kind;
    arrival->flags = slot->flags;
    arrival->pid = slot->pid;
    arrival->tid = slot->tid;
    arrival->ppid = slot->ppid;
    arrival->parent_tid = slot->parent_tid;
    arrival->time_ns = slot->time_ns;
    arrival->startup_ns = slot->startup_ns;
    arrival->utime_ns = slot->utime_ns;
    arrival->stime_ns = slot->stime_ns;
    arrival->switches = slot->switches;
    arrival->status = slot->status;
    memcpy(arrival->comm, slot->comm, sizeof(arrival->comm));
    arrival->comm[sizeof(arrival->comm) - 1] = '\0';
    memcpy(arrival->program, slot->program, sizeof(arrival->program));
    arrival->program[sizeof(arrival->program) - 1] = '\0';
    arrival->pidfd = -1;
    return arrival;
}

/* Whether TID is a task of the process PID: a forged pair would put samples under another name. */
static int check_task(pid_t pid, pid_t tid)
{
    return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM ? 0 : -errno;
}

static bool is_alive(pid_t tid)
{
    return syscall(SYS_tkill, tid, 0) == 0 || errno == EPERM;
}

static int begin_snapshot(struct session *session, struct arrival *arrival)
{
    arrival->values = calloc(PLAN_EVENTS, sizeof(*arrival->values));
    if (!arrival->values)
        return -ENOMEM;
    return attach_snapshot(session, arrival->tid, arrival->values);
}

/*
 * An inherited event hangs up when the last task that has it is gone: nobody can come any more. The kernel tells that
 * of mapped ones alone, and maps inherited ones of a single CPU only; the tasks may run anywhere.
 */
static void open_tree_end(struct session *session, pid_t tid)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .inherit = 1,
                                   .exclude_kernel = 1};
    int cpu = sched_getcpu();
    int fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu < 0 ? 0 : cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return;
    void *ring = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED) {
        close(fd);
        return;
    }
    session->tree_end_ring = ring;
    __atomic_store_n(&session->tree_end_fd, fd, __ATOMIC_RELEASE);
}

/*
 * The net under the tree of a bare session, which nobody waits for: counts what the first process and all that come
 * from it use. Opened while it waits, so that nothing is missed.
 */
static void open_tree_clock(struct session *session, pid_t tid)
{
    if (!session->settings->bare || __atomic_load_n(&session->tree_fd, __ATOMIC_RELAXED) >= 0)
        return;
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .inherit = 1,
                                   .exclude_kernel = session->plan->exclude_kernel};
    int none = -1, fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return;
    if (__atomic_compare_exchange_n(&session->tree_fd, &none, fd, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        open_tree_end(session, tid);
    else
        close(fd);
}

static bool is_refused(int status)
{
    return status == -EACCES || status == -EPERM;
}

/* What the kernel tells only while it happens has happened: the program, and its mappings. */
static void read_running(struct arrival *arrival, bool gone_on)
{
    arrival->exec = procfs_exec(arrival->pid);
    arrival->maps = procfs_maps(arrival->pid);
    if (gone_on) {
        arrival->cmdline = procfs_cmdline(arrival->pid, &arrival->cmdline_size);
        procfs_comm(arrival->pid, arrival->tid, arrival->comm);
    }
}

static int begin_task(struct session *session, struct arrival *arrival)
{
    static const enum attach_how hows[] = {
        [PINJECT_PROCESS] = ATTACH_RUNNING,
        [PINJECT_FORK] = ATTACH_RUNNING,
        [PINJECT_THREAD] = ATTACH_THREAD,
        [PINJECT_ARM] = ATTACH_ON_EXEC,
    };
    const bool arms = arrival->kind == PINJECT_ARM, first = arrival->kind == PINJECT_PROCESS;
    /* It may run another program by now, which no record will tell. */
    const bool gone_on = arrival->late && (arms || arrival->kind == PINJECT_FORK);
    const char *name = arms ? arrival->program : arrival->comm;
    /* Events that waited for its exec could wait for ever. */
    const enum attach_how how = arms && arrival->late ? ATTACH_RUNNING : hows[arrival->kind];
    /* Of who was gone when it was asked whose it is, the number may be another's by now. */
    int status = arrival->gone ? -ESRCH : arrival->unchecked;
    if (status == 0)
        status = attach_open(session, arrival->pid, arrival->tid, name, how, &arrival->events);
    if (status == 0 && gone_on && !arrival->events->timer)
        arrival->kind = PINJECT_PROCESS;
    /* Who is about to exec is dumpable again afterwards, and asks anew. */
    if (is_refused(status) && !arms)
        status = attach_open_timed(session, arrival->pid, arrival->tid, status, &arrival->events);
    arrival->answered_ns = clock_ns(CLOCK_MONOTONIC);
    if (status == -EEXIST)
        return status;
    if (status == 0 && first)
        open_tree_clock(session, arrival->tid);
    if (status == 0 && arrival->late && !arrival->events->timer)
        arrival->startup_ns = found_used_before(session, arrival);
    if (arrival->kind == PINJECT_PROCESS && status == 0)
        read_running(arrival, gone_on);
    /* Killed since it was checked, it may have left its number to another: asked when all is open and read. */
    if (status == 0 && !numbers_hold(arrival->pidfd, arrival->pid, arrival->tid)) {
        found_give_back(arrival);
        status = -ESRCH;
    }
    if (status < 0)
        __atomic_fetch_add(&session->refused, 1, __ATOMIC_RELAXED);
    return status;
}

/* Its own events are there, whatever becomes of the net. */
static int begin_net(struct session *session, struct arrival *arrival)
{
    /* A timer's task tells also of what is not followed. */
    if (!(session->settings->follow & PINJECT_SESSION_EXEC) && attach_is_timed(session, arrival->tid))
        return 0;
    if (arrival->flags & PINJECT_REQUEST_SECURE)
        /* Its events may end in that exec: then what comes has to ask. */
        attach_cover(session, arrival->tid, false);
    else
        arrival->net_error = nets_open_of(session->nets, arrival->pid, arrival->tid, arrival->pidfd,
                                          arrival->late ? NETS_RUNS : NETS_EXECS);
    return 0;
}

/* Whose events are ours: nothing that is made by it has to ask. */
static int begin_inherit(struct session *session, const struct arrival *arrival)
{
    int status = arrival->gone ? -ESRCH : check_task(arrival->pid, arrival->tid);
    if (status == 0 && !attach_knows(session, arrival->pid, arrival->tid, NULL) &&
        !nets_know(session->nets, arrival->tid))
        status = -ESRCH;
    if (status == 0)
        status = nets_open_of(session->nets, arrival->pid, arrival->tid, arrival->pidfd,
                              arrival->late ? NETS_RUNS : NETS_WAITS);
    __atomic_fetch_add(status < 0 ? &session->uninherited : &session->inherited, 1, __ATOMIC_RELAXED);
    return status;
}

/* The kernel's word: one of a user namespace is root in its own eyes alone. */
static bool is_root(pid_t pid)
{
    struct origin origin;
    if (origin_read(pid, -1, &origin) < 0)
        return false;
    for (unsigned i = 0; i < sizeof(origin.users) / sizeof(origin.users[0]); i++)
        if (origin.users[i] == 0)
            return true;
    return false;
}

/* Nobody but root can become whom he likes. What is refused here has the socket. */
static int begin_become(struct channel *channel, const struct arrival *arrival, uint32_t user)
{
    return channel->user == 0 && is_root(arrival->pid) ? channels_prepare(channel->session, user) : -EPERM;
}

/* Whoever is not ours to see stays announced, and is in the ledger with what its parent's wait tells. */
static int begin_spawned(struct session *session, struct arrival *arrival)
{
    int status = found_open(session, arrival);
    return is_refused(status) || status == -ESRCH ? -EEXIST : status;
}

static int begin(struct session *session, struct arrival *arrival)
{
    if (arrival->kind == PINJECT_REAPED)
        return 0;
    if (arrival->kind == PINJECT_SNAPSHOT)
        return begin_snapshot(session, arrival);
    if (arrival->kind == PINJECT_IMAGE) {
        bool ring;
        if (attach_knows(session, arrival->pid, arrival->tid, &ring)) {
            if (!ring) /* no record will tell it */
                arrival->exec = procfs_exec(arrival->pid);
            return 0;
        }
        /* Its covered bit was left by an earlier task of this number. */
        arrival->kind = PINJECT_PROCESS;
    }
    if (arrival->kind == PINJECT_NET)
        return begin_net(session, arrival);
    if (arrival->kind == PINJECT_SPAWN)
        return begin_spawned(session, arrival);
    const uint32_t asked = arrival->kind;
    int status = begin_task(session, arrival);
    if ((status == 0 || status == -EEXIST) && wants_net(asked, arrival->flags)) {
        if (status == -EEXIST) /* its events were armed for an exec that failed */
            arrival->kind = PINJECT_NET;
        status = begin_net(session, arrival);
    }
    if (status == -EEXIST && asked == PINJECT_PROCESS) {
        arrival->kind = PINJECT_IMAGE;
        status = 0;
        if (attach_is_timed(session, arrival->tid)) {
            arrival->exec = procfs_exec(arrival->pid);
            arrival->maps = procfs_maps(arrival->pid);
        }
    }
    return status;
}

static bool is_of_new_process(uint32_t kind)
{
    return kind == PINJECT_PROCESS || kind == PINJECT_FORK || kind == PINJECT_ARM;
}

/*
 * Most requests are of processes that are known, and while nobody else has a channel that is enough. Those that begin
 * and those for which something is opened get their pidfd here: the task may end, and its number be another's.
 */
static int check_origin(const struct channel *channel, struct arrival *arrival)
{
    bool begins = is_of_new_process(arrival->kind);
    struct origin origin;
    if (arrival->kind == PINJECT_REAPED) /* the child is gone, and its waiter is looked at when it is used */
        return 0;
    if (check_task(arrival->pid, arrival->tid) < 0)
        return is_alive(arrival->tid) ? -EPERM : -ESRCH;
    if (!begins && channel->own && channels_are_alone(channel->session) &&
        attach_has_process(channel->session, arrival->pid))
        return 0;
    int pidfd = (int)syscall(SYS_pidfd_open, arrival->pid, 0);
    int status = origin_check(channel, arrival->pid, pidfd, &origin);
    /* Another user's word for a parent could be any process. */
    if (status == 0 && (origin.ppid > 1 || arrival->limited))
        arrival->ppid = origin.ppid;
    if (begins || arrival->kind == PINJECT_SPAWN || arrival->kind == PINJECT_NET || arrival->kind == PINJECT_INHERIT)
        arrival->pidfd = pidfd;
    else if (pidfd >= 0)
        close(pidfd);
    return status;
}

/* What a task says it used before its events began is no more than what its process used, by the kernel's clock. */
static void check_startup(struct arrival *arrival)
{
    clockid_t clock;
    uint64_t used = 0;
    if (arrival->startup_ns <= START_NS)
        return;
    if (clock_getcpuclockid(arrival->pid, &clock) == 0)
        used = clock_ns(clock);
    if (arrival->startup_ns > used)
        arrival->startup_ns = used;
}

int request_begin(struct channel *channel, const struct request *request, struct arrival **ret_arrival)
{
    struct session *session = channel->session;
    *ret_arrival = NULL;
    struct arrival *arrival = new_arrival(&request->slot);
    if (!arrival) {
        __atomic_fetch_add(&session->no_memory, 1, __ATOMIC_RELAXED);
        return -ENOMEM;
    }
    arrival->late = request->late;
    arrival->limited = !channel->own;
    arrival->user = channel->user;
    int origin = check_origin(channel, arrival);
    /* Nobody can ask the kernel whose it was. Of the own user's, it is told that it ended too soon. */
    bool gone = origin == -ESRCH && (arrival->limited || arrival->kind == PINJECT_SPAWN ||
                                     arrival->kind == PINJECT_NET || arrival->kind == PINJECT_SNAPSHOT ||
                                     arrival->kind == PINJECT_BECOME);
    if (origin == -EPERM || gone) {
        __atomic_fetch_add(gone ? &session->ended : &session->denied, 1, __ATOMIC_RELAXED);
        arrival_free(arrival);
        return origin;
    }
    arrival->gone = origin == -ESRCH;
    arrival->unchecked = arrival->gone ? 0 : origin;
    if (arrival->unchecked < 0 && !is_of_new_process(arrival->kind) && arrival->kind != PINJECT_THREAD) {
        __atomic_fetch_add(&session->no_memory, 1, __ATOMIC_RELAXED);
        arrival_free(arrival);
        return origin;
    }
    check_startup(arrival);
    if (arrival->kind == PINJECT_INHERIT || arrival->kind == PINJECT_BECOME) {
        int status = arrival->kind == PINJECT_INHERIT ? begin_inherit(session, arrival)
                                                      : begin_become(channel, arrival, request->slot.user);
        arrival_free(arrival);
        return status;
    }
    int status = begin(session, arrival);
    if (status == -EEXIST) {
        /* Asked twice: it has what it wants. */
        arrival_free(arrival);
        return 0;
    }
    arrival->result = status;
    *ret_arrival = arrival;
    bool wants_ring = arrival->kind == PINJECT_PROCESS || arrival->kind == PINJECT_IMAGE ||
                      arrival->kind == PINJECT_FORK || arrival->kind == PINJECT_THREAD;
    if (status == 0 && wants_ring && !arrival->found && attach_is_timed(session, arrival->tid))
        return attach_answer(session, arrival->tid, arrival->startup_ns);
    return status;
}

void request_finish(struct session *session, const struct request *request, struct arrival *arrival)
{
    if (arrival->events && !arrival->found)
        attach_complete(arrival->events);
    if (!arrival->found && !arrival->cmdline && has_text(arrival->kind, arrival->flags))
        take_text(request, arrival);
    arrivals_put(&session->arrivals, arrival);
}
