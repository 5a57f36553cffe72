/* SPDX-License-Identifier: MIT */
/*
 * pinject-run --list-events, --event-info and --check-events-only: which events there are, what they mean, and whether
 * they can be used here, found by opening them. All write to TO, whose errors the caller checks.
 */
#ifndef COLLECTOR_LIST_EVENTS_H
#define COLLECTOR_LIST_EVENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/config/settings.h"

/* PATTERN: an extended regular expression, in any case; NULL: all. 0; 1: nothing matches it; -EINVAL after a message. */
int list_events(const struct event_sources *sources, const char *pattern, bool with_text, FILE *to);
/* 0, or -EINVAL after a message: there is no such event. */
int list_events_info(const struct event_sources *sources, const char *text, FILE *to);
/* The events of SETTINGS, all at once. 0; 1: they cannot be counted together, and the reason is written. */
int list_events_check(const struct settings *settings, FILE *to);

#endif
