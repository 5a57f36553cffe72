/* SPDX-License-Identifier: MIT */
/* DWARF expressions of call frame information; private to the library. */
#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H

#include "common/cursor.h"
#include "unwind/unwind.h"

/* 8 bytes at ADDRESS of the sampled stack, or false. */
bool dump_read(const struct unwind_dump *dump, uint64_t address, uint64_t *ret);

/*
 * The value of EXPRESSION (a block: its size, then its bytes), with INITIAL on its stack unless that is NULL. Bounded
 * in steps and stack; false: it makes no sense, or reads what is not there. The steps are added to WORK in any case.
 */
bool expression_run(struct cursor expression, const struct unwind_regs *regs, const struct unwind_dump *dump,
                    const uint64_t *initial, uint64_t *work, uint64_t *ret);

#endif
