/* SPDX-License-Identifier: MIT */
/* Fields of a sample that only some users want: --sample-cpu and --data. */
#ifndef COLLECTOR_CONFIG_SAMPLE_FIELDS_H
#define COLLECTOR_CONFIG_SAMPLE_FIELDS_H

#include "collector/config/event_config.h"

/* Adds them to all events that CONFIG has. A field that is refused, or that timers do not have, is noted. */
void sample_fields_add(struct event_config *config, const struct settings *settings);

#endif
