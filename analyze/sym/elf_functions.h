/* SPDX-License-Identifier: MIT */
/* Bounds of functions from .eh_frame, which stripped files still have. */
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
 * Copies .eh_frame of ELF into FUNCTIONS (zeroed); to be called before elf_file_settle(). It is parsed when the first
 * address is looked up. A file without it, of 32 bits, or of the other byte order has no functions.
 */
void elf_functions_read(struct elf_functions *functions, const struct elf_file *elf);
void elf_functions_release(struct elf_functions *functions);
/* The function that contains the virtual ADDRESS. Each piece of a split function (".cold") is one of its own. */
bool elf_functions_find(struct elf_functions *functions, uint64_t address, uint64_t *ret_start, uint64_t *ret_size);

#endif
