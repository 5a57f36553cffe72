/* SPDX-License-Identifier: MIT */
/*
 * unwind/stack.c with fake tables: a program in one mapping, a stack of a few words, and rows. Tests only see the
 * addresses of a chain, so they turn the value of a register into one.
 */
#ifndef UNIT_STEPS_KIT_H
#define UNIT_STEPS_KIT_H

#include "check.h"

#include "unwind/expression.h"
#include "unwind/unwind_file.h"

/* Two callee-saved registers: rbx and r12; x19 and x20. */
#if defined(__aarch64__)
enum { SAVED = 19, SAVED_TOO = 20 };
#else
enum { SAVED = 3, SAVED_TOO = 12 };
#endif
enum { CODE = 0x10000, OFFSET = 0x1000, STACK = 0x7000, WORDS = 128, DUMP_SIZE = 16 * 8 };

extern struct unwind_file file;
extern unsigned finds, uses;   /* look-ups of mappings, and uses of `file` */
extern struct row_known known; /* the cached row */
extern struct cfi_row split;   /* the creator's, at split_at */
extern uint64_t split_at;
extern const struct cfi *expression_section;            /* of the last expression */
extern uint32_t miss_work, split_work, expression_work; /* for an address without a row, at split_at, per expression */
extern bool expression_fails, with_limits;              /* with_limits: mappings have limits and can be remembered */
extern uint64_t words[WORDS], ips[8];                   /* `dump` has 16 of the words, unless a test sets more */
extern struct unwind_dump dump;
extern struct unwind_regs regs;
extern struct unwind_outcome outcome;

void begin(void);
/* The row after a call: the CFA is the stack pointer + SIZE, the return address is right below it. */
struct cfi_row plain_row(int size);
/* Makes ROW the row of the code at IP in the first mapping. */
struct cfi_row *add_row(uint64_t ip, struct cfi_row row);
/* Adds the row of an outermost frame. */
struct cfi_row *add_bottom(uint64_t ip);
unsigned chain(unsigned capacity);

#define assert_chain(count, how)                         \
    do {                                                 \
        assert_int_equal(chain(8), count);               \
        assert_int_equal(outcome.end, how);              \
        assert_int_equal(ips[0], regs.value[UNWIND_IP]); \
    } while (0)

#endif
