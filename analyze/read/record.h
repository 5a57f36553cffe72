/* SPDX-License-Identifier: MIT */
/* Parses one record by the attributes of its event. Nothing is copied. */
#ifndef ANALYZE_READ_RECORD_H
#define ANALYZE_READ_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/attr.h"

enum { RECORD_HEADER = 8, RECORD_READ_LOST = 1 << 4 /* PERF_FORMAT_LOST, Linux 6.0 */ };

struct record {
    uint32_t type; /* PERF_RECORD_*, or of enum perfdata_record */
    uint16_t misc;
    bool swap;
    const struct attr *attr;      /* NULL: unknown */
    const unsigned char *payload; /* between the header and the trailer of sample_id_all; samples have no trailer */
    size_t payload_size;

    /* From the sample or the trailer. `has` says which are set (bits of sample_type). */
    uint64_t has;
    uint64_t time;
    uint64_t id;
    uint32_t pid, tid, cpu;

    /* Samples only. */
    uint64_t ip, addr, period;
    const unsigned char *chain; /* chain_count times 8 bytes in the file's byte order */
    uint64_t chain_count;
    const unsigned char *read; /* first value of PERF_SAMPLE_READ, laid out by attr.read_format; NULL: none */
    uint64_t read_count;       /* events that were read */
    const unsigned char *raw;  /* payload of a tracepoint, see trace_format.h; NULL: none */
    uint32_t raw_size;
    uint64_t user_abi; /* ABI of the user registers, 0: no registers */
    const unsigned char *user_regs;
    const unsigned char *user_stack; /* stack dump, from the stack pointer upwards; NULL: none */
    uint64_t stack_size;
    bool stack_full;   /* the dump is full: the stack may be larger */
    bool unwound, cut; /* chain was unwound from the stack dump; it lacks its outermost callers */
};

/* The time of the record of SIZE bytes at RAW; 0: it has none. ATTR may be NULL. */
uint64_t record_time(const struct attr *attr, const unsigned char *raw, size_t size, uint32_t type, bool swap);

/* RAW[SIZE] is a whole record with its header. 0, or -EBADMSG when it is shorter than its event says. */
int record_parse(const struct attr *attr, const unsigned char *raw, size_t size, bool swap, struct record *ret);

/* The user register of bit BIT of attr.sample_regs_user. False: not recorded. */
bool record_user_register(const struct record *record, unsigned bit, uint64_t *ret_value);

static inline struct cursor record_cursor(const struct record *record)
{
    struct cursor cursor = cursor_of(record->payload, record->payload_size);
    cursor.swap = record->swap;
    return cursor;
}

#endif
