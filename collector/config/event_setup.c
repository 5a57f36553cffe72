/* SPDX-License-Identifier: MIT */
/* Decides on the event configuration, by opening the events. */
#include "collector/config/event_config.h"

#include <errno.h>
#include <inttypes.h>
#include <pinject/kernel.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/config/dump_event.h"
#include "collector/config/event_choice.h"
#include "collector/config/event_rate.h"
#include "collector/config/event_sets.h"
#include "collector/config/event_values.h"
#include "collector/config/probe.h"
#include "collector/config/ring_sizes.h"
#include "collector/config/sample_cost.h"
#include "collector/config/sampler.h"
#include "collector/config/sample_fields.h"
#include "collector/events/trace_formats.h"
#include "common/events.h"
#include "common/report.h"

static const struct {
    uint32_t type;
    uint64_t config;
} default_counters[] = {
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},          {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},          {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
};

/* A list of names in a sentence: "cycles, instructions". */
struct names {
    char text[128];
};

struct setup {
    struct event_config *config;
    const struct settings *settings;
    uint64_t read_format;
    unsigned breakpoints;     /* chosen so far */
    struct names missing;     /* defaults that the machine does not have */
    struct names blind;       /* defaults that count nothing if the kernel may not be seen */
    unsigned without_payload; /* tracepoints that sample only that they happened */
    unsigned first_without_payload;
    int payload_refusal;
};

static void add_name(struct names *names, const char *name)
{
    size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof(names->text) - used, "%s%s", used ? ", " : "", name);
}

/* ---- What is allowed ---- */

/* The timer back end: what is possible without perf_event_open(). */
static void event_config_timers(struct setup *setup, int status)
{
    struct event_config *config = setup->config;
    config->source = PINJECT_SOURCE_TIMER;
    config->exclude_kernel = true;
    snprintf(config->refusal, sizeof(config->refusal), "%s", strerror(-status));
    /* The first note: the summary shows it. */
    event_config_note(config,
                      "tasks are %s: perf_event_open is refused (%s); 'pinject-run --doctor' says what to change",
                      setup->settings->stat ? "counted by the preload object" : "sampled by timers", config->refusal);
    if (setup->settings->switch_ns)
        event_config_note(
            config,
            "option '--switch-timeout' has no effect: without perf_event_open, every set of events is counted all the time");
}

/* Also before Linux 6.0, which refuses PERF_FORMAT_LOST before it looks at rights. */
static int open_with_known_format(struct perf_event_attr *attr)
{
    const int fd = probe_open(attr);
    if (fd != -EINVAL || !(attr->read_format & PERF_FORMAT_LOST))
        return fd;
    attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
    return probe_open(attr);
}

/* Finds out, with the event that exists everywhere, what is allowed and which read format the kernel knows. */
static int find_rights(struct setup *setup)
{
    struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    int fd = open_with_known_format(&attr);
    if (probe_is_refused(fd)) {
        attr.exclude_kernel = 1;
        fd = open_with_known_format(&attr);
        setup->config->exclude_kernel = fd >= 0;
    }
    setup->read_format = attr.read_format;
    if (probe_is_refused_for_all(fd)) {
        event_config_timers(setup, fd);
        return 0;
    }
    if (fd < 0) {
        char reason[256];
        probe_explain(fd, reason, sizeof(reason));
        report_error("cannot count anything: %s", reason);
        return fd;
    }
    close(fd);
    if (setup->config->exclude_kernel && !setup->settings->stat)
        event_config_note(
            setup->config,
            "kernel.perf_event_paranoid is %" PRId64
            "%s, so kernel code is not sampled, and each percentage is a share of the time in user space; "
            "'pinject-run --doctor' says what to change",
            probe_read_sysctl("perf_event_paranoid", 2),
            probe_user_namespace() ? ", and root in a user namespace is not allowed to profile the kernel" : "");
    return 0;
}

/* ---- Choosing ---- */

/*
 * Does a chosen event count the same? Clocks count all of a task's time, whatever their samples exclude. One of a group
 * does not replace a default: it counts only while the whole group does. Nor does one of a set that takes turns.
 */
static bool has_default(const struct event_config *config, const struct perf_event_attr *attr)
{
    for (unsigned i = 0; i < config->count; i++) {
        const struct perf_event_attr *other = &config->events[i].attr;
        if (config->events[i].grouped || config->events[i].set || other->type != attr->type ||
            other->config != attr->config)
            continue;
        if (event_rate_is_clock(attr->type, attr->config) ||
            (other->exclude_user == attr->exclude_user && other->exclude_kernel == attr->exclude_kernel))
            return true;
    }
    return false;
}

/* The first event of a task: it has the ring, and the records of mappings, names, forks and context switches. */
static void own_ring(const struct setup *setup, struct perf_event_attr *attr)
{
    const struct settings *settings = setup->settings;
    const bool opened = setup->config->source == PINJECT_SOURCE_PERF;
    attr->mmap = 1;
    attr->mmap_data = opened && settings->data && !settings->stat;
    attr->mmap2 = 1;
    attr->comm = 1;
    attr->comm_exec = 1;
    attr->task = 1;
    attr->context_switch = opened && settings->switch_events;
    attr->watermark = 1;
    attr->wakeup_watermark = RING_SIZES_LEAST / 4;
}

static void set_sampling(struct setup *setup, const struct event_spec *spec, struct perf_event_attr *attr)
{
    const uint32_t says = spec ? spec->says : 0;
    event_rate_set(attr, setup->settings, spec);
    if (attr->type == PERF_TYPE_TRACEPOINT)
        attr->sample_type |= PERF_SAMPLE_RAW;
    if ((setup->settings->call_graph != SETTINGS_CALL_GRAPH_NONE && !(says & EVENT_SAYS_NO_CHAIN)) ||
        says & EVENT_SAYS_CHAIN)
        attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
    attr->exclude_callchain_kernel = attr->exclude_kernel;
    attr->exclude_callchain_user = attr->exclude_user;
}

/* The index of the leader of SPEC's group, which is before it, if it is open; else of the next event. */
static unsigned find_leader(const struct event_config *config, const struct event_spec *spec)
{
    for (unsigned i = 0; spec && spec->group && i < config->count; i++)
        if (config->events[i].spec && config->events[i].spec->group == spec->group)
            return i;
    return config->count;
}

/* Opens ATTR; with the highest precision if SPEC asks for it. An fd or -errno. */
static int try_event(struct perf_event_attr *attr, const struct event_spec *spec, int group)
{
    /* What only counts has no place, which could be precise. */
    if (!spec || !(spec->says & EVENT_SAYS_MOST_PRECISE) || !attr->sample_period)
        return probe_open_in(attr, group);
    int fd = -EINVAL;
    for (attr->precise_ip = 3; fd < 0; attr->precise_ip--) {
        fd = probe_open_in(attr, group);
        if (fd >= 0 || !attr->precise_ip || (fd != -EINVAL && fd != -EOPNOTSUPP))
            return fd;
    }
    return fd;
}

static bool is_forced_to_user(const struct perf_event_attr *attr, const char *name, const struct event_spec *spec)
{
    const bool said = spec ? spec->says & EVENT_SAYS_LEVEL : strchr(name, ':') != NULL;
    return attr->exclude_kernel && !said && !event_rate_is_clock(attr->type, attr->config) &&
           !(attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY);
}

/* The fd that tried it stays open: it keeps the kernel's static key of this type on. 0 or -errno. */
static int add_event(struct setup *setup, const char *name, struct perf_event_attr attr, bool samples,
                     const struct event_spec *spec)
{
    struct event_config *config = setup->config;
    if (config->count == CONFIG_EVENTS)
        return -E2BIG;
    attr.read_format = setup->read_format;
    const bool opened = config->source == PINJECT_SOURCE_PERF;
    const bool values = samples && opened && spec && spec->says & EVENT_SAYS_VALUES;
    if (samples)
        set_sampling(setup, spec, &attr);
    if (values)
        event_values_ask(&attr);
    if (config->count == 0)
        own_ring(setup, &attr);
    else
        attr.inherit = config->whole_tree;
    const unsigned set = event_sets_of(config, setup->settings, spec);
    unsigned leader = find_leader(config, spec);
    if (leader == config->count)
        leader = event_sets_find_leader(config, set, &attr, spec);
    const int group = leader < config->count ? config->keepers[leader] : -1;
    int fd = !opened ? -1 : try_event(&attr, spec, group);
    /* The kernel may let a user count a tracepoint, and not see its payload. */
    if (opened && probe_is_refused(fd) && attr.sample_type & PERF_SAMPLE_RAW) {
        const int refusal = fd;
        attr.sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
        fd = try_event(&attr, spec, group);
        if (fd >= 0 && !setup->without_payload++) {
            setup->payload_refusal = refusal;
            setup->first_without_payload = config->count;
        }
    }
    if (opened && fd < 0)
        return fd;
    const int status = opened && spec && spec->filter ? probe_filter(fd, spec->filter) : 0;
    if (status < 0) {
        close(fd);
        return status;
    }
    struct config_event *event = &config->events[config->count];
    snprintf(event->name, sizeof(event->name), "%.*s%s", (int)sizeof(event->name) - 3, name,
             is_forced_to_user(&attr, name, spec) ? ":u" : "");
    event->attr = attr;
    event->samples = samples;
    event->period_is_next = samples && event_rate_is_next(&attr, spec);
    event->nanoseconds = event_rate_is_clock(attr.type, attr.config);
    event->spec = spec;
    event->leader = leader;
    event->grouped = spec && spec->group;
    event->values = values;
    event->set = set;
    event_sets_name(config, event);
    config->keepers[config->count++] = fd;
    config->sampling += samples;
    return 0;
}

static int refuse_event(const char *name, int status, const struct event_spec *spec)
{
    char reason[320];
    event_choice_explain(spec, status, reason, sizeof(reason));
    report_error("event '%s' cannot be used: %s (see 'pinject-run --info')", name, reason);
    return status;
}

static void add_missing(struct event_config *config, const char *name)
{
    for (unsigned i = 0; i < config->missing_count; i++)
        if (strcmp(config->missing[i], name) == 0) /* of another event set */
            return;
    if (config->missing_count < CONFIG_EVENTS)
        snprintf(config->missing[config->missing_count++], sizeof(config->missing[0]), "%s", name);
}

static bool is_counted_by_getrusage(uint32_t type, uint64_t number)
{
    return type == PERF_TYPE_SOFTWARE && (number == PERF_COUNT_SW_TASK_CLOCK || number == PERF_COUNT_SW_PAGE_FAULTS ||
                                          number == PERF_COUNT_SW_CONTEXT_SWITCHES);
}

/* What timers and getrusage() can replace. */
static bool is_of_timers(const struct event_spec *spec, bool samples)
{
    const uint32_t type = spec->attr.type;
    const uint64_t number = spec->attr.config;
    if (spec->attr.exclude_user || type != PERF_TYPE_SOFTWARE)
        return false;
    return number == PERF_COUNT_SW_TASK_CLOCK || (!samples && is_counted_by_getrusage(type, number));
}

/* The kernel's clocks do not tell user space from the kernel: samples do, counts do not. perf has the same. */
static void tell_level(struct setup *setup, const struct event_spec *spec, bool samples)
{
    if (!event_rate_is_clock(spec->attr.type, spec->attr.config) || !(spec->says & EVENT_SAYS_LEVEL))
        return;
    if (!samples)
        report_warning(
            "event '%s' counts all CPU time: clock events cannot count user space and the kernel separately%s",
            spec->name, setup->settings->stat ? "; --stat always prints the user time and the system time" : "");
    else
        event_config_note(
            setup->config,
            "event '%s' is sampled only in user space or only in the kernel, as you chose, but its count is all CPU "
            "time: clock events cannot count user space and the kernel separately",
            spec->name);
}

/* If it samples, then only user space; if it counts, then everything. The name stays as it is. */
static int add_timer_choice(struct setup *setup, const struct event_spec *spec, bool samples)
{
    struct event_config *config = setup->config;
    struct perf_event_attr attr = probe_attr(spec->attr.type, spec->attr.config);
    attr.exclude_kernel = attr.exclude_hv = samples;
    if (!is_of_timers(spec, samples)) {
        report_error(
            "event '%s' cannot be used: perf_event_open is refused (%s), and timers can only sample task-clock; "
            "remove the event, or see 'pinject-run --doctor'",
            spec->name, config->refusal);
        return -EACCES;
    }
    tell_level(setup, spec, samples);
    if (!has_default(config, &attr))
        return add_event(setup, spec->name, attr, samples, spec);
    event_config_note(config,
                      "timers cannot tell event '%s' from an event before it in the list: pinject-run uses only the "
                      "first of the two",
                      spec->name);
    return 0;
}

/* It was chosen before, and has no group in which it would stand for something else. */
static bool is_chosen_twice(const struct setup *setup, const struct event_spec *spec)
{
    const struct event_list *list = &setup->settings->events;
    const bool blind = setup->config->exclude_kernel;
    for (const struct event_spec *other = list->specs; other < spec; other++)
        if (!other->group && !spec->group && (!setup->settings->switch_ns || other->set == spec->set) &&
            event_choice_is_same(other, spec, blind))
            return true;
    return false;
}

static int check_rights(const struct setup *setup, const struct event_spec *spec)
{
    const struct perf_event_attr *attr = &spec->attr;
    bool of_kernel = attr->exclude_user || event_config_in_kernel(attr->type, attr->config);
    if (!setup->config->exclude_kernel || !of_kernel || attr->exclude_kernel)
        return 0;
    report_error("event '%s' happens in the kernel: it needs CAP_PERFMON, or kernel.perf_event_paranoid=1 (now %" PRId64
                 "); 'pinject-run --doctor' says what to change",
                 spec->name, probe_read_sysctl("perf_event_paranoid", 2));
    return -EACCES;
}

/* SPEC is the first event on a symbol of a position-independent program. */
static int add_program(struct setup *setup, const struct event_spec *spec, const struct perf_event_attr *attr)
{
    char *const *command = setup->settings->command;
    const int status = probe_move(attr);
    if (status < 0 && status != -ENOSPC) { /* the events of this list may have all breakpoints already */
        report_error(
            "program '%s' is position-independent, and this kernel cannot move the breakpoint of event '%s' to the "
            "program's load address (%s; Linux 4.17 and later can); link the program with -no-pie",
            command ? command[0] : "", spec->name, strerror(-status));
        return status;
    }
    setup->config->program = &spec->program;
    event_config_note(setup->config,
                      "events on symbols (mem:) count only in processes that run '%.100s' and load the preload object",
                      command ? command[0] : "");
    return 0;
}

static int add_choice(struct setup *setup, const struct event_spec *spec, bool samples)
{
    if (setup->config->source == PINJECT_SOURCE_TIMER)
        return add_timer_choice(setup, spec, samples);
    int status = check_rights(setup, spec);
    if (status < 0)
        return status;
    struct perf_event_attr attr = event_choice_attr(spec, setup->config->exclude_kernel);
    tell_level(setup, spec, samples);
    if (is_chosen_twice(setup, spec)) {
        event_config_note(setup->config, "event '%s' is in the list twice: pinject-run uses it once", spec->name);
        return 0;
    }
    status = add_event(setup, spec->name, attr, samples, spec);
    if (status == 0 && attr.type == PERF_TYPE_BREAKPOINT && !setup->breakpoints++ && !probe_breakpoints_fire())
        report_warning(
            "hardware breakpoints can be opened on this machine, but never fire (as in some virtual machines): event "
            "'%s' will count nothing",
            spec->name);
    if (status == 0 && event_choice_is_own(spec))
        event_config_note(
            setup->config,
            "event '%s' cannot be inherited, so it is not counted in programs that cannot load the preload object "
            "(static, setuid)",
            spec->name);
    if (status == 0 && event_choice_is_relative(spec) && !setup->config->program)
        return add_program(setup, spec, &attr);
    if (probe_is_missing(status) && setup->settings->stat && !spec->group) {
        add_missing(setup->config, spec->name);
        return 0;
    }
    return status < 0 ? refuse_event(spec->name, status, spec) : 0;
}

/*
 * An event that is sampled already and happens at the same moments as SPEC: the kernel fills in a sample once for all
 * of a task's events of one software event, and so gives the samples of both one id (seen with Linux 6.18). The clocks
 * have timers of their own. NULL: none.
 */
static const struct config_event *find_same_moments(const struct setup *setup, const struct event_spec *spec)
{
    const struct event_config *config = setup->config;
    const struct perf_event_attr attr = event_choice_attr(spec, config->exclude_kernel);
    if (config->source != PINJECT_SOURCE_PERF || attr.type != PERF_TYPE_SOFTWARE ||
        event_rate_is_clock(attr.type, attr.config) || is_chosen_twice(setup, spec))
        return NULL;
    for (unsigned i = 0; i < config->count; i++) {
        const struct config_event *event = &config->events[i];
        const struct perf_event_attr *other = &event->attr;
        const bool user = !attr.exclude_user && !other->exclude_user;
        const bool kernel = !attr.exclude_kernel && !other->exclude_kernel;
        if (event->samples && other->type == attr.type && other->config == attr.config && (user || kernel))
            return event;
    }
    return NULL;
}

/* SPEC happens at the same moments as OTHER, which is sampled. Its place is behind all that are. */
static int add_counted(struct setup *setup, const struct event_spec *spec, const struct config_event *other)
{
    event_config_note(setup->config,
                      "event '%s' is counted, but not sampled: the kernel mixes up the samples of this event and of "
                      "'%s'; sample this event in another run",
                      spec->name, other->name);
    return add_choice(setup, spec, false);
}

/* Of a group with S only the leader is sampled. */
static bool is_sampled(const struct setup *setup, const struct event_spec *spec)
{
    return !setup->settings->stat && !(spec->says & EVENT_SAYS_COUNT) &&
           (spec->leader || !(spec->says & EVENT_SAYS_VALUES));
}

/* What is sampled comes first. */
static int add_choices(struct setup *setup)
{
    const struct event_list *list = &setup->settings->events;
    const struct config_event *others[EVENTS_MAX] = {NULL};
    int status = 0;
    for (unsigned i = 0; i < list->count && status == 0; i++) {
        const struct event_spec *spec = &list->specs[i];
        if (!is_sampled(setup, spec))
            continue;
        others[i] = find_same_moments(setup, spec);
        if (others[i] && spec->group) {
            report_error("event '%s' cannot be sampled in a group: the kernel mixes up the samples of this event and "
                         "of '%s'; leave out one of the two",
                         spec->name, others[i]->name);
            return -EINVAL;
        }
        if (!others[i])
            status = add_choice(setup, spec, true);
    }
    for (unsigned i = 0; i < list->count && status == 0; i++)
        if (!is_sampled(setup, &list->specs[i]))
            status = add_choice(setup, &list->specs[i], false);
    for (unsigned i = 0; i < list->count && status == 0; i++)
        if (others[i])
            status = add_counted(setup, &list->specs[i], others[i]);
    return status;
}

static int add_timer_sampler(struct setup *setup)
{
    struct event_config *config = setup->config;
    struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    attr.exclude_kernel = attr.exclude_hv = 1;
    snprintf(config->reason, sizeof(config->reason), "perf_event_open is refused (%s)", config->refusal);
    return add_event(setup, "task-clock", attr, true, NULL);
}

static int add_default_sampler(struct setup *setup)
{
    struct event_config *config = setup->config;
    if (config->source == PINJECT_SOURCE_TIMER)
        return add_timer_sampler(setup);
    struct perf_event_attr attr = probe_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    attr.exclude_kernel = attr.exclude_hv = config->exclude_kernel;
    int status = add_event(setup, "cycles", attr, true, NULL);
    if (status == 0)
        return 0;
    if (probe_is_missing(status))
        snprintf(config->reason, sizeof(config->reason), "this machine has no cycles event");
    else
        snprintf(config->reason, sizeof(config->reason), "cycles cannot be used: %s", strerror(-status));
    attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    attr.exclude_kernel = attr.exclude_hv = config->exclude_kernel;
    status = add_event(setup, "task-clock", attr, true, NULL);
    return status < 0 ? refuse_event("task-clock", status, NULL) : 0;
}

/* --stat: nothing samples, but names, mappings and the end of a task are still needed. */
static int add_dummy(struct setup *setup)
{
    struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attr.exclude_kernel = attr.exclude_hv = setup->config->exclude_kernel;
    int status = add_event(setup, "dummy", attr, false, NULL);
    setup->config->dummy = status == 0;
    return status < 0 ? refuse_event("dummy", status, NULL) : 0;
}

static void add_default_counter(struct setup *setup, uint32_t type, uint64_t number)
{
    struct event_config *config = setup->config;
    const char *name = events_find(type, number)->name;
    struct perf_event_attr attr = probe_attr(type, number);
    attr.exclude_kernel = attr.exclude_hv = config->exclude_kernel;
    if (config->source == PINJECT_SOURCE_TIMER)
        attr.exclude_kernel = attr.exclude_hv = 0; /* getrusage() counts all of it */
    if (has_default(config, &attr))
        return;
    if (config->source == PINJECT_SOURCE_TIMER && !is_counted_by_getrusage(type, number))
        return;
    if (config->source == PINJECT_SOURCE_PERF && config->exclude_kernel && event_config_in_kernel(type, number)) {
        add_name(&setup->blind, name);
        return;
    }
    int status = add_event(setup, name, attr, false, NULL);
    if (probe_is_missing(status) && setup->settings->stat)
        add_missing(config, name);
    if (probe_is_missing(status))
        add_name(&setup->missing, name);
    else if (status < 0)
        event_config_note(config, "not counted: %s (%s)", name, strerror(-status));
}

static void add_default_counters(struct setup *setup)
{
    /* With --stat -e only the list is wanted; task-clock is added, since coverage needs it. */
    size_t count = sizeof(default_counters) / sizeof(default_counters[0]);
    if (setup->settings->stat && setup->settings->events.count > 0)
        count = 1;
    for (size_t i = 0; i < count; i++)
        add_default_counter(setup, default_counters[i].type, default_counters[i].config);
    const char *missing = setup->missing.text;
    const bool instead = setup->config->reason[0] && strncmp(missing, "cycles", 6) == 0;
    if (missing[0])
        event_config_note(setup->config, "not on this machine: %s%s%s", instead ? "cycles" : "",
                          instead ? " (task-clock is sampled instead)" : "", missing + (instead ? 6 : 0));
    if (setup->blind.text[0])
        event_config_note(setup->config, "not counted, because this user is not allowed to profile the kernel: %s",
                          setup->blind.text);
}

/* ---- Limits ---- */

static void note_short_periods(struct event_config *config, const struct settings *settings)
{
    for (unsigned i = 0; i < config->sampling; i++) {
        const struct config_event *event = &config->events[i];
        if (event_rate_is_raised(&event->attr, settings, event->spec))
            event_config_note(config, "event '%s' is sampled every %d ns: the kernel allows no shorter period",
                              event->name, EVENT_RATE_CLOCK_MIN);
    }
}

static int add_random_periods(struct event_config *config, const struct settings *settings)
{
    if (!settings->random.count)
        return 0;
    if (config->source == PINJECT_SOURCE_TIMER) {
        report_warning(
            "option '--smpl-periods-random' has no effect: perf_event_open is refused (%s), so timers take the samples, and the period of a timer cannot change; 'pinject-run --doctor' says what to change",
            config->refusal);
        return 0;
    }
    for (unsigned i = 0; i < config->count; i++) {
        if (event_rate_randomize(&config->events[i], settings) < 0)
            return -EINVAL;
        /* Events of one name with '*' do not keep step with each other. */
        for (unsigned j = 0; j < i; j++)
            if (config->events[i].spec && config->events[j].spec &&
                config->events[i].spec->item == config->events[j].spec->item)
                config->events[i].random_seed ^= UINT64_C(0xd1342543de82ef95) * (j + 1);
        config->varies |= config->events[i].random_mask != 0;
    }
    if (config->varies)
        event_config_note(config,
                          "in programs that cannot load the preload object (static, setuid), and in everything that "
                          "they start, periods are not random: they are those of -c");
    return 0;
}

/* -F auto: of clocks that have no rate of their own. */
static void add_rates_by_cost(struct event_config *config, const struct settings *settings)
{
    bool any = false;
    if (!settings->frequency_auto)
        return;
    for (unsigned i = 0; i < config->sampling && config->source == PINJECT_SOURCE_PERF; i++) {
        struct config_event *event = &config->events[i];
        const bool own = event->spec && event->spec->says & EVENT_SAYS_RATE;
        event->by_cost = event_rate_is_clock(event->attr.type, event->attr.config) && !own && !event->values;
        any |= event->by_cost;
    }
    config->varies |= any;
    config->rate_auto = any;
    if (!any && settings->rate_given)
        event_config_note(config,
                          "option '-F auto' has no effect: it works only for task-clock and cpu-clock, and only with "
                          "perf_event_open; the rate is %d Hz",
                          SAMPLE_COST_MOST_HZ);
}

/* ---- Tracepoints ---- */

static void add_trace_formats(const struct setup *setup)
{
    struct event_config *config = setup->config;
    const struct settings *settings = setup->settings;
    if (setup->without_payload)
        event_config_note(config, "samples of '%s'%s have no tracepoint fields: %s",
                          config->events[setup->first_without_payload].name,
                          setup->without_payload > 1 ? " and other events" : "", strerror(-setup->payload_refusal));
    if (config->source != PINJECT_SOURCE_PERF || !trace_formats_are_needed(&settings->events))
        return;
    const int status = trace_formats_append(&event_sources_system, &settings->events, &config->trace_formats);
    if (status < 0)
        event_config_note(config,
                          "the descriptions of the tracepoints in tracefs cannot be read (%s), so perf cannot open the "
                          "result files, and samples show no fields",
                          strerror(-status));
}

int event_config_init(struct event_config *config, const struct settings *settings)
{
    memset(config, 0, sizeof(*config));
    for (unsigned i = 0; i < CONFIG_EVENTS; i++)
        config->keepers[i] = -1;
    config->source = PINJECT_SOURCE_PERF;
    struct setup setup = {.config = config, .settings = settings};
    int status = event_rate_check(settings);
    if (status == 0)
        status = find_rights(&setup);
    config->whole_tree = config->source == PINJECT_SOURCE_PERF && event_choice_is_whole_tree(settings);
    if (status == 0 && settings->stat)
        status = add_dummy(&setup);
    if (status == 0 && settings->events.count > 0)
        status = add_choices(&setup);
    else if (status == 0 && !settings->stat)
        status = add_default_sampler(&setup);
    if (status == 0)
        status = stacks_configure(config, settings);
    if (status == 0) {
        event_values_finish(config, settings);
        add_default_counters(&setup);
        event_sets_init(config);
        status = sample_fields_add(config, settings);
    }
    if (status == 0)
        status = add_random_periods(config, settings);
    if (status == 0) {
        add_rates_by_cost(config, settings);
        sampler_choose(config, settings);
    }
    if (status < 0) {
        event_config_release(config);
        return status;
    }
    if (settings->saturate)
        event_config_note(config, "each task has at most %" PRIu64 " samples (--saturate-smpl-buffer)",
                          settings->saturate);
    if (config->whole_tree)
        event_config_note(config, "all tasks are counted together; --per-thread, --per-process and --per-comm count "
                                  "each task by itself");
    config->whole_tree_note = config->whole_tree ? config->note_count : 0;
    add_trace_formats(&setup);
    note_short_periods(config, settings);
    ring_sizes_choose(config, settings);
    return 0;
}
