/* SPDX-License-Identifier: MIT */
/* .gnu_debugdata: a symbol table, compressed by xz, that some distributions leave in stripped programs. */
#ifndef ANALYZE_SYM_MINI_DEBUG_H
#define ANALYZE_SYM_MINI_DEBUG_H

#include "analyze/sym/elf_file.h"

/* Opens the ELF file in that section of ELF. 0, -ENOENT (no section), -ENOTSUP (built without liblzma), -ENOEXEC,
 * -ENOMEM. */
int mini_debug_init(struct elf_file *ret_mini, const struct elf_file *elf);

#endif
