/* SPDX-License-Identifier: MIT */
/* What --info prints of one machine or another, against tests/data/golden/info.txt. */
#define _GNU_SOURCE
#include "machine_fake.h"

#include <errno.h>
#include <pinject/pinject.h>
#include <pinject/wire.h>

#include "collector/info.h"
#include "common/report.h"

static int virtual_machine(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE ? 0 : -ENOENT;
}

static int user_space_only(const struct perf_event_attr *attr)
{
    return attr->exclude_kernel ? virtual_machine(attr) : -EACCES;
}

static int without_samples(const struct perf_event_attr *attr)
{
    return attr->sample_period || attr->freq ? -EOPNOTSUPP : 0;
}

static int refused(const struct perf_event_attr *attr)
{
    (void)attr;
    return -EPERM;
}

static void set_usual(void)
{
    machine_fake.perf = virtual_machine;
}

static void set_user(void)
{
    machine_fake.perf = user_space_only;
    machine_fake.user = 1000;
    machine_fake.limits[RLIMIT_MEMLOCK] = (struct rlimit){64 << 10, 8 << 20};
    machine_fake.limits[RLIMIT_NOFILE] = (struct rlimit){1024, 4096};
    machine_fake_sysctl("kptr_restrict", "1\n");
    machine_fake_say("/proc/cpuinfo", "model name\t: Aba\033[2Jcus\n");
    setenv("TMPDIR", "/var/\033tmp", 1);
}

static void set_rootless(void)
{
    machine_fake.perf = user_space_only;
    machine_fake_say("/proc/self/uid_map", "         0      65534          1\n");
}

static void set_strict(void)
{
    machine_fake.perf = refused;
    machine_fake.user = 1000;
    machine_fake_sysctl("perf_event_paranoid", "3\n");
    machine_fake_say("/proc/cpuinfo", "Hardware\t: none\n");
    machine_fake.access_error = EACCES;
    setenv("TMPDIR", "relative", 1);
}

static void set_open(void)
{
    machine_fake.perf = without_samples;
    machine_fake_sysctl("perf_event_paranoid", "-1\n");
    machine_fake_say("/proc/cpuinfo", NULL);
    machine_fake_sysctl("perf_event_mlock_kb", NULL);
    machine_fake.stacks_status = -EINVAL;
    machine_fake.statvfs_fails = true;
}

static void set_lax(void)
{
    machine_fake_sysctl("perf_event_paranoid", "1\n");
}

static void set_unknown(void)
{
    machine_fake.file_count = 0;
}

/* Of libraries, which differ where the test runs: all after the label. */
static char *without_versions(char *text)
{
    static const char *const labels[] = {"\n  libpfm4 ", "\n  libc ", "\n  zlib "};
    for (char *at; (at = strstr(text, " general-purpose counters (libpfm4)"));) {
        char *end = strchr(at, '\n');
        while (*at != '\n')
            at--;
        memmove(at, end, strlen(end) + 1);
    }
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        for (char *at = text; (at = strstr(at, labels[i]));) {
            char *end = strchr(at + 1, '\n');
            at += strlen(labels[i]);
            memmove(at, end, strlen(end) + 1);
        }
    return text;
}

static void a_machine_is_told(void **state)
{
    static const struct {
        const char *name;
        void (*set)(void);
    } machines[] = {
        {"a virtual machine", set_usual}, {"a user", set_user},         {"root of a user namespace", set_rootless},
        {"a strict kernel", set_strict},  {"an open kernel", set_open}, {"all hardware", set_lax},
        {"no /proc", set_unknown},
    };
    static const struct event_sources cpu = {.devices = TEST_DATA "/pmus/intel", .tracing = {"/no/such/place"}};
    char *text, protocol[32];
    size_t size;
    FILE *to = open_memstream(&text, &size);
    (void)state;
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        machine_fake_init();
        unsetenv("TMPDIR");
        machines[i].set();
        fprintf(to, "==== %s\n", machines[i].name);
        check_capture();
        info_print(&cpu, to);
        fprintf(to, "stderr: %s\n", check_captured());
    }
    fclose(to);
    snprintf(protocol, sizeof(protocol), "%s, protocol %u\n", PINJECT_VERSION_STRING, PINJECT_WIRE_VERSION);
    text = check_replaced(text, protocol, "VERSION\n");
    text = without_versions(text);
    check_golden("info", text);
    free(text);
}

int main(void)
{
    report_program("pinject-run");
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_machine_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
