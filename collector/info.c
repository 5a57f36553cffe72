/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/info.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <pinject/pinject.h>
#include <pinject/wire.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/config/dump_event.h"
#include "collector/config/event_config.h"
#include "collector/config/probe.h"
#include "collector/events/event_pfm.h"
#include "collector/events/event_tracepoint.h"
#include "common/buffer.h"
#include "common/events.h"
#include "common/report.h"

#define ABSENT INT64_MIN
enum { LABEL = 26 };

__attribute__((format(printf, 3, 4))) static void row(FILE *to, const char *label, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(to, "  %-*s ", LABEL, label);
    vfprintf(to, format, list);
    fputc('\n', to);
    va_end(list);
}

/* The first "model name" of /proc/cpuinfo, safe to print. */
static void cpu_name(char *ret, size_t size)
{
    struct buffer text = BUFFER_INIT;
    snprintf(ret, size, "unknown CPU");
    if (buffer_read_file(&text, "/proc/cpuinfo", 16 << 20) == 0) {
        const char *at = strstr((const char *)text.data, "model name");
        at = at ? strchr(at, ':') : NULL;
        if (at)
            report_safe(ret, size, at + 2, strcspn(at + 2, "\n"));
    }
    buffer_release(&text);
}

static void print_machine(FILE *to)
{
    struct utsname name;
    char cpu[128];
    cpu_set_t allowed;
    cpu_name(cpu, sizeof(cpu));
    fprintf(to, "machine\n");
    if (uname(&name) == 0)
        row(to, "kernel", "%s %s %s", name.sysname, name.release, name.machine);
    row(to, "CPU", "%s", cpu);
    bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
    row(to, "CPUs", "%ld online, %d allowed for this process", sysconf(_SC_NPROCESSORS_ONLN),
        known ? CPU_COUNT(&allowed) : 0);
    row(to, "user", "uid %u%s%s", (unsigned)geteuid(), geteuid() == 0 ? " (root)" : "",
        probe_user_namespace() ? " of a user namespace: rights inside it do not count for perf events" : "");
}

static const char *paranoid_meaning(int64_t level)
{
    if (level < 0)
        return "no restrictions";
    if (level <= 1)
        return "users may profile their own processes, kernel code included";
    if (level == 2)
        return "users may profile their own processes in user space; kernel code needs CAP_PERFMON (root has it, but "
               "usually not in a container)";
    return "some kernels refuse all users at this level; to allow users, type as root: "
           "sysctl kernel.perf_event_paranoid=2";
}

static void print_sysctl(FILE *to, const char *name, const char *unit, const char *meaning)
{
    int64_t value = probe_read_sysctl(name, ABSENT);
    char label[64];
    snprintf(label, sizeof(label), "%s", name);
    if (value == ABSENT)
        row(to, label, "cannot be read");
    else
        row(to, label, "%" PRId64 "%s%s%s", value, unit, *meaning ? ": " : "", meaning);
}

static void print_limit(FILE *to, const char *label, int which, uint64_t unit, const char *unit_name,
                        const char *meaning)
{
    struct rlimit limit;
    char soft[32] = "unlimited", hard[32] = "unlimited";
    if (getrlimit(which, &limit) < 0)
        return;
    if (limit.rlim_cur != RLIM_INFINITY)
        snprintf(soft, sizeof(soft), "%" PRIu64 "%s", (uint64_t)limit.rlim_cur / unit, unit_name);
    if (limit.rlim_max != RLIM_INFINITY)
        snprintf(hard, sizeof(hard), "%" PRIu64 "%s", (uint64_t)limit.rlim_max / unit, unit_name);
    row(to, label, "%s, at most %s: %s", soft, hard, meaning);
}

static void print_limits(FILE *to)
{
    fprintf(to, "\nlimits\n");
    print_sysctl(to, "perf_event_paranoid", "", paranoid_meaning(probe_read_sysctl("perf_event_paranoid", 2)));
    bool hidden = probe_read_sysctl("kptr_restrict", 0) != 0;
    print_sysctl(to, "kptr_restrict", "", hidden ? "names of kernel functions may be missing" : "");
    print_sysctl(to, "perf_event_max_sample_rate", " Hz", "the highest frequency for -F");
    print_sysctl(to, "perf_event_mlock_kb", " KiB for each CPU",
                 "limit for all ring buffers of one user together (not for root)");
    print_sysctl(to, "perf_event_max_stack", " frames", "");
    print_limit(to, "locked memory", RLIMIT_MEMLOCK, 1024, " KiB",
                "ring buffers may use this memory in addition to perf_event_mlock_kb");
    print_limit(to, "open files", RLIMIT_NOFILE, 1, "", "each live task needs about five open files");
}

static void print_directory(FILE *to, const char *directory)
{
    struct statvfs info;
    if (statvfs(directory, &info) < 0 || access(directory, W_OK | X_OK) < 0)
        row(to, directory, "cannot be used: %s", strerror(errno));
    else
        row(to, directory, "%" PRIu64 " MiB free", (uint64_t)info.f_bavail * info.f_frsize >> 20);
}

static void print_directories(FILE *to)
{
    const char *temporary = getenv("TMPDIR");
    fprintf(to, "\nshared memory (2 MiB in the first directory that has room)\n");
    print_directory(to, "/dev/shm");
    if (temporary && temporary[0] == '/') {
        char safe[256];
        print_directory(to, report_safe(safe, sizeof(safe), temporary, strlen(temporary)));
    }
    print_directory(to, "/tmp");
}

/* A period shows whether the event samples too. */
static int try_event(const struct event_name *event, bool user_only, bool samples)
{
    return probe_event(event->type, event->config, user_only, samples ? 1000000 : 0);
}

static void print_event(FILE *to, const struct event_name *event)
{
    char reason[256];
    int status = try_event(event, false, false);
    bool user_only = status == -EACCES || status == -EPERM;
    if (user_only)
        status = try_event(event, true, false);
    if (status < 0) {
        probe_explain(status, reason, sizeof(reason));
        row(to, event->name, "refused: %s", reason);
        return;
    }
    const char *how = try_event(event, user_only, true) == 0 ? "counts and samples" : "counts";
    if (!user_only)
        row(to, event->name, "%s", how);
    else if (event_config_in_kernel(event->type, event->config))
        row(to, event->name,
            "refused: the event happens in the kernel, and kernel.perf_event_paranoid allows user space only");
    else
        row(to, event->name, "%s%s", how,
            !event->nanoseconds                      ? ", user space only"
            : strcmp(how, "counts and samples") == 0 ? "; samples are of user space only"
                                                     : "");
}

static void print_events(FILE *to)
{
    fprintf(to, "\nevents\n");
    for (size_t i = 0; i < events_count; i++)
        print_event(to, &events_names[i]);
}

struct counters {
    FILE *to;
    const char *last; /* PMU that was shown; libpfm4 has them together */
};

static void print_counters(void *to, const struct event_pfm_name *name)
{
    struct counters *counters = to;
    if (counters->last == name->pmu || strncmp(name->pmu, "perf", 4) == 0)
        return;
    counters->last = name->pmu;
    row(counters->to, name->pmu, "%s, %d general-purpose counters (libpfm4)", name->pmu_description, name->counters);
}

/* Those of sysfs, and how many counters a CPU has as far as libpfm4 knows. */
static void print_pmus(const struct event_sources *sources, FILE *to)
{
    struct event_words names = {0};
    struct counters counters = {.to = to};
    fprintf(to, "\nPMUs\n");
    event_pmu_names(sources, &names);
    event_words_sort(&names);
    for (size_t i = 0; i < names.count; i++) {
        struct event_words events = {0}, terms = {0};
        struct event_pmu pmu;
        if (event_pmu_find(sources, names.words[i], &pmu) < 0)
            continue;
        event_pmu_events(&pmu, &events);
        event_pmu_terms(&pmu, &terms);
        row(to, pmu.name, "type %u, %zu events, %zu terms%s%s", pmu.type, events.count, terms.count,
            pmu.cpumask[0] ? "; counts per CPU or socket, not per thread; cpumask: " : "", pmu.cpumask);
        event_words_release(&events);
        event_words_release(&terms);
    }
    event_words_release(&names);
    event_pfm_list(print_counters, &counters);
}

static void print_tracepoints(const struct event_sources *sources, FILE *to)
{
    char directory[512], why[256];
    const int status = event_tracepoint_directory(sources, directory, sizeof(directory));
    event_tracepoint_explain(status, why, sizeof(why));
    row(to, "tracepoints", "%s", status < 0 ? why : directory);
}

static void print_versions(FILE *to)
{
    const char *pfm = event_pfm_version();
    fprintf(to, "\nlibraries\n");
    row(to, "libc", "%s", gnu_get_libc_version());
    row(to, "zlib", "%s", zlibVersion());
    row(to, "libpfm4", "%s",
        pfm ? pfm : "not available: only the event names of sysfs are known, not those of libpfm4");
}

static void print_call_graphs(FILE *to, const struct event_config *config)
{
    int status = config->source == PINJECT_SOURCE_PERF ? stacks_try(config) : -EACCES;
    if (status == 0)
        row(to, "call graphs", "auto (the default), fp, dwarf, none");
    else
        row(to, "call graphs", "fp, none; dwarf is not available: %s",
            status == -EACCES ? "dwarf needs perf_event_open" : strerror(-status));
}

static void print_defaults(FILE *to)
{
    static struct event_config config; /* large, and used once */
    const struct settings settings = {.frequency = 99};
    fprintf(to, "\ndefaults\n");
    if (event_config_init(&config, &settings) < 0) {
        row(to, "samples", "none");
        return;
    }
    row(to, "samples", "%s%s%s", config.events[0].name, config.reason[0] ? ": " : "", config.reason);
    for (unsigned i = 1; i < config.count; i++)
        row(to, i == 1 ? "counts" : "", "%s", config.events[i].name);
    for (unsigned i = 0; i < config.note_count; i++)
        row(to, i == 0 ? "notes" : "", "%s", config.notes[i]);
    print_call_graphs(to, &config);
    event_config_release(&config);
}

void info_print(const struct event_sources *sources, FILE *to)
{
    fprintf(to, "pinject-run %s, protocol %u\n\n", PINJECT_VERSION_STRING, PINJECT_WIRE_VERSION);
    print_machine(to);
    print_limits(to);
    print_directories(to);
    print_events(to);
    print_pmus(sources, to);
    print_tracepoints(sources, to);
    print_defaults(to);
    print_versions(to);
}
