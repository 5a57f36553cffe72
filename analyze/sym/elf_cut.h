/* SPDX-License-Identifier: MIT */
/* Reduces an ELF file to what symbolization needs, for archives. */
#ifndef ANALYZE_SYM_ELF_CUT_H
#define ANALYZE_SYM_ELF_CUT_H

#include <stddef.h>

/*
 * Reads PATH and makes, in *RET (malloced), an ELF file with the same headers and build-id. It has the contents of the
 * symbol tables, of the PLT stubs, of the debug information that symbols_lines() reads (compressed by zlib), and of
 * .eh_frame if PATH is stripped; other sections stay without contents. The file offsets that perf computes addresses
 * from (of code and of the PLT) are those of PATH. 0, -ENOEXEC (no ELF file, or one without sections), -ENOMEM or
 * -errno.
 */
int elf_cut(const char *path, unsigned char **ret, size_t *ret_size);

#endif
