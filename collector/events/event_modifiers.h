/* SPDX-License-Identifier: MIT */
/* The letters after an event or a group: which code counts, how precise, how it is scheduled. Pure. */
#ifndef COLLECTOR_EVENTS_EVENT_MODIFIERS_H
#define COLLECTOR_EVENTS_EVENT_MODIFIERS_H

#include "collector/events/event_error.h"
#include "collector/events/event_spec.h"

/* Are all letters of TEXT modifiers, and is there one? */
bool event_modifiers_are(const char *text);
/* 0, or -EINVAL after event_error(). */
int event_modifiers_check(const struct event_place *place, const char *text);
/*
 * Adds those of TEXT, which check() has accepted, to what SPEC has, as perf does: the first of u, k and h excludes the
 * two others. D and e are the leader's alone. S is kept in what SPEC says.
 */
void event_modifiers_apply(struct event_spec *spec, const char *text);
/* True if more than three p are said of it. */
bool event_modifiers_too_precise(const struct event_spec *spec, const char *text);

#endif
