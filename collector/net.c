/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/attach.h"
#include "collector/net_parts.h"
#include "collector/numbers.h"
#include "collector/procfs.h"
#include "collector/session.h"
#include "common/clock.h"
#include "common/report.h"

/* In the place of a net's number: it came from one that runs while the net was laid, and has a part of that. */
#define PART UINT32_MAX

enum {
    COPY_NS = 1000 * 1000,               /* a fork takes so long from its events to the record that tells of it */
    COPY_LONGEST_NS = 200 * 1000 * 1000, /* the same, and what its task waits for a CPU in between */
    LENT = 4 << 20, LENT_ALL = 32 << 20,
};

/* ---- Opening and closing ---- */

static void free_net(struct nets *nets, struct net *net)
{
    net_close(nets, net);
    if (net->pidfd >= 0)
        close(net->pidfd);
    free(net);
}

static int watch(const struct nets *nets, struct net *net)
{
    for (unsigned i = 0; i < net->cpu_count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = net};
        if (epoll_ctl(nets->epoll, EPOLL_CTL_ADD, net->cpus[i].fds[0], &event) < 0)
            return -errno;
    }
    return 0;
}

static bool is_dead(const struct net *net)
{
    struct pollfd end = {.fd = net->pidfd, .events = POLLIN};
    return net->pidfd >= 0 && poll(&end, 1, 0) > 0;
}

/* An exec failed, or it goes from one such program to the next: the net is there. */
static bool has_root(struct nets *nets, pid_t pid, pid_t tid)
{
    pthread_mutex_lock(&nets->lock);
    struct net *net = nets->first;
    while (net && (net->tid != tid || net->pid != pid || is_dead(net)))
        net = net->next;
    pthread_mutex_unlock(&nets->lock);
    return net;
}

/* Whom the root made before now has a part of the net. */
static void become_whole(struct net *net, enum nets_root root)
{
    if (root == NETS_EXECS)
        return;
    net->root_ran = root == NETS_RUNS;
    net->waited_ns = net->root_ran ? procfs_waited_ns(net->pid, net->tid) : 0;
    net->whole_ns = clock_ns(CLOCK_MONOTONIC);
}

int nets_open_of(struct nets *nets, pid_t pid, pid_t tid, int pidfd, enum nets_root root)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    size_t count = configured > 0 ? (size_t)configured : 1;
    /* Where timers sample there are no events to inherit. */
    if (nets->session->plan->source == PINJECT_SOURCE_TIMER || nets_know(nets, tid) || has_root(nets, pid, tid))
        return 0;
    struct net *net = net_has_room(nets, count) ? calloc(1, sizeof(*net) + count * sizeof(net->cpus[0])) : NULL;
    if (!net)
        return -ENOMEM;
    net->pid = pid;
    net->tid = tid;
    net->pidfd = pidfd < 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
    int status = net_open(nets, net, (unsigned)count, root == NETS_EXECS);
    become_whole(net, root);
    if (status == 0 && !numbers_hold(pidfd < 0 ? net->pidfd : pidfd, pid, tid))
        status = -ESRCH;
    pthread_mutex_lock(&nets->lock);
    if (status == 0)
        status = watch(nets, net);
    if (status == 0) {
        if (!nets->numbers) /* later ones speak with its voice */
            memcpy(nets->ids, net->cpus[0].ids, sizeof(nets->ids));
        net->number = ++nets->numbers;
        net->next = nets->first;
        nets->first = net;
        __atomic_fetch_add(&nets->live, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&nets->lock);
    if (status < 0)
        free_net(nets, net);
    return status;
}

/* ---- Reading: under the lock ---- */

static bool is_number(pid_t tid)
{
    return tid > 0 && tid < PINJECT_TASKS;
}

static void enter(struct nets *nets, struct net *net, pid_t tid)
{
    if (!is_number(tid))
        return;
    const uint32_t number = (uint32_t)net->number, before = nets->inside[tid];
    net->members += before != number;
    __atomic_store_n(&nets->inside[tid], number, __ATOMIC_RELAXED);
    nets->highest = tid > nets->highest ? tid : nets->highest;
    if (!before || before == PART)
        attach_cover(nets->session, tid, true);
}

static void leave(struct nets *nets, pid_t tid)
{
    if (!is_number(tid) || !nets->inside[tid])
        return;
    if (__atomic_exchange_n(&nets->inside[tid], 0, __ATOMIC_RELAXED) != PART)
        attach_cover(nets->session, tid, false);
}

/* Unless another net has all of it. */
static void enter_part(struct nets *nets, const struct net *net, pid_t tid)
{
    if (!is_number(tid) || (nets->inside[tid] && nets->inside[tid] != (uint32_t)net->number))
        return;
    leave(nets, tid);
    __atomic_store_n(&nets->inside[tid], PART, __ATOMIC_RELAXED);
}

/* All who were in it have ended. Those whose EXIT was lost have their numbers marked still. */
static void forget_members(struct nets *nets, const struct net *net)
{
    for (pid_t tid = 1; net->members && tid <= nets->highest; tid++)
        if (nets->inside[tid] == (uint32_t)net->number)
            leave(nets, tid);
}

/*
 * Did TASK get its events before the net was whole? A fork copies the events first and writes its record last, and the
 * root may lose the CPU in between. Only the first task that the root makes afterwards can have begun before.
 */
static bool is_from_before(struct net *net, const struct records_task *task)
{
    if (task->time_ns < net->whole_ns)
        return true;
    if (!net->root_ran || task->ptid != net->tid)
        return false;
    if (!net->first_ns || task->time_ns < net->first_ns)
        net->first_ns = task->time_ns;
    const uint64_t since = task->time_ns - net->whole_ns;
    if (task->time_ns > net->first_ns || since >= COPY_LONGEST_NS)
        return false;
    if (since < COPY_NS)
        return true;
    const uint64_t waited = procfs_waited_ns(net->pid, net->tid);
    return waited < net->waited_ns /* it has ended */ || since < COPY_NS + waited - net->waited_ns;
}

/* The ring of another CPU had one that the root made before TASK, and was read later: TASK is not its first one. */
static bool is_later(const struct net *net, const struct records_task *task)
{
    return task->ptid == net->tid && task->time_ns >= net->whole_ns && net->first_ns && task->time_ns > net->first_ns;
}

/*
 * True: it has a part alone, as whoever comes from such a one. That may be the root of another net. KNOWN: that was
 * seen when the record was noted before; whom it came from may have ended in between, or turned out to be whole.
 */
static bool note_fork(struct nets *nets, struct net *net, const struct perf_event_header *record, bool known)
{
    struct records_task task = records_parse_task(record);
    const bool by_part = is_number(task.ptid) && nets->inside[task.ptid] == PART;
    const bool by_whole = is_number(task.ptid) && nets->inside[task.ptid] == (uint32_t)net->number;
    const bool part = (known && !by_whole && !is_later(net, &task)) || is_from_before(net, &task) ||
                      (by_part && task.ptid != net->tid && task.ptid != net->pid);
    /* The root has ended, and its number is given out again. */
    if (task.tid == net->tid)
        net->tid = 0;
    if (task.tid == net->pid)
        net->pid = 0;
    if (!part)
        enter(nets, net, task.tid);
    else
        enter_part(nets, net, task.tid);
    nets->untold |= part;
    return part;
}

static void note_exit(struct nets *nets, struct net *net, const struct perf_event_header *record)
{
    const pid_t tid = records_parse_task(record).tid;
    const uint32_t number = is_number(tid) ? nets->inside[tid] : 0;
    nets->untold |= !number;
    net->members -= net->members && number == (uint32_t)net->number;
    leave(nets, tid);
}

/* True: nothing to hand on. */
static bool note_lost(struct nets *nets, const struct perf_event_header *record)
{
    if (record->type != PERF_RECORD_LOST && record->type != PERF_RECORD_LOST_SAMPLES)
        return false;
    nets->lost += records_parse_lost(record);
    return true;
}

/*
 * Doors read rings as well: where nobody takes what they read, it is as if the rings were full. What tells of tasks is
 * worth more than samples. A net has as much as its rings, and some MiB while all have little: dumps of stacks fill
 * small rings by a few samples.
 */
static bool has_place(struct nets *nets, struct net *net, const struct perf_event_header *record)
{
    const uint64_t times = record->type == PERF_RECORD_SAMPLE ? 1 : 2, kept = net->kept + record->size;
    if (kept > times * net->room && (kept > times * LENT || nets->kept + record->size > times * LENT_ALL))
        return false;
    net->kept = kept;
    nets->kept += record->size;
    return true;
}

static void keep(struct nets *nets, struct net *net, const struct net_cpu *cpu, const struct perf_event_header *record,
                 bool part)
{
    if (!has_place(nets, net, record)) {
        nets->lost++;
        return;
    }
    struct net_record *kept = net_records_add(&nets->records, record);
    if (!kept) {
        nets->lost++;
        return;
    }
    unsigned event = records_event(&nets->layout, cpu->ids, record);
    kept->net = net->number;
    kept->event = event;
    kept->readings = net->readings;
    kept->part = part;
    struct perf_event_header *copy = (struct perf_event_header *)(void *)kept->bytes;
    records_set_id(&nets->layout, nets->ids[event], copy);
    records_writer(&nets->layout, event, copy, &kept->pid, &kept->tid);
    kept->time_ns = records_time(&nets->layout, event, copy);
    kept->root = kept->tid == net->tid || (kept->tid == net->pid && kept->pid == net->pid);
}

static void take_record(struct nets *nets, struct net *net, const struct net_cpu *cpu,
                        const struct perf_event_header *record)
{
    if (note_lost(nets, record))
        return;
    const bool part = record->type == PERF_RECORD_FORK && note_fork(nets, net, record, false);
    if (record->type == PERF_RECORD_EXIT)
        note_exit(nets, net, record);
    keep(nets, net, cpu, record, part);
}

static bool has_ended(const struct net *net)
{
    for (unsigned i = 0; i < net->cpu_count; i++) {
        struct pollfd fd = {.fd = net->cpus[i].fds[0], .events = POLLIN};
        if (poll(&fd, 1, 0) < 0 || !(fd.revents & (POLLHUP | POLLERR)))
            return false;
    }
    return true;
}

/* Its ring goes, with what the kernel knows of its writers, and another comes. Where it may not, the CPU has none. */
static void renew_ring(struct nets *nets, struct net_cpu *cpu)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = cpu->map_size / page - 1;
    net_unmap_ring(nets, cpu);
    nets->lost++;
    if (net_map_ring(nets, cpu, cpu->fds[0], pages) < 0)
        return;
    for (unsigned i = 1; i < nets->session->plan->count; i++)
        if (cpu->fds[i] >= 0)
            (void)ioctl(cpu->fds[i], PERF_EVENT_IOC_SET_OUTPUT, cpu->fds[0]);
}

static void read_cpu(struct nets *nets, struct net *net, struct net_cpu *cpu, bool ended)
{
    const struct perf_event_header *record;
    struct net_ring *ring = &cpu->ring;
    if (!cpu->map)
        return;
    if (net_ring_begin(ring)) {
        while ((record = net_ring_next(ring, nets->scratch)))
            take_record(nets, net, cpu, record);
        net_ring_end(ring);
    }
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (!net_ring_has_stopped(ring, now, ended, nets->scratch))
        return;
    while ((record = net_ring_next_behind(ring, now, nets->scratch)))
        take_record(nets, net, cpu, record);
    renew_ring(nets, cpu);
}

/*
 * Rings are read one after the other: of a task that began on one CPU and ended on another the end may be read before
 * the start, and its number would stay in the net; and who has a part after those who come from it. Again, by time.
 */
static void note_again(struct nets *nets, struct net *net, size_t first)
{
    net_records_sort(&nets->records, first);
    for (size_t i = first; i < nets->records.count; i++) {
        struct net_record *kept = nets->records.at[i];
        const struct perf_event_header *record = (const void *)kept->bytes;
        if (record->type == PERF_RECORD_FORK)
            kept->part = note_fork(nets, net, record, kept->part);
        if (record->type == PERF_RECORD_EXIT)
            note_exit(nets, net, record);
    }
}

/* True: all who were in it have ended, and it was read to its end. */
static bool read_net(struct nets *nets, struct net *net)
{
    bool ended = has_ended(net);
    const size_t first = nets->records.count;
    nets->untold = false;
    for (unsigned i = 0; i < net->cpu_count; i++)
        read_cpu(nets, net, &net->cpus[i], ended);
    if (nets->untold)
        note_again(nets, net, first);
    return ended;
}

static void read_all(struct nets *nets)
{
    /* Before the first ring is looked at: pairs with nets_know(). */
    __atomic_fetch_add(&nets->begun, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (struct net **at = &nets->first; *at;) {
        struct net *net = *at;
        if (!read_net(nets, net)) {
            at = &net->next;
            continue;
        }
        *at = net->next;
        forget_members(nets, net);
        free_net(nets, net);
        __atomic_fetch_sub(&nets->live, 1, __ATOMIC_RELEASE);
    }
}

bool nets_know(struct nets *nets, pid_t tid)
{
    if (!nets_live(nets) || !is_number(tid))
        return false;
    /* What TID's creator wrote is in its ring by now. Pairs with read_all(). */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const uint64_t begun = __atomic_load_n(&nets->begun, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&nets->lock);
    /* Rings are many: who waited here while another one began to read, and ended, need not read them again. */
    if (nets->begun == begun)
        read_all(nets);
    bool inside = nets->inside[tid] && nets->inside[tid] != PART;
    pthread_mutex_unlock(&nets->lock);
    return inside;
}

static bool is_marked(const struct nets *nets, pid_t tid)
{
    return nets && is_number(tid) && __atomic_load_n(&nets->inside[tid], __ATOMIC_RELAXED);
}

void nets_forget(struct nets *nets, pid_t tid)
{
    if (!is_marked(nets, tid))
        return;
    pthread_mutex_lock(&nets->lock);
    read_all(nets);
    leave(nets, tid);
    pthread_mutex_unlock(&nets->lock);
}

void nets_made_by(struct nets *nets, pid_t creator, pid_t tid)
{
    if (!is_marked(nets, tid))
        return;
    pthread_mutex_lock(&nets->lock);
    read_all(nets);
    const struct net *net = nets->first;
    while (net && net->tid != creator && net->pid != creator) /* a root that calls exec gets the latter */
        net = net->next;
    if (!net && !(is_number(creator) && nets->inside[creator]))
        leave(nets, tid);
    pthread_mutex_unlock(&nets->lock);
}

static void make_room(struct nets *nets)
{
    nets->kept = 0;
    for (struct net *net = nets->first; net; net = net->next)
        net->kept = 0;
}

struct net_record *nets_take(struct nets *nets, uint64_t before_ns, uint64_t *lost)
{
    pthread_mutex_lock(&nets->lock);
    make_room(nets); /* what is read now is taken at once */
    read_all(nets);
    *lost += nets->lost;
    nets->lost = 0;
    struct net_record *first = net_records_take(&nets->records, before_ns);
    make_room(nets); /* what stays is no older than BEFORE_NS */
    pthread_mutex_unlock(&nets->lock);
    return first;
}

/* ---- Life ---- */

bool nets_live(const struct nets *nets)
{
    return nets && __atomic_load_n(&nets->live, __ATOMIC_ACQUIRE);
}

int nets_fd(const struct nets *nets)
{
    return nets->epoll;
}

const uint64_t *nets_ids(const struct nets *nets)
{
    return nets->ids;
}

struct nets *nets_new(struct session *session)
{
    struct nets *nets = calloc(1, sizeof(*nets));
    if (!nets) {
        report_error("out of memory");
        return NULL;
    }
    nets->session = session;
    records_layout_init(&nets->layout, session->plan);
    pthread_mutex_init(&nets->lock, NULL);
    nets->epoll = epoll_create1(EPOLL_CLOEXEC);
    void *inside = mmap(NULL, PINJECT_TASKS * sizeof(*nets->inside), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    nets->inside = inside == MAP_FAILED ? NULL : inside;
    if (nets->epoll < 0 || !nets->inside) {
        report_error("cannot prepare to follow programs that cannot be injected: %s", strerror(errno));
        nets_free(nets);
        return NULL;
    }
    return nets;
}

void nets_free(struct nets *nets)
{
    if (!nets)
        return;
    while (nets->first) {
        struct net *net = nets->first;
        nets->first = net->next;
        free_net(nets, net);
    }
    net_records_release(&nets->records);
    if (nets->inside)
        munmap(nets->inside, PINJECT_TASKS * sizeof(*nets->inside));
    if (nets->epoll >= 0)
        close(nets->epoll);
    pthread_mutex_destroy(&nets->lock);
    free(nets);
}
