/* SPDX-License-Identifier: MIT */
/* How often an event is sampled, and what a sample of it stands for. Pure, but for event_rate_check(). */
#ifndef COLLECTOR_CONFIG_EVENT_RATE_H
#define COLLECTOR_CONFIG_EVENT_RATE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/config/settings.h"
#include "collector/events/event_spec.h"

struct config_event;

/* ns; the shortest period of the kernel's clock events: the kernel silently replaces a shorter one by it. */
enum { EVENT_RATE_CLOCK_MIN = 10000 };

/* Is it one of the kernel's clocks, which count nanoseconds? */
bool event_rate_is_clock(uint32_t type, uint64_t number);
/* Does the kernel call its counter each time that it happens: no clock, no PMU? */
bool event_rate_is_of_kernel(const struct perf_event_attr *attr, const struct event_spec *spec);
/* Sets the period or the frequency of ATTR, and whether its samples have the field PERIOD. SPEC NULL: a default. */
void event_rate_set(struct perf_event_attr *attr, const struct settings *settings, const struct event_spec *spec);
/*
 * With a frequency, the kernel changes the period all the time. The samples of an event that the kernel itself counts
 * (not a PMU, not a timer) have in PERIOD what is counted from there to the next sample, not what was counted before.
 */
bool event_rate_is_next(const struct perf_event_attr *attr, const struct event_spec *spec);
/*
 * Gives EVENT, whose rate is set, the random periods that SETTINGS want. Its samples then have a PERIOD in files: what
 * was counted since the one before. 0, or -EINVAL after a message: it has no period, or one that gets too long.
 */
int event_rate_randomize(struct config_event *event, const struct settings *settings);
/*
 * What EVENT is opened with, if its periods change: the kernel writes its count into each of its samples, or,
 * where it is INHERITED, whose period stays the same, nothing. attach_weigh() makes a PERIOD of that.
 */
void event_rate_attr(const struct config_event *event, bool inherited, struct perf_event_attr *attr);
/* Are -F and -c possible here? 0, or -EINVAL after a message. */
int event_rate_check(const struct settings *settings);
/* Is ATTR a clock whose period is longer than the one that the user chose, because that was too short? */
bool event_rate_is_raised(const struct perf_event_attr *attr, const struct settings *settings,
                          const struct event_spec *spec);

#endif
