/* SPDX-License-Identifier: MIT */
#include "analyze/read/sample_fields.h"

#include <errno.h>
#include <pinject/kernel.h>

#include "analyze/read/bytes.h"

#ifndef PERF_SAMPLE_BRANCH_COUNTERS /* Linux 6.8 */
#define PERF_SAMPLE_BRANCH_COUNTERS (1ull << 19)
#endif

enum { BRANCH_SIZE = 24 };

/* COUNT items of SIZE bytes. */
static const unsigned char *take_items(struct cursor *cursor, uint64_t count, size_t size)
{
    if (count > cursor_left(cursor) / size) {
        cursor->failed = true;
        cursor->at = cursor->end;
        return NULL;
    }
    return cursor_bytes(cursor, (size_t)count * size);
}

static size_t value_words(uint64_t format)
{
    return 1 + !!(format & PERF_FORMAT_ID) + !!(format & RECORD_READ_LOST);
}

static void take_read(struct cursor *cursor, uint64_t format, struct sample_fields *ret)
{
    bool group = format & PERF_FORMAT_GROUP;
    ret->read.format = format;
    ret->read.count = group ? cursor_u64(cursor) : 1;
    if (!group)
        ret->read.at = cursor_bytes(cursor, 8);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        ret->read.enabled_ns = cursor_u64(cursor);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        ret->read.running_ns = cursor_u64(cursor);
    if (group) {
        ret->read.at = take_items(cursor, ret->read.count, 8 * value_words(format));
        return;
    }
    /* One value has its id and its losses behind the times. */
    if (format & PERF_FORMAT_ID)
        ret->read.single_id = cursor_u64(cursor);
    if (format & RECORD_READ_LOST)
        ret->read.single_lost = cursor_u64(cursor);
}

static void take_raw(struct cursor *cursor, struct sample_fields *ret)
{
    ret->raw.size = cursor_u32(cursor);
    ret->raw.at = cursor_bytes(cursor, (size_t)ret->raw.size);
}

static void take_branches(struct cursor *cursor, uint64_t kinds, struct sample_fields *ret)
{
    ret->branches.count = cursor_u64(cursor);
    ret->branches.has_hw_index = kinds & PERF_SAMPLE_BRANCH_HW_INDEX;
    if (ret->branches.has_hw_index)
        ret->branches.hw_index = cursor_u64(cursor);
    ret->branches.entries = take_items(cursor, ret->branches.count, BRANCH_SIZE);
    if (kinds & PERF_SAMPLE_BRANCH_COUNTERS)
        ret->branches.counters = take_items(cursor, ret->branches.count, 8);
}

static struct sample_registers take_registers(struct cursor *cursor, uint64_t mask)
{
    struct sample_registers registers = {.abi = cursor_u64(cursor), .mask = mask};
    if (registers.abi)
        registers.at = take_items(cursor, (uint64_t)__builtin_popcountll(mask), 8);
    return registers;
}

static void take_stack(struct cursor *cursor, struct sample_fields *ret)
{
    uint64_t size = ret->user_stack_asked = cursor_u64(cursor);
    if (size == 0)
        return;
    ret->user_stack.at = take_items(cursor, size, 1);
    uint64_t written = cursor_u64(cursor);
    ret->user_stack.size = written < size ? written : size;
}

static void take_start(struct cursor *cursor, const struct perf_event_attr *attr, struct sample_fields *ret)
{
    uint64_t fields = attr->sample_type;
    if (fields & PERF_SAMPLE_IDENTIFIER)
        ret->identifier = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_IP)
        ret->ip = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_TID) {
        ret->pid = cursor_u32(cursor);
        ret->tid = cursor_u32(cursor);
    }
    if (fields & PERF_SAMPLE_TIME)
        ret->time = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_ADDR)
        ret->addr = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_ID)
        ret->id = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_STREAM_ID)
        ret->stream_id = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_CPU) {
        ret->cpu = cursor_u32(cursor);
        cursor_u32(cursor);
    }
    if (fields & PERF_SAMPLE_PERIOD)
        ret->period = cursor_u64(cursor);
}

static void take_middle(struct cursor *cursor, const struct perf_event_attr *attr, struct sample_fields *ret)
{
    uint64_t fields = attr->sample_type;
    if (fields & PERF_SAMPLE_READ)
        take_read(cursor, attr->read_format, ret);
    if (fields & PERF_SAMPLE_CALLCHAIN) {
        ret->chain_count = cursor_u64(cursor);
        ret->chain = take_items(cursor, ret->chain_count, 8);
    }
    if (fields & PERF_SAMPLE_RAW)
        take_raw(cursor, ret);
    if (fields & PERF_SAMPLE_BRANCH_STACK)
        take_branches(cursor, attr->branch_sample_type, ret);
    if (fields & PERF_SAMPLE_REGS_USER)
        ret->user = take_registers(cursor, attr->sample_regs_user);
    if (fields & PERF_SAMPLE_STACK_USER)
        take_stack(cursor, ret);
}

static void take_end(struct cursor *cursor, const struct perf_event_attr *attr, struct sample_fields *ret)
{
    uint64_t fields = attr->sample_type;
    if (fields & PERF_SAMPLE_WEIGHT_TYPE)
        ret->weight = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_WEIGHT_TYPE & ~(uint64_t)PERF_SAMPLE_WEIGHT) {
        ret->weight2 = (uint16_t)(ret->weight >> 32);
        ret->weight3 = (uint16_t)(ret->weight >> 48);
        ret->weight &= UINT32_MAX;
    }
    if (fields & PERF_SAMPLE_DATA_SRC)
        ret->data_source = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_TRANSACTION)
        ret->transaction = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_REGS_INTR)
        ret->interrupted = take_registers(cursor, attr->sample_regs_intr);
    if (fields & PERF_SAMPLE_PHYS_ADDR)
        ret->physical = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_CGROUP)
        ret->cgroup = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_DATA_PAGE_SIZE)
        ret->data_page_size = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_CODE_PAGE_SIZE)
        ret->code_page_size = cursor_u64(cursor);
    if (fields & PERF_SAMPLE_AUX) {
        ret->aux.size = cursor_u64(cursor);
        ret->aux.at = take_items(cursor, ret->aux.size, 1);
    }
}

int sample_fields_decode(const struct record *sample, struct sample_fields *ret)
{
    struct cursor cursor = record_cursor(sample);
    const struct perf_event_attr *attr = &sample->attr->perf;
    *ret = (struct sample_fields){.has = attr->sample_type, .swap = sample->swap, .cpu = UINT32_MAX};
    take_start(&cursor, attr, ret);
    take_middle(&cursor, attr, ret);
    take_end(&cursor, attr, ret);
    return cursor.failed ? -EBADMSG : 0;
}

struct sample_value sample_value(const struct sample_fields *fields, uint64_t at)
{
    uint64_t format = fields->read.format;
    size_t words = format & PERF_FORMAT_GROUP ? value_words(format) : 1;
    const unsigned char *bytes = fields->read.at + 8 * words * at;
    struct sample_value value = {.value = bytes_u64(bytes, fields->swap)};
    if (words == 1) {
        value.id = fields->read.single_id;
        value.lost = fields->read.single_lost;
        return value;
    }
    if (format & PERF_FORMAT_ID)
        value.id = bytes_u64(bytes += 8, fields->swap);
    if (format & RECORD_READ_LOST)
        value.lost = bytes_u64(bytes + 8, fields->swap);
    return value;
}

uint64_t sample_chain(const struct sample_fields *fields, uint64_t at)
{
    return bytes_u64(fields->chain + 8 * at, fields->swap);
}

struct branch_bits {
    uint64_t flags;
    unsigned used;
    bool from_top;
};

/* The next COUNT bits: a machine of the other byte order puts bit fields from the other end of the number. */
static unsigned next_bits(struct branch_bits *bits, unsigned count)
{
    unsigned at = bits->from_top ? 64 - bits->used - count : bits->used;
    bits->used += count;
    return (unsigned)(bits->flags >> at & ((1ull << count) - 1));
}

struct sample_branch sample_branch(const struct sample_fields *fields, uint64_t at)
{
    const unsigned char *bytes = fields->branches.entries + BRANCH_SIZE * at;
    struct branch_bits bits = {.flags = bytes_u64(bytes + 16, fields->swap), .from_top = fields->swap};
    struct sample_branch branch = {.from = bytes_u64(bytes, fields->swap), .to = bytes_u64(bytes + 8, fields->swap)};
    branch.mispredicted = next_bits(&bits, 1);
    branch.predicted = next_bits(&bits, 1);
    branch.in_transaction = next_bits(&bits, 1);
    branch.aborted = next_bits(&bits, 1);
    branch.cycles = (uint16_t)next_bits(&bits, 16);
    branch.type = (uint8_t)next_bits(&bits, 4);
    branch.speculation = (uint8_t)next_bits(&bits, 2);
    branch.new_type = (uint8_t)next_bits(&bits, 4);
    branch.privilege = (uint8_t)next_bits(&bits, 3);
    if (fields->branches.counters)
        branch.counters = bytes_u64(fields->branches.counters + 8 * at, fields->swap);
    return branch;
}

void sample_each_register(const struct sample_fields *fields, const struct sample_registers *registers,
                          void (*each)(void *context, unsigned bit, uint64_t value), void *context)
{
    const unsigned char *at = registers->at;
    for (unsigned bit = 0; bit < 64 && at; bit++) {
        if (!(registers->mask >> bit & 1))
            continue;
        each(context, bit, bytes_u64(at, fields->swap));
        at += 8;
    }
}
