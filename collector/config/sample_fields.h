/* SPDX-License-Identifier: MIT */
/* Fields of a sample that only some users want: those of --data and --sample-cpu. */
#ifndef COLLECTOR_CONFIG_SAMPLE_FIELDS_H
#define COLLECTOR_CONFIG_SAMPLE_FIELDS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/config/event_config.h"

/* Bits of sample_type, 8 bytes each in a sample: between TIME and PERIOD, and after the stack dump. */
#define SAMPLE_FIELDS_AFTER_TIME  ((uint64_t)(PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU))
#define SAMPLE_FIELDS_AFTER_STACK ((uint64_t)(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR))

/* The size in bytes of those fields in a sample of TYPE. */
size_t sample_fields_size(uint64_t type);
/* Adds to the events of CONFIG what SETTINGS want and the kernel accepts; notes say what it refuses. */
void sample_fields_add(struct event_config *config, const struct settings *settings);

#endif
