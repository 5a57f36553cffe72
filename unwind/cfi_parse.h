/* SPDX-License-Identifier: MIT */
/* Entries of a section: cfi.c finds them, cfi_run.c runs them. Private to the library. */
#ifndef UNWIND_CFI_PARSE_H
#define UNWIND_CFI_PARSE_H

#include "common/cursor.h"
#include "unwind/cfi.h"

struct cfi_cie {
    struct cursor program;
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_reg;
    uint8_t encoding; /* of addresses in FDEs */
    bool augmented;   /* FDEs have augmentation data */
    bool signal;
};

struct cfi_function {
    struct cfi_cie cie;
    uint64_t start, size;
    struct cursor program;
};

/* Builds the index for searches, once the FDEs are there and sorted. */
void cfi_index_blocks(struct cfi *cfi);
/* Parses the FDE at AT. */
bool cfi_parse_function(const struct cfi *cfi, size_t at, struct cfi_function *ret);
/* The row at ADDRESS, which is in FUNCTION. */
bool cfi_run(const struct cfi *cfi, const struct cfi_function *function, uint64_t address, struct cfi_row *ret);

#endif
