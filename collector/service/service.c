/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/service/service.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "collector/service/channels.h"
#include "collector/service/listener.h"
#include "collector/service/worker.h"
#include "collector/sources/attach_table.h"
#include "collector/sources/deferred_munmap.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/sources/rings.h"
#include "collector/system/guard.h"
#include "collector/system/shared_file.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/report.h"

/* The table of descriptors grows to this at once: with threads, each growth waits milliseconds for RCU. */
enum { TABLE_OF_FDS = 16384 };
enum { STOP_S = 1, SLEEP_S = 1 };

/* For rings with room for stack dumps: even a user who may lock all memory has to leave some. */
#define DUMP_BUDGET (UINT64_C(1) << 30)

/* ---- Limits ---- */

static void raise_limit(int which, struct rlimit *old, uint64_t *ret_now)
{
    if (getrlimit(which, old) < 0)
        *old = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit raised = {old->rlim_max, old->rlim_max};
    *ret_now = setrlimit(which, &raised) == 0 ? raised.rlim_cur : old->rlim_cur;
}

/* The value of KEY, "\nName:", in /proc/self/status; OTHERWISE: there is none. */
static uint64_t read_status(const char *key, int base, uint64_t otherwise)
{
    struct buffer text = BUFFER_INIT;
    uint64_t value = otherwise;
    if (buffer_read_file(&text, "/proc/self/status", 65536) == 0) {
        const char *line = strstr((const char *)text.data, key);
        value = line ? strtoull(line + strlen(key), NULL, base) : otherwise;
    }
    buffer_release(&text);
    return value;
}

static bool has_cap_ipc_lock(void)
{
    return read_status("\nCapEff:", 16, 0) >> 14 & 1;
}

static uint32_t count_filters(void)
{
    return (uint32_t)read_status("\nSeccomp_filters:", 10, UINT32_MAX);
}

/* As the kernel computes it in perf_mmap(). Other profilers of this user share it: a refusal can still come before. */
uint64_t service_ring_budget(uint64_t memlock)
{
    int64_t kb = probe_read_sysctl("perf_event_mlock_kb", 516);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (memlock == RLIM_INFINITY || probe_read_sysctl("perf_event_paranoid", 2) < 0 || has_cap_ipc_lock())
        return UINT64_MAX;
    return (uint64_t)(kb > 0 ? kb : 0) * 1024 * (uint64_t)(cpus > 0 ? cpus : 1) + memlock;
}

static void raise_limits(struct session *session)
{
    uint64_t memlock;
    raise_limit(RLIMIT_NOFILE, &session->old_nofile, &session->fd_limit);
    raise_limit(RLIMIT_MEMLOCK, &session->old_memlock, &memlock);
    session->ring_budget = service_ring_budget(memlock);
    session->dumps.now = session->config->dump;
    if (session->dumps.now && session->ring_budget > DUMP_BUDGET)
        session->ring_budget = DUMP_BUDGET;
    if (session->dumps.now)
        session->dumps.predictor = stack_predictor_new(); /* NULL: all get what is asked for */
}

static void grow_table_of_fds(const struct session *session)
{
    int high = session->fd_limit < TABLE_OF_FDS ? (int)session->fd_limit - 1 : TABLE_OF_FDS - 1;
    int fd = fcntl(session->segment_fd, F_DUPFD_CLOEXEC, high);
    if (fd >= 0)
        close(fd);
}

void service_restore_limits(const struct session *session)
{
    setrlimit(RLIMIT_NOFILE, &session->old_nofile);
    setrlimit(RLIMIT_MEMLOCK, &session->old_memlock);
}

/* ---- The segment ---- */

/*
 * A process that becomes another user goes on reading the segment, so everybody may read root's: it has no secret. Only
 * its owner can write to it.
 */
static mode_t segment_mode(void)
{
    return geteuid() == 0 ? 0644 : 0600;
}

static int create_in(const char *directory, const uint64_t id[2], char *ret_path, size_t size)
{
    int length = snprintf(ret_path, size, "%s/pinject-%016" PRIx64 "%016" PRIx64, directory, id[0], id[1]);
    if (length < 0 || (size_t)length >= size)
        return -ENAMETOOLONG;
    int fd = shared_file_create(ret_path, sizeof(struct pinject_segment));
    int error = fd < 0 ? fd : shared_file_give(fd, geteuid(), segment_mode());
    if (fd < 0 || error == 0)
        return fd;
    unlink(ret_path);
    close(fd);
    return error;
}

static int create_segment_file(const uint64_t id[2], char *ret_path, size_t size)
{
    const char *directories[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    struct buffer tried = BUFFER_INIT;
    int fd = -ENOENT;
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && fd < 0; i++) {
        /* A relative one would mean another directory to a program that changes its own. */
        if (!directories[i] || directories[i][0] != '/')
            continue;
        fd = create_in(directories[i], id, ret_path, size);
        if (fd < 0)
            buffer_printf(&tried, "%s%s: %s", tried.size ? ", " : "", directories[i], strerror(-fd));
    }
    if (fd < 0) {
        buffer_append(&tried, "", 1);
        report_error("cannot create the shared memory for profiling (%s); %s",
                     tried.data ? (const char *)tried.data : "out of memory",
                     fd == -EMFILE  ? "raise the limit of open files (ulimit -Hn)"
                     : fd == -EFBIG ? "set TMPDIR to a directory with 2 MiB free, and allow files of that size (ulimit "
                                      "-f)"
                                    : "set TMPDIR to a directory with 2 MiB free");
    }
    buffer_release(&tried);
    return fd;
}

static int map_segment(struct session *session, const char *path)
{
    void *map = mmap(NULL, sizeof(struct pinject_segment), PROT_READ | PROT_WRITE, MAP_SHARED, session->segment_fd, 0);
    if (map == MAP_FAILED) {
        int error = errno;
        report_error("cannot map the shared memory '%s' for profiling: %s", path, strerror(error));
        return -error;
    }
    session->segment = map;
    guard_add(map, sizeof(*session->segment));
    return 0;
}

/*
 * In us. To open a uprobe or a kprobe, the kernel waits for RCU: 60 to 170 ms were seen, and a worker opens those of one
 * task after the other. A task that does not wait so long would run without its events.
 */
static uint32_t answer_wait(const struct event_config *config)
{
    for (unsigned i = 0; i < config->count; i++) {
        const struct config_event *event = &config->events[i];
        if (event->spec && event->spec->traces && event->attr.type != PERF_TYPE_TRACEPOINT)
            return PINJECT_WAIT_MAX_US;
    }
    return PINJECT_WAIT_US;
}

static uint32_t segment_flags(const struct settings *settings, const struct event_config *config)
{
    uint32_t flags = settings->follow & PINJECT_SESSION_ALL;
    if (config->source == PINJECT_SOURCE_TIMER)
        flags |= PINJECT_SESSION_TIMER;
    if (config->dump)
        flags |= PINJECT_SESSION_DUMPS;
    if (config->inherits)
        flags |= PINJECT_SESSION_INHERITS | PINJECT_SESSION_SETTLED;
    if (config->system_wide)
        flags |= PINJECT_SESSION_SYSTEM_WIDE;
    if (config->program)
        flags |= PINJECT_SESSION_PLACES;
    if (settings->split || !(flags & PINJECT_SESSION_EXEC))
        flags |= PINJECT_SESSION_SNAPSHOT;
    if (flags & (PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK))
        flags |= PINJECT_SESSION_REAPED;
    return flags;
}

static int fill_header(struct session *session, const char *path, const char *preload)
{
    struct pinject_segment *segment = session->segment;
    struct stat namespace, user_namespace;
    if (stat("/proc/self/ns/pid", &namespace) < 0) {
        int error = errno;
        report_error("cannot read /proc/self/ns/pid: %s; mount /proc", strerror(error));
        return -error;
    }
    if (strlen(preload) >= sizeof(segment->preload)) {
        report_error(
            "the path of the preload object is too long: '%.64s...'; install pinject in a directory with a shorter "
            "path",
            preload);
        return -ENAMETOOLONG;
    }
    segment->version = PINJECT_WIRE_VERSION;
    segment->size = sizeof(*segment);
    memcpy(segment->id, session->id, sizeof(segment->id));
    segment->pid_namespace = namespace.st_ino;
    segment->flags = segment_flags(session->settings, session->config);
    segment->wait_us = answer_wait(session->config);
    segment->user = geteuid();
    segment->user_namespace = stat("/proc/self/ns/user", &user_namespace) == 0 ? user_namespace.st_ino : 0;
    segment->filters = count_filters();
    segment->collector = getpid();
    snprintf(segment->path, sizeof(segment->path), "%s", path);
    snprintf(segment->preload, sizeof(segment->preload), "%s", preload);
    worker_assign_doorbells(session);
    /* Last: without it the file is no segment. */
    __atomic_store_n(&segment->magic, PINJECT_WIRE_MAGIC, __ATOMIC_RELEASE);
    return 0;
}

/*
 * Called when no descriptor of the file will be closed before the end, as any close() drops the lock. Without the lock
 * preload objects ask /proc.
 */
static void lock_segment(struct session *session)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(session->segment_fd, F_SETLK, &lock) == 0)
        session->segment->flags |= PINJECT_SESSION_LOCKED;
}

static int make_id(uint64_t ret_id[2])
{
    if (getrandom(ret_id, 2 * sizeof(*ret_id), 0) == (ssize_t)(2 * sizeof(*ret_id)))
        return 0;
    int error = errno;
    report_error("cannot get random bytes: %s", strerror(error));
    return -error;
}

static int open_own_channel(struct session *session)
{
    int error;
    session->own = channels_get(session, geteuid(), &error);
    if (session->own)
        session->own_dropped = &session->own->requests->dropped;
    else
        report_error("cannot create shared memory in the file '%s.%u': %s; set TMPDIR to a directory with 2 MiB free",
                     session->path, geteuid(), strerror(-error));
    return error;
}

static int init_segment(struct session *session, const char *preload)
{
    char path[PINJECT_PATH];
    int status = make_id(session->id);
    if (status < 0)
        return status;
    int fd = create_segment_file(session->id, path, sizeof(path));
    if (fd < 0)
        return fd;
    session->segment_fd = fd;
    memcpy(session->path, path, sizeof(path));
    session->guarded = guard_begin();
    status = map_segment(session, path);
    if (status == 0)
        status = open_own_channel(session);
    if (status == 0 && session->config->source == PINJECT_SOURCE_TIMER)
        status = rings_begin(session);
    return status < 0 ? status : fill_header(session, path, preload);
}

static void free_both(struct session *session)
{
    listener_free(session->listener);
    channels_free(session->channels);
    session->listener = NULL;
    session->channels = NULL;
}

int service_init(struct session *session, const struct settings *settings, const struct event_config *config,
                 const char *preload)
{
    memset(session, 0, sizeof(*session));
    session->channels = channels_new();
    session->listener = listener_new();
    if (!session->channels || !session->listener) {
        free_both(session);
        report_error("cannot start profiling: %s", strerror(ENOMEM));
        return -ENOMEM;
    }
    session->prepare_user = channels_prepare;
    session->open = true;
    session->settings = settings;
    session->config = config;
    session->cost.unwind_ns = config->dump ? SAMPLE_COST_UNWIND_NS : 0;
    session->stop_s = STOP_S;
    session->sleep_s = SLEEP_S;
    rings_init_none(&session->rings);
    session->segment_fd = session->notifications.eventfd = session->tree_fd = session->tree_end_fd = -1;
    attach_table_init(&session->table);
    deferred_munmap_init(&session->deferred_munmap);
    pthread_mutex_init(&session->rings_lock, NULL);
    raise_limits(session);
    session->cpus = sysconf(_SC_NPROCESSORS_CONF) > 0 ? (unsigned)sysconf(_SC_NPROCESSORS_CONF) : PINJECT_CPUS;
    session->start_ns = clock_ns(CLOCK_MONOTONIC);
    session->start_realtime_ns = clock_ns(CLOCK_REALTIME);
    int status = notifications_init(&session->notifications);
    if (status < 0)
        report_error("cannot create an eventfd: %s", strerror(-status));
    else
        status = init_segment(session, preload);
    if (status == 0 && !(session->inherited_sets = inherited_new(session)))
        status = -ENOMEM;
    if (status < 0) {
        service_release(session);
        return status;
    }
    grow_table_of_fds(session);
    listener_open(session->listener, session);
    lock_segment(session);
    return 0;
}

int service_start_workers(struct session *session)
{
    int status = channels_start_workers(session);
    if (status == 0)
        listener_start(session->listener);
    return status;
}

void service_stop_workers(struct session *session)
{
    if (session->segment)
        __atomic_store_n(&session->segment->closed, 1, __ATOMIC_SEQ_CST);
    listener_stop(session->listener);
    channels_stop_workers(session);
}

void service_renew_workers(struct session *session)
{
    channels_renew_workers(session);
}

void service_take_notifications(struct session *session)
{
    channels_take_notifications(session);
}

/* Last: a sweep after a killed session finds the other files by this one's name. */
static void unlink_segment(struct session *session)
{
    if (session->path[0])
        unlink(session->path);
}

/* Threads that hang may return at any time: their memory stays, and ends with the process. */
static void leave_all(struct session *session)
{
    channels_unlink(session->channels);
    rings_unlink(&session->rings);
    unlink_segment(session);
}

void service_release(struct session *session)
{
    if (!session->open)
        return;
    session->open = false;
    service_stop_workers(session);
    session->hangs |= !errands_end(&session->errands);
    if (session->hangs) {
        leave_all(session);
        return;
    }
    notifications_release(&session->notifications);
    deferred_munmap_run(session);
    inherited_free(session->inherited_sets);
    session->inherited_sets = NULL;
    if (session->tree_fd >= 0)
        close(session->tree_fd);
    session->tree_fd = -1;
    if (session->tree_end_ring)
        munmap(session->tree_end_ring, (size_t)sysconf(_SC_PAGESIZE));
    session->tree_end_ring = NULL;
    if (session->tree_end_fd >= 0)
        close(session->tree_end_fd);
    session->tree_end_fd = -1;
    if (session->guarded)
        guard_end();
    session->guarded = false;
    rings_release(&session->rings);
    free_both(session);
    unlink_segment(session);
    session->path[0] = '\0';
    if (session->segment)
        munmap(session->segment, sizeof(*session->segment));
    session->segment = NULL;
    if (session->segment_fd >= 0)
        close(session->segment_fd);
    session->segment_fd = -1;
    attach_table_release(&session->table);
    deferred_munmap_release(&session->deferred_munmap);
    stack_predictor_free(session->dumps.predictor);
    session->dumps.predictor = NULL;
    pthread_mutex_destroy(&session->rings_lock);
}
