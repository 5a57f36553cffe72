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
    const char **shown;         /* where the caller may keep what it shows of the function; NULL at first */
};

struct dwarf_places {
    const char *file; /* that the debug information was read from: beside it lie .dwp, .dwo and what it links to */
    const char *path; /* of the DSO, as recorded */
    const struct debug_roots *roots;
};

enum dwarf_missing {
    DWARF_MISSING_SUP = 1,   /* what dwz moved to another file */
    DWARF_MISSING_SPLIT = 2, /* a .dwo or .dwp */
    DWARF_MISSING_PART = 4,  /* sections or units that are damaged, or packed in an unknown way */
};

struct dwarf;

/*
 * Takes DEBUG over, also on failure. TEXT tells where code is; it, PLACES and POOL (for paths) must live on. 0,
 * -ENOEXEC (there is no debug information that can be used), -ENOMEM.
 */
int dwarf_new(struct elf_file *debug, const struct elf_file *text, const struct dwarf_places *places,
              struct name_pool *pool, struct dwarf **ret);
void dwarf_free(struct dwarf *dwarf);

/*
 * What ADDRESS (virtual, of the DSO) stands for, the innermost inlined function first; the last one has code of its
 * own. How many; 0: nothing is known. RET has room for DWARF_FRAMES_MAX; strings live as long as DWARF and the pool.
 */
size_t dwarf_find(struct dwarf *dwarf, uint64_t address, struct dwarf_frame *ret);
/* Calls EACH for the rows of the line tables from START up to END, not in order; PATH NULL: no line from here on.
 * DIRECTORY: in which the unit was compiled, as it says; NULL: unknown. */
typedef void dwarf_each_row(void *context, uint64_t address, const char *directory, const char *path, uint32_t line);
void dwarf_rows(struct dwarf *dwarf, uint64_t start, uint64_t end, dwarf_each_row *each, void *context);
/* Bits of enum dwarf_missing, of what was looked at so far. */
unsigned dwarf_missing(const struct dwarf *dwarf);

/* For archives: calls EACH for every further file that was read: path, and where below a root of debug files a reader
 * looks for it. */
typedef void dwarf_each_file(void *context, const char *path, const char *place);
void dwarf_files(const struct dwarf *dwarf, dwarf_each_file *each, void *context);

#endif
