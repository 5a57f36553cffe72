/* SPDX-License-Identifier: MIT */
/* --call-graph dwarf and auto: what an event brings so that its samples can be unwound. Thread-safe. */
#ifndef COLLECTOR_CONFIG_DUMP_EVENT_H
#define COLLECTOR_CONFIG_DUMP_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct event_config;
struct config_event;
struct settings;

enum {
    STACKS_DUMP = 16384,        /* bytes of stack with each sample, unless --call-graph dwarf,DUMP says otherwise */
    STACKS_DUMP_RAISED = 32768, /* so many at most where the user did not choose, and many stacks are deeper */
    STACKS_DUMP_MIN = 512,
    STACKS_DUMP_MAX = 65528 - 4096, /* a record has 65535 bytes at most */
};

/*
 * Sets CONFIG's dump as SETTINGS want it, by trying. Where dwarf cannot be had: -errno after report_error(); auto, and
 * timers, go on with frame pointers and a note.
 */
int stacks_configure(struct event_config *config, const struct settings *settings);
/* Could CONFIG's samples come with registers and stack on this machine? 0 or -errno. */
int stacks_try(const struct event_config *config);
/* Are the samples of EVENT of the event configuration unwound? */
bool stacks_has(const struct event_config *config, const struct config_event *event);
/* Adds to ATTR, with which EVENT is opened, what unwinding needs: DUMP bytes of stack. */
void stacks_attr(const struct event_config *config, const struct config_event *event, uint32_t dump,
                 struct perf_event_attr *attr);

#endif
