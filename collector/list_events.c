/* SPDX-License-Identifier: MIT */
#include "collector/list_events.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <regex.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/config/event_choice.h"
#include "collector/config/event_config.h"
#include "collector/config/event_sets.h"
#include "collector/config/probe.h"
#include "collector/events/event_catalog.h"
#include "collector/events/event_pfm.h"
#include "common/clock.h"
#include "common/report.h"

/*
 * So many tracepoints are opened: the kernel takes ms for each that nobody has open. Of others the first of each system
 * is.
 */
enum { TRACEPOINTS_TRIED = 100, REASON = 320 };

struct listing {
    const struct event_sources *sources;
    const regex_t *pattern; /* NULL: all */
    bool with_text;
    FILE *to;
    unsigned shown, tracepoints; /* that match */
    char system[64];             /* of the last tracepoint that was opened */
    char state[REASON];          /* what came of it */
};

/* ---- Trying ---- */

static int try_attr(const struct event_spec *spec, bool blind)
{
    struct perf_event_attr attr = event_choice_attr(spec, blind);
    int fd = probe_open(&attr);
    if (fd == -EINVAL) { /* before Linux 6.0 */
        attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
        fd = probe_open(&attr);
    }
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

/* "usable", or why it is not: into RET. */
static void try_spec(const struct event_spec *spec, char *ret, size_t size)
{
    char reason[REASON - 16];
    int status = try_attr(spec, false);
    const bool refused = probe_is_refused(status);
    if (refused && !spec->attr.exclude_kernel && try_attr(spec, true) == 0) {
        const bool nothing = spec->attr.exclude_user || event_config_in_kernel(spec->attr.type, spec->attr.config);
        snprintf(ret, size, "%s",
                 nothing ? "not usable: the event happens in the kernel, which this user is not allowed to profile"
                         : "usable in user space only");
        return;
    }
    if (status == 0 && spec->attr.type == PERF_TYPE_BREAKPOINT && !probe_breakpoints_fire()) {
        snprintf(ret, size, "not usable: breakpoints can be opened on this machine, but never fire");
        return;
    }
    event_choice_explain(spec, status, reason, sizeof(reason));
    snprintf(ret, size, "%s%s", status < 0 ? "not usable: " : "usable", status < 0 ? reason : "");
}

static void try_text(const struct event_sources *sources, const char *text, char *ret, size_t size)
{
    struct event_list list = {0};
    if (event_list_parse(&list, sources, text) < 0)
        snprintf(ret, size, "not usable: see the message on stderr");
    else
        try_spec(&list.specs[0], ret, size);
    event_list_release(&list);
}

/* ---- --list-events ---- */

static bool is_wanted(const struct listing *listing, const struct event_entry *entry)
{
    return !listing->pattern || regexec(listing->pattern, entry->name, 0, NULL, 0) == 0 ||
           (entry->alias && regexec(listing->pattern, entry->alias, 0, NULL, 0) == 0);
}

static void count_tracepoint(void *to, const struct event_entry *entry)
{
    struct listing *listing = to;
    listing->tracepoints += entry->kind == EVENT_KIND_TRACEPOINT && is_wanted(listing, entry);
}

static void try_tracepoint(struct listing *listing, const char *name)
{
    const size_t size = strcspn(name, ":") + 1;
    const bool all = listing->tracepoints <= TRACEPOINTS_TRIED;
    if (!all && size < sizeof(listing->system) && strncmp(listing->system, name, size) == 0)
        return;
    snprintf(listing->system, sizeof(listing->system), "%.*s", (int)size, name);
    try_text(listing->sources, name, listing->state, sizeof(listing->state));
    if (!all && strcmp(listing->state, "usable") == 0)
        snprintf(listing->state, sizeof(listing->state), "usable (only the first of the tracepoints %s* was checked)",
                 listing->system);
}

static void try_entry(struct listing *listing, const struct event_entry *entry)
{
    char *state = listing->state;
    const size_t size = sizeof(listing->state);
    switch (entry->kind) {
    case EVENT_KIND_TRACEPOINT: try_tracepoint(listing, entry->name); break;
    case EVENT_KIND_RAW: try_spec(&(struct event_spec){.attr.type = PERF_TYPE_RAW}, state, size); break;
    case EVENT_KIND_BREAKPOINT: try_text(listing->sources, "mem:0x10000/4:w:u", state, size); break;
    case EVENT_KIND_PFM: {
        struct event_spec spec = {.leader = true};
        const char *why = "";
        if (event_pfm_encode(entry->name, &spec, &why) == 0)
            try_spec(&spec, state, size);
        else
            snprintf(state, size, "needs a unit mask");
        break;
    }
    default: try_text(listing->sources, entry->name, state, size); break;
    }
}

static void show_entry(void *to, const struct event_entry *entry)
{
    struct listing *listing = to;
    char name[256];
    if (!is_wanted(listing, entry) || (entry->kind == EVENT_KIND_PFM_MASK && !listing->with_text))
        return;
    try_entry(listing, entry);
    listing->shown++;
    snprintf(name, sizeof(name), "%s%s%s", entry->name, entry->alias ? " OR " : "", entry->alias ? entry->alias : "");
    if (listing->with_text)
        fprintf(listing->to, "%-40s %s; %s\n", name, entry->description, listing->state);
    else
        fprintf(listing->to, "%-40s %s\n", name, listing->state);
}

int list_events(const struct event_sources *sources, const char *pattern, bool with_text, FILE *to)
{
    regex_t regex;
    struct listing listing = {.sources = sources, .with_text = with_text, .to = to};
    const int error = pattern ? regcomp(&regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) : 0;
    if (error) {
        char why[128];
        regerror(error, &regex, why, sizeof(why));
        report_error("--list-events: '%s' is not a regular expression: %s", pattern, why);
        return -EINVAL;
    }
    listing.pattern = pattern ? &regex : NULL;
    event_catalog(sources, count_tracepoint, &listing);
    event_catalog(sources, show_entry, &listing);
    if (pattern)
        regfree(&regex);
    if (!listing.shown)
        report_error("--list-events: no event of this machine matches '%s'", pattern ? pattern : "");
    return listing.shown ? 0 : 1;
}

/* ---- --event-info ---- */

__attribute__((format(printf, 3, 4))) static void row(FILE *to, const char *label, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(to, "%-12s ", label);
    vfprintf(to, format, list);
    fputc('\n', to);
    va_end(list);
}

static void print_attr(const struct perf_event_attr *attr, FILE *to)
{
    row(to, "type", "%u", attr->type);
    if (attr->type == PERF_TYPE_BREAKPOINT) {
        row(to, "address", "%#" PRIx64 ", %" PRIu64 " bytes, %s%s%s", (uint64_t)attr->bp_addr, (uint64_t)attr->bp_len,
            attr->bp_type & HW_BREAKPOINT_R ? "r" : "", attr->bp_type & HW_BREAKPOINT_W ? "w" : "",
            attr->bp_type & HW_BREAKPOINT_X ? "x" : "");
        return;
    }
    row(to, "config", "%#" PRIx64, (uint64_t)attr->config);
    if (attr->config1)
        row(to, "config1", "%#" PRIx64, (uint64_t)attr->config1);
    if (attr->config2)
        row(to, "config2", "%#" PRIx64, (uint64_t)attr->config2);
}

static void print_pmu(const struct event_sources *sources, const struct event_spec *spec, FILE *to)
{
    struct event_pmu pmu;
    struct event_words terms = {0};
    if (!spec->pmu[0] || event_pmu_find(sources, spec->pmu, &pmu) < 0)
        return;
    row(to, "PMU", "%s%s%s", pmu.name, pmu.cpumask[0] ? "; counts per CPU or socket, not per thread; cpumask: " : "",
        pmu.cpumask);
    event_pmu_terms(&pmu, &terms);
    for (size_t i = 0; i < terms.count; i++) {
        struct event_format format;
        if (event_pmu_format(&pmu, terms.words[i], &format) == 0)
            row(to, i ? "" : "terms", "%s (config%.0u, bits %#" PRIx64 ")", terms.words[i], format.field, format.bits);
    }
    event_words_release(&terms);
    if (spec->scale > 0 || spec->unit[0])
        row(to, "scale", "%g %s%s%s", spec->scale > 0 ? spec->scale : 1.0, spec->unit,
            spec->per_package ? ", counts whole CPU packages" : "",
            spec->snapshot ? ", the result is the last value that was read, not a sum" : "");
}

static void print_spec(const struct event_sources *sources, const struct event_spec *spec, FILE *to)
{
    char state[REASON];
    const char *text = event_catalog_describe(spec->attr.type, spec->attr.config);
    row(to, "name", "%s", spec->name);
    print_pmu(sources, spec, to);
    print_attr(&spec->attr, to);
    if (*text)
        row(to, "description", "%s", text);
    row(to, "modifiers", "u k h G H I p P D e S (docs/EVENTS.md explains them)");
    try_spec(spec, state, sizeof(state));
    row(to, "here", "%s", state);
}

/* What libpfm4 says of an event that is asked for by its name alone. */
struct masks {
    const char *name;
    size_t size; /* of it, without unit masks and modifiers */
    FILE *to;
    unsigned found;
};

static void print_mask(void *to, const struct event_pfm_name *name)
{
    struct masks *masks = to;
    if (strlen(name->event) != masks->size || strncasecmp(name->event, masks->name, masks->size) != 0 ||
        strcmp(name->pmu, "perf") == 0)
        return;
    char counters[96] = "";
    if (name->counters)
        snprintf(counters, sizeof(counters), " (PMU %s has %d general-purpose counters)", name->pmu, name->counters);
    if (!masks->found++)
        row(masks->to, "libpfm4", "%s::%s, code %#" PRIx64 ": %s%s", name->pmu, name->event, name->code,
            name->description, counters);
    else if (name->umask)
        row(masks->to, "unit mask", ":%s, code %#" PRIx64 ": %s", name->umask, name->code, name->description);
}

int list_events_info(const struct event_sources *sources, const char *text, FILE *to)
{
    struct event_list list = {0};
    const char *name = strstr(text, "::") ? strstr(text, "::") + 2 : text;
    struct masks masks = {.name = name, .size = strcspn(name, ":"), .to = to};
    struct event_spec spec = {.leader = true};
    const char *why = "";
    event_pfm_list(print_mask, &masks);
    if (masks.found && event_pfm_encode(text, &spec, &why) == -EINVAL) {
        row(to, "here", "%s", why); /* most need a unit mask */
        return 0;
    }
    const int status = event_list_parse(&list, sources, text);
    for (unsigned i = 0; i < list.count; i++) {
        if (i)
            fputc('\n', to);
        print_spec(sources, &list.specs[i], to);
    }
    event_list_release(&list);
    return status;
}

/* ---- --check-events-only ---- */

/*
 * Lets the events of SET, and those of none, count together for some ms of CPU time. Leaders last: what is enabled
 * later than the leader of its group counts only from the next switch of tasks on.
 */
static void run_set(const struct event_config *config, unsigned set)
{
    for (unsigned i = config->count; i-- > 0;)
        if (event_sets_is_on(&config->events[i], set))
            ioctl(config->keepers[i], PERF_EVENT_IOC_ENABLE, 0);
    const uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + UINT64_C(20000000);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        continue;
    for (unsigned i = 0; i < config->count; i++)
        ioctl(config->keepers[i], PERF_EVENT_IOC_DISABLE, 0);
}

static void run_events(const struct event_config *config)
{
    for (unsigned turn = 0; turn < config->turn_count || turn == 0; turn++)
        run_set(config, config->turn_count ? config->turns[turn] : 0);
}

static unsigned check_ran(const struct event_config *config, FILE *to)
{
    unsigned failed = 0;
    for (unsigned i = 0; i < config->count; i++) {
        uint64_t values[8];
        char set[32] = "";
        if (config->events[i].set)
            snprintf(set, sizeof(set), "set %u: ", config->events[i].set);
        const ssize_t size = read(config->keepers[i], values, sizeof(values));
        if (size == 0)
            fprintf(to, "%sevent '%s' is pinned, and no counter is free for it\n", set, config->events[i].name);
        else if (size >= 24 && values[1] && !values[2])
            fprintf(to, "%sevent '%s' was never counted: its group needs more counters than the CPU has free\n", set,
                    config->events[i].name);
        else if (size >= 24 && values[2] < values[1])
            fprintf(to,
                    "%sevent '%s' was counted only %.1f %% of the time: the CPU has too few counters for all events\n",
                    set, config->events[i].name, 100.0 * (double)values[2] / (double)values[1]);
        else
            continue;
        failed++;
    }
    return failed;
}

int list_events_check(const struct settings *settings, FILE *to)
{
    static struct event_config config; /* large, and used once */
    struct settings counting = *settings;
    counting.stat = true;
    if (event_config_init(&config, &counting) < 0)
        return 1;
    unsigned failed = config.source == PINJECT_SOURCE_PERF ? 0 : 1;
    if (failed)
        fprintf(to, "perf_event_open is refused: %s\n", config.refusal);
    for (unsigned i = 0; i < config.missing_count; i++, failed++)
        fprintf(to, "this machine does not have the event '%s'\n", config.missing[i]);
    if (!failed) {
        run_events(&config);
        failed = check_ran(&config, to);
    }
    event_config_release(&config);
    if (!failed && settings->switch_ns)
        fprintf(to, "%u events in %u sets: the events of each set can be counted together\n", settings->events.count,
                settings->events.sets);
    else if (!failed)
        fprintf(to, "%u events can be counted together\n", settings->events.count);
    return failed ? 1 : 0;
}
