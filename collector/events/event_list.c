/* SPDX-License-Identifier: MIT */
#include "collector/events/event_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/events/event_breakpoint.h"
#include "collector/events/event_modifiers.h"
#include "collector/events/event_parse.h"
#include "collector/events/event_terms.h"
#include "common/report.h"

enum { TEXT_MAX = 1024 }; /* of one event */

static void release_spec(struct event_spec *spec)
{
    free(spec->target);
    free(spec->filter);
}

void event_list_release(struct event_list *list)
{
    for (unsigned i = 0; i < list->count; i++)
        release_spec(&list->specs[i]);
    free(list->specs);
    *list = (struct event_list){0};
}

int event_list_add(struct event_list *list, const struct event_place *place, struct event_spec *spec)
{
    if (list->count == EVENTS_MAX)
        return event_error(
            place, NULL, NULL,
            "this event is one too many: a list can have at most %d events, because each task opens all of them",
            EVENTS_MAX);
    if (list->count == list->room) {
        const unsigned room = list->room ? 2 * list->room : 8;
        struct event_spec *more = realloc(list->specs, room * sizeof(*more));
        if (!more)
            return event_error(place, NULL, NULL, "no memory");
        list->specs = more;
        list->room = room;
    }
    list->specs[list->count++] = *spec;
    return 0;
}

/* ---- Cutting up ---- */

/* Bytes of the event at TEXT, up to the ',' or '}' after it. */
static size_t item_size(const char *text)
{
    size_t size = strcspn(text, "/,}");
    if (text[size] == '/' && strncmp(text, "mem:", 4) != 0) {
        const long terms = event_terms_size(text + size + 1);
        size = terms < 0 ? size : size + 1 + (size_t)terms + 1;
    }
    return size + strcspn(text + size, ",}");
}

static int parse_item(struct event_list *list, const struct event_sources *sources, const char *text, size_t size,
                      unsigned group)
{
    char copy[TEXT_MAX + 1];
    struct event_place place = {.text = copy, .number = ++list->items};
    snprintf(copy, sizeof(copy), "%.*s", (int)(size < TEXT_MAX ? size : TEXT_MAX), text);
    if (size > TEXT_MAX)
        return event_error(&place, NULL, NULL, "the text of an event can have at most %d bytes", TEXT_MAX);
    if (!size) {
        report_error("event %u: this event has no name; write the list like task-clock,page-faults", place.number);
        return -EINVAL;
    }
    const unsigned before = list->count;
    int status = event_parse(list, sources, &place);
    for (unsigned i = before; status == 0 && i < list->count; i++)
        list->specs[i].group = group, list->specs[i].item = list->items;
    list->last = before;
    return status;
}

/* Reports show what of its group's modifiers the event has, as if it were said of it alone. */
static void name_level(struct event_spec *spec, const char *modifiers)
{
    const size_t size = strlen(spec->name);
    char level[4];
    size_t count = 0;
    for (const char *letter = "ukh"; *letter; letter++)
        if (strchr(modifiers, *letter))
            level[count++] = *letter;
    level[count] = '\0';
    if (count && !(spec->says & (EVENT_SAYS_LEVEL | EVENT_SAYS_NAME)) && size + 5 < sizeof(spec->name))
        snprintf(spec->name + size, sizeof(spec->name) - size, ":%s", level);
}

/* What SAYS of the samples' values is said of all events from FIRST on. */
static void add_values(struct event_list *list, unsigned first, uint32_t says)
{
    for (unsigned i = first; i < list->count; i++)
        list->specs[i].says |= says & EVENT_SAYS_VALUES;
}

/* The modifiers after '}' at TEXT: for all of the group, whose first spec is FIRST. */
static int end_group(struct event_list *list, const char *text, size_t size, unsigned first)
{
    char copy[64];
    snprintf(copy, sizeof(copy), "%.*s", (int)size, text);
    struct event_place place = {.text = copy, .number = list->items};
    if (first == list->count)
        return event_error(&place, NULL, NULL, "the group has no event; write {a,b}");
    if (size > 1 && text[1] != ':')
        return event_error(&place, NULL, NULL,
                           "after the '}' of a group, write ',' and the next event, or ':' and modifiers");
    if (size >= sizeof(copy))
        return event_error(&place, NULL, NULL, "too many modifiers");
    if (size > 1 && event_modifiers_check(&place, copy + 2) < 0)
        return -EINVAL;
    for (unsigned i = first; i < list->count; i++) {
        struct event_spec *spec = &list->specs[i];
        spec->leader = i == first;
        if (!spec->leader && (spec->attr.pinned || spec->attr.exclusive))
            return event_error(&place, NULL, NULL,
                               "modifiers D and e are for a whole group, not for one event of a group; write {a,b}:D");
        if (!spec->leader && spec->says & EVENT_SAYS_VALUES)
            return event_error(
                &place, NULL, NULL,
                "modifier S is for a whole group, and only the first event of the group is sampled; write {a,b}:S, "
                "with this event first");
        if (size > 1 && event_modifiers_too_precise(spec, copy + 2))
            return event_error(&place, NULL, NULL, "too many modifiers p; the highest precision is ppp");
        if (size > 1) {
            name_level(spec, copy + 2);
            event_modifiers_apply(spec, copy + 2);
        }
    }
    add_values(list, first, list->specs[first].says);
    return 0;
}

static int parse_group(struct event_list *list, const struct event_sources *sources, const char **text)
{
    const unsigned group = ++list->groups, first = list->count;
    const char *at = *text + 1;
    int status = 0;
    while (*at != '}') {
        const size_t size = item_size(at);
        status = parse_item(list, sources, at, size, group);
        if (status < 0)
            return status;
        at += size;
        if (!*at) {
            report_error("event %u: the group that begins with '{' has no '}'", list->items);
            return -EINVAL;
        }
        if (*at == ',' && at[1] == '}')
            return parse_item(list, sources, at, 0, group);
        at += *at == ',';
    }
    const size_t size = strcspn(at, ",");
    status = end_group(list, at, size, first);
    *text = at + size;
    list->last = first;
    return status;
}

static int parse_all(struct event_list *list, const struct event_sources *sources, const char *text)
{
    for (;; text++) {
        int status;
        if (*text == '{')
            status = parse_group(list, sources, &text);
        else {
            const size_t size = item_size(text);
            status = parse_item(list, sources, text, size, 0);
            text += size;
        }
        if (status < 0)
            return status;
        if (!*text)
            return 0;
        if (*text == '}') {
            report_error("event %u: there is a '}', but no '{' before it", list->items);
            return -EINVAL;
        }
    }
}

int event_list_parse(struct event_list *list, const struct event_sources *sources, const char *text)
{
    const struct event_list before = *list;
    int status = parse_all(list, sources, text);
    list->sets += status == 0;
    for (unsigned i = before.count; status == 0 && i < list->count; i++)
        list->specs[i].set = list->sets;
    if (status == 0)
        return 0;
    while (list->count > before.count)
        release_spec(&list->specs[--list->count]);
    list->groups = before.groups;
    list->items = before.items;
    list->last = before.last;
    return -EINVAL;
}

/* ---- What other options say ---- */

int event_list_filter(struct event_list *list, const char *expression)
{
    if (!*expression || !list->count) {
        report_error(*expression ? "--filter applies to the -e before it; put --filter after -e SYSTEM:NAME"
                                 : "--filter needs an expression such as 'count > 100'");
        return -EINVAL;
    }
    for (unsigned i = list->last; i < list->count; i++) {
        struct event_spec *spec = &list->specs[i];
        const struct event_place place = {.text = spec->name, .number = list->items};
        if (!spec->traces)
            return event_error(&place, NULL, NULL,
                               "--filter works only for tracepoints and probes, and this event is neither");
        if (spec->filter)
            return event_error(&place, NULL, NULL,
                               "this event already has a filter; join both expressions with && in one --filter");
        if (!(spec->filter = strdup(expression)))
            return event_error(&place, NULL, NULL, "no memory");
    }
    return 0;
}

static void set_level(struct event_spec *spec, unsigned levels)
{
    const char *suffix = levels == EVENT_LEVEL_USER ? "u" : levels == EVENT_LEVEL_KERNEL ? "k" : "uk";
    const size_t size = strlen(spec->name);
    if (spec->says & EVENT_SAYS_LEVEL)
        return;
    event_modifiers_apply(spec, suffix);
    if (!(spec->says & EVENT_SAYS_NAME) && size + 3 < sizeof(spec->name) && levels != 3)
        snprintf(spec->name + size, sizeof(spec->name) - size, "%s%s", strchr(spec->name, ':') ? "" : ":", suffix);
}

void event_list_set_levels(struct event_list *list, unsigned levels)
{
    for (unsigned i = 0; levels && i < list->count; i++)
        set_level(&list->specs[i], levels);
}

/* The entry of -e that is ITEM or later and has events of SET (0: of any); above list->items: there is none. */
static unsigned find_in_set(const struct event_list *list, unsigned item, unsigned set)
{
    for (; item <= list->items; item++)
        for (unsigned i = 0; i < list->count; i++)
            if (list->specs[i].item == item && (!set || list->specs[i].set == set))
                return item;
    return item;
}

int event_list_set_each_level(struct event_list *list, const char *text, unsigned set)
{
    for (unsigned item = find_in_set(list, 1, set);; item = find_in_set(list, item + 1, set)) {
        const size_t size = strcspn(text, ",");
        unsigned levels = 0;
        for (size_t at = 0; at < size; at++)
            levels |= text[at] == 'u' ? 1u : text[at] == 'k' ? 2u : 4u;
        if (!levels || levels > 3) {
            report_error("--priv-levels needs u, k or uk for each event (such as u,k,uk), not '%s'", text);
            return -EINVAL;
        }
        if (item > list->items) {
            if (set)
                report_error("--priv-levels has more entries than set %u has events", set);
            else
                report_error("--priv-levels has more entries than -e has events (%u)", list->items);
            return -EINVAL;
        }
        for (unsigned i = 0; i < list->count; i++)
            if (list->specs[i].item == item)
                set_level(&list->specs[i], levels);
        text += size;
        if (!*text++)
            return 0;
    }
}

static int set_period(struct event_spec *spec, const uint64_t *periods, unsigned count, const char *option)
{
    const struct event_place place = {.text = spec->name, .number = spec->item};
    const bool own = spec->says & EVENT_SAYS_RATE;
    if (spec->item > count && own)
        return event_error(
            &place, NULL, NULL,
            "this event has a rate of its own, but no entry in --%s, so it would only be counted; --%s has %u entries: "
            "add entries for this event and for each event before it",
            option, option, count);
    if (spec->item > count)
        spec->says |= EVENT_SAYS_COUNT;
    else if (!own) {
        spec->attr.sample_period = periods[spec->item - 1];
        spec->says |= EVENT_SAYS_RATE;
    }
    return 0;
}

int event_list_set_periods(struct event_list *list, const uint64_t *periods, unsigned count, const char *option)
{
    if (count > list->items) {
        report_error("option '--%s' has %u periods, but -e has only %u event%s", option, count, list->items,
                     list->items == 1 ? "" : "s");
        return -EINVAL;
    }
    for (unsigned i = 0; i < list->count; i++)
        if (set_period(&list->specs[i], periods, count, option) < 0)
            return -EINVAL;
    return 0;
}

/* All events of the list become one group, as if they stood in { }. */
static int make_group(struct event_list *list)
{
    if (list->count < 2) {
        report_error(
            "--smpl-values needs two events or more in -e: with -e A,B each sample of A has the counts of A and B");
        return -EINVAL;
    }
    const unsigned group = ++list->groups;
    for (unsigned i = 0; i < list->count; i++) {
        struct event_spec *spec = &list->specs[i];
        const struct event_place place = {.text = spec->name, .number = spec->item};
        if (i && (spec->attr.pinned || spec->attr.exclusive || spec->says & EVENT_SAYS_VALUES))
            return event_error(&place, NULL, NULL,
                               "--smpl-values makes one group of all events, and modifiers D, e and S are for a whole "
                               "group; give these modifiers to the first event, or write {a,b}:S");
        spec->group = group;
        spec->leader = i == 0;
    }
    return 0;
}

int event_list_set_values(struct event_list *list)
{
    bool groups = false;
    for (unsigned i = 0; i < list->count; i++)
        groups |= list->specs[i].group;
    if (!groups && make_group(list) < 0)
        return -EINVAL;
    for (unsigned i = 0; i < list->count; i++)
        if (list->specs[i].group)
            list->specs[i].says |= EVENT_SAYS_VALUES;
    return 0;
}

int event_list_check_values(const struct event_list *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct event_spec *spec = &list->specs[i];
        const struct event_place place = {.text = spec->name, .number = spec->item};
        if (!(spec->says & EVENT_SAYS_VALUES))
            continue;
        if (spec->leader && spec->says & EVENT_SAYS_COUNT)
            return event_error(
                &place, NULL, NULL,
                "this event is the first of a group with modifier S and must be sampled; give this event a period");
        if (!spec->leader && spec->says & EVENT_SAYS_RATE)
            return event_error(
                &place, NULL, NULL,
                "this event has a period or frequency, but only the first event of a group with modifier S is sampled; "
                "leave the period or frequency out");
    }
    return 0;
}

int event_list_resolve(struct event_list *list, const char *path)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct event_place place = {.text = list->specs[i].name, .number = i + 1};
        if (event_breakpoint_resolve(&place, path, &list->specs[i]) < 0)
            return -EINVAL;
    }
    return 0;
}
