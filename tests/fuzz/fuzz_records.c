/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry: one record, decoded by analyze/read/sample_fields.h and payload.h: thousands of times as many inputs
 * as with whole files. The input is struct start, then the payload. Without libFuzzer: mutate.c.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/payload.h"
#include "analyze/read/sample_fields.h"
#include "tests/fuzz/fuzz.h"

struct start {
    uint32_t type;
    uint16_t misc, swap;
    uint64_t sample_type, read_format, branches, user, interrupted;
};

/* Keeps the compiler from removing unused results. */
static volatile uint64_t kept;

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct start start;
    struct payload_sum sum = {0};
    if (size < sizeof(start))
        return 0;
    memcpy(&start, data, sizeof(start));
    const struct attr attr = {.perf = {.sample_type = start.sample_type,
                                       .read_format = start.read_format,
                                       .branch_sample_type = start.branches,
                                       .sample_regs_user = start.user,
                                       .sample_regs_intr = start.interrupted}};
    const struct record record = {.type = start.type,
                                  .misc = start.misc,
                                  .swap = start.swap & 1,
                                  .attr = &attr,
                                  .payload = data + sizeof(start),
                                  .payload_size = size - sizeof(start)};
    sum.sum = walk_fields(&record);
    payload_flags(&record, add_flag, &sum);
    payload_fields(&record, add_field, &sum);
    /* JSON has as many ends of lists as starts. */
    if (sum.depth)
        abort();
    kept = sum.sum;
    return 0;
}
