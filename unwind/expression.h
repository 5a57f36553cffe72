/* SPDX-License-Identifier: MIT */
/* DWARF expressions of call frame information; private to the library. */
#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H

#include "common/cursor.h"
#include "unwind/unwind.h"

/* Reads 8 bytes at ADDRESS of the sampled stack, or returns false. */
bool dump_read(const struct unwind_dump *dump, uint64_t address, uint64_t *ret);

/*
 * Evaluates EXPRESSION (a block: its size, then its bytes), with INITIAL on its stack unless that is NULL. Steps and
 * stack are bounded. False: it is invalid, or reads memory outside of the dump. *work is always increased by the steps.
 */
bool expression_run(struct cursor expression, const struct unwind_regs *regs, const struct unwind_dump *dump,
                    const uint64_t *initial, uint64_t *work, uint64_t *ret);

#endif
