/* SPDX-License-Identifier: MIT */
/* One section of call frame information, and the row of it that holds at an address. */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

enum cfi_how {
    CFI_SAME_VALUE,      /* the caller's value is the callee's */
    CFI_UNDEFINED,       /* of the return address: there is no caller */
    CFI_OFFSET,          /* in memory at CFA + number */
    CFI_VAL_OFFSET,      /* it is CFA + number */
    CFI_REGISTER,        /* it is in register REG; as rule of the CFA: REG + number */
    CFI_EXPRESSION,      /* in memory at the value of the expression */
    CFI_VAL_EXPRESSION,
};

/* An expression lies in the section's bytes at NUMBER, its length in front of it. */
struct cfi_rule {
    uint8_t how;         /* enum cfi_how */
    uint8_t reg;
    int32_t number;
};

struct cfi_row {
    struct cfi_rule cfa, rules[UNWIND_REGS];
    uint8_t return_reg;
    bool signal;         /* the frame was entered by a signal: what it returns to is not behind a call */
    bool debug;          /* it is of .debug_frame: expressions lie there */
    bool blanked;        /* AArch64: bytes of its programs were changed, see cfi_run.c */
    uint32_t work;       /* what it took to find it: bytes of programs */
};

struct cfi_fde {
    uint64_t start;
    uint32_t size;       /* 0: not read yet */
    uint32_t at;         /* in the section */
};

struct cfi {
    unsigned char *bytes; /* owned; NULL: there is none */
    size_t size;
    uint64_t address;    /* where the section is loaded, for pointers relative to themselves */
    bool debug;          /* .debug_frame; else .eh_frame */
    struct cfi_fde *fdes; /* by start */
    size_t count;
    uint32_t *blocks;    /* for each 1 << BLOCK_SHIFT bytes from the first start on: how many FDEs begin before them */
    size_t block_count;
    unsigned block_shift;
};

/* Finds the functions in BYTES. 0 or -ENOMEM; bytes without sense end the list, and 2^19 entries. */
int cfi_index(struct cfi *cfi);
/*
 * The same by SIZE BYTES of .eh_frame_hdr, loaded at ADDRESS: none of them is read before it is needed. False: they are
 * no table of CFI's section, or there is no memory; nothing has happened then.
 */
bool cfi_index_by_header(struct cfi *cfi, const unsigned char *bytes, size_t size, uint64_t address);
void cfi_release(struct cfi *cfi);
/* The function whose code ADDRESS is: false when the table has none there. */
bool cfi_find_function(const struct cfi *cfi, uint64_t address, uint64_t *ret_start, uint64_t *ret_size);
/* False: no function is there, or what the table says makes no sense; RET->work alone is set then. */
bool cfi_find_row(const struct cfi *cfi, uint64_t address, struct cfi_row *ret);
/*
 * Where a system call makes a thread, libc ends the table of the function in front of it, and begins another for the
 * new thread a few instructions behind, which has no caller. True: ADDRESS lies between; *RET is the creator's row.
 * RET->work is set in any case.
 */
bool cfi_find_split(const struct cfi *cfi, uint64_t address, struct cfi_row *ret);

#endif
