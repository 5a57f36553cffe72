/* SPDX-License-Identifier: MIT */
/* How much can be profiled at the same time, and where the results go. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pinject/wire.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "collector/doctor/doctor_probe.h"
#include "collector/service/service.h"
#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "collector/system/paths.h"
#include "common/buffer.h"

enum { RINGS_MOST = 100000, ENOUGH_MIB = 64 };

static void get_limit(int which, uint64_t *ret_soft, uint64_t *ret_hard)
{
    struct rlimit limit;
    bool known = getrlimit(which, &limit) == 0;
    *ret_soft = known && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
    *ret_hard = known && limit.rlim_max != RLIM_INFINITY ? limit.rlim_max : UINT64_MAX;
}

/* ---- Rings ---- */

unsigned doctor_count_rings(uint64_t budget, size_t pages, bool dumps)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), used = 0;
    unsigned count = 0;
    for (; count < RINGS_MOST; count++) {
        uint64_t size = (attach_ring_pages(budget, used, pages, dumps) + 1) * page;
        /* A ring that does not fit becomes smaller, down to one page. */
        if (size > budget - used)
            size = 2 * page;
        if (size > budget - used)
            break;
        used += size;
    }
    return count;
}

static void change_locked_memory(struct doctor_finding *finding, const char *container)
{
    doctor_remedy(finding, "sysctl -w kernel.perf_event_mlock_kb=8192    # as root, for all users");
    doctor_remedy(finding,
                  "prlimit --pid PID --memlock=unlimited    # as root; PID: the shell that starts pinject-run");
    if (container[0])
        doctor_remedy(finding, "%s run --ulimit memlock=-1 ...", container);
}

void doctor_rings(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_shared *found = facts->shared;
    uint64_t soft, hard, page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (!facts->config.tried || found->config_status < 0 || found->user < 0) {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not tried: no event can be opened");
        return;
    }
    get_limit(RLIMIT_MEMLOCK, &soft, &hard);
    uint64_t budget = service_ring_budget(hard == UINT64_MAX ? (uint64_t)RLIM_INFINITY : hard);
    unsigned count = doctor_count_rings(budget, found->config.thread_ring_pages, found->config.dump);
    if (found->ring < 0) {
        finding->level = DOCTOR_LIMITED;
        DOCTOR_TEXT(finding->value, "the kernel refuses a ring buffer of %zu pages: %s", found->config.ring_pages,
                    strerror(-found->ring));
        DOCTOR_TEXT(finding->meaning, "%s",
                    found->ring == -EPERM ? "this user's locked memory is used up: tasks are counted, not sampled"
                                          : "tasks get smaller ring buffers, or none");
        change_locked_memory(finding, facts->container);
    } else if (budget == UINT64_MAX) {
        DOCTOR_TEXT(finding->value, "no limit (a ring buffer of %zu KiB was mapped)",
                    (size_t)(found->config.ring_pages * page >> 10));
    } else {
        DOCTOR_TEXT(finding->value, "%" PRIu64 " KiB of locked memory: ring buffers for %u tasks at a time",
                    budget >> 10, count);
        DOCTOR_TEXT(finding->meaning,
                    "the limit is kernel.perf_event_mlock_kb times the number of CPUs, plus 'ulimit -Hl' (%" PRIu64
                    " KiB)",
                    hard >> 10);
        if (count >= DOCTOR_TASKS)
            return;
        finding->level = DOCTOR_LIMITED;
        DOCTOR_TEXT(
            finding->meaning,
            "tasks beyond this limit are counted, not sampled; the limit is kernel.perf_event_mlock_kb (%" PRId64
            " KiB) times the number of CPUs, plus 'ulimit -Hl' (%" PRIu64 " KiB)",
            probe_read_sysctl("perf_event_mlock_kb", 516), hard >> 10);
        change_locked_memory(finding, facts->container);
    }
}

/* ---- Descriptors and tasks ---- */

unsigned doctor_count_tasks(uint64_t limit, unsigned events, unsigned *ret_counted)
{
    /* As in attach.c: 64 are reserved for files, and the last quarter is for events that sample. */
    uint64_t usable = limit > 64 ? limit - 64 : 0, scarce = limit / 4 * 3 < usable ? limit / 4 * 3 : usable;
    uint64_t counted = events ? scarce / events : 0, sampled = counted + (usable - scarce);
    *ret_counted = counted < UINT32_MAX ? (unsigned)counted : UINT32_MAX;
    return sampled < UINT32_MAX ? (unsigned)sampled : UINT32_MAX;
}

void doctor_descriptors(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    uint64_t soft, hard;
    /* One more: the pidfd of a process. */
    unsigned events = (facts->shared->config.count ? facts->shared->config.count : 4) + 1, counted;
    get_limit(RLIMIT_NOFILE, &soft, &hard);
    unsigned sampled = doctor_count_tasks(hard, events, &counted);
    if (hard == UINT64_MAX)
        DOCTOR_TEXT(finding->value, "no limit");
    else {
        DOCTOR_TEXT(
            finding->value,
            "%" PRIu64
            " open files: enough for %u tasks at a time if only sampled events are opened, for %u tasks if all events are opened",
            hard, sampled, counted);
        if (soft < hard)
            DOCTOR_TEXT(finding->meaning,
                        "pinject-run raises the soft limit of open files (%" PRIu64 ") to the hard limit", soft);
    }
    if (sampled >= DOCTOR_TASKS)
        return;
    finding->level = DOCTOR_LIMITED;
    DOCTOR_TEXT(finding->meaning, "each task needs %u open files; tasks beyond the limit are listed without a profile",
                events);
    doctor_remedy(finding, "prlimit --pid PID --nofile=65536    # as root; PID: the shell that starts pinject-run");
    if (facts->container[0])
        doctor_remedy(finding, "%s run --ulimit nofile=65536 ...", facts->container);
}

void doctor_tasks(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    uint64_t soft, hard;
    int64_t pids = probe_read_sysctl("pid_max", -1), threads = probe_read_sysctl("threads-max", -1);
    get_limit(RLIMIT_NPROC, &soft, &hard);
    if (pids < 0 || threads < 0)
        DOCTOR_TEXT(finding->value, "kernel.pid_max or kernel.threads-max cannot be read");
    else
        DOCTOR_TEXT(finding->value, "kernel.pid_max is %" PRId64 ", kernel.threads-max %" PRId64, pids, threads);
    if (facts->uid != 0 && soft != UINT64_MAX)
        DOCTOR_MORE(finding->value, ", 'ulimit -u' %" PRIu64, soft);
    DOCTOR_TEXT(finding->meaning, "pinject-run itself runs one thread for each CPU; it adds no threads to the program");
}

/* ---- Places ---- */

/* Without a name if the file system can do that, so that nothing is left. */
static int try_space(const char *directory, size_t size)
{
    char path[PATH_MAX];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        snprintf(path, sizeof(path), "%.3000s/pinject-doctor-XXXXXX", directory);
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0)
        return -errno;
    int status = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
    if (status == 0 && fallocate(fd, 0, 0, (off_t)size) < 0 && errno != EOPNOTSUPP && errno != ENOSYS)
        status = -errno;
    close(fd);
    return status;
}

void doctor_segment(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    struct buffer refused = BUFFER_INIT;
    bool limited = false;
    for (unsigned i = 0; i < 3; i++) {
        const char *directory = paths_segment_place(i);
        if (!directory)
            continue;
        int status = try_space(directory, sizeof(struct pinject_segment));
        if (status == 0) {
            DOCTOR_TEXT(finding->value, "%s has room for the %zu KiB that pinject needs", directory,
                        sizeof(struct pinject_segment) >> 10);
            finding->level = i == 0 ? DOCTOR_OK : DOCTOR_NOTE;
            break;
        }
        buffer_printf(&refused, "%s%s: %s", refused.size ? ", " : "", directory, strerror(-status));
        finding->level = DOCTOR_REFUSED;
        limited |= status == -EFBIG;
    }
    if (finding->level == DOCTOR_REFUSED)
        DOCTOR_TEXT(finding->value, "no directory has room for %zu KiB of shared memory",
                    sizeof(struct pinject_segment) >> 10);
    if (finding->level != DOCTOR_OK) {
        buffer_append(&refused, "", 1);
        DOCTOR_TEXT(finding->meaning, "%s", refused.data ? (const char *)refused.data : "");
        if (limited)
            doctor_remedy(finding, "ulimit -f unlimited    # maximum file size");
        else
            doctor_remedy(finding, "mount -o remount,size=64M /dev/shm    # as root");
        if (facts->container[0] && !limited)
            doctor_remedy(finding, "%s run --shm-size 64m ...", facts->container);
        doctor_remedy(finding, "export TMPDIR=DIRECTORY    # a writable directory with 2 MiB free");
    }
    buffer_release(&refused);
}

void doctor_output(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    char path[PATH_MAX];
    struct statvfs space;
    const struct settings *settings = facts->args->settings;
    const char *wish = settings->outfile;
    const bool is_made = settings->directory && access(settings->directory, F_OK) < 0; /* by the run */
    int error = paths_absolute(is_made ? settings->directory : wish, path, sizeof(path));
    char *slash = error ? NULL : strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    if (!error && access(path, W_OK | X_OK) < 0)
        error = -errno;
    if (!error && statvfs(path, &space) < 0)
        error = -errno;
    if (error) {
        finding->level = DOCTOR_REFUSED;
        DOCTOR_TEXT(finding->value, "cannot write '%s.PID.TID': %s", wish, strerror(-error));
        doctor_remedy(finding, "pinject-run --outfile /tmp/out ...");
        return;
    }
    uint64_t free_mib = (uint64_t)space.f_bavail * space.f_frsize >> 20;
    DOCTOR_TEXT(finding->value, "%s has %" PRIu64 " MiB free", path, free_mib);
    if (free_mib >= ENOUGH_MIB)
        return;
    finding->level = DOCTOR_LIMITED;
    DOCTOR_TEXT(
        finding->meaning,
        "a profile of one busy CPU grows by about 0.1 MiB a second; when the disk is full, result files end early");
    doctor_remedy(finding, "pinject-run --outfile /tmp/out ...");
}
