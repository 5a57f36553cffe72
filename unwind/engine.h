/* SPDX-License-Identifier: MIT */
/*
 * One way to call stacks for whoever wants them, whichever of the two engines finds them: our own interpreter of unwind
 * tables (unwind.h) or libunwind's (libunwind_engine.h). docs/UNWINDING.md compares them.
 *
 * Context: one thread at a time for one engine, and for the struct unwind_files whose files the target finds.
 */
#ifndef UNWIND_ENGINE_H
#define UNWIND_ENGINE_H

#include "unwind/unwind.h"

/* In the order of the words of --unwinder: auto, tables, libunwind. AUTO is TABLES on x86-64. */
enum unwind_engine_kind { UNWIND_ENGINE_AUTO, UNWIND_ENGINE_TABLES, UNWIND_ENGINE_LIBUNWIND };

struct unwind_engine;

/*
 * For the table of options (common/options.h): stores the kind that VALUE names at OFFSET, an int. -EINVAL after a
 * message: there is no such engine, or this build does not have it.
 */
struct option_row;
int unwind_engine_take(void *state, const struct option_row *row, const char *value);
/* NULL: no memory. KIND: one that unwind_engine_take() stored. */
struct unwind_engine *unwind_engine_new(int kind);
void unwind_engine_free(struct unwind_engine *engine); /* NULL is accepted */
/*
 * As unwind_stack(). VERSION: equal ones of any two calls mean that the same is mapped in TARGET; 0: nothing is known
 * of that. Where libunwind went on from a frame without a table, by a frame pointer or by a guess, the chain does not
 * end with UNWIND_BOTTOM: what a guess led to is no evidence that it is whole.
 */
unsigned unwind_engine_stack(struct unwind_engine *engine, uint64_t version, const struct unwind_target *target,
                             const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips,
                             unsigned capacity, struct unwind_outcome *ret);

#endif
