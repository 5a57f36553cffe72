/* SPDX-License-Identifier: MIT */
#include "collector/tasks/timer_records.h"

#include <string.h>

#include "collector/records/values.h"
#include "collector/sources/attach.h"
#include "collector/tasks/tasks.h"

enum {
    SAMPLE_WORDS = 6, /* header, IDENTIFIER, IP, TID, TIME, PERIOD */
    LOST_WORDS = 6,   /* header, id, lost, TID, TIME, IDENTIFIER */
    TIME_END = 5,     /* of both: what else the kernel's records have comes after TIME, or at the end */
    CHAIN_MAX = 256,
    LATE_NS = 1000 * 1000 * 1000, /* of a sample, after the time of its round */
};

static uint64_t task_word(const struct task *task)
{
    uint32_t words[2] = {(uint32_t)task->pid, (uint32_t)task->tid};
    uint64_t word;
    memcpy(&word, words, sizeof(word));
    return word;
}

/* Times in a file must not go backwards. */
static uint64_t fit_time(const struct tasks *tasks, const struct task *task, uint64_t time_ns)
{
    uint64_t least = task->last_sample_ns > task->start_ns ? task->last_sample_ns : task->start_ns;
    uint64_t most = tasks->now_ns + LATE_NS;
    return time_ns < least ? least : time_ns > most ? most : time_ns;
}

static bool check_sample(const struct tasks *tasks, const struct task *task, uint64_t *words, size_t count)
{
    int event = attach_timer_event(tasks->config);
    if (event < 0)
        return false;
    bool chains = tasks->layout.sample_type[event] & PERF_SAMPLE_CALLCHAIN;
    if (count < (chains ? SAMPLE_WORDS + 1u : SAMPLE_WORDS))
        return false;
    uint64_t chain = chains ? words[SAMPLE_WORDS] : 0;
    if (chain > CHAIN_MAX || count - SAMPLE_WORDS - chains != chain)
        return false;
    /* More time than there was. */
    if (words[5] == 0 || words[5] > tasks->now_ns + LATE_NS - tasks->session->start_ns)
        return false;
    words[1] = task->ids[event];
    words[3] = task_word(task);
    words[4] = fit_time(tasks, task, words[4]);
    return true;
}

static bool check_lost(const struct tasks *tasks, const struct task *task, uint64_t *words, size_t count)
{
    int event = attach_timer_event(tasks->config);
    if (event < 0 || count != LOST_WORDS || words[2] > UINT32_MAX)
        return false;
    words[1] = words[5] = task->ids[event];
    words[3] = task_word(task);
    words[4] = fit_time(tasks, task, words[4]);
    return true;
}

/* The fields that the kernel's samples have besides, as unknown. */
static void add_fields(const struct perf_event_attr *attr, struct perf_event_header *header, uint64_t *words,
                       size_t count)
{
    const uint64_t type = attr->sample_type;
    const bool sample = header->type == PERF_RECORD_SAMPLE;
    const size_t before = records_fields_size(type & (sample ? SAMPLE_FIELDS_AFTER_TIME : PERF_SAMPLE_CPU)) / 8;
    const size_t after = sample ? sample_fields_empty_size(attr) / 8 : 0;
    memmove(words + TIME_END + before, words + TIME_END, (count - TIME_END) * sizeof(*words));
    memset(words + TIME_END, 0, before * sizeof(*words));
    if (type & PERF_SAMPLE_CPU)
        words[TIME_END + before - 1] = UINT32_MAX;
    memset(words + count + before, 0, after * sizeof(*words));
    header->size = (uint16_t)((count + before + after) * sizeof(*words));
}

bool tasks_check_timer_record(const struct tasks *tasks, const struct task *task, void *record)
{
    struct perf_event_header *header = record;
    size_t count = header->size / sizeof(uint64_t);
    header->misc = header->type == PERF_RECORD_SAMPLE ? PERF_RECORD_MISC_USER : 0;
    if (header->type == PERF_RECORD_SAMPLE
            ? !check_sample(tasks, task, record, count)
            : header->type != PERF_RECORD_LOST || !check_lost(tasks, task, record, count))
        return false;
    const unsigned event = (unsigned)attach_timer_event(tasks->config);
    add_fields(&tasks->config->events[event].attr, header, record, count);
    return values_add_none(&tasks->layout, event, header);
}
