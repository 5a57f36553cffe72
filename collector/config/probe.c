/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/config/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/system/accounting.h"
#include "common/buffer.h"

int64_t probe_read_sysctl(const char *name, int64_t otherwise)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
    struct buffer text = BUFFER_INIT;
    int64_t value = otherwise;
    if (buffer_read_file(&text, path, 64) == 0 && text.size > 0)
        value = strtoll((const char *)text.data, NULL, 10);
    buffer_release(&text);
    return value;
}

bool probe_is_user_namespace(const char *map)
{
    unsigned inside, outside, count;
    return sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && (inside || outside || count != UINT32_MAX);
}

bool probe_user_namespace(void)
{
    struct buffer map = BUFFER_INIT;
    const bool is = buffer_read_file(&map, "/proc/self/uid_map", 1 << 20) == 0 && map.data &&
                    probe_is_user_namespace((const char *)map.data);
    buffer_release(&map);
    return is;
}

int probe_open_in(const struct perf_event_attr *attr, int group)
{
    struct perf_event_attr stopped = *attr;
    stopped.disabled = 1;
    int fd = (int)syscall(SYS_perf_event_open, &stopped, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int probe_open(const struct perf_event_attr *attr)
{
    return probe_open_in(attr, -1);
}

int probe_filter(int fd, const char *filter)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 ? -errno : 0;
}

struct perf_event_attr probe_attr(uint32_t type, uint64_t config)
{
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .type = type,
        .config = config,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                       PERF_SAMPLE_PERIOD,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
                       PERF_FORMAT_LOST,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

int probe_event(uint32_t type, uint64_t config, bool user_only, uint64_t period)
{
    struct perf_event_attr attr = probe_attr(type, config);
    attr.exclude_kernel = attr.exclude_hv = user_only;
    attr.sample_period = period;
    int fd = probe_open(&attr);
    if (fd == -EINVAL) {
        attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
        fd = probe_open(&attr);
    }
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

bool probe_breakpoints_fire(void)
{
    static volatile uint32_t watched; /* at an address that a breakpoint can have */
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .exclude_kernel = 1, .exclude_hv = 1};
    uint64_t count = 0;
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = (uint64_t)(uintptr_t)&watched;
    attr.bp_len = sizeof(watched);
    const int fd = probe_open(&attr);
    if (fd < 0)
        return true;
    if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
        watched = 1;
    const bool fires = read(fd, &count, sizeof(count)) == sizeof(count) && count;
    close(fd);
    return fires;
}

void probe_fill_attr(struct perf_event_attr *attr)
{
    if (!attr->sample_max_stack)
        attr->sample_max_stack = (uint16_t)probe_read_sysctl("perf_event_max_stack", PERF_MAX_STACK_DEPTH);
}

int probe_move(const struct perf_event_attr *attr)
{
    struct perf_event_attr moved = *attr;
    moved.bp_addr = PROBE_NOWHERE;
    moved.disabled = 1;
    moved.enable_on_exec = 0;
    probe_fill_attr(&moved);
    const int fd = probe_open(&moved);
    if (fd < 0)
        return fd;
    moved.bp_addr += sizeof(uint64_t);
    const int status = ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &moved) < 0 ? -errno : 0;
    close(fd);
    return status;
}

/* Is there a READ record in the RING of one page? */
static bool has_reading(const void *ring, size_t page)
{
    const struct perf_event_mmap_page *head = ring;
    const unsigned char *data = (const unsigned char *)ring + page;
    const uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
    struct perf_event_header header;
    for (uint64_t at = 0; at + sizeof(header) <= end && end <= page; at += header.size) {
        memcpy(&header, data + at, sizeof(header));
        if (header.type == PERF_RECORD_READ)
            return true;
        if (header.size < sizeof(header))
            return false;
    }
    return false;
}

static bool run_child(void)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return child > 0;
}

enum reading { READING_REFUSED, READING_MISSING, READING_COMES };

/* Does an inherited event, with or without VALUES in its samples, report the counts of a child that ends? */
static enum reading try_reading(bool values)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    attr.read_format = PERF_FORMAT_ID | (values ? PERF_FORMAT_GROUP : 0);
    attr.sample_type |= values ? PERF_SAMPLE_READ : 0;
    attr.sample_period = UINT64_C(1) << 40;
    attr.exclude_kernel = attr.exclude_hv = 1;
    attr.inherit = attr.inherit_stat = 1;
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, sched_getcpu(), -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return READING_REFUSED;
    /* It keeps the kernel from giving the child's counts to us. */
    struct perf_event_attr own = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    own.read_format = 0;
    own.exclude_kernel = own.exclude_hv = 1;
    const int own_fd = probe_open(&own);
    void *ring = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    enum reading found = READING_REFUSED;
    if (ring != MAP_FAILED) {
        if (run_child())
            found = has_reading(ring, page) ? READING_COMES : READING_MISSING;
        munmap(ring, 2 * page);
    }
    if (own_fd >= 0)
        close(own_fd);
    close(fd);
    return found;
}

bool probe_inherits_values(void)
{
    const enum reading found = try_reading(true);
    /* If counts of a task's end are always missing, nothing gets worse. */
    return found == READING_COMES || (found == READING_MISSING && try_reading(false) == READING_MISSING);
}

bool probe_reports_ends(void)
{
    return try_reading(false) == READING_COMES;
}

bool probe_is_missing(int status)
{
    return status == -ENOENT || status == -EOPNOTSUPP || status == -ENODEV || status == -ENXIO;
}

bool probe_is_refused(int status)
{
    return status == -EACCES || status == -EPERM;
}

bool probe_is_refused_for_all(int status)
{
    return probe_is_refused(status) || status == -ENOSYS;
}

void probe_explain(int status, char *ret, size_t size)
{
    int64_t paranoid = probe_read_sysctl("perf_event_paranoid", INT64_MIN);
    if (status == -ENOSYS || (probe_is_refused(status) && paranoid == INT64_MIN))
        snprintf(ret, size,
                 "this kernel or sandbox has no perf_event_open; use another kernel, or run outside the sandbox");
    else if (probe_is_refused(status) && paranoid > 2)
        snprintf(ret, size,
                 "kernel.perf_event_paranoid is %" PRId64 "; to allow perf events, type as root: "
                 "sysctl kernel.perf_event_paranoid=2",
                 paranoid);
    else if (probe_is_refused(status))
        snprintf(ret, size,
                 "perf_event_open is refused (%s), although kernel.perf_event_paranoid is only %" PRId64
                 "; in a container, allow perf_event_open with a seccomp profile or with --cap-add PERFMON",
                 strerror(-status), paranoid);
    else if (status == -EMFILE)
        snprintf(ret, size, "too many open files; raise 'ulimit -n'");
    else if (probe_is_missing(status))
        snprintf(ret, size, "this machine does not have this event");
    else
        snprintf(ret, size, "%s", strerror(-status));
}

bool probe_sees_cpus(void)
{
    struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attr.disabled = 1;
    const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == ENODEV; /* CPU 0 is offline: others are not */
}

const char *probe_system_wide(void)
{
    struct accounting accounting;
    if (!probe_sees_cpus())
        return "only root, or a process with CAP_PERFMON, is allowed to open events of all CPUs";
    if (accounting_open(&accounting) < 0)
        return "only root outside of containers (in the first user, pid and network namespace) can read the kernel's "
               "accounting of tasks";
    accounting_close(&accounting);
    return NULL;
}
