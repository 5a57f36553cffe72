/* SPDX-License-Identifier: MIT */
/* Turns registers and a copied stack into functions and lines; private to pstack/. */
#ifndef PSTACK_CALLCHAIN_H
#define PSTACK_CALLCHAIN_H

#include "target.h"
#include "unwind/engine.h"

struct symbols;

/* Shared by all processes of one answer. */
struct callchain {
    struct unwind_files *files;
    struct unwind_engine *engine;
    struct symbols *symbols;
};

/* UNWINDER: enum unwind_engine_kind. 0 or -ENOMEM. */
int callchain_init(struct callchain *callchain, int unwinder);
void callchain_release(struct callchain *callchain);
/*
 * Writes the addresses of THREAD, whose stack was copied, to RET[CAPACITY] and returns their number. Sets thread->end.
 * It takes a while for files that were not read yet; the thread runs on meanwhile.
 */
size_t callchain_find(struct callchain *callchain, struct target *target, struct target_thread *thread, uint64_t *ret,
                      size_t capacity);
/* Makes thread->frames from IPS[COUNT], with names, lines and inlined functions. 0 or -ENOMEM. */
int callchain_name(struct callchain *callchain, struct target *target, struct target_thread *thread,
                   const uint64_t *ips, size_t count);

#endif
