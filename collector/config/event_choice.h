/* SPDX-License-Identifier: MIT */
/* From an event of the user's list to one that is opened, and why the kernel refuses it. */
#ifndef COLLECTOR_CONFIG_EVENT_CHOICE_H
#define COLLECTOR_CONFIG_EVENT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/config/settings.h"
#include "collector/events/event_spec.h"

/* What all events of ours have, and what SPEC says. BLIND: we may not see the kernel, so it is left out. */
struct perf_event_attr event_choice_attr(const struct event_spec *spec, bool blind);
/* Do both ask for the same samples and counts? BLIND: as above. */
bool event_choice_is_same(const struct event_spec *one, const struct event_spec *other, bool blind);
/*
 * Must it be opened for each task? If it were inherited, a fork would look for the name of the probe's file or function
 * in the memory of the task that forks, and fail.
 */
bool event_choice_is_own(const struct event_spec *spec);
/* Is its address known only when the program runs? Then it is opened for each task, too. SPEC may be NULL. */
bool event_choice_is_relative(const struct event_spec *spec);
/*
 * Do SETTINGS need no more than the sums of all tasks, and all events let themselves be inherited? Then the command
 * alone gets events (event_config.whole_tree), unless timers replace them.
 */
bool event_choice_is_whole_tree(const struct settings *settings);
/* Why the kernel refused it with STATUS, and what to do. SPEC NULL: a default event. */
void event_choice_explain(const struct event_spec *spec, int status, char *ret, size_t size);

#endif
