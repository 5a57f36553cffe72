/* SPDX-License-Identifier: MIT */
#include "collector/events/event_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/events/event_breakpoint.h"
#include "collector/events/event_cache.h"
#include "collector/events/event_modifiers.h"
#include "collector/events/event_pfm.h"
#include "collector/events/event_probe.h"
#include "collector/events/event_terms.h"
#include "collector/events/event_tracepoint.h"
#include "common/events.h"

enum { COPY = 1025 };

struct parse {
    struct event_list *list;
    const struct event_sources *sources;
    const struct event_place *place;
    struct event_spec spec;
};

/* ---- Names without a PMU ---- */

/* What perf computes by itself: no events of the kernel. */
static const struct {
    const char *name, *instead;
} computed[] = {
    {"duration_time", "--stat always prints the elapsed time"},
    {"user_time", "--stat always prints the time in user mode"},
    {"system_time", "--stat always prints the time in the kernel"},
};

static bool is_raw(const char *text)
{
    const size_t size = strlen(text);
    return size > 1 && size <= 17 && tolower((unsigned char)text[0]) == 'r' &&
           strspn(text + 1, "0123456789abcdefABCDEF") == size - 1;
}

/* 0; -ENOENT: it is none; -EINVAL after a message. */
static int take_plain_name(struct parse *parse, const char *name)
{
    struct perf_event_attr *attr = &parse->spec.attr;
    const struct event_name *known = events_find_name(name);
    uint64_t config;
    if (known) {
        attr->type = known->type;
        attr->config = known->config;
        parse->spec.nanoseconds = known->nanoseconds;
        return 0;
    }
    for (size_t i = 0; i < sizeof(computed) / sizeof(computed[0]); i++)
        if (strcmp(computed[i].name, name) == 0)
            return event_error(parse->place, NULL, NULL,
                               "perf computes %s itself, and the kernel has no such event; %s", name,
                               computed[i].instead);
    const int status = event_cache_parse(name, &config);
    if (status == -EINVAL)
        return event_error(parse->place, NULL, NULL, "the CPU's events do not include this operation for this cache");
    if (status == 0) {
        attr->type = PERF_TYPE_HW_CACHE;
        attr->config = config;
        return 0;
    }
    if (!is_raw(name))
        return -ENOENT;
    attr->type = PERF_TYPE_RAW;
    attr->config = strtoull(name + 1, NULL, 16);
    return 0;
}

static void use_pmu(struct event_spec *spec, const struct event_pmu *pmu)
{
    spec->attr.type = pmu->type;
    snprintf(spec->pmu, sizeof(spec->pmu), "%s", pmu->name);
    snprintf(spec->cpumask, sizeof(spec->cpumask), "%s", pmu->cpumask);
}

/* An event of sysfs without the name of its PMU. */
static int take_alias(struct parse *parse, const char *name)
{
    struct event_pmu pmu;
    int status = event_pmu_of_event(parse->sources, name, &pmu);
    if (status < 0)
        return -ENOENT;
    use_pmu(&parse->spec, &pmu);
    return event_terms_apply_alias(parse->place, &pmu, name, &parse->spec);
}

/* TYPE:CONFIG in numbers. */
static int take_numbers(struct parse *parse, const char *type, const char *config)
{
    char *end, *config_end;
    if (!isdigit((unsigned char)*type) || !isdigit((unsigned char)*config))
        return -ENOENT;
    errno = 0;
    const unsigned long number = strtoul(type, &end, 0);
    parse->spec.attr.config = strtoull(config, &config_end, 0);
    if (errno || *end || *config_end || number > UINT32_MAX)
        return event_error(parse->place, NULL, NULL,
                           "invalid numbers; write TYPE:CONFIG, where each number looks like 0x10 or 16");
    parse->spec.attr.type = (uint32_t)number;
    return 0;
}

/* ---- Ends ---- */

static int take_modifiers(struct parse *parse, const char *text)
{
    if (!text)
        return 0;
    if (event_modifiers_check(parse->place, text) < 0)
        return -EINVAL;
    if (event_modifiers_too_precise(&parse->spec, text))
        return event_error(parse->place, NULL, NULL, "too many modifiers p; the highest precision is ppp");
    event_modifiers_apply(&parse->spec, text);
    return 0;
}

/* Appends the event that is parsed, under NAME unless it has one. */
static int add(struct parse *parse, const char *name)
{
    struct event_spec *spec = &parse->spec;
    if (!spec->name[0] && strlen(name) >= sizeof(spec->name))
        return event_error(
            parse->place, NULL, NULL,
            "the name of this event in reports would be longer than %d bytes; choose a shorter one with the term "
            "name=MINE between the slashes",
            EVENT_NAME - 1);
    if (!spec->name[0])
        snprintf(spec->name, sizeof(spec->name), "%s", name);
    const int status = event_list_add(parse->list, parse->place, spec);
    if (status == 0)
        *spec = (struct event_spec){.leader = true}; /* the list has its strings */
    return status;
}

static int refuse(struct parse *parse, const char *name)
{
    struct event_words words = {0};
    char word[64];
    for (size_t i = 0; i < events_count; i++) {
        event_words_add(&words, events_names[i].name);
        if (events_names[i].alias)
            event_words_add(&words, events_names[i].alias);
    }
    for (size_t i = 0; event_cache_name(i, word, sizeof(word)); i++)
        event_words_add(&words, word);
    event_pfm_words(&words);
    int status = event_error(parse->place, name, &words,
                             "unknown event '%.60s'; events are cycles, instructions, task-clock, page-faults and "
                             "others ('pinject-run --info' shows them)",
                             name);
    event_words_release(&words);
    return status;
}

/* ---- Tracepoints ---- */

static int add_tracepoint(struct parse *parse, char *found, const char *modifiers)
{
    char name[COPY];
    uint64_t id = 0;
    snprintf(name, sizeof(name), "%.512s%s%.256s", found, modifiers ? ":" : "", modifiers ? modifiers : "");
    char *colon = strchr(found, ':');
    *colon = '\0';
    int status = event_tracepoint_id(parse->sources, found, colon + 1, &id);
    *colon = ':';
    if (status < 0)
        return event_error(parse->place, NULL, NULL, "tracepoint '%s' cannot be used: %s", found, strerror(-status));
    parse->spec = (struct event_spec){.leader = true, .traces = true};
    parse->spec.attr.type = PERF_TYPE_TRACEPOINT;
    parse->spec.attr.config = id;
    parse->spec.target_kind = EVENT_TARGET_TRACEPOINT;
    parse->spec.target = strdup(found);
    if (!parse->spec.target)
        return event_error(parse->place, NULL, NULL, "no memory");
    status = take_modifiers(parse, modifiers);
    return status < 0 ? status : add(parse, name);
}

static int refuse_tracepoint(struct parse *parse, const char *system, const char *name, int status)
{
    struct event_words words = {0};
    char why[256], full[256];
    if (status < 0) {
        event_tracepoint_explain(status, why, sizeof(why));
        return event_error(parse->place, NULL, NULL,
                           "'%.60s' is not a known event, and tracepoints cannot be looked up: %s", system, why);
    }
    event_tracepoint_find(parse->sources, NULL, NULL, &words);
    snprintf(full, sizeof(full), "%.120s:%.120s", system, name);
    status = event_error(parse->place, full, &words, "there is no tracepoint '%s'", full);
    event_words_release(&words);
    return status;
}

static int take_tracepoints(struct parse *parse, const char *system, char *name)
{
    struct event_words words = {0};
    char *modifiers = strchr(name, ':');
    if (modifiers)
        *modifiers++ = '\0';
    int status = event_tracepoint_find(parse->sources, system, name, &words);
    if (status < 0 || !words.count) {
        event_words_release(&words);
        return refuse_tracepoint(parse, system, name, status);
    }
    for (size_t i = 0; status == 0 && i < words.count; i++)
        status = add_tracepoint(parse, words.words[i], modifiers);
    event_words_release(&words);
    return status;
}

/* ---- The kinds of text ---- */

static int parse_breakpoint(struct parse *parse, char *text)
{
    const char *modifiers;
    int status = event_breakpoint_parse(parse->place, text + 4, &parse->spec, &modifiers);
    if (status == 0)
        status = take_modifiers(parse, modifiers);
    return status < 0 ? status : add(parse, parse->place->text);
}

static int refuse_pmu(struct parse *parse, const char *name, int status)
{
    struct event_words words = {0};
    if (status != -ENOENT)
        return event_error(parse->place, NULL, NULL, "PMU '%s' cannot be used: %s/%s/type: %s", name,
                           parse->sources->devices, name, strerror(-status));
    event_pmu_names(parse->sources, &words);
    for (size_t i = 0; i < events_count; i++)
        event_words_add(&words, events_names[i].name);
    status = event_error(parse->place, name, &words,
                         "'%s' is neither a PMU of this machine (see %s) nor the name of an event", name,
                         parse->sources->devices);
    event_words_release(&words);
    return status;
}

/* NAME/TERMS/MODIFIERS: a PMU, or an event of a plain name. */
static int parse_terms(struct parse *parse, char *text, char *slash)
{
    struct event_pmu pmu;
    const long size = event_terms_size(slash + 1);
    if (size < 0)
        return event_error(parse->place, NULL, NULL, "the '/' after the terms is missing; write PMU/term=N/");
    char *terms = slash + 1, *modifiers = terms + size + 1;
    *slash = terms[size] = '\0';
    modifiers = *modifiers ? modifiers + (*modifiers == ':') : NULL;
    int status = event_pmu_find(parse->sources, text, &pmu);
    const bool dynamic = status == 0;
    if (dynamic)
        use_pmu(&parse->spec, &pmu);
    else if (take_plain_name(parse, text) < 0)
        return refuse_pmu(parse, text, status);
    status = event_terms_apply(parse->place, dynamic ? &pmu : NULL, terms, &parse->spec);
    if (status == 0 && dynamic && event_probe_is_of(pmu.name))
        status = event_probe_finish(parse->place, &parse->spec);
    if (status == 0)
        status = take_modifiers(parse, modifiers);
    return status < 0 ? status : add(parse, parse->place->text);
}

/* libpfm4 wants the whole text, with unit masks and its own modifiers. */
static int parse_by_pfm(struct parse *parse, bool quiet)
{
    const char *why = NULL;
    int status = event_pfm_encode(parse->place->text, &parse->spec, &why);
    if (status == -EINVAL && !quiet)
        return event_error(
            parse->place, NULL, NULL,
            "libpfm4 knows this event, but cannot encode it: %s; 'pinject-run --event-info=EVENT' shows its unit masks",
            why);
    return status < 0 ? status : add(parse, parse->place->text);
}

static int parse_name(struct parse *parse, char *text)
{
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    int status = take_plain_name(parse, text);
    if (status == -ENOENT && colon)
        status = take_numbers(parse, text, colon + 1);
    else if (status == 0 && colon && !event_modifiers_are(colon + 1) && parse_by_pfm(parse, true) == 0)
        return 0; /* "L1D:REPLACEMENT" begins like the name of a cache */
    else if (status == 0 || status == -EINVAL)
        return status == 0 && take_modifiers(parse, colon ? colon + 1 : NULL) == 0 ? add(parse, parse->place->text)
                                                                                   : -EINVAL;
    if (status == 0)
        return add(parse, parse->place->text);
    if (status == -ENOENT)
        status = take_alias(parse, text);
    if (status == 0)
        return take_modifiers(parse, colon ? colon + 1 : NULL) == 0 ? add(parse, parse->place->text) : -EINVAL;
    if (status == -ENOENT)
        status = parse_by_pfm(parse, false);
    if (status != -ENOENT)
        return status;
    if (colon && !event_modifiers_are(colon + 1))
        return take_tracepoints(parse, text, colon + 1);
    return refuse(parse, text);
}

int event_parse(struct event_list *list, const struct event_sources *sources, const struct event_place *place)
{
    char copy[COPY];
    struct parse parse = {.list = list, .sources = sources, .place = place, .spec = {.leader = true}};
    if (snprintf(copy, sizeof(copy), "%s", place->text) >= (int)sizeof(copy))
        return event_error(place, NULL, NULL, "the text of an event can have at most %d bytes", COPY - 1);
    char *slash = strchr(copy, '/');
    int status;
    if (strncmp(copy, "mem:", 4) == 0)
        status = parse_breakpoint(&parse, copy);
    else if (slash)
        status = parse_terms(&parse, copy, slash);
    else
        status = parse_name(&parse, copy);
    free(parse.spec.target); /* unless the list has it */
    return status < 0 ? -EINVAL : 0;
}
