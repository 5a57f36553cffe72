/* SPDX-License-Identifier: MIT */
/* Which events sample the tasks: their own, or those that they inherit from the command. */
#ifndef COLLECTOR_CONFIG_SAMPLER_H
#define COLLECTOR_CONFIG_SAMPLER_H

struct event_config;
struct settings;

/* Sets inherits of CONFIG, whose events are known, and their rate if that depends on it. Notes what was not possible. */
void sampler_choose(struct event_config *config, const struct settings *settings);
/* The inherited events could not be opened (STATUS: -errno): each task has events of its own. Before any are open. */
void sampler_give_up(struct event_config *config, int status);

#endif
