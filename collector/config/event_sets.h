/* SPDX-License-Identifier: MIT */
/*
 * Event sets: with --switch-timeout each -e is a set, and the sets of a task take turns. Only the events of one set are
 * enabled at any time; the dummy event and task-clock are always. docs/ARCHITECTURE.md says who switches, and when.
 */
#ifndef COLLECTOR_CONFIG_EVENT_SETS_H
#define COLLECTOR_CONFIG_EVENT_SETS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/config/event_config.h"

/* Which set SPEC (NULL: a default) is in; 0: it counts all the time. */
unsigned event_sets_of(const struct event_config *config, const struct settings *settings,
                       const struct event_spec *spec);
/*
 * The event of CONFIG that ATTR, of SET and in no group of the user, can join: one call then switches both. If there is
 * none: config->count.
 */
unsigned event_sets_find_leader(const struct event_config *config, unsigned set, const struct perf_event_attr *attr,
                                const struct event_spec *spec);
/* Makes EVENT's name differ from those of other sets: "cycles (set 2)". It is not in CONFIG yet. */
void event_sets_name(const struct event_config *config, struct config_event *event);
/* Fills in config->turns, when all events are there. */
void event_sets_init(struct event_config *config);

/*
 * The set that a task begins with; 0: there are none. BEGUN counts the tasks, atomically. They begin with different
 * sets, so that of many short tasks each set is counted for some.
 */
unsigned event_sets_first(const struct event_config *config, uint32_t *begun);
/* The set after SET. There are sets. */
unsigned event_sets_next(const struct event_config *config, unsigned set);

/* Does a call for this event switch it, and all that joined it? */
static inline bool event_sets_switches(const struct event_config *config, unsigned index, unsigned set)
{
    return config->events[index].set == set && config->events[index].leader == index;
}

/* Is the event INDEX switched off at times? An event of a set is not if no other set has events. */
static inline bool event_sets_takes_turns(const struct event_config *config, unsigned index)
{
    return config->events[index].set && config->turn_count > 1;
}

/* Is it enabled while SET has its turn? */
static inline bool event_sets_is_on(const struct config_event *event, unsigned set)
{
    return !event->set || event->set == set;
}

/*
 * What the event INDEX counted, with the time of which its figure is to be: if it takes turns, all the time for which
 * the task ran with its events. VALUES: of all events of the task.
 */
struct attach_value event_sets_value(const struct event_config *config, unsigned index,
                                     const struct attach_value *values);

#endif
