/* SPDX-License-Identifier: MIT */
/* Where functions begin and end: .eh_frame still tells that of a file whose symbols were stripped. */
#ifndef ANALYZE_SYM_ELF_FUNCTIONS_H
#define ANALYZE_SYM_ELF_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/sym/elf_file.h"
#include "unwind/cfi.h"

struct elf_functions {
    struct cfi cfi;
    bool indexed;
};

/*
 * Copies the table of ELF, before elf_file_settle(), into FUNCTIONS (zeroed). It is read when the first address is
 * looked for. A file without one (or of 32 bits, or of the other byte order) has no functions.
 */
void elf_functions_read(struct elf_functions *functions, const struct elf_file *elf);
void elf_functions_release(struct elf_functions *functions);
/* The function that holds the virtual ADDRESS. Of a function in several pieces (".cold") each is one. */
bool elf_functions_find(struct elf_functions *functions, uint64_t address, uint64_t *ret_start, uint64_t *ret_size);

#endif
