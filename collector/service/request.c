/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/service/request.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/service/channel.h"
#include "collector/service/origin.h"
#include "collector/sources/attach.h"
#include "collector/sources/attach_late.h"
#include "collector/sources/covered.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/sources/session.h"
#include "collector/system/numbers.h"
#include "collector/system/procfs.h"
#include "common/clock.h"

/* CPU time that a task may have used before the session began (the first one of a bare LD_PRELOAD). */
#define BEFORE_NS UINT64_C(60000000000)
/* CPU time that a start takes: if a task reports more, the kernel is asked. */
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

/* True if the next program is non-injectable. */
static bool wants_inherit(uint32_t kind, uint32_t flags)
{
    return kind == PINJECT_INHERIT_EXEC || (kind == PINJECT_ARM && flags & PINJECT_REQUEST_INHERIT_EXEC);
}

static bool has_text(uint32_t kind, uint32_t flags)
{
    return kind == PINJECT_PROCESS || kind == PINJECT_GENERATION || wants_inherit(kind, flags);
}

/* Replaces impossible times. */
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
    /* Of a process with its children, which may use all CPUs at once. */
    if (slot->utime_ns > most * session->cpus || slot->stime_ns > most * session->cpus - slot->utime_ns)
        slot->utime_ns = slot->stime_ns = 0;
}

/* After an exec every thread is its process' first. */
static bool is_of_first_thread(uint32_t kind)
{
    return kind == PINJECT_PROCESS || kind == PINJECT_FORK || kind == PINJECT_ARM || kind == PINJECT_GENERATION ||
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
    if (slot->kind == PINJECT_BECOME && slot->user == UINT32_MAX) /* no uid: the process would stay root */
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

static void take_text(const struct request *request, struct notification *notification)
{
    const struct pinject_slot *slot = &request->slot;
    if (slot->exec_size > 0 && !notification->exec)
        notification->exec = strdup(slot->text);
    bool running = !wants_inherit(slot->kind, slot->flags);
    if (slot->flags & PINJECT_REQUEST_TEXT_CUT && !running)
        return; /* about a program to come: /proc has it later */
    if (slot->flags & PINJECT_REQUEST_TEXT_CUT) {
        notification->cmdline = procfs_cmdline(slot->pid, &notification->cmdline_size);
        if (notification->cmdline)
            return;
    }
    notification->cmdline_size = slot->cmdline_size;
    if (slot->cmdline_size == 0)
        return;
    /* One byte more, so that the last argument ends, whatever was written. */
    notification->cmdline = malloc(slot->cmdline_size + 1u);
    if (!notification->cmdline) {
        notification->cmdline_size = 0;
        return;
    }
    memcpy(notification->cmdline, slot->text + slot->exec_size, slot->cmdline_size);
    notification->cmdline[slot->cmdline_size] = '\0';
    if (notification->cmdline[slot->cmdline_size - 1] != '\0')
        notification->cmdline_size++;
}

static struct notification *new_notification(const struct pinject_slot *slot)
{
    struct notification *notification = calloc(1, sizeof(*notification));
    if (!notification)
        return NULL;
    notification->kind = slot->kind;
    notification->flags = slot->flags;
    notification->pid = slot->pid;
    notification->tid = slot->tid;
    notification->ppid = slot->ppid;
    notification->parent_tid = slot->parent_tid;
    notification->time_ns = slot->time_ns;
    notification->startup_ns = slot->startup_ns;
    notification->utime_ns = slot->utime_ns;
    notification->stime_ns = slot->stime_ns;
    notification->switches = slot->switches;
    notification->status = slot->status;
    memcpy(notification->comm, slot->comm, sizeof(notification->comm));
    notification->comm[sizeof(notification->comm) - 1] = '\0';
    memcpy(notification->program, slot->program, sizeof(notification->program));
    notification->program[sizeof(notification->program) - 1] = '\0';
    notification->pidfd = -1;
    return notification;
}

/* Is TID a task of the process PID? A forged pair would put samples under another name. */
static int check_task(pid_t pid, pid_t tid)
{
    return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM ? 0 : -errno;
}

static bool is_alive(pid_t tid)
{
    return syscall(SYS_tkill, tid, 0) == 0 || errno == EPERM;
}

static int begin_snapshot(struct session *session, struct notification *notification)
{
    notification->values = calloc(session->config->count, sizeof(*notification->values));
    if (!notification->values)
        return -ENOMEM;
    return attach_snapshot(session, notification->tid, notification->values);
}

/*
 * An inherited event hangs up when the last task that has it is gone: no other task can come. The kernel reports that
 * only for mapped events, and maps inherited ones only for a single CPU; the tasks may run anywhere.
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
 * The inherited clock of a bare session, whose tree nobody waits for: counts what the first process and all its
 * descendants use. Opened while the first process waits, so that nothing is missed.
 */
static void open_tree_clock(struct session *session, pid_t tid)
{
    if (!session->settings->bare || __atomic_load_n(&session->tree_fd, __ATOMIC_RELAXED) >= 0)
        return;
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .inherit = 1,
                                   .exclude_kernel = session->config->exclude_kernel};
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

/* What the kernel reports only while it happens has happened already: reads the program and its mappings. */
static void read_running(struct notification *notification, bool gone_on)
{
    notification->exec = procfs_exec(notification->pid);
    notification->maps = procfs_maps(notification->pid);
    if (gone_on) {
        notification->cmdline = procfs_cmdline(notification->pid, &notification->cmdline_size);
        procfs_comm(notification->pid, notification->tid, notification->comm);
    }
}

static int begin_task(struct session *session, struct notification *notification)
{
    static const enum attach_how hows[] = {
        [PINJECT_PROCESS] = ATTACH_RUNNING,
        [PINJECT_FORK] = ATTACH_RUNNING,
        [PINJECT_THREAD] = ATTACH_THREAD,
        [PINJECT_ARM] = ATTACH_ON_EXEC,
    };
    const bool arms = notification->kind == PINJECT_ARM, first = notification->kind == PINJECT_PROCESS;
    /* It may run another program by now, which no record will report. */
    const bool gone_on = notification->late && (arms || notification->kind == PINJECT_FORK);
    const char *name = arms ? notification->program : notification->comm;
    /* Events that wait for its exec could wait for ever. */
    const enum attach_how how = arms && notification->late ? ATTACH_RUNNING : hows[notification->kind];
    /* The task was gone when its origin was checked: another task may have its number by now. */
    int status = notification->gone ? -ESRCH : notification->unchecked;
    const bool opens = !session_system_wide(session);
    if (status == 0 && opens)
        status = attach_open(session, notification->pid, notification->tid, name, how, &notification->events);
    if (status == 0 && !opens && notification->late)
        notification->startup_ns = procfs_scheduled_ns(notification->pid, notification->tid);
    if (status == 0 && !opens)
        status = attach_late_adopt(session, notification);
    if (status == 0 && gone_on && !attach_by_timer(notification->events))
        notification->kind = PINJECT_PROCESS;
    /* A task that is about to exec is dumpable again afterwards, and sends a new request. */
    if (opens && is_refused(status) && !arms)
        status = attach_open_timer(session, notification->pid, notification->tid, status, &notification->events);
    notification->answered_ns = clock_ns(CLOCK_MONOTONIC);
    if (status == -EEXIST)
        return status;
    if (status == 0 && first)
        open_tree_clock(session, notification->tid);
    /* An exec has ended the events that it inherited: what it makes inherits again, and sends no requests. */
    if (status == 0 && first && session->config->inherits && opens) {
        const int opened = inherited_open_of(session->inherited_sets, notification->pid, notification->tid,
                                             notification->pidfd, notification->late ? INHERIT_RUNS : INHERIT_WAITS);
        __atomic_fetch_add(opened < 0 ? &session->uninherited : &session->inherited, 1, __ATOMIC_RELAXED);
    }
    if (status == 0 && opens && notification->late && !notification->events->timer)
        notification->startup_ns = attach_late_used_before(session, notification);
    if (notification->kind == PINJECT_PROCESS && status == 0)
        read_running(notification, gone_on);
    /* If it was killed since it was checked, another task may have its number: checked when all is open and read. */
    if (status == 0 && !numbers_hold(notification->pidfd, notification->pid, notification->tid)) {
        attach_late_undo(notification);
        if (notification->inherited)
            inherited_forget(session->inherited_sets, notification->tid);
        notification->inherited = false;
        status = -ESRCH;
    }
    if (status < 0)
        __atomic_fetch_add(&session->refused, 1, __ATOMIC_RELAXED);
    return status;
}

/* The task's own events are there, whatever becomes of the inherited set. */
static int begin_inherit_exec(struct session *session, struct notification *notification)
{
    /* A task with a timer also reports programs that are not followed. */
    if (!(session->settings->follow & PINJECT_SESSION_EXEC) && attach_has_timer(session, notification->tid))
        return 0;
    if (notification->flags & PINJECT_REQUEST_SECURE) {
        /* Its events may end in that exec: then its next exec generation must send a request. */
        covered_mark(session, notification->tid, false);
        session_unsettle(session);
    } else {
        notification->inherit_error = inherited_open_of(session->inherited_sets, notification->pid, notification->tid,
                                                        notification->pidfd,
                                                        notification->late ? INHERIT_RUNS : INHERIT_EXECS);
    }
    return 0;
}

/* For tasks whose events are ours: what they make need not send a request. */
static int begin_inherit(struct session *session, const struct notification *notification)
{
    int status = notification->gone ? -ESRCH : check_task(notification->pid, notification->tid);
    if (status == 0 && !attach_knows(session, notification->pid, notification->tid, NULL) &&
        !inherited_know(session->inherited_sets, notification->tid))
        status = -ESRCH;
    if (status == 0)
        status = inherited_open_of(session->inherited_sets, notification->pid, notification->tid, notification->pidfd,
                                   notification->late ? INHERIT_RUNS : INHERIT_WAITS);
    __atomic_fetch_add(status < 0 ? &session->uninherited : &session->inherited, 1, __ATOMIC_RELAXED);
    return status;
}

/* By the kernel's word: root of a user namespace is root only in its own eyes. */
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

/* Only root can become any user. A process that is refused here has the socket. */
static int begin_become(struct channel *channel, const struct notification *notification, uint32_t user)
{
    struct session *session = channel->session;
    return channel->user == 0 && is_root(notification->pid) ? session->prepare_user(session, user) : -EPERM;
}

/* A task that we may not see stays announced, and is counted as missed, with what its parent's wait reports. */
static int begin_spawned(struct session *session, struct notification *notification)
{
    int status = attach_late_open(session, notification);
    return is_refused(status) || status == -ESRCH ? -EEXIST : status;
}

static int begin(struct session *session, struct notification *notification)
{
    if (notification->kind == PINJECT_SNAPSHOT)
        return begin_snapshot(session, notification);
    if (notification->kind == PINJECT_GENERATION) {
        bool ring;
        if (attach_knows(session, notification->pid, notification->tid, &ring)) {
            if (!ring) /* no record will report it */
                notification->exec = procfs_exec(notification->pid);
            attach_place(session, notification->pid, notification->tid);
            return 0;
        }
        /* An earlier task with this number left its covered bit. */
        notification->kind = PINJECT_PROCESS;
    }
    if (notification->kind == PINJECT_INHERIT_EXEC)
        return begin_inherit_exec(session, notification);
    if (notification->kind == PINJECT_SPAWN)
        return begin_spawned(session, notification);
    const uint32_t asked = notification->kind;
    int status = begin_task(session, notification);
    if ((status == 0 || status == -EEXIST) && wants_inherit(asked, notification->flags)) {
        if (status == -EEXIST) /* its events were armed for an exec that failed */
            notification->kind = PINJECT_INHERIT_EXEC;
        status = begin_inherit_exec(session, notification);
    }
    if (status == -EEXIST && asked == PINJECT_PROCESS) {
        notification->kind = PINJECT_GENERATION;
        status = 0;
        attach_place(session, notification->pid, notification->tid);
        if (attach_has_timer(session, notification->tid)) {
            notification->exec = procfs_exec(notification->pid);
            notification->maps = procfs_maps(notification->pid);
        }
    }
    return status;
}

static bool is_of_new_process(uint32_t kind)
{
    return kind == PINJECT_PROCESS || kind == PINJECT_FORK || kind == PINJECT_ARM;
}

/*
 * Most requests are about known processes, and while nobody else has a channel that is enough. Those about new
 * processes, and those for which something is opened, get their pidfd here: the task may end, and its number be reused.
 */
static int check_origin(const struct channel *channel, struct notification *notification)
{
    bool begins = is_of_new_process(notification->kind);
    struct origin origin;
    if (check_task(notification->pid, notification->tid) < 0)
        return is_alive(notification->tid) ? -EPERM : -ESRCH;
    if (!begins && channel->own && session_has_one_user(channel->session) &&
        attach_has_process(channel->session, notification->pid))
        return 0;
    int pidfd = (int)syscall(SYS_pidfd_open, notification->pid, 0);
    int status = origin_check(channel, notification->pid, pidfd, &origin);
    /* Another user could name any process as the parent. */
    if (status == 0 && (origin.ppid > 1 || notification->limited))
        notification->ppid = origin.ppid;
    if (begins || notification->kind == PINJECT_SPAWN || notification->kind == PINJECT_INHERIT_EXEC ||
        notification->kind == PINJECT_INHERIT)
        notification->pidfd = pidfd;
    else if (pidfd >= 0)
        close(pidfd);
    return status;
}

/* What a task reports as used before its events began is no more than what its process used, by the kernel's clock. */
static void check_startup(struct notification *notification)
{
    clockid_t clock;
    uint64_t used = 0;
    if (notification->startup_ns <= START_NS)
        return;
    if (clock_getcpuclockid(notification->pid, &clock) == 0)
        used = clock_ns(clock);
    if (notification->startup_ns > used)
        notification->startup_ns = used;
}

/*
 * A program that is covered may have ended by now, or its making may not be read yet: the event loop finds its task by
 * the time of the message (notification_order.h).
 */
bool request_only_tells(const struct channel *channel, uint32_t kind, uint32_t flags)
{
    if (kind == PINJECT_REAPED)
        return true;
    const uint32_t asked = flags & (PINJECT_REQUEST_ASYNCHRONOUS | PINJECT_REQUEST_TEXT_CUT);
    return kind == PINJECT_GENERATION && asked == PINJECT_REQUEST_ASYNCHRONOUS && channel->own &&
           (channel->session->config->inherits || session_system_wide(channel->session));
}

int request_begin(struct channel *channel, const struct request *request, struct notification **ret_notification)
{
    struct session *session = channel->session;
    *ret_notification = NULL;
    struct notification *notification = new_notification(&request->slot);
    if (!notification) {
        __atomic_fetch_add(&session->no_memory, 1, __ATOMIC_RELAXED);
        return -ENOMEM;
    }
    notification->late = request->late;
    notification->limited = !channel->own;
    notification->user = channel->user;
    if (request_only_tells(channel, notification->kind, notification->flags)) {
        notification->gone = notification->kind == PINJECT_GENERATION; /* for all that is known */
        *ret_notification = notification;
        return 0;
    }
    int origin = check_origin(channel, notification);
    /* The kernel cannot be asked whose it was. For the own user's, it is reported that it ended too soon. */
    bool gone = origin == -ESRCH && (notification->limited || notification->kind == PINJECT_SPAWN ||
                                     notification->kind == PINJECT_INHERIT_EXEC ||
                                     notification->kind == PINJECT_SNAPSHOT || notification->kind == PINJECT_BECOME);
    if (origin == -EPERM || gone) {
        __atomic_fetch_add(gone ? &session->ended : &session->denied, 1, __ATOMIC_RELAXED);
        notification_free(notification);
        return origin;
    }
    notification->gone = origin == -ESRCH;
    notification->unchecked = notification->gone ? 0 : origin;
    if (notification->unchecked < 0 && !is_of_new_process(notification->kind) && notification->kind != PINJECT_THREAD) {
        __atomic_fetch_add(&session->no_memory, 1, __ATOMIC_RELAXED);
        notification_free(notification);
        return origin;
    }
    check_startup(notification);
    if (notification->kind == PINJECT_INHERIT || notification->kind == PINJECT_BECOME) {
        int status = notification->kind == PINJECT_INHERIT ? begin_inherit(session, notification)
                                                           : begin_become(channel, notification, request->slot.user);
        notification_free(notification);
        return status;
    }
    int status = begin(session, notification);
    if (status == -EEXIST) {
        /* It asked twice, and has what it wants. */
        notification_free(notification);
        return 0;
    }
    notification->result = status;
    *ret_notification = notification;
    bool wants_ring = notification->kind == PINJECT_PROCESS || notification->kind == PINJECT_GENERATION ||
                      notification->kind == PINJECT_FORK || notification->kind == PINJECT_THREAD;
    if (status == 0 && wants_ring && !notification->attached_late && attach_has_timer(session, notification->tid))
        return attach_answer(session, notification->tid, notification->startup_ns);
    return status;
}

void request_finish(struct session *session, const struct request *request, struct notification *notification)
{
    if (notification->events && !notification->attached_late)
        attach_complete(notification->events);
    if (!notification->attached_late && !notification->cmdline && has_text(notification->kind, notification->flags))
        take_text(request, notification);
    notifications_put(&session->notifications, notification);
}
