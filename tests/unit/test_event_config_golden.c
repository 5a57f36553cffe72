/* SPDX-License-Identifier: MIT */
/*
 * Every field of the event configuration that pinject-run makes on one machine or another, against
 * tests/data/golden/event-config.txt, and what it says where there is none.
 */
#define _GNU_SOURCE
#include "machine_fake.h"

#include <errno.h>
#include <inttypes.h>

#include "collector/config/event_config.h"
#include "collector/config/probe.h"
#include "collector/output/features.h"
#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "common/buffer.h"
#include "common/report.h"

/* ---- Machines ---- */

static bool is_hardware(const struct perf_event_attr *attr)
{
    return attr->type != PERF_TYPE_SOFTWARE;
}

static int virtual_machine(const struct perf_event_attr *attr)
{
    return is_hardware(attr) ? -ENOENT : 0;
}

static int user_space_only(const struct perf_event_attr *attr)
{
    return attr->exclude_kernel ? virtual_machine(attr) : -EACCES;
}

static int refused(const struct perf_event_attr *attr)
{
    (void)attr;
    return -EPERM;
}

static int not_there(const struct perf_event_attr *attr)
{
    (void)attr;
    return -ENOSYS;
}

static int no_descriptors(const struct perf_event_attr *attr)
{
    (void)attr;
    return -EMFILE;
}

/* Knows neither PERF_FORMAT_LOST nor some events. */
static int old_kernel(const struct perf_event_attr *attr)
{
    return attr->read_format & PERF_FORMAT_LOST ? -EINVAL : virtual_machine(attr);
}

static int old_kernel_for_users(const struct perf_event_attr *attr)
{
    const int status = old_kernel(attr); /* it reads all of the attr first */
    return status == -EINVAL || attr->exclude_kernel ? status : -EACCES;
}

static int busy_counters(const struct perf_event_attr *attr)
{
    return is_hardware(attr) ? -EBUSY : 0;
}

/* Has two counters: no group of three hardware events. Each event after the first of a group is in it. */
static int two_counters(const struct perf_event_attr *attr)
{
    static unsigned grouped;
    grouped = machine_fake.group < 0 ? 0 : grouped + 1;
    return is_hardware(attr) && grouped > 1 ? -EINVAL : 0;
}

/* Without the most precise way. */
static int less_precise(const struct perf_event_attr *attr)
{
    return attr->precise_ip > 1 ? -EOPNOTSUPP : 0;
}

/* Its PMU knows addresses, but no physical ones; faults are known with no address at all. */
static int few_addresses(const struct perf_event_attr *attr)
{
    const uint64_t refused = is_hardware(attr)                           ? PERF_SAMPLE_PHYS_ADDR
                             : attr->config == PERF_COUNT_SW_PAGE_FAULTS ? PERF_SAMPLE_ADDR
                                                                         : 0;
    return attr->sample_type & refused ? (is_hardware(attr) ? -EACCES : -EOPNOTSUPP) : 0;
}

static int no_address(const struct perf_event_attr *attr)
{
    return attr->sample_type & PERF_SAMPLE_ADDR ? -EOPNOTSUPP : 0;
}

static int no_registers(const struct perf_event_attr *attr)
{
    const uint64_t registers = attr->sample_type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR);
    return registers && !(attr->sample_type & PERF_SAMPLE_STACK_USER) ? -ENOSYS : 0;
}

/* Its CPU records branches, of the kernel only for root. */
static int records_branches(const struct perf_event_attr *attr)
{
    if (!(attr->sample_type & PERF_SAMPLE_BRANCH_STACK))
        return 0;
    if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_KERNEL)
        return -EACCES;
    return is_hardware(attr) && !(attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) ? 0 : -EOPNOTSUPP;
}

static int virtual_machine_without_branches(const struct perf_event_attr *attr)
{
    return is_hardware(attr) ? -ENOENT : attr->sample_type & PERF_SAMPLE_BRANCH_STACK ? -EOPNOTSUPP : 0;
}

/* What a tracepoint tells is a secret, its count is none. */
static int no_payload(const struct perf_event_attr *attr)
{
    return attr->sample_type & PERF_SAMPLE_RAW ? -EPERM : 0;
}

static int no_more_breakpoints(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_BREAKPOINT ? -ENOSPC : 0;
}

static int nothing_but_a_clock(const struct perf_event_attr *attr)
{
    return attr->sample_period || attr->freq || attr->config != PERF_COUNT_SW_TASK_CLOCK ? -EIO : 0;
}

/* ---- Scenes ---- */

/* The kernels of these machines do. */
bool __wrap_probe_reports_ends(void);
bool __wrap_probe_reports_ends(void)
{
    return true;
}

struct scene {
    const char *name;
    int (*perf)(const struct perf_event_attr *attr);
    struct settings settings;
    const char *events[3];
};

#define TURNS   .stat = true, .switch_ns = 5000000
#define INHERIT SETTINGS_SAMPLER_INHERIT
#define DWARF   .call_graph = SETTINGS_CALL_GRAPH_DWARF
static const struct scene scenes[] = {
    {"everything there is", NULL, {.frequency = 999}, {0}},
    {"a virtual machine", virtual_machine, {.frequency = 999}, {0}},
    {"a user", user_space_only, {.frequency = 999}, {0}},
    {"a user counts", user_space_only, {.stat = true}, {0}},
    {"refused", refused, {.frequency = 999}, {0}},
    {"refused, counting", refused, {.stat = true}, {0}},
    {"refused, chosen events", refused, {.frequency = 99}, {"task-clock"}},
    {"refused, counting chosen events", refused, {.stat = true}, {"page-faults", "context-switches", "task-clock:u"}},
    {"refused, a clock twice", refused, {.frequency = 99}, {"task-clock,task-clock:u"}},
    {"refused, counting a clock twice", refused, {.stat = true}, {"task-clock:u,task-clock"}},
    {"refused, an event of the kernel", refused, {.frequency = 99}, {"task-clock:k"}},
    {"refused, an event that timers cannot sample", refused, {.frequency = 99}, {"page-faults"}},
    {"refused, an event that nobody else counts", refused, {.stat = true}, {"cpu-migrations"}},
    {"no perf events", not_there, {.frequency = 999}, {0}},
    {"no descriptors", no_descriptors, {.frequency = 999}, {0}},
    {"an old kernel", old_kernel, {.frequency = 999}, {0}},
    {"an old kernel, a user", old_kernel_for_users, {.frequency = 999}, {0}},
    {"counters are busy", busy_counters, {.frequency = 999}, {0}},
    {"counters are busy, and wanted", busy_counters, {.frequency = 999}, {"instructions"}},
    {"nothing but a clock that counts", nothing_but_a_clock, {.frequency = 999}, {0}},
    {"nothing but a clock, counting", nothing_but_a_clock, {.stat = true}, {0}},
    {"chosen events", NULL, {.frequency = 4000}, {"instructions:u", "cpu-clock", "cycles:k"}},
    {"one event by two names", NULL, {.frequency = 4000}, {"faults", "page-faults", "faults:u"}},
    {"one event with two periods, and another", NULL, {.frequency = 4000}, {"faults/period=9/", "faults", "cs"}},
    {"one event at levels that do not meet", NULL, {.frequency = 4000}, {"faults:u", "faults:k"}},
    {"one event in a group", NULL, {.frequency = 4000}, {"faults:u", "{cs,faults}"}},
    {"chosen events, a user", user_space_only, {.frequency = 100}, {"page-faults", "minor-faults:u", "cpu-clock"}},
    {"an event of the kernel, a user", user_space_only, {.frequency = 100}, {"page-faults:k"}},
    {"an event in the kernel, a user", user_space_only, {.frequency = 100}, {"context-switches"}},
    {"an event that is not there", virtual_machine, {.frequency = 100}, {"cache-misses"}},
    {"counting chosen events", NULL, {.stat = true}, {"cycles", "context-switches"}},
    {"a period", NULL, {.period = 20000}, {"task-clock", "page-faults"}},
    {"a period that is too short for clocks", NULL, {.period = 9999}, {"cpu-clock", "page-faults"}},
    {"the shortest period", NULL, {.period = 10000}, {"task-clock"}},
    {"the longest period", NULL, {.period = INT64_MAX}, {"page-faults"}},
    {"a period that is too long", NULL, {.period = UINT64_C(1) << 63}, {"page-faults"}},
    {"the highest rate", NULL, {.frequency = 100000}, {"cycles"}},
    {"a rate that is too high", NULL, {.frequency = 100001}, {0}},
    {"no rate", NULL, {.frequency = 0}, {0}},
    {"the lowest rate", NULL, {.frequency = 1, .call_graph = SETTINGS_CALL_GRAPH_NONE}, {0}},
    {"a group", NULL, {.stat = true}, {"{cycles,instructions}:D", "cs,{task-clock,faults}:u"}},
    {"a group that is too large", two_counters, {.stat = true}, {"{cycles,instructions,branches}"}},
    {"a group that is sampled", NULL, {.frequency = 99}, {"{cycles:u,faults/period=7/}"}},
    {"samples with values",
     NULL,
     {.frequency = 99, .call_graph = SETTINGS_CALL_GRAPH_NONE},
     {"{cycles,cs,faults}:S,instructions", "faults:S"}},
    {"samples with values, an old kernel", old_kernel, {.frequency = 99}, {"{task-clock,cs}:S"}},
    {"samples with values, refused", refused, {.frequency = 99}, {"{task-clock,faults}:S"}},
    {"values, counting", NULL, {.stat = true}, {"{cycles,cs}:S"}},
    {"sets that take turns", NULL, {TURNS}, {"cycles,{cs,faults}", "cycles,faults:u,minor-faults", "task-clock,cs"}},
    {"sets of which one has no event", virtual_machine, {TURNS}, {"faults,cs", "cycles", "faults"}},
    {"sets, refused", refused, {TURNS}, {"faults", "cs", "task-clock"}},
    {"a clock twice", NULL, {.frequency = 99}, {"task-clock:u,task-clock:k"}},
    {"a clock twice, counted", NULL, {.stat = true}, {"task-clock:u,task-clock:k"}},
    {"the most precise", less_precise, {.frequency = 99}, {"cycles:P"}},
    {"rates of their own", NULL, {.frequency = 99}, {"faults/period=3/,cs/freq=7/,cpu-clock/freq=1000/"}},
    {"a period of what the kernel counts", NULL, {.period = 50}, {"cs,cpu-clock,cycles,mem:0x1000/8:w"}},
    {"each time that it happens", NULL, {.period = 1}, {"cs,mem:0x1000/8:w"}},
    {"a rate of its own that is too high", NULL, {.frequency = 99}, {"faults,cs/freq=100001/"}},
    {"call chains of their own",
     NULL,
     {.frequency = 99, .call_graph = SETTINGS_CALL_GRAPH_NONE},
     {"faults/call-graph=fp,max-stack=5/,cs"}},
    {"no call chains", NULL, {.frequency = 99}, {"faults/call-graph=no/"}},
    {"addresses and CPUs", NULL, {.frequency = 99, .data = true, .sample_cpu = true}, {"cycles", "{faults,cs}"}},
    {"addresses that some have", few_addresses, {.frequency = 99, .data = true}, {"cycles", "{cs,faults}"}},
    {"no addresses", no_address, {.frequency = 99, .data = true}, {"cycles"}},
    {"addresses, refused", refused, {.frequency = 99, .data = true, .sample_cpu = true}, {0}},
    {"registers of user space", NULL, {.frequency = 99, .user_regs = 0x1ff}, {"cycles", "{faults,cs}"}},
    {"registers, refused", no_registers, {.frequency = 99, .user_regs = 0x1ff}, {"cycles,faults"}},
    {"registers, timers", refused, {.frequency = 99, .user_regs = 0x1ff}, {0}},
    {"registers of the interrupt", NULL, {.frequency = 99, .intr_regs = 0x1ff}, {"cycles", "{faults,cs}"}},
    {"registers of both, refused", no_registers, {.frequency = 99, .user_regs = 2, .intr_regs = 1}, {"cycles,faults"}},
    {"registers of the interrupt, timers", refused, {.frequency = 99, .intr_regs = 0x1ff}, {0}},
    {"context switches", NULL, {.frequency = 99, .switch_events = true}, {"cycles,faults"}},
    {"context switches, timers", refused, {.frequency = 99, .switch_events = true}, {0}},
    {"registers and dumps of stacks", NULL, {.frequency = 99, DWARF, .user_regs = 0x1ff}, {"cycles"}},
    {"branches", records_branches, {.frequency = 99, .branches = PERF_SAMPLE_BRANCH_ANY}, {"cycles"}},
    {"branches and registers", records_branches, {.frequency = 99, DWARF, .branches = 8, .user_regs = 3}, {"cycles"}},
    {"branches of events of which one has none", records_branches, {.frequency = 99, .branches = 8}, {"cycles,faults"}},
    {"branches that the CPU does not record", records_branches, {.frequency = 99, .branches = 0x800}, {"cycles"}},
    {"branches of the kernel", records_branches, {.frequency = 99, .branches = 10}, {"cycles"}},
    {"branches of the default event", virtual_machine_without_branches, {.frequency = 99, .branches = 8}, {0}},
    {"branches, timers", refused, {.frequency = 99, .branches = 8}, {0}},
    {"inherited events", NULL, {.frequency = 99, .sampler = INHERIT, .follow = PINJECT_SESSION_ALL}, {0}},
    {"inherited events of some tasks", NULL, {.frequency = 99, .sampler = INHERIT}, {0}},
    {"inherited events, timers", refused, {.frequency = 99, .sampler = INHERIT, .follow = PINJECT_SESSION_ALL}, {0}},
    {"inherited faults",
     NULL,
     {.frequency = 99, .sampler = INHERIT, .follow = PINJECT_SESSION_ALL, .rate_given = true},
     {"faults"}},
    {"few samples", NULL, {.period = 1, .saturate = 10}, {"task-clock,faults"}},
    {"many samples", NULL, {.frequency = 99, .saturate = 100000}, {"faults"}},
    {"rates by cost", NULL, {.frequency = 999, .frequency_auto = true}, {"task-clock,faults,cpu-clock/freq=50/"}},
    {"rates by cost without a clock", NULL, {.frequency = 999, .frequency_auto = true, .rate_given = true}, {"faults"}},
    {"default rates without a clock", NULL, {.frequency = 999, .frequency_auto = true}, {"faults"}},
    {"rates by cost, timers", refused, {.frequency = 999, .frequency_auto = true, .rate_given = true}, {"task-clock"}},
    {"random periods", NULL, {.period = 20000, .random = {{0xff, 0, 0x7}, {1}, 3}}, {"task-clock,faults,cs/period=3/"}},
    {"random periods of a rate", NULL, {.frequency = 99, .random = {{1}, {1}, 1}}, {"task-clock"}},
    {"random periods of a default rate", NULL, {.frequency = 99, .random = {{1}, {1}, 1}}, {0}},
    {"random periods of the default event", NULL, {.period = 5000, .random = {{15}, {1}, 1}}, {0}},
    {"random periods of what is counted", NULL, {.period = 9, .random = {{1, 1}, {1}, 2}}, {"faults", "faults:u"}},
    {"random periods that are too long", NULL, {.period = 2, .random = {{INT64_MAX}, {1}, 1}}, {"faults"}},
    {"the longest random periods", NULL, {.period = 1, .random = {{INT64_MAX - 1}, {1}, 1}}, {"faults"}},
    {"a random mask that is too long", NULL, {.period = 2, .random = {{UINT64_MAX}, {1}, 1}}, {"faults"}},
    {"random periods of what is sampled each time",
     NULL,
     {.frequency = 99, .random = {{7}, {1}, 1}},
     {"mem:0x1000/8:w"}},
    {"random periods, timers", refused, {.period = 2000000, .random = {{7}, {1}, 1}}, {"task-clock"}},
    {"a tracepoint", NULL, {.frequency = 99}, {"2:316"}},
    {"a tracepoint, counted", NULL, {.stat = true}, {"2:316"}},
    {"a tracepoint without its payload", no_payload, {.frequency = 99}, {"2:316"}},
    {"a breakpoint", NULL, {.frequency = 99}, {"mem:0x1000/8:w"}},
    {"a breakpoint with a rate", NULL, {.frequency = 99, .rate_given = true}, {"mem:0x1000/8:w"}},
    {"too many breakpoints", no_more_breakpoints, {.frequency = 99}, {"mem:0x1000/8:w"}},
    {"dumps of stacks", virtual_machine, {.frequency = 999, DWARF}, {0}},
    {"large dumps, often", virtual_machine, {.frequency = 50000, DWARF, .dump = 65528}, {"task-clock"}},
    {"dumps where they help", NULL, {.frequency = 999, .call_graph = SETTINGS_CALL_GRAPH_AUTO, .dump = 4096}, {0}},
    {"dumps, refused", refused, {.frequency = 999, DWARF}, {0}},
    {"dumps, counting", virtual_machine, {.stat = true, DWARF}, {0}},
};

/* ---- The event configuration as text ---- */

static void show_event(FILE *to, const struct config_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    fprintf(to, "  %s%s%s%s%s", event->name, event->grouped ? ", grouped" : "", event->samples ? ", samples" : "",
            event->values ? ", values" : "",
            event->nanoseconds      ? ", ns"
            : event->period_is_next ? ", next period"
                                    : "");
    if (event->set)
        fprintf(to, ", set %u, leader %u", event->set, event->leader);
    fputc('\n', to);
    assert_int_equal(attr->size, sizeof(*attr));
    fprintf(to, "    type %u config %" PRIu64 " %s %" PRIu64 "\n", attr->type, (uint64_t)attr->config,
            attr->freq ? "frequency" : "period", (uint64_t)attr->sample_period);
    fprintf(to, "    sample_type %#" PRIx64 " read_format %#" PRIx64 " wakeup %u regs %#" PRIx64 " stack %u\n",
            (uint64_t)attr->sample_type, (uint64_t)attr->read_format, attr->wakeup_watermark,
            (uint64_t)attr->sample_regs_user ? UINT64_C(1) : 0, attr->sample_stack_user);
    if (event->random_mask)
        fprintf(to, "    random %#" PRIx64 ", seed %" PRIu64 "\n", event->random_mask, event->random_seed);
    if (attr->sample_regs_intr)
        fprintf(to, "    regs of the interrupt %#" PRIx64 "\n", (uint64_t)attr->sample_regs_intr);
    if (attr->branch_sample_type)
        fprintf(to, "    branches %#" PRIx64 "\n", (uint64_t)attr->branch_sample_type);
    fprintf(to, "   ");
#define FLAG(name)  \
    if (attr->name) \
    fprintf(to, " " #name)
    FLAG(disabled);
    FLAG(inherit);
    FLAG(pinned);
    FLAG(exclusive);
    FLAG(exclude_user);
    FLAG(exclude_kernel);
    FLAG(exclude_hv);
    FLAG(exclude_callchain_kernel);
    FLAG(exclude_callchain_user);
    FLAG(mmap);
    FLAG(mmap2);
    FLAG(comm);
    FLAG(comm_exec);
    FLAG(task);
    FLAG(context_switch);
    FLAG(watermark);
    FLAG(enable_on_exec);
    FLAG(sample_id_all);
    FLAG(use_clockid);
    FLAG(build_id);
#undef FLAG
    fprintf(to, " clock %d\n", attr->clockid);
    if (attr->precise_ip || attr->sample_max_stack)
        fprintf(to, "    precise %u, frames %u\n", attr->precise_ip, attr->sample_max_stack);
}

static void show_config(FILE *to, const struct event_config *config)
{
    fprintf(to, "source %d, %u events%s, %u sample%s%s, clock is %d\n", (int)config->source, config->count,
            config->inherits ? ", inherited" : "", config->sampling, config->dummy ? ", dummy" : "",
            config->exclude_kernel ? ", without the kernel" : "", event_config_find_clock(config));
    fprintf(to, "dump %u%s%s, note %u; rings of %zu and %zu pages\n", config->dump, config->dump_auto ? ", auto" : "",
            config->dump_fixed ? ", fixed" : "", config->dump_note, config->ring_pages, config->thread_ring_pages);
    if (config->wake_bytes)
        fprintf(to, "%s, woken by %u bytes\n", config->varies ? "random" : "fixed", config->wake_bytes);
    fprintf(to, "refusal '%s', reason '%s'\n", config->refusal, config->reason);
    if (config->values_note || config->inherit_values)
        fprintf(to, "note of values %u%s\n", config->values_note, config->inherit_values ? ", inherited, too" : "");
    for (unsigned i = 0; i < config->note_count; i++)
        fprintf(to, "note: %s\n", config->notes[i]);
    for (unsigned i = 0; i < config->turn_count; i++)
        fprintf(to, "turn %u: set %u\n", i, config->turns[i]);
    for (unsigned i = 0; i < config->count; i++)
        show_event(to, &config->events[i]);
}

/* Each event is held open by one descriptor, where events are opened at all; none is left in the end. */
static void check_keepers(const struct event_config *config)
{
    for (unsigned i = 0; i < CONFIG_EVENTS; i++)
        assert_int_equal(config->keepers[i] >= 0, config->source == PINJECT_SOURCE_PERF && i < config->count);
}

static int next_descriptor(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

static void show_scene(FILE *to, const struct scene *scene)
{
    static struct event_config config;
    struct settings settings = scene->settings;
    machine_fake_init();
    machine_fake.perf = scene->perf;
    machine_fake.access_error = ENOENT; /* no tracefs */
    machine_fake.no_inherited_values = scene->perf == old_kernel;
    for (unsigned i = 0; i < 3 && scene->events[i]; i++)
        assert_int_equal(event_list_parse(&settings.events, &event_sources_system, scene->events[i]), 0);
    int before = next_descriptor();
    check_capture();
    int status = event_config_init(&config, &settings);
    const char *said = check_captured();
    fprintf(to, "\n==== %s\n%s", scene->name, said);
    if (status < 0)
        fprintf(to, "no configuration: %s\n", strerror(-status));
    else
        show_config(to, &config);
    if (status == 0)
        check_keepers(&config);
    event_config_release(&config);
    event_list_release(&settings.events);
    assert_int_equal(next_descriptor(), before);
}

static void configs_of_machines(void **state)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    (void)state;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
        show_scene(to, &scenes[i]);
    fclose(to);
    check_golden("event-config", text);
    free(text);
}

/* Files say of samples with values what the kernel wrote there: PERF_FORMAT_LOST is not known before Linux 6.0. */
static void files_describe_values(void **state)
{
    static int (*const machines[])(const struct perf_event_attr *) = {virtual_machine, old_kernel};
    (void)state;
    for (unsigned old = 0; old < 2; old++) {
        static struct event_config config;
        struct settings settings = {.frequency = 99};
        struct session session = {.config = &config, .settings = &settings};
        struct features features;
        machine_fake_init();
        machine_fake.perf = machines[old];
        assert_int_equal(event_list_parse(&settings.events, &event_sources_system, "{task-clock,cs}:S,faults"), 0);
        assert_int_equal(event_config_init(&config, &settings), 0);
        assert_int_equal(features_init(&features, &session), 0);
        unsigned with = 0;
        for (unsigned i = 0; i < config.count; i++) {
            const struct config_event *leader = &config.events[config.events[i].leader];
            const uint64_t format = features.attrs[i].read_format, lost = PERF_FORMAT_LOST;
            assert_int_equal(leader->attr.read_format & lost, old ? 0 : lost);
            assert_int_equal(format & PERF_FORMAT_GROUP, leader->values ? PERF_FORMAT_GROUP : 0);
            /* Of other events we write READ records with LOST. */
            assert_int_equal(format & lost, leader->values && old ? 0 : lost);
            with += leader->values;
        }
        assert_int_equal(with, 2);
        features_release(&features);
        event_config_release(&config);
        event_list_release(&settings.events);
    }
}

static void explained(int status, const char *paranoid, const char *wanted)
{
    char reason[256];
    machine_fake_init();
    machine_fake_sysctl("perf_event_paranoid", paranoid);
    probe_explain(status, reason, sizeof(reason));
    assert_string_equal(reason, wanted);
}

static void refusals_are_explained(void **state)
{
    (void)state;
    explained(-ENOSYS, "2",
              "this kernel or sandbox has no perf_event_open; use another kernel, or run outside the sandbox");
    explained(-EACCES, NULL,
              "this kernel or sandbox has no perf_event_open; use another kernel, or run outside the sandbox");
    explained(
        -EPERM, "3",
        "kernel.perf_event_paranoid is 3; to allow perf events, type as root: sysctl kernel.perf_event_paranoid=2");
    explained(-EACCES, "2",
              "perf_event_open is refused (Permission denied), although kernel.perf_event_paranoid is only 2; "
              "in a container, allow perf_event_open with a seccomp profile or with --cap-add PERFMON");
    explained(-EMFILE, "2", "too many open files; raise 'ulimit -n'");
    explained(-ENOENT, "2", "this machine does not have this event");
    explained(-EOPNOTSUPP, "2", "this machine does not have this event");
    explained(-ENODEV, "2", "this machine does not have this event");
    explained(-ENXIO, "2", "this machine does not have this event");
    explained(-EBUSY, "2", "Device or resource busy");
    machine_fake_sysctl("pid_max", "");
    assert_int_equal(probe_read_sysctl("pid_max", 7), 7);
    machine_fake_sysctl("pid_max", "4194304\n");
    assert_int_equal(probe_read_sysctl("pid_max", 7), 4194304);
    assert_int_equal(probe_read_sysctl("none", 7), 7);
}

/* The clock where there is one, else the time for which an event was enabled. */
static void clock_of_a_task(void **state)
{
    static struct event_config config;
    struct settings settings = {.frequency = 999};
    struct attach_value values[CONFIG_EVENTS] = {{0}};
    (void)state;
    machine_fake_init();
    assert_int_equal(event_config_init(&config, &settings), 0);
    int clock = event_config_find_clock(&config);
    assert_int_equal(clock, 1); /* cycles sample */
    assert_int_equal(event_config_clock(&config, values), 0);
    values[2].enabled_ns = 70;
    values[3].enabled_ns = 80;
    assert_int_equal(event_config_clock(&config, values), 70);
    values[1] = (struct attach_value){.value = 50, .enabled_ns = 60};
    assert_int_equal(event_config_clock(&config, values), 50);
    values[1].enabled_ns = 0;
    values[0].enabled_ns = 90;
    assert_int_equal(event_config_clock(&config, values), 90);
    for (unsigned i = 0; i < 2 * CONFIG_NOTES; i++)
        event_config_note(&config, "note %u", i);
    assert_int_equal(config.note_count, CONFIG_NOTES);
    assert_string_equal(config.notes[15], "note 15");
    event_config_release(&config);
}

int main(void)
{
    report_program("pinject-run");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configs_of_machines),
        cmocka_unit_test(files_describe_values),
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test(clock_of_a_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
