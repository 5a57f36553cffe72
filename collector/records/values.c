/* SPDX-License-Identifier: MIT */
#include "collector/records/values.h"

#include <stdlib.h>
#include <string.h>

/* A place: no id of the kernel is that large. The CPU's number is one more, 0: the event came without values. */
#define PLACE      (UINT64_C(1) << 63)
#define PLACE_CPU  16
#define PLACE_MASK UINT64_C(0xffff)

enum { HEAD = 3 }; /* words before the entries: their number, time enabled, time running */

/* Words of an entry: value, id, and number of lost samples. */
static size_t entry_words(const struct records_layout *layout)
{
    return layout->read_format & PERF_FORMAT_LOST ? 3 : 2;
}

static uint64_t get(const unsigned char *bytes, size_t word)
{
    uint64_t value;
    memcpy(&value, bytes + 8 * word, sizeof(value));
    return value;
}

static void put(unsigned char *bytes, size_t word, uint64_t value)
{
    memcpy(bytes + 8 * word, &value, sizeof(value));
}

static bool has_values(const struct records_layout *layout, unsigned event, const struct perf_event_header *sample)
{
    return sample->type == PERF_RECORD_SAMPLE && layout->sample_type[event] & PERF_SAMPLE_READ;
}

/* Offset of the values in a sample of EVENT. */
static size_t values_at(const struct records_layout *layout, unsigned event)
{
    return sizeof(struct perf_event_header) +
           records_fields_size(layout->sample_type[event] & (RECORDS_FIELDS_TO_PERIOD | PERF_SAMPLE_PERIOD));
}

size_t values_size(const struct records_layout *layout, unsigned event, const struct perf_event_header *sample)
{
    if (!has_values(layout, event, sample))
        return 0;
    const size_t at = values_at(layout, event), each = 8 * entry_words(layout);
    if (sample->size < at + HEAD * 8)
        return 0;
    const uint64_t count = get((const unsigned char *)sample + at, 0);
    /* No group has more events: what is made of the sample then has room. */
    if (count > CONFIG_EVENTS || count > (sample->size - at - HEAD * 8) / each)
        return 0;
    return HEAD * 8 + (size_t)count * each;
}

bool values_add_none(const struct records_layout *layout, unsigned event, struct perf_event_header *sample)
{
    const size_t at = values_at(layout, event), more = 8 * (HEAD + entry_words(layout));
    unsigned char *bytes = (unsigned char *)sample;
    if (!has_values(layout, event, sample))
        return true;
    if (sample->size < at || sample->size + more > UINT16_MAX)
        return false;
    memmove(bytes + at + more, bytes + at, sample->size - at);
    memset(bytes + at, 0, more);
    put(bytes + at, 0, 1);
    put(bytes + at, HEAD + 1, PLACE | event);
    sample->size = (uint16_t)(sample->size + more);
    return true;
}

void values_place(const struct records_layout *layout, unsigned event, const uint64_t *ids, unsigned cpu,
                  struct perf_event_header *sample)
{
    const size_t size = values_size(layout, event, sample), each = entry_words(layout);
    unsigned char *values = (unsigned char *)sample + values_at(layout, event);
    for (size_t word = HEAD; word < size / 8; word += each) {
        const int found = records_find_event(layout, ids, get(values, word + 1));
        put(values, word + 1, found < 0 ? 0 : PLACE | (uint64_t)(cpu + 1) << PLACE_CPU | (unsigned)found);
    }
}

void values_shorten_read(const struct records_layout *layout, unsigned event, struct perf_event_header *read)
{
    enum { NUMBERS = 2 * 8 }; /* of a READ record: header, task, value, times, id, lost */
    const size_t each = entry_words(layout), whole = 8 * (HEAD + each);
    unsigned char *numbers = (unsigned char *)read + NUMBERS;
    uint64_t words[HEAD + 3];
    if (read->type != PERF_RECORD_READ || !(layout->sample_type[event] & PERF_SAMPLE_READ) ||
        read->size < NUMBERS + whole)
        return;
    const uint64_t count = get(numbers, 0);
    if (!count || count > CONFIG_EVENTS || count > (read->size - NUMBERS - HEAD * 8) / (8 * each))
        return;
    memcpy(words, numbers, whole);
    put(numbers, 0, words[HEAD]);
    put(numbers, 1, words[1]);
    put(numbers, 2, words[2]);
    put(numbers, 3, words[HEAD + 1]);
    if (each == 3)
        put(numbers, 4, words[HEAD + 2]);
    const size_t before = NUMBERS + HEAD * 8 + (size_t)count * 8 * each, after = NUMBERS + 8 * (2 + each);
    memmove((unsigned char *)read + after, (unsigned char *)read + before, read->size - before);
    read->size = (uint16_t)(read->size - (before - after));
}

/* ---- Files ---- */

void values_release(struct values *values)
{
    free(values->totals);
    free(values->base);
    *values = (struct values){0};
}

/* Room for the values of CPU, from 1; 0: for those of none. */
static bool make_room(struct values *values, unsigned count, unsigned cpu)
{
    if (values->totals && cpu <= values->cpus)
        return true;
    uint64_t *totals = realloc(values->totals, (size_t)(cpu + 1) * count * sizeof(*totals));
    if (!totals)
        return false;
    const size_t known = values->totals ? (size_t)(values->cpus + 1) * count : 0;
    memset(totals + known, 0, ((size_t)(cpu + 1) * count - known) * sizeof(*totals));
    values->totals = totals;
    values->cpus = cpu;
    return true;
}

/* What a sample stands for, where it does not say so itself. */
static uint64_t period_of(const struct records_layout *layout, const struct event_config *config, unsigned event,
                          const struct perf_event_header *sample)
{
    const uint64_t period = records_period(layout, event, sample);
    return period || layout->sample_type[event] & PERF_SAMPLE_PERIOD ? period
                                                                     : config->events[event].attr.sample_period;
}

/* How much *LAST, of one CPU, grows to become VALUE. */
static uint64_t take_value(uint64_t *last, uint64_t value)
{
    const uint64_t before = *last;
    *last = value;
    return value >= before ? value - before : value;
}

/*
 * What own events had counted before the file, if only SAMPLE, the first one of its leader there, can say it: the
 * leader's value less the period, and what the others have by now. BODY: the values, SIZE bytes.
 */
static bool take_base(struct values *values, const struct records_layout *layout, const struct event_config *config,
                      const uint64_t *ids, const struct perf_event_header *sample, const unsigned char *body,
                      size_t size)
{
    const unsigned event = records_event(layout, ids, sample);
    if (values->leaders >> event & 1)
        return true;
    if (!values->base && !(values->base = calloc(layout->count, sizeof(*values->base))))
        return false;
    const uint64_t period = period_of(layout, config, event, sample);
    for (size_t word = HEAD; word < size / 8; word += entry_words(layout)) {
        const int own = records_find_event(layout, ids, get(body, word + 1));
        if (own < 0)
            continue;
        const uint64_t value = get(body, word), less = (unsigned)own == event ? period : 0;
        values->base[own] = value > less ? value - less : 0;
    }
    values->leaders |= UINT64_C(1) << event;
    return true;
}

/* An entry of an own event: less what BASE, or else VALUES, says. */
static void settle_own(const struct values *values, const struct records_layout *layout, const uint64_t *ids,
                       const uint64_t *base, unsigned event, unsigned char *entry)
{
    const int own = records_find_event(layout, ids, get(entry, 1));
    const uint64_t value = get(entry, 0);
    const uint64_t *from = values->leaders >> event & 1 ? values->base : base; /* it does not change within a file */
    if (from && own >= 0)
        put(entry, 0, value > from[own] ? value - from[own] : 0);
}

static bool settle_one(struct values *values, const struct records_layout *layout, const struct event_config *config,
                       const uint64_t *ids, const uint64_t *base, bool later, struct perf_event_header *sample)
{
    const unsigned event = records_event(layout, ids, sample), count = layout->count;
    const size_t size = values_size(layout, event, sample), each = entry_words(layout);
    unsigned char *body = (unsigned char *)sample + values_at(layout, event);
    bool unknown = false; /* what the events had counted on that CPU before the file began */
    for (size_t word = HEAD; word < size / 8; word += each) {
        const uint64_t value = get(body, word), id = get(body, word + 1);
        const unsigned member = id & PLACE_MASK, cpu = (unsigned)((id & ~PLACE) >> PLACE_CPU);
        if (!(id & PLACE)) {
            if (later && !base && !take_base(values, layout, config, ids, sample, body, size))
                return false;
            settle_own(values, layout, ids, base, event, body + 8 * word);
            continue;
        }
        if (member >= count || !make_room(values, count, cpu))
            return false;
        const uint64_t period = member == event ? period_of(layout, config, event, sample) : 0;
        uint64_t *last = &values->totals[(size_t)cpu * count + member];
        unknown |= later && cpu && member == event && !*last;
        const uint64_t more = cpu ? take_value(last, value) : period;
        values->totals[member] += unknown ? period : more;
        put(body, word, values->totals[member]);
        put(body, word + 1, ids[member]);
    }
    return true;
}

bool values_settle(struct values *values, const struct records_layout *layout, const struct event_config *config,
                   const uint64_t *ids, const uint64_t *base, bool later, void *records, size_t size)
{
    struct perf_event_header *record;
    for (size_t at = 0; at + sizeof(*record) <= size; at += record->size) {
        record = (struct perf_event_header *)(void *)((unsigned char *)records + at);
        if (record->size < sizeof(*record) || record->size > size - at)
            break;
        if (record->type == PERF_RECORD_SAMPLE && record->size >= sizeof(*record) + 8 &&
            !settle_one(values, layout, config, ids, base, later, record))
            return false;
    }
    return true;
}
