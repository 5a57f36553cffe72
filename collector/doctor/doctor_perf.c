/* SPDX-License-Identifier: MIT */
/* Can events be opened, what do they see, and how often may they sample? */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "collector/doctor/doctor_probe.h"
#include "common/buffer.h"
#include "common/report.h"

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_SYSLOG = 34, CAPABILITY_PERFMON = 38 };

static bool is_refused(int status)
{
    return status == -EACCES || status == -EPERM;
}

enum doctor_cause doctor_judge_perf(const struct doctor_shared *found, bool killed, int64_t paranoid, bool perfmon,
                                    int seccomp)
{
    if (killed)
        return DOCTOR_BY_SECCOMP_KILL;
    if (found->user == 0)
        return found->kernel == 0 ? DOCTOR_WORKS : DOCTOR_USER_ONLY;
    if (found->user == -EMFILE || found->user == -ENFILE)
        return DOCTOR_BY_DESCRIPTORS;
    if (found->refusal != -EINVAL) {
        if (found->refusal == -ENOSYS && paranoid == INT64_MIN)
            return DOCTOR_NOT_IN_KERNEL;
        return seccomp == 0 ? DOCTOR_BY_SANDBOX : DOCTOR_BY_SECCOMP;
    }
    if (!is_refused(found->user))
        return DOCTOR_BY_OTHER;
    return paranoid > 2 && !perfmon ? DOCTOR_BY_PARANOID : DOCTOR_BY_MODULE;
}

static bool has_perfmon(const struct doctor_facts *facts)
{
    return doctor_has_capability(facts, CAPABILITY_PERFMON) || doctor_has_capability(facts, CAPABILITY_SYS_ADMIN);
}

static enum doctor_cause judge(const struct doctor_facts *facts)
{
    return doctor_judge_perf(facts->shared, facts->perf.signal == SIGSYS, facts->paranoid, has_perfmon(facts),
                             facts->status.seccomp);
}

/* How to remove a filter; that is not possible from inside. */
static void lift_filter(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    bool known = facts->container[0];
    doctor_remedy(finding, "%s run --security-opt seccomp=unconfined %s--cap-add PERFMON --cap-add SYSLOG ...%s",
                  known ? facts->container : "docker", facts->user_namespace ? "--userns=host " : "",
                  facts->user_namespace ? "    # for a container, as root on the host"
                  : known               ? ""
                                        : "    # to be run on the host, if this is a container");
    doctor_remedy(finding, "systemctl edit UNIT    # for a systemd service: add SystemCallFilter=perf_event_open");
}

static const char *on_host(const struct doctor_facts *facts)
{
    return facts->container[0] || facts->user_namespace ? " on the host" : "";
}

/* A program with a capability that its process may not get cannot be executed at all. */
static bool may_get(const struct doctor_facts *facts, unsigned capability)
{
    return facts->status.bounding >> capability & 1;
}

/* Does setcap have an effect on programs that this process executes? */
static bool setcap_works(const struct doctor_facts *facts, unsigned capability)
{
    return may_get(facts, capability) && !facts->user_namespace && !facts->status.no_new_privileges;
}

/* The program that looks up names: beside this one. */
static void find_panalyze(const struct doctor_facts *facts, char *ret, size_t size)
{
    const char *slash = strrchr(facts->self, '/');
    snprintf(ret, size, "%.*spanalyze", slash ? (int)(slash - facts->self + 1) : 0, facts->self);
}

/*
 * A program with a capability that its process may not get cannot be executed; from level 2 on the capability has no
 * use.
 */
static bool may_have_syslog(const struct doctor_facts *facts)
{
    char path[PATH_MAX];
    struct statvfs place;
    find_panalyze(facts, path, sizeof(path));
    return setcap_works(facts, CAPABILITY_SYSLOG) && probe_read_sysctl("kptr_restrict", -1) < 2 &&
           !(statvfs(path, &place) == 0 && place.f_flag & ST_NOSUID);
}

/* Was panalyze given the right to see the kernel's addresses (setcap cap_syslog+ep)? */
static bool panalyze_sees_addresses(const struct doctor_facts *facts)
{
    char path[PATH_MAX];
    struct vfs_ns_cap_data rights = {0};
    find_panalyze(facts, path, sizeof(path));
    if (!may_have_syslog(facts) ||
        getxattr(path, "security.capability", &rights, sizeof(rights)) < (ssize_t)sizeof(struct vfs_cap_data))
        return false;
    return le32toh(rights.magic_etc) & VFS_CAP_FLAGS_EFFECTIVE &&
           le32toh(rights.data[CAPABILITY_SYSLOG / 32].permitted) >> (CAPABILITY_SYSLOG % 32) & 1;
}

static const char gives_names[] = "for the names of kernel functions";

static void set_perfmon(const struct doctor_facts *facts, struct doctor_finding *finding, const char *comment)
{
    doctor_remedy(finding, "setcap cap_perfmon+ep %s    # %s: for this program only", doctor_word(facts->self),
                  comment);
}

static void set_syslog(const struct doctor_facts *facts, struct doctor_finding *finding, const char *comment)
{
    char panalyze[PATH_MAX];
    find_panalyze(facts, panalyze, sizeof(panalyze));
    doctor_remedy(finding, "setcap cap_syslog+ep %s    # as root: %s", doctor_word(panalyze), comment);
}

/* To a user other than root --cap-add alone gives nothing: it only allows what a file, or a program of root, gives. */
static void allow_in_container(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    bool root = facts->uid == 0, ambient = !root && facts->status.no_new_privileges;
    if (!facts->container[0])
        return;
    doctor_remedy(finding, "%s run %s--cap-add PERFMON --cap-add SYSLOG ...    # or this%s%s", facts->container,
                  facts->user_namespace ? "--userns=host " : "", facts->user_namespace ? ", as root on the host" : "",
                  root      ? ""
                  : ambient ? ", and in that container:"
                            : ", and in the image of that container:");
    if (ambient) {
        doctor_remedy(finding,
                      "setpriv --reuid=%u --regid=%u --clear-groups --inh-caps=+perfmon,+syslog "
                      "--ambient-caps=+perfmon,+syslog %s ...    # as root; start panalyze in the same way",
                      facts->uid, facts->gid, doctor_word(facts->self));
    } else if (!root) {
        set_perfmon(facts, finding, "as root");
        if (probe_read_sysctl("kptr_restrict", -1) < 2)
            set_syslog(facts, finding, gives_names);
    }
}

static void say_not_allowed(struct doctor_finding *finding, const char *capability)
{
    DOCTOR_MORE(finding->meaning,
                "%ssetcap alone does not help: the capability bounding set lacks %s, and no program with this "
                "capability can start here",
                finding->meaning[0] ? "; " : "", capability);
}

static void allow_kernel(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    doctor_remedy(finding, "sysctl -w kernel.perf_event_paranoid=1    # as root%s, until the next boot",
                  on_host(facts));
    if (!may_get(facts, CAPABILITY_PERFMON))
        say_not_allowed(finding, "CAP_PERFMON");
    else if (facts->user_namespace)
        DOCTOR_MORE(finding->meaning, "%scapabilities in a user namespace do not count for perf events",
                    finding->meaning[0] ? "; " : "");
    else if (facts->status.no_new_privileges)
        DOCTOR_MORE(finding->meaning, "%ssetcap does not help: no program gains rights here (no_new_privs)",
                    finding->meaning[0] ? "; " : "");
    if (!setcap_works(facts, CAPABILITY_PERFMON)) {
        allow_in_container(facts, finding);
        return;
    }
    set_perfmon(facts, finding, "or, as root");
    if (may_have_syslog(facts) && !panalyze_sees_addresses(facts))
        set_syslog(facts, finding, gives_names);
}

static void mention_paranoid(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    bool strict = facts->paranoid > 2 && !has_perfmon(facts);
    if (facts->paranoid == INT64_MIN)
        return;
    DOCTOR_MORE(finding->meaning, "; kernel.perf_event_paranoid is %" PRId64 "%s", facts->paranoid,
                strict ? ": at this level some kernels refuse perf events to all users but root"
                       : ", which allows perf events");
    if (strict)
        doctor_remedy(finding, "sysctl -w kernel.perf_event_paranoid=2    # as root");
}

static void explain_filter(const struct doctor_facts *facts, struct doctor_finding *finding, bool kills)
{
    if (kills)
        DOCTOR_TEXT(finding->value, "a seccomp filter kills callers of perf_event_open");
    else
        DOCTOR_TEXT(finding->value, "refused by a seccomp filter: %s", strerror(-facts->shared->refusal));
    DOCTOR_TEXT(finding->meaning, "perf_event_open does not reach the kernel");
    lift_filter(facts, finding);
    mention_paranoid(facts, finding);
}

static void explain_module(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    struct buffer names = BUFFER_INIT;
    char safe[128] = "";
    if (buffer_read_file(&names, "/sys/kernel/security/lsm", 4096) == 0)
        report_safe(safe, sizeof(safe), (const char *)names.data, strcspn((const char *)names.data, "\n"));
    buffer_release(&names);
    DOCTOR_TEXT(finding->value, "refused by a security module%s: %s",
                facts->status.seccomp == 2 ? ", or by a seccomp filter that checks arguments" : "",
                strerror(-facts->shared->user));
    DOCTOR_TEXT(finding->meaning,
                "neither kernel.perf_event_paranoid nor a missing capability explains the refusal%s%s",
                safe[0] ? "; active security modules (LSM): " : "", safe);
    doctor_remedy(finding, "setenforce 0    # as root: if that helps, allow perf_event in the SELinux policy");
    doctor_remedy(finding,
                  "docker run --security-opt apparmor=unconfined ...    # on the host, if this is a container");
    mention_paranoid(facts, finding);
}

static void explain_refusal(const struct doctor_facts *facts, struct doctor_finding *finding, enum doctor_cause cause)
{
    const char *reason = strerror(-facts->shared->user);
    switch (cause) {
    case DOCTOR_BY_SECCOMP:
    case DOCTOR_BY_SECCOMP_KILL: explain_filter(facts, finding, cause == DOCTOR_BY_SECCOMP_KILL); break;
    case DOCTOR_BY_SANDBOX:
        DOCTOR_TEXT(finding->value, "refused by a sandbox: %s", strerror(-facts->shared->refusal));
        DOCTOR_TEXT(finding->meaning,
                    "a sandbox (such as gVisor) or an emulator answers instead of the kernel; this is not a seccomp "
                    "filter");
        doctor_remedy(
            finding,
            "docker run --runtime runc --cap-add PERFMON ...    # on the host: a container without the sandbox");
        break;
    case DOCTOR_NOT_IN_KERNEL:
        DOCTOR_TEXT(finding->value, "this kernel has no perf events");
        doctor_remedy(finding, "scripts/config -e PERF_EVENTS    # in the kernel's source tree: CONFIG_PERF_EVENTS=y");
        break;
    case DOCTOR_BY_PARANOID:
        DOCTOR_TEXT(finding->value,
                    "kernel.perf_event_paranoid is %" PRId64 ", which refuses perf events to ordinary users: %s",
                    facts->paranoid, reason);
        allow_kernel(facts, finding);
        break;
    case DOCTOR_BY_DESCRIPTORS:
        DOCTOR_TEXT(finding->value, "no file descriptors left: %s", reason);
        doctor_remedy(finding, "ulimit -n 4096");
        break;
    case DOCTOR_BY_MODULE: explain_module(facts, finding); break;
    default: DOCTOR_TEXT(finding->value, "%s", reason); break;
    }
}

void doctor_perf_events(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    if (!facts->perf.tried && facts->perf.signal != SIGSYS) {
        finding->level = DOCTOR_REFUSED;
        DOCTOR_TEXT(finding->value, "cannot be checked: %s",
                    facts->perf.error ? strerror(-facts->perf.error) : "the check was killed");
        return;
    }
    enum doctor_cause cause = judge(facts);
    if (cause == DOCTOR_WORKS || cause == DOCTOR_USER_ONLY) {
        DOCTOR_TEXT(finding->value, "perf_event_open works");
        return;
    }
    /* Timers are the alternative. */
    const bool timers = facts->timer.tried && facts->shared->timer == 0 && facts->shared->timer_fired;
    finding->level = facts->config.tried && facts->shared->config_status == 0 && timers ? DOCTOR_LIMITED
                                                                                        : DOCTOR_REFUSED;
    explain_refusal(facts, finding, cause);
}

void doctor_kernel_samples(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    enum doctor_cause cause = judge(facts);
    if (cause == DOCTOR_WORKS) {
        DOCTOR_TEXT(finding->value, "kernel code is sampled too");
        return;
    }
    finding->level = cause == DOCTOR_USER_ONLY ? DOCTOR_LIMITED : DOCTOR_NOTE;
    if (cause != DOCTOR_USER_ONLY) {
        DOCTOR_TEXT(finding->value, "not tried: no event can be opened");
        return;
    }
    bool paranoid = facts->paranoid > 1 && !has_perfmon(facts);
    if (paranoid)
        DOCTOR_TEXT(finding->value, "kernel.perf_event_paranoid is %" PRId64, facts->paranoid);
    else
        DOCTOR_TEXT(finding->value, "refused by a security module or kernel lockdown: %s",
                    strerror(-facts->shared->kernel));
    DOCTOR_TEXT(
        finding->meaning,
        "percentages are shares of the time in user space, but the reported CPU time includes the kernel; context "
        "switches and migrations are not counted");
    if (paranoid)
        allow_kernel(facts, finding);
}

void doctor_hardware(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    int status = facts->shared->cycles;
    if (status == 0) {
        DOCTOR_TEXT(finding->value, "cycles can be sampled");
        return;
    }
    finding->level = DOCTOR_NOTE;
    if (facts->shared->user < 0)
        DOCTOR_TEXT(finding->value, "not tried: no event can be opened");
    else if (status == -ENOENT || status == -EOPNOTSUPP || status == -ENODEV || status == -ENXIO) {
        DOCTOR_TEXT(finding->value, "no cycles event on this machine");
        DOCTOR_TEXT(finding->meaning,
                    "task-clock is sampled instead, and gives the same shares of time; in a virtual machine only the "
                    "host can enable hardware counters");
    } else {
        finding->level = DOCTOR_LIMITED;
        DOCTOR_TEXT(finding->value, "the cycles event is refused: %s", strerror(-status));
        DOCTOR_TEXT(finding->meaning, "task-clock is sampled instead%s",
                    status == -EBUSY ? "; another program uses all counters" : "");
        if (status == -EBUSY)
            doctor_remedy(finding, "sysctl -w kernel.nmi_watchdog=0    # as root: the watchdog uses a counter");
    }
}

void doctor_sampler(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_shared *found = facts->shared;
    const struct event_config *config = &found->config;
    if (!facts->config.tried || found->config_status < 0) {
        /* This is reported above already, with the cause. */
        finding->level = facts->shared->user < 0 ? DOCTOR_NOTE : DOCTOR_REFUSED;
        DOCTOR_TEXT(finding->value, "nothing can be sampled or counted");
        DOCTOR_TEXT(finding->meaning, "%s", facts->config.said);
        return;
    }
    if (!config->sampling)
        DOCTOR_TEXT(finding->value, "pinject-run takes no samples, because --stat only counts");
    else
        DOCTOR_TEXT(finding->value, "samples %s", config->events[0].name);
    const char *before = "; counts ";
    for (unsigned i = config->sampling ? config->sampling : config->dummy; i < config->count; i++, before = ", ")
        DOCTOR_MORE(finding->value, "%s%s", before, config->events[i].name);
}

void doctor_rate(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    uint64_t wanted = facts->args->settings->frequency;
    int64_t limit = probe_read_sysctl("perf_event_max_sample_rate", -1);
    int64_t percent = probe_read_sysctl("perf_cpu_time_max_percent", 0);
    if (limit < 0) {
        DOCTOR_TEXT(finding->value, "the limit is unknown");
    } else if (wanted > (uint64_t)limit) {
        finding->level = DOCTOR_REFUSED;
        DOCTOR_TEXT(finding->value, "-F %" PRIu64 " is above kernel.perf_event_max_sample_rate, %" PRId64 " Hz", wanted,
                    limit);
        doctor_remedy(finding, "pinject-run -F %" PRId64 " ...", limit > 0 ? limit : 1);
        doctor_remedy(finding, "sysctl -w kernel.perf_event_max_sample_rate=%" PRIu64 "    # as root", wanted);
    } else {
        DOCTOR_TEXT(finding->value, "kernel.perf_event_max_sample_rate is %" PRId64 " Hz", limit);
        if (percent > 0 && percent < 100)
            DOCTOR_TEXT(finding->meaning,
                        "the kernel lowers this rate when sampling takes more than %" PRId64
                        " %% of a CPU (kernel.perf_cpu_time_max_percent)",
                        percent);
    }
}

/* Does one of the first symbols have an address? */
static bool shows_addresses(void)
{
    uint64_t address = 0;
    char line[256];
    FILE *file = fopen("/proc/kallsyms", "re");
    if (!file)
        return false;
    /* Symbols of per-CPU data begin at 0. */
    for (int i = 0; i < 256 && !address && fgets(line, sizeof(line), file); i++)
        address = strtoull(line, NULL, 16);
    fclose(file);
    return address != 0;
}

/*
 * Level 0 shows the addresses if kernel.perf_event_paranoid allows to profile the kernel, level 1 only with CAP_SYSLOG.
 */
static void explain_hidden(const struct doctor_facts *facts, struct doctor_finding *finding, int64_t restrict_level)
{
    bool syslog = doctor_has_capability(facts, CAPABILITY_SYSLOG);
    if (access("/proc/kallsyms", R_OK) < 0)
        DOCTOR_TEXT(finding->value, "/proc/kallsyms cannot be read");
    else if (restrict_level == 0 && facts->paranoid > 1 && !syslog)
        DOCTOR_TEXT(finding->value,
                    "/proc/kallsyms hides the kernel's addresses (kernel.perf_event_paranoid is %" PRId64
                    ", and CAP_SYSLOG is missing)",
                    facts->paranoid);
    else if (restrict_level > 0)
        DOCTOR_TEXT(finding->value,
                    "/proc/kallsyms hides the kernel's addresses (kernel.kptr_restrict is %" PRId64 "%s)",
                    restrict_level, restrict_level == 1 && !syslog ? ", and CAP_SYSLOG is missing" : "");
    else
        DOCTOR_TEXT(finding->value, "/proc/kallsyms hides the kernel's addresses");
}

static void show_names(const struct doctor_facts *facts, struct doctor_finding *finding, int64_t restrict_level)
{
    if (restrict_level > 0)
        doctor_remedy(finding, "sysctl -w kernel.kptr_restrict=0    # as root%s", on_host(facts));
    if (facts->paranoid > 1 && !doctor_has_capability(facts, CAPABILITY_SYSLOG))
        doctor_remedy(finding, "sysctl -w kernel.perf_event_paranoid=1    # as root%s", on_host(facts));
    if (!may_get(facts, CAPABILITY_SYSLOG)) {
        say_not_allowed(finding, "CAP_SYSLOG");
        allow_in_container(facts, finding);
    } else if (may_have_syslog(facts)) {
        set_syslog(facts, finding, "only panalyze needs this");
    }
}

void doctor_kernel_names(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    int64_t restrict_level = probe_read_sysctl("kptr_restrict", -1);
    char known[64] = "";
    if (restrict_level >= 0)
        snprintf(known, sizeof(known), " (kernel.kptr_restrict is %" PRId64 ")", restrict_level);
    if (facts->shared->kernel < 0) {
        DOCTOR_TEXT(finding->value, "not needed: kernel code is not sampled%s", known);
    } else if (shows_addresses()) {
        DOCTOR_TEXT(finding->value, "/proc/kallsyms is readable%s", known);
    } else if (panalyze_sees_addresses(facts)) {
        DOCTOR_TEXT(finding->value, "panalyze can read /proc/kallsyms, because it has cap_syslog");
    } else {
        finding->level = DOCTOR_LIMITED;
        explain_hidden(facts, finding, restrict_level);
        DOCTOR_TEXT(finding->meaning, "kernel code is sampled, but its functions have no names");
        show_names(facts, finding, restrict_level);
    }
}

void doctor_timers(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_shared *found = facts->shared;
    bool needed = found->user < 0;
    finding->level = DOCTOR_OK;
    if (!facts->timer.tried)
        DOCTOR_TEXT(finding->value, "%s",
                    facts->timer.signal == SIGSYS ? "a seccomp filter killed the check" : "cannot be checked");
    else if (found->timer < 0)
        DOCTOR_TEXT(finding->value, "refused: %s", strerror(-found->timer));
    else if (!found->timer_fired)
        DOCTOR_TEXT(finding->value, "CPU-time timers never expire");
    else {
        DOCTOR_TEXT(finding->value, "CPU-time timers of threads work%s",
                    needed ? "" : " (not needed: perf events work)");
        if (needed && found->memory_read < 0)
            DOCTOR_TEXT(finding->meaning, "call chains are truncated: process_vm_readv is refused");
        return;
    }
    /* Timers matter only if perf events are refused. */
    finding->level = needed ? DOCTOR_LIMITED : DOCTOR_NOTE;
    DOCTOR_TEXT(finding->meaning, "if perf events are refused, nothing can be sampled without these timers");
    if (needed)
        lift_filter(facts, finding);
}

static bool read_word(const char *path, char *ret, size_t size)
{
    struct buffer text = BUFFER_INIT;
    bool read = buffer_read_file(&text, path, 4096) == 0 && text.size > 0;
    if (read)
        report_safe(ret, size, (const char *)text.data, strcspn((const char *)text.data, "\n"));
    buffer_release(&text);
    return read;
}

void doctor_clock(const struct doctor_facts *facts, struct doctor_finding *finding)
{
#define CLOCK_DIRECTORY "/sys/devices/system/clocksource/clocksource0/"
    char current[64], others[128] = "";
    (void)facts;
    if (!read_word(CLOCK_DIRECTORY "current_clocksource", current, sizeof(current))) {
        DOCTOR_TEXT(finding->value, "the clock source is unknown");
        return;
    }
    DOCTOR_TEXT(finding->value, "%s", current);
    if (strcmp(current, "hpet") != 0 && strcmp(current, "acpi_pm") != 0 && strcmp(current, "jiffies") != 0)
        return;
    finding->level = DOCTOR_NOTE;
    DOCTOR_TEXT(finding->meaning,
                "this clock is slow to read: each sample and each context switch costs the program more time");
    read_word(CLOCK_DIRECTORY "available_clocksource", others, sizeof(others));
    if (strstr(others, "tsc"))
        doctor_remedy(finding, "echo tsc > " CLOCK_DIRECTORY "current_clocksource    # as root");
}

void doctor_accounting(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    struct rusage usage;
    char text[128];
    (void)facts;
    bool schedstat = read_word("/proc/self/schedstat", text, sizeof(text));
    /* The earlier checks ran in children. */
    bool children = getrusage(RUSAGE_CHILDREN, &usage) == 0 &&
                    usage.ru_utime.tv_sec + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec + usage.ru_stime.tv_usec > 0;
    if (children && schedstat) {
        DOCTOR_TEXT(finding->value, "the kernel reports the CPU time of tasks and of their exited children");
        return;
    }
    finding->level = DOCTOR_NOTE;
    DOCTOR_TEXT(finding->value, "%s",
                children ? "this kernel has no /proc/PID/schedstat"
                         : "the kernel does not report the CPU time of exited children");
    DOCTOR_TEXT(finding->meaning, "%s",
                children ? "the CPU time of a task without events is known only from wait4(), after the task has exited"
                         : "pinject-run cannot tell how much of the CPU time is in the profile");
}
