/* SPDX-License-Identifier: MIT */
/* Fields of a sample that only some users want: those of --data. */
#ifndef COLLECTOR_CONFIG_SAMPLE_FIELDS_H
#define COLLECTOR_CONFIG_SAMPLE_FIELDS_H

#include <linux/perf_event.h>
#include <stdint.h>

/*
 * The fields of --data that the kernel accepts beside those of ATTR, which it opens and closes: bits of sample_type.
 * *RET_PHYSICAL and *RET_ALL: why there are no physical addresses, and why there is no field at all: -errno, or 0.
 */
uint64_t sample_fields_of_data(const struct perf_event_attr *attr, int *ret_physical, int *ret_all);

#endif
