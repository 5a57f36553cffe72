/* SPDX-License-Identifier: MIT */
#include "collector/doctor/doctor_probe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "collector/doctor/doctor_inject.h"
#include "common/buffer.h"
#include "common/clock.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct doctor_status doctor_parse_status(const char *text)
{
    struct doctor_status status = {.seccomp = -1};
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, "CapEff:", 7) == 0)
            status.capabilities = strtoull(line + 7, NULL, 16);
        else if (strncmp(line, "CapBnd:", 7) == 0)
            status.bounding = strtoull(line + 7, NULL, 16);
        else if (strncmp(line, "Seccomp:", 8) == 0)
            status.seccomp = (int)strtol(line + 8, NULL, 10);
        else if (strncmp(line, "NoNewPrivs:", 11) == 0)
            status.no_new_privileges = strtol(line + 11, NULL, 10) == 1;
    }
    return status;
}

bool doctor_has_capability(const struct doctor_facts *facts, unsigned number)
{
    return !facts->user_namespace && facts->status.capabilities >> number & 1;
}

static const char *find_container(void)
{
    const char *named = getenv("container");
    if (access("/.dockerenv", F_OK) == 0)
        return "docker";
    if (access("/run/.containerenv", F_OK) == 0 || (named && strcmp(named, "podman") == 0))
        return "podman";
    return "";
}

/* ---- Tried in children ---- */

static int try_clock(bool user_only)
{
    return probe_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, user_only, 0);
}

static void try_perf(void *state)
{
    struct doctor_shared *found = state;
    /* The kernel checks the flags before the rights: any other answer does not come from it. */
    found->refusal = syscall(SYS_perf_event_open, NULL, 0, -1, -1, -1L) < 0 ? -errno : 0;
    found->user = try_clock(true);
    found->kernel = try_clock(false);
    struct perf_event_attr attr = probe_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    attr.read_format = 0;
    attr.exclude_kernel = attr.exclude_hv = found->kernel < 0;
    attr.sample_period = 1000000;
    int fd = probe_open(&attr);
    found->cycles = fd < 0 ? fd : 0;
}

static int try_ring(const struct event_config *config)
{
    size_t size = (config->ring_pages + 1) * (size_t)sysconf(_SC_PAGESIZE);
    int fd = probe_open(&config->events[0].attr);
    if (fd < 0)
        return fd;
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -errno : 0;
}

static void try_config(void *state)
{
    const struct doctor_facts *facts = state;
    struct doctor_shared *found = facts->shared;
    /* In a copy that a failed attempt may leave half-made. */
    found->config_status = event_config_init(&found->config, facts->args->settings);
    if (found->config_status == 0 && found->config.count > 0)
        found->ring = try_ring(&found->config);
}

static void try_cost(void *state)
{
    struct doctor_shared *found = state;
    doctor_try_cost(&found->config, &found->cost);
}

static bool has_sampler(const struct doctor_facts *facts)
{
    const struct doctor_shared *found = facts->shared;
    return facts->config.tried && found->config_status == 0 && found->config.sampling && found->ring == 0 &&
           found->config.source == PINJECT_SOURCE_PERF;
}

static volatile sig_atomic_t ticks;

static void count_tick(int number)
{
    (void)number;
    ticks++;
}

static void try_timer(void *state)
{
    struct doctor_shared *found = state;
    char from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};
    found->memory_read = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ? 0 : -errno;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    const struct itimerspec often = {.it_interval.tv_nsec = 1000000, .it_value.tv_nsec = 1000000};
    timer_t timer;
    signal(SIGRTMAX, count_tick);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0 || timer_settime(timer, 0, &often, NULL) < 0) {
        found->timer = -errno;
        return;
    }
    /* Many times the slowest tick of the kernel (HZ 100). */
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 200000000;
    while (!ticks && clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        continue;
    found->timer_fired = ticks > 0;
}

/* A filter that kills would kill again. */
static void try_all(struct doctor_facts *facts)
{
    doctor_guard(try_perf, facts->shared, DOCTOR_PATIENCE_MS, &facts->perf);
    doctor_guard(try_timer, facts->shared, DOCTOR_PATIENCE_MS, &facts->timer);
    if (!facts->perf.tried)
        return;
    doctor_guard(try_config, facts, DOCTOR_PATIENCE_MS, &facts->config);
    if (has_sampler(facts))
        doctor_guard(try_cost, facts->shared, DOCTOR_PATIENCE_MS, &facts->cost);
    if (facts->args->preload[0])
        doctor_guard(doctor_inject_try, facts, DOCTOR_PATIENCE_MS, &facts->injection);
}

static void read_status(struct doctor_facts *facts)
{
    struct buffer text = BUFFER_INIT;
    bool read = buffer_read_file(&text, "/proc/self/status", 1 << 20) == 0 && text.data;
    facts->status = doctor_parse_status(read ? (const char *)text.data : "");
    buffer_release(&text);
    facts->user_namespace = probe_user_namespace();
}

int doctor_facts_init(struct doctor_facts *facts, const struct doctor_args *args)
{
    *facts = (struct doctor_facts){.args = args, .uid = geteuid(), .gid = getegid(), .container = find_container()};
    facts->paranoid = probe_read_sysctl("perf_event_paranoid", INT64_MIN);
    read_status(facts);
    ssize_t size = readlink("/proc/self/exe", facts->self, sizeof(facts->self) - 1);
    facts->self[size > 0 ? size : 0] = '\0';
    void *shared = mmap(NULL, sizeof(*facts->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -errno;
    facts->shared = shared;
    facts->shared->user = facts->shared->kernel = facts->shared->cycles = -ENOSYS;
    facts->shared->config_status = facts->shared->injection = -ENOSYS;
    if (args->settings->command)
        doctor_executable_find(args->settings->command[0], &facts->executable);
    try_all(facts);
    return 0;
}

void doctor_facts_release(struct doctor_facts *facts)
{
    if (facts->shared)
        munmap(facts->shared, sizeof(*facts->shared));
    facts->shared = NULL;
}
