/* SPDX-License-Identifier: MIT */
/*
 * One interface to the two unwinding engines: our own interpreter of unwind tables (unwind.h), and libunwind
 * (libunwind_engine.h). docs/UNWINDING.md compares them.
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
 * For the table of options (common/options.h): stores the kind named VALUE in the int at row->offset. -EINVAL after a
 * message: there is no such engine, or this build does not have it.
 */
struct option_row;
int unwind_engine_take(void *state, const struct option_row *row, const char *value);
/* NULL: out of memory. KIND: as stored by unwind_engine_take(). */
struct unwind_engine *unwind_engine_new(int kind);
void unwind_engine_free(struct unwind_engine *engine); /* NULL is accepted */
/*
 * As unwind_stack(). VERSION: two calls with the same number have the same mappings in TARGET; 0: not known. If
 * libunwind continued from a frame without a table, by a frame pointer or a guess, the chain does not end with
 * UNWIND_BOTTOM, since a guess does not prove that it is complete.
 */
unsigned unwind_engine_stack(struct unwind_engine *engine, uint64_t version, const struct unwind_target *target,
                             const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips,
                             unsigned capacity, struct unwind_outcome *ret);

#endif
