/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry: a file, read by profile_load(), by profile_records() with all fields, and by feature_facts_read().
 * Without libFuzzer: mutate.c.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/loader.h"
#include "analyze/read/feature_facts.h"
#include "analyze/read/payload.h"
#include "analyze/read/sample_fields.h"
#include "common/buffer.h"
#include "common/report.h"
#include "tests/fuzz/fuzz.h"

/* Reads everything that a view would read. */
static uint64_t walk(const struct profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->entry_count; i++) {
        const struct profile_stack *stack = &profile->stacks[profile->entries[i].stack];
        sum += profile->tasks[profile->entries[i].task].samples + profile->events[profile->entries[i].event].samples;
        sum += strlen(profile->entries[i].comm);
        for (uint32_t j = 0; j < stack->depth; j++) {
            const struct profile_frame *frame = &profile->frames[stack->frames[j]];
            sum += frame->offset + (frame->module ? strlen(frame->module->path) : 0);
        }
    }
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        sum += strlen(task->comm) + strlen(task->exec) + strlen(task->file);
        for (uint32_t j = 0; j < task->cmdline_count; j++)
            sum += strlen(task->cmdline[j]);
        for (uint32_t j = 0; j < task->count_count; j++)
            sum += task->counts[j].scaled + strlen(profile->events[task->counts[j].event].name);
        for (uint32_t j = 0; j < task->count_count; j++)
            if (task->counts[j].generation != UINT32_MAX)
                sum += strlen(task->generations[task->counts[j].generation].comm);
    }
    return sum;
}

static int ignore_record(void *context, const struct record *record)
{
    (void)context, (void)record;
    return 0;
}

/* What panalyze info shows of the feature sections. */
static uint64_t walk_facts(const uint8_t *data, size_t size)
{
    struct file file;
    struct problem problem;
    struct feature_facts facts = {0};
    uint64_t sum = 0;
    if (file_open_memory(&file, data, size, &problem) < 0)
        return 0;
    if (file_records(&file, UINT64_MAX, ignore_record, NULL) == 0 &&
        feature_facts_read(&file.features, &file.arena, &facts) == 0)
        for (uint32_t i = 0; i < facts.count; i++)
            sum += strlen(facts.items[i].name) + (facts.items[i].text ? strlen(facts.items[i].text) : 0);
    feature_facts_release(&facts);
    file_release(&file);
    return sum;
}

static uint64_t sum_of(struct sample_bytes bytes)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes.size; i++)
        sum += bytes.at[i];
    return sum;
}

static void add_register(void *context, unsigned bit, uint64_t value)
{
    *(uint64_t *)context += bit + value;
}

/* Reads each byte of all fields. */
static uint64_t walk_fields(const struct record *sample)
{
    struct sample_fields fields;
    uint64_t sum = 0;
    if (sample_fields_decode(sample, &fields) < 0)
        return 0;
    for (uint64_t i = 0; i < fields.read.count; i++)
        sum += fields.read.at ? sample_value(&fields, i).value + sample_value(&fields, i).lost : 0;
    for (uint64_t i = 0; i < fields.chain_count; i++)
        sum += sample_chain(&fields, i);
    for (uint64_t i = 0; i < fields.branches.count; i++)
        sum += sample_branch(&fields, i).from + sample_branch(&fields, i).counters;
    sample_each_register(&fields, &fields.user, add_register, &sum);
    sample_each_register(&fields, &fields.interrupted, add_register, &sum);
    return sum + sum_of(fields.raw) + sum_of(fields.user_stack) + sum_of(fields.aux);
}

struct payload_sum {
    uint64_t sum;
    int depth;
};

static void add_field(void *context, const struct payload_field *field)
{
    struct payload_sum *sum = context;
    sum->sum += strlen(field->name) + field->number;
    sum->depth += (field->kind == PAYLOAD_LIST) - (field->kind == PAYLOAD_LIST_END);
    for (size_t i = 0; i < field->size; i++)
        sum->sum += field->bytes[i];
}

static void add_flag(void *context, const char *name)
{
    ((struct payload_sum *)context)->sum += strlen(name);
}

static int each_record(void *context, const struct profile_record *record)
{
    struct payload_sum sum = {0};
    (void)context;
    payload_flags(record->record, add_flag, &sum);
    payload_fields(record->record, add_field, &sum);
    /* JSON has as many ends of lists as starts. */
    if (sum.depth)
        abort();
    return strlen(record->comm) + (record->task ? strlen(record->task->comm) : 0) + sum.sum == UINT64_MAX;
}

static int each(void *context, const struct profile_sample *sample)
{
    const struct profile *profile = *(struct profile **)context;
    uint64_t sum = strlen(sample->comm) + strlen(profile->events[sample->event].name) + strlen(sample->task->comm);
    for (uint32_t i = 0; i < sample->depth; i++)
        sum += profile->frames[sample->frames[i]].offset + sample->ips[i];
    if (sample->trace)
        sum += strlen(sample->trace);
    sum += walk_fields(sample->record);
    return sum == UINT64_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile *profile = NULL;
    if (walk_facts(data, size) == UINT64_MAX)
        puts("unlikely facts");
    if (profile_load_memory(data, size, NULL, &profile) < 0)
        return 0;
    /* Keeps the compiler from removing unused results. */
    if (walk(profile) == UINT64_MAX)
        puts("an unlikely profile");
    profile_records(profile, each, each_record, &profile);
    profile_free(profile);
    return 0;
}
