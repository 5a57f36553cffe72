/* SPDX-License-Identifier: MIT */
/*
 * Periods that the collector changes: random ones, and those that follow what samples cost the task (-F auto). The kernel
 * knows neither, and PERF_EVENT_IOC_PERIOD begins a period anew: what was counted since the last sample belongs to no
 * period. So each sample has the count of its event, and its weight is the difference to the sample before: all weights
 * together are what was counted up to the last sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/config/event_rate.h"
#include "collector/config/sample_cost.h"
#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "collector/stacks/stacks.h"
#include "collector/system/monotonic.h"

#define LONGEST (UINT64_C(1) << 62)

enum {
    LOOK_NS = 10 * 1000 * 1000, /* of CPU time, between two looks at what samples cost a task */
    NEAR = 4,                   /* a period that differs by less than one part in so many stays */
    US = 1000,
};

struct attach_period {
    uint64_t value, time_ns; /* the count, and the time, of its last sample */
    uint64_t now, before;    /* the period, and the one until SET_NS */
    uint64_t set_ns;
    uint64_t base;    /* the count after PERF_EVENT_IOC_PERIOD was called */
    uint64_t dropped; /* the count of the last sample that was left out */
    bool met;         /* a sample came since SET_NS */
    uint64_t state;   /* of the generator */
    bool sampled;     /* since SET_NS */
    /* By cost: at the last look. */
    uint64_t looked_value;
    uint32_t looked_lock; /* of the ring's first page */
};

/* splitmix64: a good sequence from any seed, also from 0. */
static uint64_t draw(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static uint64_t draw_period(const struct config_event *event, uint64_t *state)
{
    return event->attr.sample_period + (draw(state) & event->random_mask);
}

/* Each task of a session has its own sequence: that of the first one is the same in each session. */
static uint64_t seed_of(uint64_t seed, uint64_t number)
{
    return number ? draw(&(uint64_t){seed ^ draw(&(uint64_t){number})}) : seed;
}

/* FNV-1a; never 0. */
static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash | 1;
}

/* The period in ns that tasks of that name had last; 0: unknown. */
static uint64_t learned_period(const struct session *session, uint32_t name)
{
    const uint64_t learned = __atomic_load_n(&session->learned_periods[name % LEARNED_PERIODS], __ATOMIC_RELAXED);
    return learned >> 32 == name ? (learned & UINT32_MAX) * US : 0;
}

static void learn_period(struct session *session, uint32_t name, uint64_t period_ns)
{
    __atomic_store_n(&session->learned_periods[name % LEARNED_PERIODS], (uint64_t)name << 32 | period_ns / US,
                     __ATOMIC_RELAXED);
}

static uint64_t first_period(const struct attached *attached, const struct config_event *event,
                             struct attach_period *period)
{
    if (event->random_mask)
        return draw_period(event, &period->state);
    const uint64_t learned = event->by_cost ? learned_period(attached->session, attached->name) : 0;
    return learned ? learned : event->attr.sample_period;
}

int attach_period_init(struct attached *attached, const char *name)
{
    const struct event_config *config = attached->session->config;
    if (!config->varies || attached->timer)
        return 0;
    attached->name = hash_name(name ? name : "");
    attached->periods = calloc(config->count, sizeof(*attached->periods));
    if (!attached->periods)
        return -ENOMEM;
    const uint64_t number = __atomic_fetch_add(&attached->session->random_tasks, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < config->count; i++) {
        struct attach_period *period = &attached->periods[i];
        period->state = seed_of(config->events[i].random_seed, number);
        period->now = first_period(attached, &config->events[i], period);
    }
    return 0;
}

uint64_t attach_period_now(const struct attached *attached, unsigned index)
{
    return __atomic_load_n(&attached->periods[index].now, __ATOMIC_RELAXED);
}

void attach_period_stopped(struct perf_event_attr *attr)
{
    if (attr->freq)
        attr->sample_freq = 1;
    else
        attr->sample_period = LONGEST;
}

/*
 * A clock that may not see all code leaves out ticks, and counts all time nevertheless: a sample after those that were
 * left out stands for one period, or, if that was changed meanwhile, for not more than the old and the new one.
 */
static uint64_t weigh(struct attach_period *period, bool exact, uint64_t value, uint64_t time_ns)
{
    const uint64_t counted = value > period->value ? value - period->value : 0;
    const bool is_new = time_ns >= period->set_ns;
    const uint64_t most = !is_new ? period->before
                                  : period->now + (period->time_ns < period->set_ns ? period->before : 0);
    period->value = value;
    period->time_ns = time_ns;
    period->sampled |= is_new;
    return exact || counted < most ? counted : most;
}

/*
 * PERF_EVENT_IOC_PERIOD makes the kernel write a sample of an event that it counts itself at the next time that it
 * happens, and then end the old period. Such a sample would say where the collector looked, not where the event happens.
 * What it stands for goes to the next one. An event that counts more than 1 at a time may have several samples with the
 * same count.
 */
static bool is_extra(struct attach_period *period, const struct config_event *event, uint64_t value, uint64_t time_ns)
{
    if (!event_rate_is_of_kernel(&event->attr, event->spec))
        return false;
    if (value <= period->value || value <= period->dropped)
        return true;
    if (!period->set_ns || time_ns < period->set_ns)
        return false;
    const uint64_t least = period->before < period->now ? period->before : period->now;
    const bool extra = value <= period->base + 1 || (!period->met && value < period->base + least);
    period->met = true;
    if (extra)
        period->dropped = value;
    return extra;
}

static uint64_t weigh_own(struct attach_period *period, const struct config_event *event, uint64_t value,
                          uint64_t time_ns)
{
    const bool exact = !event->nanoseconds || !(event->attr.exclude_kernel || event->attr.exclude_user);
    return weigh(period, exact, value, time_ns);
}

/* The bytes of PERF_SAMPLE_READ. */
static size_t reading_size(uint64_t format)
{
    const uint64_t parts = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
                           PERF_FORMAT_LOST;
    return sizeof(uint64_t) * (1 + (size_t)__builtin_popcountll(format & parts));
}

int attach_weigh(struct attached *attached, const struct event_config *config, const struct records_layout *layout,
                 unsigned index, const struct perf_event_header **at, void *scratch)
{
    const struct perf_event_header *record = *at;
    const struct config_event *event = &config->events[index];
    const char *bytes = (const char *)record;
    const size_t before = sizeof(*record) + records_fields_size(layout->sample_type[index] & RECORDS_FIELDS_TO_PERIOD);
    const size_t read = attached ? reading_size(event->attr.read_format) : 0;
    struct perf_event_header header = *record;
    uint64_t weight = event->attr.sample_period, value;
    if (record->size < before + read || record->size - read + sizeof(weight) > UINT16_MAX)
        return -EINVAL;
    if (attached) {
        struct attach_period *period = &attached->periods[index];
        const uint64_t time_ns = records_time(layout, index, record);
        memcpy(&value, bytes + before, sizeof(value));
        if (is_extra(period, event, value, time_ns))
            return 0;
        weight = weigh_own(period, event, value, time_ns);
    }
    header.size = (uint16_t)(record->size - read + sizeof(weight));
    memmove((char *)scratch + before + sizeof(weight), bytes + before + read, record->size - before - read);
    memmove(scratch, record, before);
    memcpy((char *)scratch + before, &weight, sizeof(weight));
    memcpy(scratch, &header, sizeof(header));
    *at = scratch;
    return 1;
}

/* 0 or -errno. */
static int set_period(struct attach_period *period, int fd, uint64_t next)
{
    uint64_t reading[5] = {0};
    const uint64_t now_ns = monotonic_ns();
    if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &next) < 0)
        return -errno;
    /* If it cannot be read, an extra sample stays; its weight is right, too. */
    if (read(fd, reading, sizeof(reading)) < (ssize_t)sizeof(reading[0]))
        reading[0] = 0;
    period->base = reading[0];
    period->met = false;
    period->before = period->now;
    __atomic_store_n(&period->now, next, __ATOMIC_RELAXED);
    period->set_ns = now_ns;
    return 0;
}

/* Measured when it is needed first: short programs do not pay for it. */
static const struct sample_cost *cost_of(struct attached *attached, const struct config_event *event)
{
    struct session *session = attached->session;
    struct perf_event_attr attr = event->attr;
    if (session->cost.sample_ns)
        return &session->cost;
    stacks_attr(session->config, event, attached->dump, &attr);
    event_rate_attr(event, false, &attr);
    sample_cost_measure(&attr, &session->cost);
    return &session->cost;
}

/*
 * The period that the task should have, by the switches to it since the last look; 0: it stays. The kernel adds 2 to the
 * lock word of the ring's first page each time that it switches the ring's event in.
 */
static uint64_t find_period(struct attached *attached, const struct config_event *event, struct attach_period *period)
{
    const struct perf_event_mmap_page *page = attach_ring(attached);
    const uint64_t used_ns = period->value - period->looked_value;
    if (!page || used_ns < LOOK_NS)
        return 0;
    const uint32_t lock = __atomic_load_n(&page->lock, __ATOMIC_RELAXED);
    const uint64_t switches = (uint32_t)(lock - period->looked_lock) / 2;
    const uint64_t wanted = sample_cost_period(cost_of(attached, event), switches, used_ns);
    period->looked_value = period->value;
    period->looked_lock = lock;
    learn_period(attached->session, attached->name, wanted);
    const uint64_t away = wanted > period->now ? wanted - period->now : period->now - wanted;
    return away > period->now / NEAR ? wanted : 0;
}

/* A worker that moves an event tells the kernel its period, which the kernel compares. */
static void lock_places(struct attached *attached)
{
    if (attached->places)
        pthread_mutex_lock(&attached->session->table.lock);
}

static void unlock_places(struct attached *attached)
{
    if (attached->places)
        pthread_mutex_unlock(&attached->session->table.lock);
}

unsigned attach_renew_periods(struct attached *attached, unsigned most)
{
    const struct event_config *config = attached->session->config;
    unsigned count = 0;
    lock_places(attached);
    for (unsigned i = 0; attached->periods && i < attached->count && count < most; i++) {
        struct attach_period *period = &attached->periods[i];
        const struct config_event *event = &config->events[i];
        if (!period->sampled || attached->fds[i] < 0)
            continue;
        const uint64_t next = event->by_cost ? find_period(attached, event, period)
                                             : draw_period(event, &period->state);
        period->sampled = event->by_cost && !next; /* it may be time for the next look without a further sample */
        count += next && set_period(period, attached->fds[i], next) == 0;
    }
    unlock_places(attached);
    return count;
}

unsigned attach_stop_sampling(struct attached *attached)
{
    const struct event_config *config = attached->session->config;
    unsigned count = 0;
    lock_places(attached);
    for (unsigned i = 0; !attached->stopped && i < attached->count; i++) {
        struct perf_event_attr attr = config->events[i].attr;
        attach_period_stopped(&attr);
        uint64_t period = attr.sample_period; /* or the frequency */
        if (!config->events[i].samples || attached->fds[i] < 0)
            continue;
        (void)ioctl(attached->fds[i], PERF_EVENT_IOC_PERIOD, &period);
        count++;
    }
    attached->stopped = true;
    unlock_places(attached);
    return count;
}
