/* SPDX-License-Identifier: MIT */
/* What the names of an ELF file's addresses need of it: for archives. */
#ifndef ANALYZE_SYM_ELF_CUT_H
#define ANALYZE_SYM_ELF_CUT_H

#include <stddef.h>

/*
 * Reads PATH and leaves, in *RET (malloced), an ELF file with the same headers and build-id and the contents of the
 * symbol tables, the PLT stubs, the debug information that symbols_lines() reads (packed
 * by zlib), and of a stripped file .eh_frame; other sections stay as places without contents. Offsets in the file that
 * perf computes addresses by (of code, of the linkage table) are those of PATH. 0, -ENOEXEC (no ELF file, or one
 * without sections), -ENOMEM or -errno.
 */
int elf_cut(const char *path, unsigned char **ret, size_t *ret_size);

#endif
