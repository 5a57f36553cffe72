/* SPDX-License-Identifier: MIT */
/* From registers and a copied stack to functions and lines; private to pstack/. */
#ifndef PSTACK_CALLCHAIN_H
#define PSTACK_CALLCHAIN_H

#include "target.h"
#include "unwind/engine.h"

struct symbols;

/* What all processes of one answer share. */
struct callchain {
    struct unwind_files *files;
    struct unwind_engine *engine;
    struct symbols *symbols;
};

/* UNWINDER: enum unwind_engine_kind. 0 or -ENOMEM. */
int callchain_init(struct callchain *callchain, int unwinder);
void callchain_release(struct callchain *callchain);
/*
 * The addresses of THREAD, whose stack was copied, into RET[CAPACITY]: how many. Sets thread->end. Reads files, so that
 * it takes a while where they are met for the first time; the thread runs on meanwhile.
 */
size_t callchain_find(struct callchain *callchain, struct target *target, struct target_thread *thread,
                      uint64_t *ret, size_t capacity);
/* Makes thread->frames of them, with names, lines and inlined functions. 0 or -ENOMEM. */
int callchain_name(struct callchain *callchain, struct target *target, struct target_thread *thread,
                   const uint64_t *ips, size_t count);

#endif
