/* SPDX-License-Identifier: MIT */
/* What stands between the slashes of an event: "event=0x3c,umask=1,name=mine". */
#ifndef COLLECTOR_EVENTS_EVENT_TERMS_H
#define COLLECTOR_EVENTS_EVENT_TERMS_H

#include "collector/events/event_pmu.h"

/*
 * Bytes of TEXT, which stands after the first slash, up to the slash that ends the terms; -1: there is none. A path
 * as a value may have slashes; quotes keep everything.
 */
long event_terms_size(const char *text);
/*
 * Applies TEXT, which it cuts up, to SPEC. PMU: whose terms and events are known, too; NULL: those of all events. 0,
 * or -EINVAL after event_error().
 */
int event_terms_apply(const struct event_place *place, const struct event_pmu *pmu, char *text,
                      struct event_spec *spec);
/* Applies the event NAME of PMU. -ENOENT: there is none. */
int event_terms_apply_alias(const struct event_place *place, const struct event_pmu *pmu, const char *name,
                            struct event_spec *spec);

#endif
