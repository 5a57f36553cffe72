/* SPDX-License-Identifier: MIT */
/* Finds the separate debug file of an ELF file. */
#ifndef ANALYZE_SYM_DEBUG_FILE_H
#define ANALYZE_SYM_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/sym/elf_file.h"

/* What follows ".build-id/xx/yyyy" in perf's build-id cache, and in archives. */
#define DEBUG_FILE_ELF   "/elf"
#define DEBUG_FILE_DEBUG "/debug"

struct debug_roots {
    const char *const *paths; /* like "/usr/lib/debug", in the order to try */
    size_t count;
    const char *symfs; /* put before the directories of recorded paths; "": none */
};

/*
 * Opens the debug file of ELF that has a .symtab: by build-id below each root, then by .gnu_debuglink beside the file
 * and below the roots. PATH is the recorded path. *ret_path is malloced. -ENOENT when there is none.
 */
int debug_file_init(struct elf_file *ret_debug, char **ret_path, const struct elf_file *elf, const char *path,
                    const struct debug_roots *roots);

/* Opens ROOT/.build-id/xx/yyyySUFFIX of the first root that has it, and checks its build-id. SUFFIX "" also tries
 * DEBUG_FILE_ELF, and ".debug" DEBUG_FILE_DEBUG. */
int debug_file_by_build_id(struct elf_file *ret_elf, char **ret_path, const unsigned char *build_id,
                           size_t build_id_size, const char *suffix, const struct debug_roots *roots);

#endif
