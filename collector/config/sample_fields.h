/* SPDX-License-Identifier: MIT */
/* Fields of a sample that only some users want: those of --data, --sample-cpu, --user-regs, --intr-regs and -j. */
#ifndef COLLECTOR_CONFIG_SAMPLE_FIELDS_H
#define COLLECTOR_CONFIG_SAMPLE_FIELDS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/config/event_config.h"

/*
 * Bits of sample_type, 8 bytes each in a sample: between TIME and PERIOD, and after registers and stack dump. REGS_INTR
 * is among the latter, and larger.
 */
#define SAMPLE_FIELDS_AFTER_TIME  ((uint64_t)(PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU))
#define SAMPLE_FIELDS_AFTER_STACK ((uint64_t)(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR))

/* The size in bytes that the fields of this file have in a sample of ATTR. */
size_t sample_fields_size(const struct perf_event_attr *attr);
/* The size in bytes of COUNT branches in a sample of ATTR, with their number. */
size_t sample_fields_branches_size(const struct perf_event_attr *attr, size_t count);
/*
 * The size in bytes of the fields after the stack dump in a sample of ATTR, which begin at AFTER and have at most SIZE
 * bytes. SIZE_MAX: they do not fit.
 */
size_t sample_fields_after_size(const struct perf_event_attr *attr, const void *after, size_t size);
/* The size in bytes of the fields behind the call chain, in a sample of ATTR where all of them are 0: empty or unknown. */
size_t sample_fields_empty_size(const struct perf_event_attr *attr);
/*
 * Adds to the events of CONFIG what SETTINGS want and the kernel accepts; notes say which of the fields of --data it
 * refuses, and that timers know none. 0, or -errno after report_error() if it refuses another field.
 */
int sample_fields_add(struct event_config *config, const struct settings *settings);

#endif
