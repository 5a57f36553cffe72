/* SPDX-License-Identifier: MIT */
#include "collector/config/ring_sizes.h"

#include <unistd.h>

#include "collector/config/event_config.h"
#include "collector/config/event_rate.h"
#include "collector/config/sample_fields.h"

/*
 * A ring has to hold samples of so many nanoseconds, since it is drained when a quarter is full. Stack dumps leave no
 * room to spare: if all CPUs are busy, the collector sometimes waits 20 ms for one. With -F auto, a task has the highest
 * rate only at its start, and the kernel takes 0.2 ms to clear a ring of 512 KiB, for which the new program waits.
 */
#define RING_SPAN_NS           UINT64_C(20000000)
#define DUMP_RING_SPAN_NS      UINT64_C(40000000)
#define AUTO_DUMP_RING_SPAN_NS UINT64_C(25000000)
enum {
    RING_MIN = RING_SIZES_LEAST,
    RING_MAX = 512 << 10,
    DUMP_RING_MAX = 4 << 20,
    STAT_RING = 16 << 10,
    TREE_RING = 512 << 10 /* the first task reports each task that it makes: a wake-up for each would slow it down */
};
/* RAW_SIZE: more than the usual payload of a tracepoint: with 64, threads lost a part of a burst of 300 samples. */
enum { SAMPLE_SIZE = 64, CHAIN_SIZE = 32 * 8, RAW_SIZE = 512, VALUES_SIZE = 256, VARYING_SIZE = 32 };
enum { SATURATE_WAKE = 16 << 10 };
enum { RANDOM_SAMPLES = 32 }; /* between two changes of a random period, unless they come slowly */

static size_t sample_size(const struct event_config *config, unsigned event)
{
    const struct perf_event_attr *attr = &config->events[event].attr;
    return SAMPLE_SIZE + config->dump + (attr->sample_type & PERF_SAMPLE_CALLCHAIN ? CHAIN_SIZE : 0) +
           sample_fields_size(attr) + (attr->sample_type & PERF_SAMPLE_RAW ? RAW_SIZE : 0) +
           (attr->sample_type & PERF_SAMPLE_READ ? VALUES_SIZE : 0) +
           (event_config_varies(&config->events[event]) ? VARYING_SIZE : 0);
}

static uint64_t bytes_per_second(const struct event_config *config, unsigned event)
{
    const struct perf_event_attr *attr = &config->events[event].attr;
    uint64_t size = sample_size(config, event);
    /* The rate of an event with a period is not known beforehand, except for clocks. */
    uint64_t rate = attr->freq ? attr->sample_freq : 10000;
    if (event_rate_is_clock(attr->type, attr->config))
        rate = UINT64_C(1000000000) / attr->sample_period;
    return rate > UINT64_C(100000000) ? UINT64_C(100000000) * size : rate * size;
}

/* Periods change when samples are read, and then the samples of a task end. */
static void choose_wake(struct event_config *config, const struct settings *settings)
{
    for (unsigned i = 0; i < config->sampling; i++) {
        const bool random = config->events[i].random_mask;
        uint64_t samples = random ? RANDOM_SAMPLES : UINT32_MAX;
        if (settings->saturate && settings->saturate < samples)
            samples = settings->saturate;
        uint64_t bytes = samples * sample_size(config, i);
        if (!random &&
            bytes < SATURATE_WAKE) /* a tracepoint's samples may go on: each wake-up slows the program down */
            bytes = SATURATE_WAKE;
        if (samples < UINT32_MAX && bytes <= RING_MAX && (!config->wake_bytes || bytes < config->wake_bytes))
            config->wake_bytes = (uint32_t)bytes;
    }
}

static void choose_rings(struct event_config *config)
{
    uint64_t wanted = 0, size = config->sampling ? RING_MIN : config->whole_tree ? TREE_RING : STAT_RING;
    for (unsigned i = 0; i < config->sampling; i++) {
        const uint64_t dump_ns = config->events[i].by_cost ? AUTO_DUMP_RING_SPAN_NS : DUMP_RING_SPAN_NS;
        wanted += bytes_per_second(config, i) / (UINT64_C(1000000000) / (config->dump ? dump_ns : RING_SPAN_NS));
    }
    while (size < wanted && size < (config->dump ? DUMP_RING_MAX : RING_MAX))
        size *= 2;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    config->ring_pages = size < page ? 1 : size / page;
    config->thread_ring_pages = config->ring_pages > 1 ? config->ring_pages / 2 : 1;
}

void ring_sizes_choose(struct event_config *config, const struct settings *settings)
{
    choose_rings(config);
    choose_wake(config, settings);
}
