/* SPDX-License-Identifier: MIT */
#include "collector/config/sample_cost.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "common/clock.h"

/* If it cannot be measured: a nested virtual machine (AMD EPYC, Linux 6.18). */
enum { SAMPLE_NS = 20000, PROGRAM_NS = 9000, TICK_NS = 4000000 };
/* Measured is the interrupt. The caches that the task finds colder after it cost as much again. */
enum { COLDER = 2 };
enum { SPAN_NS = 1500000, PERIOD_NS = 100000, SAMPLES = SPAN_NS / PERIOD_NS, GAP_NS = 1000, GAPS = 256 };
enum { PAGES = 64, CALLS = 32, SOON_NS = 150000 };
enum { BUDGET_NS = 20 * 1000 * 1000 }; /* of each second: 2 % */
/* The first stacks of a program take long, as its unwind tables are read: they count only so much. */
enum { UNWIND_MOST_NS = 200 * 1000, UNWINDS = 64 };

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

/*
 * Looks at the clock all the time: where that stood still, something else had the CPU. The longest of these gaps are the
 * samples, and some that are longer (another task had the CPU) do not change their third quarter. 0: there were too few.
 */
static uint64_t measure_gaps(void)
{
    uint64_t gaps[GAPS], now = clock_ns(CLOCK_MONOTONIC);
    const uint64_t end = now + SPAN_NS;
    unsigned count = 0;
    while (now < end && count < GAPS) {
        const uint64_t before = now;
        now = clock_ns(CLOCK_MONOTONIC);
        if (now - before >= GAP_NS)
            gaps[count++] = now - before;
    }
    if (count < SAMPLES / 2)
        return 0;
    qsort(gaps, count, sizeof(gaps[0]), compare);
    return gaps[(count < SAMPLES ? count : SAMPLES) * 3 / 4];
}

static uint64_t measure_sample(const struct perf_event_attr *of)
{
    const size_t size = (PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr = *of;
    attr.sample_period = PERIOD_NS;
    attr.freq = attr.enable_on_exec = 0;
    attr.disabled = 1;
    const int fd = probe_open(&attr);
    if (fd < 0)
        return 0;
    void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t gap = 0;
    if (ring != MAP_FAILED && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
        gap = measure_gaps();
    if (ring != MAP_FAILED)
        munmap(ring, size);
    close(fd);
    return gap * COLDER;
}

/* ns of a call that sets a timer to DELAY_NS. */
static uint64_t time_call(int fd, uint64_t delay_ns)
{
    const struct itimerspec timer = {.it_value = {(time_t)(delay_ns / 1000000000), (long)(delay_ns % 1000000000)}};
    uint64_t took[CALLS];
    for (unsigned i = 0; i < CALLS; i++) {
        const uint64_t before = clock_ns(CLOCK_MONOTONIC);
        if (timerfd_settime(fd, 0, &timer, NULL) < 0)
            return 0;
        took[i] = clock_ns(CLOCK_MONOTONIC) - before;
    }
    qsort(took, CALLS, sizeof(took[0]), compare);
    return took[CALLS / 2];
}

/*
 * A timer that comes next has the hardware's timer programmed when it is set, and when it is taken away. 0: it cannot be
 * measured, or another timer (the tick) was to come before it.
 */
static uint64_t measure_program(void)
{
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (fd < 0)
        return 0;
    const uint64_t late = time_call(fd, UINT64_C(1000000000000)), soon = time_call(fd, SOON_NS);
    close(fd);
    return soon > late ? soon - late : 0;
}

void sample_cost_measure(const struct perf_event_attr *attr, struct sample_cost *ret)
{
    struct timespec tick;
    /* Twice, SPAN_NS apart: the tick cannot be the next timer both times. */
    const uint64_t program_ns = measure_program();
    ret->sample_ns = measure_sample(attr);
    ret->program_ns = measure_program();
    ret->program_ns = ret->program_ns > program_ns ? ret->program_ns : program_ns;
    ret->tick_ns = clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && !tick.tv_sec ? (uint64_t)tick.tv_nsec : 0;
    ret->sample_ns = ret->sample_ns ? ret->sample_ns : SAMPLE_NS;
    ret->program_ns = ret->program_ns ? ret->program_ns : PROGRAM_NS;
    ret->tick_ns = ret->tick_ns ? ret->tick_ns : TICK_NS;
}

void sample_cost_unwound(struct sample_cost *cost, uint64_t took_ns)
{
    took_ns = took_ns < UNWIND_MOST_NS ? took_ns : UNWIND_MOST_NS;
    cost->unwind_ns = (cost->unwind_ns * (UNWINDS - 1) + took_ns) / UNWINDS;
}

uint64_t sample_cost_period(const struct sample_cost *cost, uint64_t switches, uint64_t cpu_ns)
{
    const double rate = cpu_ns ? (double)switches * 1e9 / (double)cpu_ns : 0; /* switches in a second of CPU time */
    const double programs = rate * (double)cost->program_ns, sample = (double)(cost->sample_ns + cost->unwind_ns);
    /* Half of a tick lies before the next one, in the mean: so often does a timer of HZ expire before that. */
    const double often = (double)cost->tick_ns / 2e9;
    double hz = BUDGET_NS / (sample + programs * often);
    if (hz * often > 1) /* each switch programs the timer */
        hz = (BUDGET_NS - programs) / sample;
    hz = hz < SAMPLE_COST_LEAST_HZ ? SAMPLE_COST_LEAST_HZ : hz > SAMPLE_COST_MOST_HZ ? SAMPLE_COST_MOST_HZ : hz;
    return (uint64_t)(1e9 / hz);
}
