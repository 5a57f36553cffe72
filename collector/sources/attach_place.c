/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * Breakpoints on symbols of a position-independent program. Each process has the program elsewhere, and an event that
 * waits for an exec is opened before the kernel chooses the place. So the preload object waits at its start until each
 * of these events has its address in the process (PERF_EVENT_IOC_MODIFY_ATTRIBUTES). In a process that runs another
 * program they watch an address that no process can use, and count 0. Where the preload object never starts, the address
 * stays unknown, and the events are not counted.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/config/event_choice.h"
#include "collector/config/event_rate.h"
#include "collector/config/event_sets.h"
#include "collector/config/probe.h"
#include "collector/sources/attach.h"
#include "collector/sources/attach_table.h"
#include "collector/sources/session.h"

enum { AUXV_MAX = 128 };

#define USER_END (UINT64_C(1) << 63) /* addresses from here on are the kernel's */

struct attach_place {
    struct perf_event_attr attr; /* with which the event was opened; the kernel compares all of it but the address */
};

/*
 * Does PID run the program? 1, 0, or -errno. Asks no file system: a target can run a program of one that never answers
 * (FUSE).
 */
static int runs(pid_t pid, const struct event_program *program)
{
    char path[32];
    struct statx info;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &info) < 0)
        return -errno;
    return makedev(info.stx_dev_major, info.stx_dev_minor) == program->device && info.stx_ino == program->inode;
}

/* AT_PHDR of PID; 0: unknown. A process can change it. */
static uint64_t headers_of(pid_t pid)
{
    char path[32];
    unsigned long pairs[AUXV_MAX][2];
    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, pairs, sizeof(pairs));
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(pairs[0]); i++)
        if (pairs[i][0] == AT_PHDR)
            return pairs[i][1];
    return 0;
}

/* Could the kernel have put the program there? */
static bool is_possible(const struct event_config *config, uint64_t bias)
{
    bool possible = bias && bias % (uint64_t)sysconf(_SC_PAGESIZE) == 0 && bias < USER_END;
    for (unsigned i = 0; possible && i < config->count; i++)
        if (event_choice_is_relative(config->events[i].spec))
            possible = config->events[i].attr.bp_addr < USER_END - bias;
    return possible;
}

/* What PID adds to the addresses of the program's file, 0: it runs another one. False: unknown. */
static bool find_bias(const struct event_config *config, pid_t pid, uint64_t *ret_bias)
{
    const int status = runs(pid, config->program);
    *ret_bias = 0;
    if (status <= 0)
        return status == 0;
    const uint64_t bias = headers_of(pid) - config->program->headers;
    if (is_possible(config, bias))
        *ret_bias = bias;
    return *ret_bias;
}

/* Another thread of its process has the program in the same place. */
static bool copy_place(struct attached *attached)
{
    struct session *session = attached->session;
    pthread_mutex_lock(&session->table.lock);
    const struct attached *first = attach_table_find(session, attached->pid);
    const bool known = first && first->places && first->placed;
    if (known)
        attached->bias = first->bias;
    pthread_mutex_unlock(&session->table.lock);
    return known;
}

int attach_place_init(struct attached *attached, enum attach_how how)
{
    const struct event_config *config = attached->session->config;
    if (!config->program)
        return 0;
    attached->places = calloc(config->count, sizeof(*attached->places));
    if (!attached->places)
        return -ENOMEM;
    attached->placed = how != ATTACH_ON_EXEC && ((how == ATTACH_THREAD && copy_place(attached)) ||
                                                 find_bias(config, attached->pid, &attached->bias));
    return 0;
}

static void set_address(const struct attached *attached, unsigned index, struct perf_event_attr *attr)
{
    const uint64_t address = attached->session->config->events[index].attr.bp_addr;
    attr->bp_addr = attached->bias ? attached->bias + address : PROBE_NOWHERE;
}

void attach_place_attr(const struct attached *attached, unsigned index, struct perf_event_attr *attr)
{
    if (!attached->places || !event_choice_is_relative(attached->session->config->events[index].spec))
        return;
    set_address(attached, index, attr);
    probe_fill_attr(attr);
}

void attach_place_opened(struct attached *attached, unsigned index, const struct perf_event_attr *attr)
{
    if (attached->places)
        attached->places[index].attr = *attr;
}

bool attach_is_unplaced(const struct attached *attached)
{
    return attached && attached->places && !__atomic_load_n(&attached->placed, __ATOMIC_RELAXED);
}

bool attach_place_is_unknown(const struct attached *attached, unsigned index)
{
    return attach_is_unplaced(attached) && event_choice_is_relative(attached->session->config->events[index].spec);
}

/*
 * Gives the event its address. The kernel clears enable_on_exec in an exec, so it is compared with both. An event that
 * stays elsewhere is stopped.
 */
static int move_event(struct attached *attached, unsigned index)
{
    const struct event_config *config = attached->session->config;
    const struct config_event *event = &config->events[index];
    struct perf_event_attr attr = attached->places[index].attr;
    set_address(attached, index, &attr);
    attr.disabled = event->leader == index && !event_sets_is_on(event, attached->set);
    if (attached->periods && event_config_varies(event))
        attr.sample_period = attach_period_now(attached, index);
    if (attached->stopped && event->samples)
        attach_period_stopped(&attr);
    for (unsigned on_exec = 0; on_exec < 2; on_exec++) {
        attr.enable_on_exec = on_exec;
        if (ioctl(attached->fds[index], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) == 0)
            return 0;
    }
    const int status = -errno;
    (void)ioctl(attached->fds[index], PERF_EVENT_IOC_DISABLE, 0);
    return status;
}

static int move_events(struct attached *attached)
{
    const struct event_config *config = attached->session->config;
    int status = 0;
    for (unsigned i = 0; i < attached->count; i++)
        if (event_choice_is_relative(config->events[i].spec) && attached->fds[i] >= 0) {
            const int error = move_event(attached, i);
            status = status ? status : error;
        }
    return status;
}

/* The task TID, if its events can be moved. Under the table's lock. */
static struct attached *find_movable(struct session *session, pid_t tid)
{
    struct attached *attached = attach_table_find(session, tid);
    return attached && attached->places ? attached : NULL;
}

void attach_place(struct session *session, pid_t pid, pid_t tid)
{
    if (!session->config->program)
        return;
    /* Requests of one task, for one program after the other, may be served at the same time: the last one counts. */
    pthread_mutex_lock(&session->table.lock);
    struct attached *attached = find_movable(session, tid);
    const uint32_t turn = attached ? ++attached->place_turn : 0;
    pthread_mutex_unlock(&session->table.lock);
    uint64_t bias;
    const bool known = attached && find_bias(session->config, pid, &bias);
    if (!attached)
        return;
    pthread_mutex_lock(&session->table.lock);
    attached = find_movable(session, tid);
    if (attached && attached->place_turn == turn) {
        const bool moves = known && (attached->bias != bias || !attached->placed);
        attached->bias = known ? bias : attached->bias;
        const int status = moves ? move_events(attached) : known ? 0 : -EACCES;
        if (status == 0)
            __atomic_store_n(&attached->placed, true, __ATOMIC_RELAXED);
        else
            __atomic_fetch_add(&session->unplaced, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&session->table.lock);
}
