/* SPDX-License-Identifier: MIT */
/*
 * Stack dumps of `perf record --call-graph dwarf`: registers and a piece of stack with each sample, which perf leaves
 * to whoever reads. Unwound by unwind/, in the files that were mapped, found as names are (symfs, build-ids).
 */
#ifndef ANALYZE_MODEL_DUMPS_H
#define ANALYZE_MODEL_DUMPS_H

#include "analyze/model/space.h"
#include "analyze/model/store.h"
#include "analyze/read/record.h"
#include "unwind/engine.h"

enum {
    DUMPS_DEPTH = 1024,         /* deeper than perf's 127: nobody is interested in where a limit cuts */
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
    bool native;                    /* the dumps have the registers of this machine */
    bool vdso;                      /* the recorded kernel is the running one */
    const struct space *user;       /* of the stack that is being unwound */
    uint64_t chain[DUMPS_RECORDED + 1 + DUMPS_DEPTH];
    uint64_t ends[UNWIND_ENDS];     /* how often unwinding ended so, */
    uint64_t left;                  /* and how often it could not begin */
};

/*
 * SAMPLE as if its user part had been recorded as a call chain. It is left as it is where that was so, and where a dump
 * cannot be unwound: recorded on another kind of machine, or without the needed registers. The chain is good
 * until the next call.
 */
struct record dumps_unwound(struct dumps *dumps, const struct space *user, const struct record *sample);
void dumps_release(struct dumps *dumps);

#endif
