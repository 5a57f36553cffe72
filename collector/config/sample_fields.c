/* SPDX-License-Identifier: MIT */
#include "collector/config/sample_fields.h"

#include <unistd.h>

#include "collector/config/probe.h"

size_t sample_fields_size(uint64_t type)
{
    const uint64_t fields = PERF_SAMPLE_CPU | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
                            PERF_SAMPLE_PHYS_ADDR;
    return sizeof(uint64_t) * (size_t)__builtin_popcountll(type & fields);
}

/* 0 or -errno. */
static int try_fields(struct perf_event_attr attr, int group, uint64_t fields)
{
    attr.sample_type |= fields;
    const int fd = probe_open_in(&attr, group);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

uint64_t sample_fields_of_data(const struct perf_event_attr *attr, int group, int *ret_physical, int *ret_all)
{
    const uint64_t data = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
    *ret_all = 0;
    *ret_physical = try_fields(*attr, group, data | PERF_SAMPLE_PHYS_ADDR);
    if (*ret_physical == 0)
        return data | PERF_SAMPLE_PHYS_ADDR;
    *ret_all = try_fields(*attr, group, data);
    return *ret_all == 0 ? data : 0;
}
