/* SPDX-License-Identifier: MIT */
#include "analyze/read/record.h"

#include <errno.h>
#include <pinject/kernel.h>

#include "analyze/read/bytes.h"
#include "common/perfdata.h"

#ifndef PERF_SAMPLE_BRANCH_COUNTERS /* Linux 6.8 */
#define PERF_SAMPLE_BRANCH_COUNTERS (1ull << 19)
#endif

#define TRAILER                                                                                      \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
     PERF_SAMPLE_IDENTIFIER)

static inline size_t trailer_size(const struct attr *attr)
{
    return attr && attr->perf.sample_id_all ? 8 * (size_t)__builtin_popcountll(attr->perf.sample_type & TRAILER) : 0;
}

uint64_t record_time(const struct attr *attr, const unsigned char *raw, size_t size, uint32_t type, bool swap)
{
    if (!attr || type >= PERFDATA_RECORD_ATTR || !(attr->perf.sample_type & PERF_SAMPLE_TIME))
        return 0;
    uint64_t fields = attr->perf.sample_type;
    size_t at = RECORD_HEADER;
    if (type == PERF_RECORD_SAMPLE) {
        at += 8 * (size_t)__builtin_popcountll(fields & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID));
    } else {
        size_t trailer = trailer_size(attr);
        if (trailer == 0 || trailer > size - RECORD_HEADER)
            return 0;
        at = size - trailer + ((fields & PERF_SAMPLE_TID) ? 8 : 0);
    }
    return at + 8 <= size ? bytes_u64(raw + at, swap) : 0;
}

/* A minimal cursor, inlined: parsing a sample is a hot path. */
struct walk {
    const unsigned char *at, *end;
    bool swap, failed;
};

static inline const unsigned char *take_bytes(struct walk *walk, uint64_t size)
{
    if (size > (uint64_t)(walk->end - walk->at)) {
        walk->failed = true;
        walk->at = walk->end;
        return NULL;
    }
    const unsigned char *at = walk->at;
    walk->at += size;
    return at;
}

static inline uint64_t take_u64(struct walk *walk)
{
    const unsigned char *at = take_bytes(walk, 8);
    return at ? bytes_u64(at, walk->swap) : 0;
}

static inline uint32_t take_first_u32(struct walk *walk, uint32_t *ret_second)
{
    const unsigned char *at = take_bytes(walk, 8);
    if (ret_second)
        *ret_second = at ? bytes_u32(at + 4, walk->swap) : 0;
    return at ? bytes_u32(at, walk->swap) : 0;
}

/* COUNT items of SIZE bytes. Fails if the record cannot hold them; COUNT * SIZE cannot overflow. */
static const unsigned char *take_items(struct walk *walk, uint64_t count, size_t size)
{
    if (count > (uint64_t)(walk->end - walk->at) / size) {
        walk->failed = true;
        return NULL;
    }
    return take_bytes(walk, count * size);
}

static void take_read(struct walk *walk, uint64_t format, struct record *ret)
{
    size_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & RECORD_READ_LOST);
    size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    if (!(format & PERF_FORMAT_GROUP)) {
        /* The times come between the value and the id. */
        ret->read = take_bytes(walk, 8 * (each + times));
        ret->read_count = 1;
        return;
    }
    ret->read_count = take_u64(walk);
    take_bytes(walk, 8 * times);
    ret->read = take_items(walk, ret->read_count, 8 * each);
}

static void take_raw(struct walk *walk, struct record *ret)
{
    const unsigned char *at = take_bytes(walk, 4);
    if (at) {
        ret->raw_size = bytes_u32(at, walk->swap);
        ret->raw = take_bytes(walk, ret->raw_size);
    }
    /* The kernel increases the size until both are a multiple of 8; a synthesized record may not. */
}

static void skip_branches(struct walk *walk, uint64_t kinds)
{
    uint64_t count = take_u64(walk);
    if (kinds & PERF_SAMPLE_BRANCH_HW_INDEX)
        take_u64(walk);
    take_items(walk, count, 24);
    if (kinds & PERF_SAMPLE_BRANCH_COUNTERS)
        take_items(walk, count, 8);
}

static uint64_t take_registers(struct walk *walk, uint64_t mask, const unsigned char **ret_registers)
{
    uint64_t abi = take_u64(walk);
    *ret_registers = abi ? take_bytes(walk, 8 * (uint64_t)__builtin_popcountll(mask)) : NULL;
    return *ret_registers ? abi : 0;
}

static void take_stack(struct walk *walk, struct record *ret)
{
    uint64_t size = take_u64(walk);
    if (size == 0)
        return;
    const unsigned char *stack = take_bytes(walk, size);
    uint64_t used = take_u64(walk);
    if (walk->failed)
        return;
    ret->stack_full = used >= size;
    ret->stack_size = used < size ? used : size;
    ret->user_stack = ret->stack_size ? stack : NULL;
}

/* The fields after the call chain. Only raw data, registers and stack are kept, the others are skipped. */
static void parse_after_chain(struct walk *walk, const struct perf_event_attr *attr, struct record *ret)
{
    static const uint64_t single[] = {PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP, PERF_SAMPLE_DATA_PAGE_SIZE,
                                      PERF_SAMPLE_CODE_PAGE_SIZE};
    uint64_t fields = attr->sample_type;
    if (fields & PERF_SAMPLE_RAW)
        take_raw(walk, ret);
    if (fields & PERF_SAMPLE_BRANCH_STACK)
        skip_branches(walk, attr->branch_sample_type);
    if (fields & PERF_SAMPLE_REGS_USER)
        ret->user_abi = take_registers(walk, attr->sample_regs_user, &ret->user_regs);
    if (fields & PERF_SAMPLE_STACK_USER)
        take_stack(walk, ret);
    if (fields & PERF_SAMPLE_WEIGHT_TYPE)
        take_u64(walk);
    if (fields & PERF_SAMPLE_DATA_SRC)
        take_u64(walk);
    if (fields & PERF_SAMPLE_TRANSACTION)
        take_u64(walk);
    if (fields & PERF_SAMPLE_REGS_INTR) {
        const unsigned char *registers;
        take_registers(walk, attr->sample_regs_intr, &registers);
    }
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        if (fields & single[i])
            take_u64(walk);
    if (fields & PERF_SAMPLE_AUX)
        take_bytes(walk, take_u64(walk));
}

static int parse_sample(const struct attr *attr, struct walk *walk, struct record *ret)
{
    uint64_t fields = attr->perf.sample_type;
    ret->has = fields;
    if (fields & PERF_SAMPLE_IDENTIFIER)
        ret->id = take_u64(walk);
    if (fields & PERF_SAMPLE_IP)
        ret->ip = take_u64(walk);
    if (fields & PERF_SAMPLE_TID)
        ret->pid = take_first_u32(walk, &ret->tid);
    if (fields & PERF_SAMPLE_TIME)
        ret->time = take_u64(walk);
    if (fields & PERF_SAMPLE_ADDR)
        ret->addr = take_u64(walk);
    if (fields & PERF_SAMPLE_ID)
        ret->id = take_u64(walk);
    if (fields & PERF_SAMPLE_STREAM_ID)
        take_u64(walk);
    if (fields & PERF_SAMPLE_CPU)
        ret->cpu = take_first_u32(walk, NULL);
    /* Without the field the period is the one of the attributes; with a frequency it is unknown. */
    ret->period = attr->perf.freq ? 1 : attr->perf.sample_period;
    if (fields & PERF_SAMPLE_PERIOD)
        ret->period = take_u64(walk);
    if (fields & PERF_SAMPLE_READ)
        take_read(walk, attr->perf.read_format, ret);
    if (fields & PERF_SAMPLE_CALLCHAIN) {
        ret->chain_count = take_u64(walk);
        ret->chain = take_items(walk, ret->chain_count, 8);
    }
    parse_after_chain(walk, &attr->perf, ret);
    return walk->failed ? -EBADMSG : 0;
}

static int parse_trailer(const struct attr *attr, struct walk *walk, struct record *ret)
{
    uint64_t fields = attr->perf.sample_type & TRAILER;
    ret->has = fields;
    if (fields & PERF_SAMPLE_TID)
        ret->pid = take_first_u32(walk, &ret->tid);
    if (fields & PERF_SAMPLE_TIME)
        ret->time = take_u64(walk);
    if (fields & PERF_SAMPLE_ID)
        ret->id = take_u64(walk);
    if (fields & PERF_SAMPLE_STREAM_ID)
        take_u64(walk);
    if (fields & PERF_SAMPLE_CPU)
        ret->cpu = take_first_u32(walk, NULL);
    if (fields & PERF_SAMPLE_IDENTIFIER)
        ret->id = take_u64(walk);
    return 0;
}

int record_parse(const struct attr *attr, const unsigned char *raw, size_t size, bool swap, struct record *ret)
{
    *ret = (struct record){.type = bytes_u32(raw, swap),
                           .misc = bytes_u16(raw + 4, swap),
                           .swap = swap,
                           .attr = attr,
                           .payload = raw + RECORD_HEADER,
                           .payload_size = size - RECORD_HEADER,
                           .cpu = UINT32_MAX};
    struct walk walk = {.at = ret->payload, .end = raw + size, .swap = swap};
    if (ret->type >= PERFDATA_RECORD_ATTR)
        return 0;
    if (ret->type == PERF_RECORD_SAMPLE)
        return attr ? parse_sample(attr, &walk, ret) : -EBADMSG;
    size_t trailer = trailer_size(attr);
    if (trailer == 0)
        return 0;
    if (trailer > ret->payload_size)
        return -EBADMSG;
    ret->payload_size -= trailer;
    walk.at = ret->payload + ret->payload_size;
    return parse_trailer(attr, &walk, ret);
}

bool record_user_register(const struct record *record, unsigned bit, uint64_t *ret_value)
{
    uint64_t mask = record->attr ? record->attr->perf.sample_regs_user : 0;
    if (!record->user_regs || bit >= 64 || !(mask & 1ull << bit))
        return false;
    size_t before = (size_t)__builtin_popcountll(mask & ((1ull << bit) - 1));
    *ret_value = bytes_u64(record->user_regs + 8 * before, record->swap);
    return true;
}
