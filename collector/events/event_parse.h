/* SPDX-License-Identifier: MIT */
/* One event of the list. */
#ifndef COLLECTOR_EVENTS_EVENT_PARSE_H
#define COLLECTOR_EVENTS_EVENT_PARSE_H

#include "collector/events/event_list.h"

/* Appends the event PLACE->text to LIST, or all tracepoints that it matches. 0, or -EINVAL after event_error(). */
int event_parse(struct event_list *list, const struct event_sources *sources, const struct event_place *place);

#endif
