/* SPDX-License-Identifier: MIT */
/* How large the rings of tasks are, and how full they get until the event loop is woken. */
#ifndef COLLECTOR_CONFIG_RING_SIZES_H
#define COLLECTOR_CONFIG_RING_SIZES_H

struct event_config;
struct settings;

/* Bytes of the smallest ring for samples. */
enum { RING_SIZES_LEAST = 64 << 10 };

/* Decides ring_pages, thread_ring_pages and wake_bytes of CONFIG, whose events are known. */
void ring_sizes_choose(struct event_config *config, const struct settings *settings);

#endif
