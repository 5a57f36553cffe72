/* SPDX-License-Identifier: MIT */
/*
 * Stack dumps of `perf record --call-graph dwarf`: registers and a piece of stack with each sample, which perf leaves to
 * whoever reads. Unwound by unwind/, in the files that were mapped, found as names are (symfs, build-ids).
 */
#ifndef ANALYZE_MODEL_DUMPS_H
#define ANALYZE_MODEL_DUMPS_H

#include "analyze/model/space.h"
#include "analyze/model/store.h"
#include "analyze/read/record.h"
#include "unwind/unwind.h"

/* Deeper than perf's 127: nobody is interested in where a limit cuts. */
enum { DUMPS_DEPTH = 1024 };

struct dumps {
    struct unwind_files *files;
    struct unwind_file **of_module; /* by module of the store */
    bool *asked;                    /* of_module is known */
    uint32_t modules;
    struct store *store;
    const char *symfs;              /* "" for none; not owned */
    const char *const *debug_paths; /* not owned */
    size_t debug_path_count;
    bool vdso;                      /* the recorded kernel is the running one */
    const struct space *user;       /* of the stack that is being unwound */
    uint64_t ips[DUMPS_DEPTH];
};

/* Whether the user part of SAMPLE's chain is a dump. */
bool dumps_has(const struct record *sample);

/*
 * The chain into dumps->ips, leaf first, and why it ends. 0: it cannot be unwound, recorded on another kind of machine
 * or without the registers that it takes.
 */
unsigned dumps_unwind(struct dumps *dumps, const struct space *user, const struct record *sample,
                      enum unwind_end *ret_end);
void dumps_release(struct dumps *dumps);

#endif
