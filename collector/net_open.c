/* SPDX-License-Identifier: MIT */
/*
 * Opening a net. The kernel clears the memory of a ring, some ms for each: so all rings are there before the first
 * event, each mapped by an event that says nothing, and the events of that CPU write into it from their beginning.
 */
#define _GNU_SOURCE
#include "collector/net_parts.h"

#include <errno.h>
#include <pinject/kernel.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/session.h"
#include "collector/stacks.h"

/*
 * Each net has one set of events, and a ring, for each CPU, whatever the program under it is: on large machines few
 * fit. Rings of all of them together are so large at most, and so many, since each request reads them; and half of the
 * descriptors is for tasks that asked.
 */
#define NETS_BYTES (UINT64_C(256) << 20)

enum {
    SPARE_FDS = 256,   /* left for everything else of the collector */
    RINGS = 4096,      /* or those of one net, if a machine has more CPUs */
    RING_FACTOR = 16,  /* all tasks of a CPU share the ring that else one has */
    DUMP_FACTOR = 4,   /* the same where rings are large, for dumps of stacks */
    RING_SHARE = 16,   /* of the memory that is left */
    ROOM = 64 << 10,   /* for what was read and not taken, at least: as much as a net's rings have, each */
};

/* For one more net, with the smallest ring on each CPU. */
bool net_has_room(const struct nets *nets, uint64_t cpus)
{
    const uint64_t least = 2 * (uint64_t)sysconf(_SC_PAGESIZE) * cpus;
    return __atomic_load_n(&nets->rings, __ATOMIC_RELAXED) + cpus <= (cpus > RINGS ? cpus : RINGS) &&
           __atomic_load_n(&nets->bytes, __ATOMIC_RELAXED) + least <= NETS_BYTES;
}

void net_unmap_ring(struct nets *nets, struct net_cpu *cpu)
{
    if (!cpu->map)
        return;
    munmap(cpu->map, cpu->map_size);
    cpu->map = NULL;
    __atomic_fetch_sub(&nets->rings, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&nets->bytes, cpu->map_size, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&nets->session->ring_bytes, cpu->map_size, __ATOMIC_RELAXED);
}

static void close_cpu(struct nets *nets, struct net_cpu *cpu)
{
    for (unsigned i = 0; i < nets->session->plan->count; i++)
        if (cpu->fds[i] >= 0) {
            close(cpu->fds[i]);
            __atomic_fetch_sub(&nets->fds, 1, __ATOMIC_RELAXED);
        }
    net_unmap_ring(nets, cpu);
}

/* For a ring of SIZE bytes: what does not fit into it is lost, and who is told when it is full is told too late. */
static uint32_t watermark(const struct plan *plan, size_t size)
{
    const size_t usual = plan->ring_pages * (size_t)sysconf(_SC_PAGESIZE);
    return (uint32_t)((usual < size ? usual : size) / 4);
}

static int open_event(struct nets *nets, unsigned index, pid_t tid, const struct net_cpu *cpu, bool on_exec)
{
    const size_t size = cpu->map_size - (size_t)sysconf(_SC_PAGESIZE);
    const struct plan *plan = nets->session->plan;
    const uint32_t children = PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK;
    struct perf_event_attr attr = plan->events[index].attr;
    attr.disabled = attr.enable_on_exec = on_exec;
    attr.inherit = attr.inherit_stat = 1;
    if ((nets->session->settings->follow & children) != children)
        kernel_inherit_thread(&attr);
    const uint32_t limit = plan->dump ? dump_limits_find(&nets->session->dump_limits, tid) : 0;
    stacks_attr(plan, &plan->events[index], stacks_dump(nets->session, limit, NULL, size), &attr);
    if (attr.watermark)
        attr.wakeup_watermark = watermark(plan, size);
    int fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu->number, cpu->ring_fd,
                          PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT);
    if (fd < 0)
        return -errno;
    if ((uint64_t)fd + SPARE_FDS >= nets->session->fd_limit ||
        __atomic_load_n(&nets->fds, __ATOMIC_RELAXED) >= nets->session->fd_limit / 2) {
        close(fd);
        return -EMFILE;
    }
    return fd;
}

/* For the ring of one of CPUS. The sooner a net comes, the more it gets. */
static size_t choose_pages(const struct nets *nets, size_t page, unsigned cpus)
{
    const struct session *session = nets->session;
    size_t pages = session->plan->ring_pages * (session->plan->dump ? DUMP_FACTOR : RING_FACTOR);
    uint64_t used = __atomic_load_n(&session->ring_bytes, __ATOMIC_RELAXED);
    uint64_t ours = __atomic_load_n(&nets->bytes, __ATOMIC_RELAXED);
    uint64_t share = (NETS_BYTES > ours ? NETS_BYTES - ours : 0) / RING_SHARE / cpus;
    uint64_t rest = (session->ring_budget > used ? session->ring_budget - used : 0) / RING_SHARE;
    if (session->ring_budget != UINT64_MAX && rest < share)
        share = rest;
    while (pages > 1 && (pages + 1) * page > share)
        pages /= 2;
    return pages;
}

int net_map_ring(struct nets *nets, struct net_cpu *cpu, int fd, size_t wanted)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t pages = wanted; pages > 0; pages /= 2) {
        cpu->map_size = (pages + 1) * page;
        void *map = mmap(NULL, cpu->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            cpu->map = map;
            net_ring_init(&cpu->ring, map, (const char *)map + page, pages * page, &nets->layout, cpu->ids);
            __atomic_fetch_add(&nets->rings, 1, __ATOMIC_RELAXED);
            __atomic_fetch_add(&nets->bytes, cpu->map_size, __ATOMIC_RELAXED);
            __atomic_fetch_add(&nets->session->ring_bytes, cpu->map_size, __ATOMIC_RELAXED);
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    return -errno;
}

/* It tells of nothing. */
static int open_ring(struct nets *nets, struct net_cpu *cpu, unsigned cpus)
{
    const struct plan *plan = nets->session->plan;
    const struct perf_event_attr *first = &plan->events[0].attr;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = choose_pages(nets, page, cpus);
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .watermark = first->watermark,
                                   .use_clockid = first->use_clockid,
                                   .clockid = first->clockid};
    attr.wakeup_watermark = attr.watermark ? watermark(plan, pages * page) : first->wakeup_events;
    cpu->ring_fd = (int)syscall(SYS_perf_event_open, &attr, 0, cpu->number, -1, PERF_FLAG_FD_CLOEXEC);
    if (cpu->ring_fd < 0)
        return -errno;
    return net_map_ring(nets, cpu, cpu->ring_fd, pages);
}

static int open_cpu(struct nets *nets, struct net *net, struct net_cpu *cpu, bool on_exec)
{
    for (unsigned i = 0; i < nets->session->plan->count; i++) {
        int fd = open_event(nets, i, net->tid, cpu, on_exec);
        if (fd < 0 && i == 0)
            return fd;
        if (fd < 0)
            continue;
        cpu->fds[i] = fd;
        __atomic_fetch_add(&nets->fds, 1, __ATOMIC_RELAXED);
        if (ioctl(fd, PERF_EVENT_IOC_ID, &cpu->ids[i]) < 0)
            return -errno;
        net->readings++;
    }
    return 0;
}

static int open_rings(struct nets *nets, struct net *net, unsigned configured)
{
    for (unsigned number = 0; number < configured; number++) {
        struct net_cpu *cpu = &net->cpus[net->cpu_count];
        *cpu = (struct net_cpu){.number = (int)number};
        for (unsigned i = 0; i < PLAN_EVENTS; i++)
            cpu->fds[i] = -1;
        int status = open_ring(nets, cpu, configured);
        if (status == -ENODEV) /* that CPU is offline */
            continue;
        net->cpu_count++;
        if (status < 0)
            return status;
        net->room += cpu->map_size > ROOM ? cpu->map_size : ROOM;
    }
    return net->cpu_count ? 0 : -ENODEV;
}

int net_open(struct nets *nets, struct net *net, unsigned configured, bool on_exec)
{
    int status = open_rings(nets, net, configured);
    for (unsigned i = 0; status == 0 && i < net->cpu_count; i++)
        status = open_cpu(nets, net, &net->cpus[i], on_exec);
    for (unsigned i = 0; i < net->cpu_count; i++) {
        if (net->cpus[i].ring_fd >= 0)
            close(net->cpus[i].ring_fd); /* its mapping keeps the ring */
        net->cpus[i].ring_fd = -1;
    }
    return status;
}

void net_close(struct nets *nets, struct net *net)
{
    for (unsigned i = 0; i < net->cpu_count; i++)
        close_cpu(nets, &net->cpus[i]);
}
