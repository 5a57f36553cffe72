/* SPDX-License-Identifier: MIT */
/* --list-events, --event-info and --check-events-only, on CPUs and kernels that answer what the test wants. */
#include "machine_fake.h"

#include <errno.h>

#include "events_kit.h"

#include "collector/list_events.h"

static char *text;
static size_t size;

/* What LISTED wrote; valid until the next call. */
#define WRITTEN(call)                            \
    do {                                         \
        free(text);                              \
        FILE *to = open_memstream(&text, &size); \
        status = (call);                         \
        fclose(to);                              \
    } while (0)

static void has(const char *line)
{
    if (!strstr(text, line))
        fail_msg("'%s' is not in:\n%s", line, text);
}

/* PMUs by the types of tests/data/pmus/intel. */
static int intel(const struct perf_event_attr *attr)
{
    return attr->type == 14 || attr->type == 20 ? -EINVAL : attr->type == PERF_TYPE_HW_CACHE ? -ENOENT : 0;
}

static int a_user(const struct perf_event_attr *attr)
{
    return attr->exclude_kernel ? intel(attr) : -EACCES;
}

static void a_list_says_what_can_be_used(void **state)
{
    int status;
    (void)state;
    machine_fake_init();
    machine_fake.perf = intel;
    WRITTEN(list_events(&kit_intel, NULL, false, to));
    assert_int_equal(status, 0);
    has("cycles OR cpu-cycles                     usable\n");
    has("L1-dcache-loads                          not usable: this machine does not have this event\n");
    has("cpu/mem-loads/                           usable\n");
    has("power/energy-pkg/                        not usable: PMU power counts whole CPUs or sockets");
    WRITTEN(list_events(&kit_intel, "^CYC|cas_count", true, to));
    assert_int_equal(status, 0);
    has("uncore_imc_0/cas_count_read/             event=0x04,umask=0x03, times 6.10352e-05 MiB; not usable");
    assert_non_null(strstr(text, "cycles"));
    assert_null(strstr(text, "faults"));
    machine_fake.perf = a_user;
    WRITTEN(list_events(&kit_intel, "cycles|context-switches", false, to));
    has("cycles OR cpu-cycles                     usable in user space only\n");
    has("context-switches OR cs                   not usable: the event happens in the kernel");
    check_capture();
    WRITTEN(list_events(&kit_intel, "nothing like it", false, to));
    assert_int_equal(status, 1);
    assert_non_null(strstr(check_captured(), "no event"));
    check_capture();
    WRITTEN(list_events(&kit_intel, "(", false, to));
    assert_int_equal(status, -EINVAL);
    assert_non_null(strstr(check_captured(), "not a regular expression"));
}

static void an_event_is_explained(void **state)
{
    int status;
    (void)state;
    machine_fake_init();
    WRITTEN(list_events_info(&kit_intel, "cpu/mem-loads,ldlat=30/", to));
    assert_int_equal(status, 0);
    has("PMU          cpu\n");
    has("config       0x1cd\n");
    has("config1      0x1e\n");
    has("umask (config, bits 0xff00)\n");
    has("ldlat (config1, bits 0xffff)\n");
    has("here         usable\n");
    WRITTEN(list_events_info(&kit_intel, "uncore_imc_0/cas_count_read/", to));
    has("PMU          uncore_imc_0; counts per CPU or socket, not per thread; cpumask: 0,18\n");
    has("scale        6.10352e-05 MiB\n");
    WRITTEN(list_events_info(&kit_intel, "mem:0x1000/2:w", to));
    has("address      0x1000, 2 bytes, w\n");
    has("never fire");
    check_capture();
    WRITTEN(list_events_info(&kit_intel, "nonsense", to));
    assert_int_equal(status, -EINVAL);
    check_captured();
}

static int check(const char *events)
{
    int status;
    struct settings settings = {.frequency = 99};
    assert_int_equal(event_list_parse(&settings.events, &kit_intel, events), 0);
    check_capture();
    WRITTEN(list_events_check(&settings, to));
    free(text);
    text = NULL;
    const char *said = check_captured();
    (void)said;
    event_list_release(&settings.events);
    return status;
}

static int no_group(const struct perf_event_attr *attr)
{
    (void)attr;
    return machine_fake.group >= 0 ? -EINVAL : 0;
}

static void sets_are_tried(void **state)
{
    (void)state;
    machine_fake_init();
    machine_fake.perf = no_group;
    assert_int_equal(check("{cycles,instructions}"), 1);
    machine_fake.perf = intel;
    assert_int_equal(check("L1-dcache-loads"), 1);
    assert_int_equal(check("power/energy-pkg/"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(a_list_says_what_can_be_used), T(an_event_is_explained), T(sets_are_tried)};
    report_program("pinject-run");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    event_list_release(&kit_list);
    return failed;
}
