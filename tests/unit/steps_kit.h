/* SPDX-License-Identifier: MIT */
/*
 * unwind/stack.c with tables that are made up: a program in one mapping, a stack of a few words, and what rows say. Of
 * a chain the addresses show, so that a register is made to show as one.
 */
#ifndef UNIT_STEPS_KIT_H
#define UNIT_STEPS_KIT_H

#include "check.h"

#include "unwind/expression.h"
#include "unwind/unwind_file.h"

/* Two registers that a call preserves: rbx and r12; x19 and x20. */
#if defined(__aarch64__)
enum { SAVED = 19, SAVED_TOO = 20 };
#else
enum { SAVED = 3, SAVED_TOO = 12 };
#endif
enum { CODE = 0x10000, OFFSET = 0x1000, STACK = 0x7000, WORDS = 128, DUMP_SIZE = 16 * 8 };

extern struct unwind_file file;
extern unsigned finds, uses;                /* mappings that were asked for, and those of them of FILE */
extern struct row_known known;              /* the one that is remembered */
extern struct cfi_row split;                /* the creator's, at split_at */
extern uint64_t split_at;
extern const struct cfi *expression_section; /* of the last one */
extern uint32_t miss_work, split_work, expression_work; /* of an address without a row, at split_at, of each one */
extern bool expression_fails, with_limits;  /* of mappings: they can be remembered */
extern uint64_t words[WORDS], ips[8]; /* DUMP has 16 of the WORDS unless a test says more */
extern struct unwind_dump dump;
extern struct unwind_regs regs;
extern struct unwind_outcome outcome;

void begin(void);
/* As behind a call: the CFA is the stack pointer + SIZE, the return address right below it. */
struct cfi_row plain_row(int size);
/* ROW is that of the code at IP of the first mapping. */
struct cfi_row *add_row(uint64_t ip, struct cfi_row row);
/* The outermost frame, whose table says so. */
struct cfi_row *add_bottom(uint64_t ip);
unsigned chain(unsigned capacity);

#define assert_chain(count, how)                          \
    do {                                                  \
        assert_int_equal(chain(8), count);                \
        assert_int_equal(outcome.end, how);               \
        assert_int_equal(ips[0], regs.value[UNWIND_IP]); \
    } while (0)

#endif
