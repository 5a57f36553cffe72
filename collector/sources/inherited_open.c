/* SPDX-License-Identifier: MIT */
/*
 * Opens an inherited set. The kernel clears the memory of a ring, which takes some ms each. So all rings are made
 * before the first event: a dummy event maps each, and the events of that CPU write into it from their beginning.
 *
 * A task that ends writes a READ record for each of its events. If there is an event for each CPU, these records go to
 * the rings of all CPUs, from the CPU where the task ends, and several of them in the ring of another CPU damage it
 * (inherited_ring.h). So in the set of a whole tree, the events of a CPU do not count. Others do, one on all CPUs in
 * place of one on each, with a ring for each. Measured with Linux 6.18 on 2 CPUs: of 100 processes that ended with 300
 * threads each, 87 lost records of their threads, on average of 114 threads; with events that count on all CPUs, none
 * did. The kernel writes the READ records of one event one after the other, under a lock (child_mutex of the event that
 * is inherited): so each ring has one event, and no two writers. (Up to Linux 5.12 it has no such lock there.)
 */
#define _GNU_SOURCE
#include "collector/sources/inherited_private.h"

#include <errno.h>
#include <pinject/kernel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/config/event_choice.h"
#include "collector/config/event_rate.h"
#include "collector/config/event_sets.h"
#include "collector/config/probe.h"
#include "collector/config/sample_cost.h"
#include "collector/sources/session.h"
#include "collector/stacks/stacks.h"

/*
 * Each inherited set has one set of events and one ring for each CPU, whatever program is under it: on large machines
 * few fit. All rings together have a maximum size, and a maximum number, since each request reads them. Half of the
 * descriptors is for tasks that send requests.
 */
#define INHERITED_BYTES (UINT64_C(256) << 20)

enum {
    SPARE_FDS = 256,         /* left for everything else of the collector */
    RINGS = 4096,            /* or those of one set, if a machine has more CPUs */
    RING_FACTOR = 16,        /* all tasks of a CPU share one ring: it is so many times as large as usual */
    DUMP_FACTOR = 4,         /* the same with stack dumps, where rings are large */
    WHOLE_FACTOR = 4,        /* of a set for the whole tree, or machine: so many times as large again */
    RING_SHARE = 16,         /* of the memory that is left */
    WHOLE_SHARE = 4,         /* the same for a set for the whole tree, or machine: there is only one */
    COUNTS_RING = 256 << 10, /* bytes: READ records of 3600 tasks */
    LEAST_RING = 512 << 10,  /* bytes, of a set for the whole tree that nobody asked for: else tasks have their own */
    LEAST_COUNTS_RING = 64 << 10, /* the same */
    ROOM = 64 << 10, /* bytes per ring for records that were read and not taken: that, or the ring's size if larger */
};

/* Is there room for one more set, with the smallest ring on each CPU? */
bool inherited_has_room(const struct inherited_sets *sets, uint64_t cpus)
{
    const uint64_t least = 2 * (uint64_t)sysconf(_SC_PAGESIZE) * cpus;
    return __atomic_load_n(&sets->rings, __ATOMIC_RELAXED) + cpus <= (cpus > RINGS ? cpus : RINGS) &&
           __atomic_load_n(&sets->bytes, __ATOMIC_RELAXED) + least <= INHERITED_BYTES;
}

void inherited_unmap_ring(struct inherited_sets *sets, struct inherited_output *output)
{
    if (!output->map)
        return;
    munmap(output->map, output->map_size);
    output->map = NULL;
    __atomic_fetch_sub(&sets->rings, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&sets->bytes, output->map_size, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&sets->session->ring_bytes, output->map_size, __ATOMIC_RELAXED);
}

static void close_event(struct inherited_sets *sets, int fd)
{
    if (fd < 0)
        return;
    close(fd);
    __atomic_fetch_sub(&sets->fds, 1, __ATOMIC_RELAXED);
}

static void close_cpu(struct inherited_sets *sets, struct inherited_cpu *cpu)
{
    for (unsigned i = 0; i < sets->session->config->count; i++)
        close_event(sets, cpu->fds[i]);
    inherited_unmap_ring(sets, &cpu->output);
}

static void close_counters(struct inherited_sets *sets, struct inherited_counters *counters)
{
    for (unsigned i = 0; counters && i < sets->session->config->count; i++) {
        close_event(sets, counters->fds[i]);
        close_event(sets, counters->ring_fds[i]);
        inherited_unmap_ring(sets, &counters->outputs[i]);
    }
    free(counters);
}

/* For a ring of SIZE bytes: what does not fit is lost, so wake the reader before the ring is full. */
static uint32_t watermark(const struct event_config *config, size_t size)
{
    const size_t usual = config->ring_pages * (size_t)sysconf(_SC_PAGESIZE);
    return (uint32_t)((usual < size ? usual : size) / 4);
}

/*
 * Brings FD into the state that its place in SET needs: its ring, its filter. WAITS: it is not enabled yet. FD or
 * -errno.
 */
static int prepare(const struct config_event *event, int ring_fd, int fd, bool in_group, bool waits)
{
    const char *filter = event->spec ? event->spec->filter : NULL;
    int status = in_group && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0 ? -errno : 0;
    if (status == 0 && filter)
        status = probe_filter(fd, filter);
    if (status == 0 && filter && !waits && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
        status = -errno;
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

/*
 * Tasks that switch often find their caches colder after a sample: pgbench and nginx lost 100 us for each, with the work
 * of pinject-run, where 73 us were measured for a program that computes. So one part in so many is added.
 */
enum { SWITCHES_COLDER = 2 };

/* ATTR, of an event of all tasks of a CPU. */
static void see_all_tasks(struct session *session, const struct config_event *event, struct perf_event_attr *attr)
{
    attr->inherit = attr->inherit_stat = 0;
    attr->exclude_idle = 1;
    if (event->by_cost) { /* no switch of tasks costs more */
        if (!session->cost.sample_ns)
            sample_cost_measure(attr, &session->cost);
        struct sample_cost cost = session->cost;
        cost.sample_ns += cost.sample_ns / SWITCHES_COLDER;
        attr->sample_period = sample_cost_period(&cost, 0, 0);
    }
    if (!event->samples) /* it is rare: each time is told */
        attr->sample_period = 1;
}

/* What an event is there for. */
enum role { SAMPLES_AND_COUNTS, SAMPLES, COUNTS };

/* ATTR becomes that of an event which only counts. */
static void count_alone(struct perf_event_attr *attr)
{
    attr->sample_period = 0;
    attr->freq = 0;
    attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = attr->context_switch = 0;
    /* Nothing that has a size of its own is in the sample_id of a READ record. */
    attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER);
    attr->sample_regs_user = 0;
    attr->sample_stack_user = 0;
    attr->exclude_callchain_user = attr->exclude_callchain_kernel = 0;
}

/* Where an event is opened. */
struct place {
    const struct inherited_cpu *cpu; /* NULL: on all of them */
    const struct inherited_output *output;
    int ring_fd; /* of an event that writes to OUTPUT */
};

static int open_event(struct inherited_sets *sets, const struct inherited_set *set, unsigned index,
                      const struct place *place, enum role role, bool on_exec)
{
    const struct inherited_cpu *cpu = place->cpu;
    const size_t size = place->output->map_size - (size_t)sysconf(_SC_PAGESIZE);
    const struct event_config *config = sets->session->config;
    const struct config_event *event = &config->events[index];
    const uint32_t children = PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK;
    const bool in_group = event->leader != index, on = event_sets_is_on(event, set->turn);
    const pid_t tid = set->system_wide ? -1 : set->tid;
    struct perf_event_attr attr = event->attr;
    if ((in_group && cpu->fds[event->leader] < 0) ||
        (set->system_wide && !event->samples && event->account != CONFIG_ACCOUNT_SAMPLES))
        return -ENODEV;
    if (event->spec && (event_choice_is_own(event->spec) || event_choice_is_relative(event->spec)))
        return -EOPNOTSUPP;
    attr.enable_on_exec = on_exec && on;
    attr.disabled = attr.enable_on_exec || (event->spec && event->spec->filter) || (!on && !in_group);
    attr.inherit = 1;
    attr.inherit_stat = role != SAMPLES;
    if (event->values && !config->inherit_values) {
        attr.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
        attr.read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
    }
    if ((sets->session->settings->follow & children) != children)
        kernel_inherit_thread(&attr);
    const uint32_t limit = config->dump ? dump_limits_find(&sets->session->dumps.limits, tid) : 0;
    stacks_attr(config, event, dump_size(config, &sets->session->dumps, limit, NULL, size), &attr);
    if (set->system_wide)
        see_all_tasks(sets->session, event, &attr);
    else
        event_rate_attr(event, true, &attr);
    if (attr.watermark)
        attr.wakeup_watermark = watermark(config, size);
    if (role == COUNTS)
        count_alone(&attr);
    const int fd = (int)syscall(
        SYS_perf_event_open, &attr, tid, cpu ? cpu->number : -1, in_group ? cpu->fds[event->leader] : place->ring_fd,
        in_group ? PERF_FLAG_FD_CLOEXEC : PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT);
    if (fd < 0)
        return -errno;
    if ((uint64_t)fd + SPARE_FDS >= sets->session->fd_limit ||
        __atomic_load_n(&sets->fds, __ATOMIC_RELAXED) >= sets->session->fd_limit / 2) {
        close(fd);
        return -EMFILE;
    }
    return prepare(event, place->ring_fd, fd, in_group, attr.enable_on_exec || (!on && !in_group));
}

/* For the ring of one of CPUS. The earlier a set comes, the more it gets. */
static size_t choose_pages(const struct inherited_sets *sets, const struct inherited_set *set, size_t page,
                           unsigned cpus)
{
    const struct session *session = sets->session;
    size_t pages = session->config->ring_pages * (session->config->dump ? DUMP_FACTOR : RING_FACTOR);
    uint64_t used = __atomic_load_n(&session->ring_bytes, __ATOMIC_RELAXED);
    uint64_t ours = __atomic_load_n(&sets->bytes, __ATOMIC_RELAXED);
    const bool whole = set->system_wide || (session->config->inherits && !sets->numbers);
    const unsigned parts = whole ? WHOLE_SHARE : RING_SHARE;
    uint64_t share = (INHERITED_BYTES > ours ? INHERITED_BYTES - ours : 0) / parts / cpus;
    if (whole)
        pages *= WHOLE_FACTOR;
    const uint64_t unused = session->ring_budget > used ? session->ring_budget - used : 0;
    const uint64_t rest = whole ? unused / 2 / cpus : unused / RING_SHARE;
    if (session->ring_budget != UINT64_MAX && rest < share)
        share = rest;
    while (pages > 1 && (pages + 1) * page > share)
        pages /= 2;
    return pages;
}

int inherited_map_ring(struct inherited_sets *sets, struct inherited_output *output, int fd, size_t wanted,
                       const uint64_t *ids)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t pages = wanted; pages > 0; pages /= 2) {
        const size_t size = (pages + 1) * page;
        void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            output->map = map;
            output->map_size = size;
            inherited_ring_init(&output->ring, map, (const char *)map + page, pages * page, &sets->layout, ids);
            __atomic_fetch_add(&sets->rings, 1, __ATOMIC_RELAXED);
            __atomic_fetch_add(&sets->bytes, size, __ATOMIC_RELAXED);
            __atomic_fetch_add(&sets->session->ring_bytes, size, __ATOMIC_RELAXED);
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    return -errno;
}

/*
 * A ring of PAGES, or fewer, in OUTPUT, by an event that reports nothing: on CPU, or of the root of SET alone, on all
 * CPUs (NUMBER -1). Its descriptor, or -errno.
 */
static int open_ring(struct inherited_sets *sets, const struct inherited_set *set, int number,
                     struct inherited_output *output, size_t pages, const uint64_t *ids)
{
    const struct event_config *config = sets->session->config;
    const struct perf_event_attr *first = &config->events[0].attr;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .watermark = first->watermark,
                                   .use_clockid = first->use_clockid,
                                   .clockid = first->clockid};
    attr.wakeup_watermark = attr.watermark ? watermark(config, pages * page) : first->wakeup_events;
    const pid_t tid = number < 0 ? set->tid : 0;
    const int fd = (int)syscall(SYS_perf_event_open, &attr, tid, number, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -errno;
    const int status = inherited_map_ring(sets, output, fd, pages, ids);
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

/*
 * An event without its copy of CPU counts too little. That is better than nothing, but if all tasks are to inherit the
 * set, they can have events of their own instead.
 */
static bool is_needed(const struct inherited_sets *sets, unsigned index, int status)
{
    const bool scarce = status == -EMFILE || status == -ENFILE || status == -ENOMEM;
    return index == 0 || (scarce && sets->session->config->inherits && !sets->numbers);
}

/*
 * Is SET one that keeps counts apart? What is sampled is counted by another event, too: a clock costs nothing, but of
 * hardware counters there are few. The events of a group have one ring.
 */
static bool keeps_counts_apart(const struct inherited_sets *sets, const struct inherited_set *set)
{
    const struct event_config *config = sets->session->config;
    bool apart = config->inherits && !sets->numbers && !set->system_wide && config->sampling > 0 &&
                 config->turn_count < 2;
    for (unsigned i = 0; i < config->count; i++)
        apart &= config->events[i].leader == i && !config->events[i].values &&
                 (!config->events[i].samples ||
                  event_rate_is_clock(config->events[i].attr.type, config->events[i].attr.config));
    return apart;
}

/* Opens event INDEX in *RET_FD. 0 or -errno. */
static int add_event(struct inherited_sets *sets, struct inherited_set *set, unsigned index, const struct place *place,
                     enum role role, bool on_exec, int *ret_fd, uint64_t *ret_id)
{
    const int fd = open_event(sets, set, index, place, role, on_exec);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    __atomic_fetch_add(&sets->fds, 1, __ATOMIC_RELAXED);
    if (ioctl(fd, PERF_EVENT_IOC_ID, ret_id) < 0)
        return -errno;
    set->readings += role != SAMPLES;
    return 0;
}

static int open_cpu(struct inherited_sets *sets, struct inherited_set *set, struct inherited_cpu *cpu, bool on_exec)
{
    const struct event_config *config = sets->session->config;
    const struct place place = {cpu, &cpu->output, cpu->ring_fd};
    const unsigned count = set->counters ? config->sampling : config->count;
    for (unsigned i = 0; i < count; i++) {
        const enum role role = set->counters ? SAMPLES : SAMPLES_AND_COUNTS;
        const int status = add_event(sets, set, i, &place, role, on_exec, &cpu->fds[i], &cpu->ids[i]);
        if (status < 0 && (is_needed(sets, i, status) || cpu->fds[i] >= 0))
            return status;
    }
    return 0;
}

static int open_counters(struct inherited_sets *sets, struct inherited_set *set, bool on_exec)
{
    struct inherited_counters *counters = set->counters;
    const size_t pages = COUNTS_RING / (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; counters && i < sets->session->config->count; i++) {
        struct inherited_output *output = &counters->outputs[i];
        const int ring_fd = open_ring(sets, set, -1, output, pages ? pages : 1, counters->ids);
        if (ring_fd < 0)
            return ring_fd;
        counters->ring_fds[i] = ring_fd;
        if (!sets->session->config->sampler_wanted && output->map_size < LEAST_COUNTS_RING)
            return -ENOBUFS;
        __atomic_fetch_add(&sets->fds, 1, __ATOMIC_RELAXED);
        const struct place place = {NULL, output, ring_fd};
        const int status = add_event(sets, set, i, &place, COUNTS, on_exec, &counters->fds[i], &counters->ids[i]);
        if (status < 0 && (is_needed(sets, i, status) || counters->fds[i] >= 0))
            return status;
        for (unsigned j = 0; i >= sets->session->config->sampling && j < set->cpu_count; j++)
            set->cpus[j].ids[i] = counters->ids[i]; /* nothing else has that */
    }
    return 0;
}

static struct inherited_counters *new_counters(void)
{
    struct inherited_counters *counters = calloc(1, sizeof(*counters));
    for (unsigned i = 0; counters && i < CONFIG_EVENTS; i++)
        counters->fds[i] = counters->ring_fds[i] = -1;
    return counters;
}

/* Where the user chose inherited events, any ring will do. */
static bool is_too_small(const struct inherited_sets *sets, const struct inherited_set *set,
                         const struct inherited_output *output)
{
    const struct event_config *config = sets->session->config;
    const bool unasked = config->inherits && !config->sampler_wanted && !sets->numbers && !set->system_wide;
    return unasked && output->map_size < LEAST_RING;
}

static int open_rings(struct inherited_sets *sets, struct inherited_set *set, unsigned configured)
{
    const size_t pages = choose_pages(sets, set, (size_t)sysconf(_SC_PAGESIZE), configured);
    for (unsigned number = 0; number < configured; number++) {
        struct inherited_cpu *cpu = &set->cpus[set->cpu_count];
        *cpu = (struct inherited_cpu){.number = (int)number};
        for (unsigned i = 0; i < CONFIG_EVENTS; i++)
            cpu->fds[i] = -1;
        cpu->ring_fd = open_ring(sets, set, cpu->number, &cpu->output, pages, cpu->ids);
        if (cpu->ring_fd == -ENODEV) /* that CPU is offline */
            continue;
        set->cpu_count++;
        if (cpu->ring_fd < 0)
            return cpu->ring_fd;
        if (is_too_small(sets, set, &cpu->output))
            return -ENOBUFS;
        set->room += cpu->output.map_size > ROOM ? cpu->output.map_size : ROOM;
    }
    return set->cpu_count ? 0 : -ENODEV;
}

static int open_set(struct inherited_sets *sets, struct inherited_set *set, unsigned configured, bool on_exec)
{
    int status = open_rings(sets, set, configured);
    for (unsigned i = 0; status == 0 && i < set->cpu_count; i++)
        status = open_cpu(sets, set, &set->cpus[i], on_exec);
    if (status == 0)
        status = open_counters(sets, set, on_exec);
    for (unsigned i = 0; i < set->cpu_count; i++) {
        if (set->cpus[i].ring_fd >= 0)
            close(set->cpus[i].ring_fd); /* its mapping keeps the ring */
        set->cpus[i].ring_fd = -1;
    }
    return status;
}

int inherited_open_set(struct inherited_sets *sets, struct inherited_set *set, unsigned configured, bool on_exec)
{
    const bool apart = keeps_counts_apart(sets, set);
    set->turn = event_sets_first(sets->session->config, &sets->session->first_sets);
    set->counts = !on_exec;
    set->counters = apart ? new_counters() : NULL;
    int status = apart && !set->counters ? -ENOMEM : open_set(sets, set, configured, on_exec);
    /*
     * Kernels of before April 2023 refuse to let an event on all CPUs write to another one's ring. Then counts may get
     * lost, which the user has to choose.
     */
    if (status != -EINVAL || !apart || !sets->session->config->sampler_wanted)
        return status;
    inherited_close_set(sets, set);
    set->cpu_count = set->readings = 0;
    set->room = 0;
    return open_set(sets, set, configured, on_exec);
}

void inherited_close_set(struct inherited_sets *sets, struct inherited_set *set)
{
    for (unsigned i = 0; i < set->cpu_count; i++)
        close_cpu(sets, &set->cpus[i]);
    close_counters(sets, set->counters);
    set->counters = NULL;
}
