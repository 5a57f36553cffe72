/* SPDX-License-Identifier: MIT */
/* Definitions of struct symbols and struct symbols_dso, for the files of this directory. */
#ifndef ANALYZE_SYM_SYM_DSO_H
#define ANALYZE_SYM_SYM_DSO_H

#include "analyze/sym/debug_file.h"
#include "analyze/sym/debuginfod.h"
#include "analyze/sym/dwarf_info.h"
#include "analyze/sym/elf_file.h"
#include "analyze/sym/elf_functions.h"
#include "analyze/sym/name_table.h"
#include "analyze/sym/symbols.h"
#include "analyze/sym/text_names.h"
#include "common/table.h"

struct symbols {
    struct symbols_dso *dsos; /* by key */
    struct debug_roots roots;
    char *symfs;        /* "" for none */
    char **debug_paths; /* roots.paths points here */
    bool no_demangle, no_kernel;
    struct debuginfod *debuginfod; /* NULL: no server is asked */
    int debuginfod_error;
};

enum dso_kind {
    DSO_FILE,
    DSO_KERNEL,
    DSO_JIT,
};

struct symbols_dso {
    UT_hash_handle hh; /* of owner->dsos */
    struct symbols *owner;
    unsigned char *key; /* its unique key in owner->dsos */
    enum dso_kind kind;
    char *path;
    unsigned char build_id[ELF_FILE_BUILD_ID_MAX]; /* as recorded */
    size_t build_id_size;
    uint32_t pid;                /* of generated code */
    char *dump;                  /* its jitdump file, or NULL */
    char *osrelease, *reference; /* of a kernel, or NULL */
    uint64_t reference_address;

    bool loaded;
    unsigned missing;
    const char *why;
    bool has_elf, has_debug, has_mini;
    bool replaced;                    /* its path has another build */
    struct elf_file elf, debug, mini; /* mini: of .gnu_debugdata */
    char *file, *debug_file;
    struct text_names text;
    struct name_pool pool;
    struct name_table table;
    struct elf_functions functions; /* of a stripped file */
    bool variables_loaded;
    struct name_table variables;
    char *listing;  /* of a kernel: the file with its symbols, or NULL */
    uint64_t shift; /* recorded kernel addresses minus present ones */

    /* Debug information, from the first symbols_lines() on: */
    bool lines_loaded;
    const char *lines_why;  /* why there is none; NULL: there is */
    const char *lines_file; /* file, debug_file or fetched_file */
    char *fetched_file;     /* from a debuginfod server */
    struct dwarf_places places;
    struct dwarf *dwarf;
};

/* Each reads the names of a DSO of its kind, once, and notes what is missing by sym_dso_missing(). */
void sym_dso_load_file(struct symbols_dso *dso);
void sym_dso_load_kernel(struct symbols_dso *dso);
void sym_dso_load_jit(struct symbols_dso *dso);

/* Notes that names are missing; the first reason is shown. WHY must outlive DSO. */
void sym_dso_missing(struct symbols_dso *dso, enum symbols_missing missing, const char *why);

#endif
