/* SPDX-License-Identifier: MIT */
/* Modifier S: the leader of a group is sampled, and its samples have the counts of the whole group. */
#ifndef COLLECTOR_CONFIG_EVENT_VALUES_H
#define COLLECTOR_CONFIG_EVENT_VALUES_H

#include <linux/perf_event.h>

struct event_config;
struct settings;

/* Adds the counts of the group to the samples of ATTR, its leader. */
void event_values_ask(struct perf_event_attr *attr);
/* Finds out whether inherited events of CONFIG can have them, too; notes say who has none, and why. */
void event_values_finish(struct event_config *config, const struct settings *settings);

#endif
