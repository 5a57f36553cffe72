/* SPDX-License-Identifier: MIT */
/*
 * The list of events that the user chose: the texts of all -e, in order, and what --filter, -u, -k and --priv-levels
 * say of them. docs/EVENTS.md has the spellings. Not thread-safe.
 */
#ifndef COLLECTOR_EVENTS_EVENT_LIST_H
#define COLLECTOR_EVENTS_EVENT_LIST_H

#include "collector/events/event_pmu.h"

/* All 0: empty. */
struct event_list {
    struct event_spec *specs;
    unsigned count, room;
    unsigned groups;
    unsigned sets;  /* texts so far: each is one set of events with --switch-timeout */
    unsigned items; /* written by the user: one with a * may be several of SPECS */
    unsigned last;  /* index of the first spec of the last item */
};

enum event_level { EVENT_LEVEL_USER = 1, EVENT_LEVEL_KERNEL = 2 };

/*
 * Appends the events of TEXT: "cycles:u,{faults,cs}:D,cpu/event=0x3c/". 0, or -EINVAL after a message; then the list
 * is as before.
 */
int event_list_parse(struct event_list *list, const struct event_sources *sources, const char *text);
/* Appends SPEC, whose strings the list owns from then on. 0, or -EINVAL after a message. */
int event_list_add(struct event_list *list, const struct event_place *place, struct event_spec *spec);
/* Sets the filter of the last item. 0, or -EINVAL after a message. */
int event_list_filter(struct event_list *list, const char *expression);
/* LEVELS: enum event_level, for each event that says none itself. */
void event_list_set_levels(struct event_list *list, unsigned levels);
/* "u,k,uk": one entry for each event of SET; 0: of all. 0, or -EINVAL after a message. */
int event_list_set_each_level(struct event_list *list, const char *text, unsigned set);
/*
 * The first COUNT events of the user get PERIODS, unless they have a rate of their own; those after them are only
 * counted. OPTION said it. 0, or -EINVAL after a message.
 */
int event_list_set_periods(struct event_list *list, const uint64_t *periods, unsigned count, const char *option);
/*
 * Each group is as if S were said of it; without any group, all events are one. 0, or -EINVAL after a message.
 */
int event_list_set_values(struct event_list *list);
/*
 * Of groups with S only the leaders have a rate: checked when all rates are known. 0, or -EINVAL after a message.
 */
int event_list_check_values(const struct event_list *list);
/*
 * Finds the symbols of breakpoints in the ELF file PATH (NULL: there is no command). 0, or -EINVAL after a message.
 */
int event_list_resolve(struct event_list *list, const char *path);
void event_list_release(struct event_list *list);

#endif
