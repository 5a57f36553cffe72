/* SPDX-License-Identifier: MIT */
/*
 * A cache of rows by address; private to the library. Nearly all rows have the same simple form (the CFA is a register
 * plus a number, callee-saved registers are below it), which fits in half a cache line: unwinding a frame reads one
 * line instead of reading, parsing and running a table. AArch64 has more callee-saved registers: there a row takes one
 * line.
 */
#ifndef UNWIND_ROW_CACHE_H
#define UNWIND_ROW_CACHE_H

#include "unwind/cfi.h"

#if defined(__aarch64__)
enum { ROW_KEPT = 12, ROW_FRAME = 10, ROW_LINES = 2 };
#else
enum { ROW_KEPT = 7, ROW_FRAME = 1, ROW_LINES = 1 };
#endif
enum { ROW_WAYS = 2 };

/* The callee-saved registers (index ROW_FRAME is the frame pointer) and, last, UNWIND_RETURN. */
extern const uint8_t row_cache_registers[ROW_KEPT];

struct row_known {
    uint64_t address; /* 0: empty; no code is there */
    int32_t cfa;      /* offset of the CFA from the value of cfa_reg */
    uint8_t cfa_reg;
    bool bottom;          /* there is no caller; the other members are not used */
    int16_t at[ROW_KEPT]; /* offsets from the CFA; 0: same value as in the callee; the last one: only on AArch64 */
};

struct row_set {
    _Alignas(64) struct row_known ways[ROW_WAYS]; /* most recently used first */
};

/* Zeroed: empty. */
struct row_cache {
    struct row_set *sets; /* owned; 1 << bits of them */
    unsigned bits;
    size_t displaced; /* rows that were pushed out since it grew */
};

void row_cache_release(struct row_cache *cache);
/* NULL: not cached. Valid until the next call. */
const struct row_known *row_cache_find(struct row_cache *cache, uint64_t address);
/* Adds ROW if it fits the simple form and there is memory. */
void row_cache_add(struct row_cache *cache, uint64_t address, const struct cfi_row *row);
size_t row_cache_size(const struct row_cache *cache);

#endif
