/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inlined functions of addresses, from the debug information of one DSO. Nothing is global: several
 * DSOs may be looked up by several threads, each DSO by one at a time.
 */
#ifndef ANALYZE_SYM_DWARF_INFO_H
#define ANALYZE_SYM_DWARF_INFO_H

#include "analyze/sym/debug_file.h"
#include "analyze/sym/dwarf_unit.h"
#include "analyze/sym/name_pool.h"

enum { DWARF_FRAMES_MAX = 128 }; /* functions inlined into each other; more are left out */

struct dwarf_frame {
    const char *linkage, *name; /* of the function; NULL: unknown */
    const char *path;           /* of the source file; NULL: unknown */
    uint32_t line, column;      /* 0: unknown */
    const char **shown;         /* for the caller: the name that it shows for the function; NULL at first */
};

struct dwarf_places {
    const char *file; /* with the debug information; its .dwp, .dwo and linked files are looked for beside it */
    const char *path; /* of the DSO, as recorded */
    const struct debug_roots *roots;
};

enum dwarf_missing {
    DWARF_MISSING_SUP = 1,   /* the supplementary file of dwz */
    DWARF_MISSING_SPLIT = 2, /* a .dwo or .dwp */
    DWARF_MISSING_PART = 4,  /* sections or units that are damaged, or compressed in an unknown way */
};

struct dwarf;

/*
 * Takes ownership of DEBUG, also on failure. TEXT says where code is; TEXT, PLACES and POOL (for paths) must outlive
 * *RET. 0, -ENOEXEC (no usable debug information), -ENOMEM.
 */
int dwarf_new(struct elf_file *debug, const struct elf_file *text, const struct dwarf_places *places,
              struct name_pool *pool, struct dwarf **ret);
void dwarf_free(struct dwarf *dwarf);

/*
 * The functions at ADDRESS (virtual, of the DSO): the innermost inlined one first, the one that contains the code
 * last. Returns their number; 0: nothing is known. RET has room for DWARF_FRAMES_MAX; strings live as long as DWARF and
 * the pool.
 */
size_t dwarf_find(struct dwarf *dwarf, uint64_t address, struct dwarf_frame *ret);
/* Calls EACH for the rows of the line tables from START up to END, in no order. PATH NULL: no line from here on.
 * DIRECTORY: the unit's compilation directory; NULL: unknown. */
typedef void dwarf_each_row(void *context, uint64_t address, const char *directory, const char *path, uint32_t line);
void dwarf_rows(struct dwarf *dwarf, uint64_t start, uint64_t end, dwarf_each_row *each, void *context);
/* Bits of enum dwarf_missing; covers only what was read so far. */
unsigned dwarf_missing(const struct dwarf *dwarf);

/* For archives: calls EACH for every further file that was read, with its path, and the place below a root of debug
 * files where a reader looks for it. */
typedef void dwarf_each_file(void *context, const char *path, const char *place);
void dwarf_files(const struct dwarf *dwarf, dwarf_each_file *each, void *context);

#endif
