/* SPDX-License-Identifier: MIT */
/*
 * Rows that were found already, by address; private to the library. Nearly all rows say the same few things (the CFA is
 * a register and a number, registers that a call preserves lie below it), which fit in half a line of the CPU's cache:
 * unwinding reads one line for each frame where it would read, parse and run a table. On AArch64 a call preserves more
 * registers; there they take one line each.
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

/* Registers that a call preserves, ROW_FRAME is the frame pointer; and UNWIND_RETURN, which is the last. */
extern const uint8_t row_cache_registers[ROW_KEPT];

struct row_known {
    uint64_t address;          /* 0: empty; no code lies there */
    int32_t cfa;               /* from the value of CFA_REG */
    uint8_t cfa_reg;
    bool bottom;               /* there is no caller; nothing else is said */
    int16_t at[ROW_KEPT];      /* from the CFA; 0: the caller's value is the callee's, on AArch64 the last one's too */
};

struct row_set {
    _Alignas(64) struct row_known ways[ROW_WAYS]; /* the one used last first */
};

/* Zeroed: empty. */
struct row_cache {
    struct row_set *sets;      /* owned; 1 << BITS of them */
    unsigned bits;
    size_t displaced;          /* since it grew */
};

void row_cache_release(struct row_cache *cache);
/* NULL: it is not here. Good until the next call. */
const struct row_known *row_cache_find(struct row_cache *cache, uint64_t address);
/* Remembers ROW if it is one of those that fit, and if there is memory. */
void row_cache_add(struct row_cache *cache, uint64_t address, const struct cfi_row *row);
size_t row_cache_size(const struct row_cache *cache);

#endif
