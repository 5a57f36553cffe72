/* SPDX-License-Identifier: MIT */
/* pinject-run --info: what this machine offers to the user who asks, what it refuses, and what would change that. */
#ifndef COLLECTOR_INFO_H
#define COLLECTOR_INFO_H

#include <stdio.h>

#include "collector/events/event_pmu.h"

/* Opens (and closes) one event of each kind on itself. SOURCES: where PMUs are described. The caller checks that TO was written. */
void info_print(const struct event_sources *sources, FILE *to);

#endif
