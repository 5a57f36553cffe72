/* SPDX-License-Identifier: MIT */
/*
 * What a sample costs the program: how long the interrupt keeps it from running. In a virtual machine that can be long
 * (12 to 16 us where it was measured), since each timer interrupt exits the virtual machine several times.
 */
#include "collector/doctor/doctor_cost.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "collector/doctor/doctor_probe.h"
#include "common/clock.h"
#include "pinject/ring.h"

enum {
    RATE = 4000, /* Hz: rare enough that the kernel does not lower its limit */
    SPIN_NS = 60000000,
    GAPS = 8192,
    LEAST_NS = 300, /* longer than the gap between two looks at the clock that nothing interrupts */
    LEAST_SAMPLES = 20,
    DEAR_US = 5, /* below that the rate is expensive, not the machine */
    DEAR_PERCENT = 1,
};

static int descending(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

uint32_t doctor_median_gap(uint32_t *gaps, size_t count, size_t samples)
{
    if (samples == 0 || count == 0)
        return 0;
    qsort(gaps, count, sizeof(*gaps), descending);
    /* Other interruptions are among them, but rarer and mostly not longer. */
    return gaps[(samples < count ? samples : count) / 2];
}

/* Reads the clock all the time: the gaps between two reads, without the time of a read. */
static size_t spin(uint32_t *gaps)
{
    size_t count = 0;
    uint64_t last = clock_ns(CLOCK_MONOTONIC), end = last + SPIN_NS, least = UINT64_MAX;
    while (last < end && count < GAPS) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC), gap = now - last;
        last = now;
        if (gap < least)
            least = gap;
        if (gap > least + LEAST_NS && gap - least < UINT32_MAX)
            gaps[count++] = (uint32_t)(gap - least);
    }
    return count;
}

static size_t count_samples(void *map, size_t size)
{
    static _Alignas(8) char scratch[PINJECT_RING_RECORD_MAX];
    struct pinject_ring ring;
    const struct perf_event_header *header;
    size_t samples = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    pinject_ring_init(&ring, map, (char *)map + page, size - page);
    if (!pinject_ring_begin(&ring))
        return 0;
    while ((header = pinject_ring_next(&ring, scratch)))
        samples += header->type == PERF_RECORD_SAMPLE;
    pinject_ring_end(&ring);
    return samples;
}

static bool is_clock(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE &&
           (attr->config == PERF_COUNT_SW_TASK_CLOCK || attr->config == PERF_COUNT_SW_CPU_CLOCK);
}

void doctor_try_cost(const struct event_config *config, struct doctor_cost *ret)
{
    static uint32_t gaps[GAPS];
    struct perf_event_attr attr = config->events[0].attr;
    size_t size = (config->ring_pages + 1) * (size_t)sysconf(_SC_PAGESIZE);
    bool clock = is_clock(&attr);
    /* Other software events do not occur by themselves. */
    if (!clock && attr.type != PERF_TYPE_HARDWARE) {
        ret->status = -EOPNOTSUPP;
        return;
    }
    attr.freq = !clock;
    attr.sample_period = clock ? 1000000000 / RATE : RATE;
    int fd = probe_open(&attr);
    if (fd < 0) {
        ret->status = fd;
        return;
    }
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
        ret->status = -errno;
        return;
    }
    size_t count = spin(gaps);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    ret->samples = count_samples(map, size);
    ret->ns = doctor_median_gap(gaps, count, ret->samples);
    ret->status = 0;
}

void doctor_sample_cost(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_cost *cost = &facts->shared->cost;
    const struct settings *settings = facts->args->settings;
    if (!facts->cost.tried) {
        DOCTOR_TEXT(finding->value, "not measured: no event can be sampled");
        return;
    }
    if (cost->status == -EOPNOTSUPP) {
        DOCTOR_TEXT(finding->value, "the cost depends on how often the event %s occurs",
                    facts->shared->config.events[0].name);
        return;
    }
    if (cost->status < 0) {
        DOCTOR_TEXT(finding->value, "cannot be measured: %s", strerror(-cost->status));
        return;
    }
    if (cost->samples < LEAST_SAMPLES || cost->ns == 0) {
        DOCTOR_TEXT(finding->value, "cannot be measured: only %zu of %d samples arrived", cost->samples,
                    SPIN_NS / (1000000000 / RATE));
        return;
    }
    double us = cost->ns / 1e3;
    DOCTOR_TEXT(finding->value, "%.*f us for each sample", us < 10 ? 1 : 0, us);
    if (settings->period || !settings->frequency)
        return;
    double percent = us * (double)settings->frequency / 1e4;
    DOCTOR_MORE(finding->value, ": %.2g %% of a CPU at %" PRIu64 " Hz", percent, settings->frequency);
    if (us < DEAR_US || percent < DEAR_PERCENT)
        return;
    finding->level = DOCTOR_NOTE;
    DOCTOR_TEXT(
        finding->meaning,
        "interrupts are slow on this machine, as in most virtual machines, and every profiler needs interrupts; cold "
        "caches can double the cost of a sample; %s",
        settings->frequency_auto ? "so -F auto, the default, samples clock events less often"
                                 : "-F 99 costs a tenth of -F 999");
}
