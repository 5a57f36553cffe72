/* SPDX-License-Identifier: MIT */
/*
 * Stack dumps of `perf record --call-graph dwarf`: each sample has registers and a copy of part of the stack, and the
 * reader has to unwind it. unwind/ does that, with the mapped files; they are found like those for names (symfs,
 * build-ids).
 */
#ifndef ANALYZE_MODEL_DUMPS_H
#define ANALYZE_MODEL_DUMPS_H

#include "analyze/model/space.h"
#include "analyze/model/store.h"
#include "analyze/read/record.h"
#include "unwind/engine.h"

enum {
    DUMPS_DEPTH = 1024,         /* more than perf's 127, so that stacks are not cut */
    DUMPS_RECORDED = 65536 / 8, /* addresses that a record can have */
};

struct dumps {
    struct unwind_files *files;
    struct unwind_engine *engine;
    int unwinder;                   /* enum unwind_engine_kind */
    struct unwind_file **of_module; /* by module of the store */
    bool *asked;                    /* of_module is known */
    uint32_t modules;
    const struct store *store;
    const char *symfs;              /* "" for none; not owned */
    const char *const *debug_paths; /* not owned */
    size_t debug_path_count;
    bool native;              /* the dumps have the registers of this machine */
    bool vdso;                /* the recorded kernel is the running one */
    const struct space *user; /* of the stack being unwound */
    uint64_t chain[DUMPS_RECORDED + 1 + DUMPS_DEPTH];
    uint64_t ends[UNWIND_ENDS]; /* number of stacks by how unwinding ended, */
    uint64_t left;              /* and of those where it could not begin */
};

/*
 * SAMPLE with its user part as a call chain. Returned as it is if it already has that, or if its dump cannot be
 * unwound: recorded on another kind of machine, or without the needed registers. The chain is valid until the next
 * call.
 */
struct record dumps_unwound(struct dumps *dumps, const struct space *user, const struct record *sample);
void dumps_release(struct dumps *dumps);

#endif
