/* SPDX-License-Identifier: MIT */
#include "collector/config/sample_fields.h"

#include <pinject/kernel.h>
#include <string.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "common/report.h"

enum { BRANCHES = 32, BRANCH_WORDS = 3 }; /* so many have most CPUs that record them */

size_t sample_fields_branches_size(const struct perf_event_attr *attr, size_t count)
{
    const uint64_t kinds = attr->branch_sample_type;
    const size_t head = kinds & PERF_SAMPLE_BRANCH_HW_INDEX ? 2 : 1;
    return sizeof(uint64_t) * (head + count * (BRANCH_WORDS + (kinds & PERF_SAMPLE_BRANCH_COUNTERS ? 1 : 0)));
}

size_t sample_fields_size(const struct perf_event_attr *attr)
{
    const uint64_t type = attr->sample_type;
    size_t words = (size_t)__builtin_popcountll(type & (SAMPLE_FIELDS_AFTER_TIME | SAMPLE_FIELDS_AFTER_STACK));
    if (type & PERF_SAMPLE_REGS_USER)
        words += 1 + (size_t)__builtin_popcountll(attr->sample_regs_user);
    if (type & PERF_SAMPLE_REGS_INTR)
        words += 1 + (size_t)__builtin_popcountll(attr->sample_regs_intr);
    return words * sizeof(uint64_t) +
           (type & PERF_SAMPLE_BRANCH_STACK ? sample_fields_branches_size(attr, BRANCHES) : 0);
}

size_t sample_fields_after_size(const struct perf_event_attr *attr, const void *after, size_t size)
{
    const uint64_t type = attr->sample_type, before = type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC);
    size_t words = (size_t)__builtin_popcountll(type & SAMPLE_FIELDS_AFTER_STACK);
    if (type & PERF_SAMPLE_REGS_INTR) {
        const size_t at = sizeof(uint64_t) * (size_t)__builtin_popcountll(before);
        uint64_t abi;
        if (size < at + sizeof(abi))
            return SIZE_MAX;
        memcpy(&abi, (const char *)after + at, sizeof(abi));
        words += 1 + (abi == PERF_SAMPLE_REGS_ABI_NONE ? 0 : (size_t)__builtin_popcountll(attr->sample_regs_intr));
    }
    return words * sizeof(uint64_t) <= size ? words * sizeof(uint64_t) : SIZE_MAX;
}

size_t sample_fields_empty_size(const struct perf_event_attr *attr)
{
    const uint64_t words = attr->sample_type &
                           (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR | SAMPLE_FIELDS_AFTER_STACK);
    return sizeof(uint64_t) * (size_t)__builtin_popcountll(words) +
           (attr->sample_type & PERF_SAMPLE_BRANCH_STACK ? sample_fields_branches_size(attr, 0) : 0);
}

/* 0 or -errno. */
static int try_fields(struct perf_event_attr attr, int group, uint64_t fields)
{
    attr.sample_type |= fields;
    const int fd = probe_open_in(&attr, group);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/*
 * The fields of --data that the kernel accepts beside those of ATTR, which is opened in the group of the event GROUP (an
 * fd; -1: in none), and closed. *RET_PHYSICAL and *RET_ALL: why there are no physical addresses, and why there is no
 * field at all: -errno, or 0.
 */
static uint64_t find_data(const struct perf_event_attr *attr, int group, int *ret_physical, int *ret_all)
{
    const uint64_t data = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
    *ret_all = 0;
    *ret_physical = try_fields(*attr, group, data | PERF_SAMPLE_PHYS_ADDR);
    if (*ret_physical == 0)
        return data | PERF_SAMPLE_PHYS_ADDR;
    *ret_all = try_fields(*attr, group, data);
    return *ret_all == 0 ? data : 0;
}

/* WITHOUT of the events have no ADDRESSES, FIRST is one of them. */
static void note_without(struct event_config *config, unsigned without, const char *first, const char *addresses,
                         int error)
{
    if (without == config->sampling)
        event_config_note(config, "samples have no %s: %s", addresses, strerror(-error));
    else if (without)
        event_config_note(config, "samples of '%s'%s have no %s: %s", first, without > 1 ? " and other events" : "",
                          addresses, strerror(-error));
}

/* The fd of the leader of the group of the event INDEX; -1: it leads its own. */
static int group_of(const struct event_config *config, unsigned index)
{
    const unsigned leader = config->events[index].leader;
    return leader < index ? config->keepers[leader] : -1;
}

/* Of each event that samples: a PMU may know fields that another one does not. */
static void add_data(struct event_config *config)
{
    unsigned without = 0, without_physical = 0;
    const char *first = "", *first_physical = "";
    int physical = 0, all = 0;
    for (unsigned i = 0; i < config->sampling; i++) {
        struct config_event *event = &config->events[i];
        int no_physical, none;
        event->attr.sample_type |= find_data(&event->attr, group_of(config, i), &no_physical, &none);
        if (none && !without++) {
            all = none;
            first = event->name;
        } else if (!none && no_physical && !without_physical++) {
            physical = no_physical;
            first_physical = event->name;
        }
    }
    note_without(config, without_physical, first_physical, "physical addresses", physical);
    note_without(config, without, first, "addresses", all);
}

/* FIELD, with the registers that the attr of EVENT names, as OPTION asks for it. 0, or -errno after report_error(). */
static int add_registers(struct config_event *event, int group, uint64_t field, const char *option)
{
    const int status = try_fields(event->attr, group, field);
    if (status == 0)
        event->attr.sample_type |= field;
    else
        report_error("samples of event '%s' cannot have these registers: %s; leave out --%s", event->name,
                     strerror(-status), option);
    return status;
}

static int add_all_registers(struct event_config *config, const struct settings *settings)
{
    int status = 0;
    for (unsigned i = 0; i < config->sampling && status == 0; i++) {
        struct config_event *event = &config->events[i];
        const int group = group_of(config, i);
        event->attr.sample_regs_user = settings->user_regs;
        if (settings->user_regs)
            status = add_registers(event, group, PERF_SAMPLE_REGS_USER, "user-regs");
        event->attr.sample_regs_intr = settings->intr_regs;
        if (settings->intr_regs && status == 0)
            status = add_registers(event, group, PERF_SAMPLE_REGS_INTR, "intr-regs");
    }
    return status;
}

/* Only a PMU can, and not each one: EVENT is refused with STATUS. */
static void refuse_branches(const struct event_config *config, const struct config_event *event, int status)
{
    const uint32_t type = event->attr.type;
    const bool hardware = type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT && type != PERF_TYPE_BREAKPOINT &&
                          !(event->spec && event->spec->traces);
    const char *error = strerror(-status);
    if (probe_is_refused(status))
        report_error("event '%s' cannot record branches of the kernel (%s): they need CAP_PERFMON, or "
                     "kernel.perf_event_paranoid=1; type: --branch-filter=any,u",
                     event->name, error);
    else if (hardware)
        report_error(
            "event '%s' cannot record these branches: the CPU, or the virtual machine, does not support this (%s); choose "
            "other kinds of branches, or leave out -b and -j",
            event->name, error);
    else
        report_error("event '%s' cannot record branches (%s): only hardware events can%s%s; choose a hardware event, "
                     "such as -e cycles, on a machine that has it, or leave out -b and -j",
                     event->name, error, event->spec || !config->reason[0] ? "" : ", and ",
                     event->spec ? "" : config->reason);
}

static int add_branches(struct event_config *config, uint64_t branches)
{
    for (unsigned i = 0; i < config->sampling; i++) {
        struct config_event *event = &config->events[i];
        event->attr.branch_sample_type = branches;
        const int status = try_fields(event->attr, group_of(config, i), PERF_SAMPLE_BRANCH_STACK);
        if (status < 0) {
            refuse_branches(config, event, status);
            return status;
        }
        event->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    }
    return 0;
}

/* What the timers of the preload object do not know. */
static void refuse_timers(struct event_config *config, const struct settings *settings)
{
    static const char message[] = "option '--%s' has no effect: perf_event_open is refused (%s), and timers record no "
                                  "%s; 'pinject-run --doctor' says what to change";
    if (settings->sample_cpu || settings->data)
        event_config_note(
            config,
            "samples have no CPU and no address: perf_event_open is refused, so timers take the samples, and timers record neither CPU nor address");
    if (settings->user_regs)
        report_warning(message, "user-regs", config->refusal, "registers");
    if (settings->intr_regs)
        report_warning(message, "intr-regs", config->refusal, "registers");
    if (settings->branches)
        report_warning(message, "branch-filter", config->refusal, "branches");
    if (settings->switch_events)
        report_warning(message, "switch-events", config->refusal, "context switches");
}

int sample_fields_add(struct event_config *config, const struct settings *settings)
{
    if (config->source == PINJECT_SOURCE_TIMER) {
        refuse_timers(config, settings);
        return 0;
    }
    for (unsigned i = 0; i < config->count && settings->sample_cpu; i++)
        config->events[i].attr.sample_type |= PERF_SAMPLE_CPU; /* the same trailer for all */
    if (settings->data)
        add_data(config);
    for (unsigned i = 0; i < config->sampling; i++)
        config->data |= config->events[i].attr.sample_type & PERF_SAMPLE_ADDR && settings->data;
    config->events[0].attr.mmap_data &= config->data;
    int status = settings->branches ? add_branches(config, settings->branches) : 0;
    if (status == 0 && (settings->user_regs || settings->intr_regs))
        status = add_all_registers(config, settings);
    return status;
}
