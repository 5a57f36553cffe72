/* SPDX-License-Identifier: MIT */
/*
 * Call stacks by libunwind's remote interface: a second opinion to unwind_stack(), from the same registers, dumps and
 * files. All its reads go through us, and their number per chain is bounded. libunwind itself opens a pipe
 * (close-on-exec) on its first use, and keeps it open.
 *
 * Context: one thread at a time for one engine, and for the struct unwind_files whose files the target finds.
 */
#ifndef UNWIND_LIBUNWIND_ENGINE_H
#define UNWIND_LIBUNWIND_ENGINE_H

#include "unwind/unwind.h"

/* Keeps rows of 64 address spaces, 40 KiB each. */
struct libunwind_engine;

struct libunwind_outcome {
    enum unwind_end end;
    uint64_t top; /* as in struct unwind_outcome */
    bool guessed; /* a frame was found without a table: by a frame pointer, or by a guess of libunwind */
};

/* NULL: out of memory. */
struct libunwind_engine *libunwind_engine_new(void);
void libunwind_engine_free(struct libunwind_engine *engine); /* NULL is accepted */
/*
 * As unwind_stack(). VERSION: two calls with the same number have the same mappings in TARGET, so that cached rows stay
 * valid; 0: not known.
 */
unsigned libunwind_engine_stack(struct libunwind_engine *engine, uint64_t version, const struct unwind_target *target,
                                const struct unwind_regs *regs, const struct unwind_dump *dump, uint64_t *ips,
                                unsigned capacity, struct libunwind_outcome *ret);

#endif
