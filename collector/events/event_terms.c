/* SPDX-License-Identifier: MIT */
#include "collector/events/event_terms.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/events/event_modifiers.h"
#include "collector/events/event_probe.h"

struct terms {
    const struct event_place *place;
    const struct event_pmu *pmu;
    struct event_spec *spec;
    uint64_t fields[4]; /* config, config1, config2, config3 */
    bool of_alias;      /* they are those of an event of sysfs */
};

/* ---- Finding the end ---- */

/* A path of SIZE bytes at TEXT ends with the slash that ends the terms: its place; -1: it does not. */
static long find_last_slash(const char *text, size_t size, bool at_end)
{
    size_t last = size;
    while (last > 0 && text[last - 1] != '/')
        last--;
    if (last < 2)
        return -1;
    const char *mods = text + last + (text[last] == ':' && last < size);
    const size_t count = size - (size_t)(mods - text);
    bool letters = strspn(mods, "ukhGHIpPSDeWb") >= count;
    return last == size || (letters && (at_end || text[last] == ':')) ? (long)last - 1 : -1;
}

long event_terms_size(const char *text)
{
    for (const char *at = text;;) {
        at += strcspn(at, "=,/'\"");
        if (*at == '/')
            return at - text;
        if (!*at)
            return -1;
        if (*at == '\'' || *at == '"') {
            at = strchr(at + 1, *at);
            if (!at)
                return -1;
        }
        if (*at == '=' && at[1] == '/' && at - text >= 4 && memcmp(at - 4, "path", 4) == 0) {
            const size_t size = strcspn(at + 1, ",}");
            const bool last = at[1 + size] != ',';
            const long end = find_last_slash(at + 1, size, last);
            if (end >= 0)
                return at + 1 + end - text;
            if (last)
                return -1;
            at += size;
        }
        at++;
    }
}

/* ---- Values ---- */

static int parse_number(const char *text, uint64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    *ret = strtoull(text, &end, text[0] == '0' && tolower((unsigned char)text[1]) == 'x' ? 16 : 10);
    return errno || *end ? -EINVAL : 0;
}

static int need_number(struct terms *terms, const char *name, const char *value, uint64_t highest, uint64_t *ret)
{
    if (!value)
        return event_error(terms->place, NULL, NULL, "term '%s' needs a number: write %s=N", name, name);
    if (parse_number(value, ret) < 0 || *ret > highest)
        return event_error(terms->place, NULL, NULL, "term '%s' needs a number from 0 to %#" PRIx64 ", not '%s'", name,
                           highest, value);
    return 0;
}

static int take_config(struct terms *terms, const char *name, const char *value)
{
    const unsigned field = name[6] ? (unsigned)(name[6] - '0') : 0;
    if (field == 3)
        return event_error(
            terms->place, NULL, NULL,
            "term 'config3' is not supported: the kernel headers of this build have no config3 in perf_event_attr");
    return need_number(terms, name, value, UINT64_MAX, &terms->fields[field]);
}

static int take_name(struct terms *terms, const char *name, const char *value)
{
    if (!value || !*value || strlen(value) >= EVENT_NAME)
        return event_error(terms->place, NULL, NULL, "term '%s' needs a name of 1 to %d bytes", name, EVENT_NAME - 1);
    for (const char *at = value; *at; at++)
        if (!isprint((unsigned char)*at))
            return event_error(terms->place, NULL, NULL,
                               "the value of term '%s' has a character that cannot be printed", name);
    snprintf(terms->spec->name, EVENT_NAME, "%s", value);
    terms->spec->says |= EVENT_SAYS_NAME;
    return 0;
}

static int take_rate(struct terms *terms, const char *name, const char *value)
{
    struct perf_event_attr *attr = &terms->spec->attr;
    uint64_t number = 0;
    int status = need_number(terms, name, value, INT64_MAX, &number);
    if (status == 0 && !number)
        return event_error(terms->place, NULL, NULL, "term '%s' needs a number of at least 1, not 0", name);
    if (status == 0 && terms->spec->says & EVENT_SAYS_RATE)
        return event_error(terms->place, NULL, NULL,
                           "an event can have only one of the terms period and freq, and only once");
    if (status < 0)
        return status;
    attr->freq = name[0] == 'f';
    attr->sample_period = number;
    terms->spec->says |= EVENT_SAYS_RATE;
    return 0;
}

static int take_call_graph(struct terms *terms, const char *name, const char *value)
{
    if (value && strcmp(value, "no") == 0)
        terms->spec->says |= EVENT_SAYS_NO_CHAIN;
    else if (value && strcmp(value, "fp") == 0)
        terms->spec->says |= EVENT_SAYS_CHAIN;
    else
        return event_error(
            terms->place, NULL, NULL,
            "term '%s' can only be fp or no; for stack dumps of all events, use the option --call-graph dwarf", name);
    return 0;
}

static int take_max_stack(struct terms *terms, const char *name, const char *value)
{
    uint64_t number = 0;
    int status = need_number(terms, name, value, UINT16_MAX, &number);
    terms->spec->attr.sample_max_stack = (uint16_t)number;
    return status;
}

static int take_time(struct terms *terms, const char *name, const char *value)
{
    uint64_t number = 1;
    int status = value ? need_number(terms, name, value, 1, &number) : 0;
    if (status == 0 && !number)
        return event_error(terms->place, NULL, NULL,
                           "term 'time=0' is not supported: pinject sorts samples by their time; leave the term out");
    return status;
}

static int take_nothing(struct terms *terms, const char *name, const char *value)
{
    (void)terms, (void)name, (void)value;
    return 0;
}

static const struct {
    const char *name;
    int (*take)(struct terms *terms, const char *name, const char *value);
    const char *why; /* it is refused */
} common[] = {
    {"config", take_config, NULL},
    {"config1", take_config, NULL},
    {"config2", take_config, NULL},
    {"config3", take_config, NULL},
    {"name", take_name, NULL},
    {"period", take_rate, NULL},
    {"freq", take_rate, NULL},
    {"call-graph", take_call_graph, NULL},
    {"max-stack", take_max_stack, NULL},
    {"time", take_time, NULL},
    {"no-overwrite", take_nothing, NULL}, /* rings never are */
    {"stack-size", NULL, "the stack dumps of all events have the same size; set it with --call-graph dwarf,BYTES"},
    {"branch_type", NULL, "all events record the same kinds of branches; set them with --branch-filter"},
    {"inherit", NULL,
     "pinject cannot set this for one event; --follow sets for all events which new tasks are profiled"},
    {"no-inherit", NULL, "pinject cannot set this for one event; with --follow=none, no event profiles new tasks"},
    {"overwrite", NULL, "pinject keeps all samples, and a ring buffer that overwrites samples would lose some"},
    {"percore", NULL,
     "this term adds up the counts of the hardware threads of a core, but pinject counts tasks, not CPUs"},
    {"nr", NULL, "this term is only for events that read BPF maps"},
    {"driver-config", NULL, "pinject does not configure PMU drivers"},
    {"aux-output", NULL, "pinject does not record AUX areas"},
    {"aux-sample-size", NULL, "pinject does not record AUX areas"},
    {"metric-id", NULL, "this term is only for the metrics of perf"},
};
enum { COMMON = sizeof(common) / sizeof(common[0]) };

/* ---- Terms ---- */

static int take_formatted(struct terms *terms, const struct event_format *format, const char *name, const char *value)
{
    uint64_t number = 1, highest;
    if (value && strcmp(value, "?") == 0)
        return event_error(terms->place, NULL, NULL, "this event needs a value for its term '%s': write %s/EVENT,%s=N/",
                           name, terms->pmu->name, name);
    if (value && parse_number(value, &number) < 0)
        return event_error(terms->place, NULL, NULL, "term '%s' needs a number, not '%s'", name, value);
    if (event_format_put(format, number, terms->fields, &highest) < 0)
        return event_error(terms->place, NULL, NULL, "term '%s' can be at most %#" PRIx64 ", not %s", name, highest,
                           value);
    return 0;
}

static int refuse_term(struct terms *terms, const char *name)
{
    struct event_words words = {0};
    if (terms->pmu) {
        event_pmu_terms(terms->pmu, &words);
        if (!terms->of_alias)
            event_pmu_events(terms->pmu, &words);
    }
    for (size_t i = 0; i < COMMON; i++)
        if (common[i].take)
            event_words_add(&words, common[i].name);
    int status = event_error(terms->place, name, &words, "%s%s has no term '%s'%s", terms->pmu ? "PMU " : "this event",
                             terms->pmu ? terms->pmu->name : "", name,
                             terms->pmu ? "; 'pinject-run --event-info=EVENT' shows the terms of the PMU of EVENT"
                                        : "");
    event_words_release(&words);
    return status;
}

static int apply_terms(struct terms *terms, char *text);

/* The event that a PMU's term names: its terms, unit and scale. */
static int apply_alias(struct terms *terms, const char *name)
{
    struct event_alias alias;
    struct event_spec *spec = terms->spec;
    int status = terms->of_alias ? -ENOENT : event_pmu_alias(terms->pmu, name, &alias);
    if (status < 0)
        return status;
    terms->of_alias = true;
    status = apply_terms(terms, alias.terms);
    terms->of_alias = false;
    snprintf(spec->unit, sizeof(spec->unit), "%s", alias.unit);
    spec->scale = alias.scale;
    spec->per_package = alias.per_package;
    spec->snapshot = alias.snapshot;
    return status;
}

static int apply_term(struct terms *terms, const char *name, const char *value)
{
    struct event_format format;
    if (terms->pmu && event_probe_is_of(terms->pmu->name)) {
        const int status = event_probe_take(terms->place, terms->spec, name, value);
        if (status != -ENOENT)
            return status;
    }
    if (terms->pmu) {
        const int status = event_pmu_format(terms->pmu, name, &format);
        if (status == 0)
            return take_formatted(terms, &format, name, value);
        if (status != -ENOENT)
            return event_error(terms->place, NULL, NULL, "%s/format/%s cannot be used: %s", terms->pmu->path, name,
                               strerror(-status));
    }
    for (size_t i = 0; i < COMMON; i++) {
        if (strcmp(common[i].name, name) != 0)
            continue;
        if (common[i].take)
            return common[i].take(terms, name, value);
        return event_error(terms->place, NULL, NULL, "term '%s': %s", name, common[i].why);
    }
    if (terms->pmu && !value) {
        const int status = apply_alias(terms, name);
        if (status != -ENOENT)
            return status;
    }
    return refuse_term(terms, name);
}

/* Cuts the next term off *TEXT. */
static char *next_term(char **text)
{
    char *term = *text, *at = term;
    while (*at && *at != ',') {
        char *end = *at == '\'' || *at == '"' ? strchr(at + 1, *at) : NULL;
        at = end ? end + 1 : at + 1;
    }
    *text = *at ? at + 1 : NULL;
    *at = '\0';
    return term;
}

static int apply_terms(struct terms *terms, char *text)
{
    do {
        char *term = next_term(&text), *value = strchr(term, '=');
        if (value)
            *value++ = '\0';
        const size_t size = value ? strlen(value) : 0;
        if (size > 1 && strchr("'\"", *value) && value[size - 1] == *value) {
            value[size - 1] = '\0';
            value++;
        }
        if (!*term)
            return event_error(terms->place, NULL, NULL, "a term between the slashes is empty");
        int status = apply_term(terms, term, value);
        if (status < 0)
            return status;
    } while (text);
    return 0;
}

static void begin(struct terms *terms)
{
    const struct perf_event_attr *attr = &terms->spec->attr;
    terms->fields[0] = attr->config;
    terms->fields[1] = attr->config1;
    terms->fields[2] = attr->config2;
}

static int finish(struct terms *terms, int status)
{
    struct perf_event_attr *attr = &terms->spec->attr;
    attr->config = terms->fields[0];
    if (!terms->pmu || !event_probe_is_of(terms->pmu->name)) { /* else they are the place */
        attr->config1 = terms->fields[1];
        attr->config2 = terms->fields[2];
    }
    if (status == 0 && terms->fields[3])
        return event_error(terms->place, NULL, NULL,
                           "PMU %s needs config3, which this build of pinject does not support",
                           terms->pmu ? terms->pmu->name : "?");
    return status == -ENOENT ? status : status < 0 ? -EINVAL : 0;
}

int event_terms_apply(const struct event_place *place, const struct event_pmu *pmu, char *text, struct event_spec *spec)
{
    struct terms terms = {.place = place, .pmu = pmu, .spec = spec};
    begin(&terms);
    return finish(&terms, *text ? apply_terms(&terms, text) : 0);
}

int event_terms_apply_alias(const struct event_place *place, const struct event_pmu *pmu, const char *name,
                            struct event_spec *spec)
{
    struct terms terms = {.place = place, .pmu = pmu, .spec = spec};
    begin(&terms);
    return finish(&terms, apply_alias(&terms, name));
}
