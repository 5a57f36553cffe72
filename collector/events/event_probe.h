/* SPDX-License-Identifier: MIT */
/* The PMUs uprobe and kprobe: probes on a place in a file or in the kernel. */
#ifndef COLLECTOR_EVENTS_EVENT_PROBE_H
#define COLLECTOR_EVENTS_EVENT_PROBE_H

#include <stdbool.h>

#include "collector/events/event_error.h"
#include "collector/events/event_spec.h"

/* Is it the name of one of them? */
bool event_probe_is_of(const char *pmu);
/* Takes the terms that sysfs does not describe. -ENOENT: it is none of them. Else 0, or -EINVAL after a message. */
int event_probe_take(const struct event_place *place, struct event_spec *spec, const char *name, const char *value);
/* After the last term: is the place said? 0, or -EINVAL after a message. */
int event_probe_finish(const struct event_place *place, struct event_spec *spec);

#endif
