/* SPDX-License-Identifier: MIT */
/* Fields of a sample that only some users want: those of --data. */
#ifndef COLLECTOR_CONFIG_SAMPLE_FIELDS_H
#define COLLECTOR_CONFIG_SAMPLE_FIELDS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* The size in bytes of those fields in a sample of TYPE, bits of sample_type. */
size_t sample_fields_size(uint64_t type);

/*
 * The fields of --data that the kernel accepts beside those of ATTR, which is opened in the group of the event GROUP
 * (an fd; -1: in none), and closed: bits of sample_type. *RET_PHYSICAL and *RET_ALL: why there are no physical
 * addresses, and why there is no field at all: -errno, or 0.
 */
uint64_t sample_fields_of_data(const struct perf_event_attr *attr, int group, int *ret_physical, int *ret_all);

#endif
