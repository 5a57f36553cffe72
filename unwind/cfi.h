/* SPDX-License-Identifier: MIT */
/* One section of call frame information, and its row for an address. */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

enum cfi_how {
    CFI_SAME_VALUE, /* the caller's value is the callee's */
    CFI_UNDEFINED,  /* for the return address: there is no caller */
    CFI_OFFSET,     /* in memory at CFA + number */
    CFI_VAL_OFFSET, /* it is CFA + number */
    CFI_REGISTER,   /* it is in register `reg`; as the rule of the CFA: reg + number */
    CFI_EXPRESSION, /* in memory at the value of the expression */
    CFI_VAL_EXPRESSION,
};

/* An expression is at `number` in the section's bytes, preceded by its length. */
struct cfi_rule {
    uint8_t how; /* enum cfi_how */
    uint8_t reg;
    int32_t number;
};

struct cfi_row {
    struct cfi_rule cfa, rules[UNWIND_REGS];
    uint8_t return_reg;
    bool signal;   /* a signal frame: its return address does not follow a call */
    bool debug;    /* from .debug_frame, where its expressions are */
    bool blanked;  /* AArch64: bytes of its programs were changed, see cfi_run.c */
    uint32_t work; /* cost of finding it: bytes of programs */
};

struct cfi_fde {
    uint64_t start;
    uint32_t size; /* 0: not read yet */
    uint32_t at;   /* in the section */
};

struct cfi {
    unsigned char *bytes; /* owned; NULL: there is none */
    size_t size;
    uint64_t address;     /* where the section is loaded, for pc-relative pointers */
    bool debug;           /* .debug_frame; else .eh_frame */
    struct cfi_fde *fdes; /* by start */
    size_t count;
    uint32_t *blocks; /* for each 1 << block_shift bytes from the first start on: number of FDEs that start before */
    size_t block_count;
    unsigned block_shift;
};

/* Finds the functions in cfi->bytes, up to invalid bytes, or 2^19 entries. 0 or -ENOMEM. */
int cfi_index(struct cfi *cfi);
/*
 * The same by SIZE BYTES of .eh_frame_hdr, loaded at ADDRESS: an FDE is then read only when it is needed. False: BYTES
 * are no table of this section, or out of memory; CFI is unchanged.
 */
bool cfi_index_by_header(struct cfi *cfi, const unsigned char *bytes, size_t size, uint64_t address);
void cfi_release(struct cfi *cfi);
/* The function at ADDRESS. False: the table has none there. */
bool cfi_find_function(const struct cfi *cfi, uint64_t address, uint64_t *ret_start, uint64_t *ret_size);
/* The row at ADDRESS. False: there is no function, or its entry is invalid; only ret->work is set then. */
bool cfi_find_row(const struct cfi *cfi, uint64_t address, struct cfi_row *ret);
/*
 * At the system call that creates a thread, libc ends the FDE of the function before it, and starts another one for the
 * new thread, without a caller, a few instructions after it. True: ADDRESS is between the two; *ret is the creator's
 * row. ret->work is always set.
 */
bool cfi_find_split(const struct cfi *cfi, uint64_t address, struct cfi_row *ret);

#endif
