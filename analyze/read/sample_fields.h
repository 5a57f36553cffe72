/* SPDX-License-Identifier: MIT */
/*
 * All fields of a sample, decoded when a view asks for them; struct record has those that every profile needs. Nothing
 * is copied: pointers go into the record and live as long as it does.
 */
#ifndef ANALYZE_READ_SAMPLE_FIELDS_H
#define ANALYZE_READ_SAMPLE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/record.h"

struct sample_bytes {
    const unsigned char *at; /* NULL: none */
    uint64_t size;
};

struct sample_registers {
    uint64_t abi;  /* PERF_SAMPLE_REGS_ABI_*; 0: the sample has no registers */
    uint64_t mask; /* which: bits of asm/perf_regs.h */
    const unsigned char *at;
};

struct sample_fields {
    uint64_t has; /* bits of PERF_SAMPLE_*: which of these are set */
    bool swap;
    uint64_t identifier, ip, time, addr, id, stream_id, period;
    uint32_t pid, tid, cpu;
    struct {
        uint64_t format; /* PERF_FORMAT_* */
        uint64_t count, enabled_ns, running_ns;
        const unsigned char *at; /* see sample_value() */
        uint64_t single_id, single_lost;
    } read;
    uint64_t chain_count;
    const unsigned char *chain; /* see sample_chain() */
    struct sample_bytes raw;
    struct {
        uint64_t count, hw_index;
        bool has_hw_index;
        const unsigned char *entries, *counters; /* see sample_branch(); counters NULL: none */
    } branches;
    struct sample_registers user, interrupted;
    struct sample_bytes user_stack; /* without what was not written of it */
    uint64_t user_stack_asked;      /* bytes that the record reserves for it */
    uint64_t weight;                /* PERF_SAMPLE_WEIGHT: all 64 bits; WEIGHT_STRUCT: the low 32, and: */
    uint16_t weight2, weight3;      /* var2_w (latency of the instruction) and var3_w */
    uint64_t data_source, transaction, physical, cgroup, data_page_size, code_page_size;
    struct sample_bytes aux;
};

/* Decodes SAMPLE, a PERF_RECORD_SAMPLE with its attr. 0, or -EBADMSG: it is shorter than its event says. */
int sample_fields_decode(const struct record *sample, struct sample_fields *ret);

struct sample_value {
    uint64_t value, id, lost; /* 0 where read.format does not have them */
};
/* Value AT of read.count. */
struct sample_value sample_value(const struct sample_fields *fields, uint64_t at);
/* Address AT of chain_count, or a context (PERF_CONTEXT_*). */
uint64_t sample_chain(const struct sample_fields *fields, uint64_t at);

struct sample_branch {
    uint64_t from, to;
    bool mispredicted, predicted, in_transaction, aborted;
    uint16_t cycles;
    uint8_t type;        /* PERF_BR_*; PERF_BR_EXTEND_ABI: see new_type */
    uint8_t speculation; /* PERF_BR_SPEC_* */
    uint8_t new_type;    /* PERF_BR_NEW_* */
    uint8_t privilege;   /* PERF_BR_PRIV_* */
    uint64_t counters;   /* 0 without branches.counters */
};
/* Branch AT of branches.count; the latest is 0. */
struct sample_branch sample_branch(const struct sample_fields *fields, uint64_t at);

/* Calls EACH for each register, in the order of their bits. */
void sample_each_register(const struct sample_fields *fields, const struct sample_registers *registers,
                          void (*each)(void *context, unsigned bit, uint64_t value), void *context);

#endif
