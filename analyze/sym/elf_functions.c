/* SPDX-License-Identifier: MIT */
#include "analyze/sym/elf_functions.h"

#include <stdlib.h>
#include <string.h>

void elf_functions_read(struct elf_functions *functions, const struct elf_file *elf)
{
    const struct elf_file_section *section = elf_file_section(elf, ".eh_frame");
    const void *bytes;
    size_t size;

    if (!section || elf->header.e_ident[EI_CLASS] != ELFCLASS64 || elf->header.e_ident[EI_DATA] != ELFDATA2LSB)
        return;
    bytes = elf_file_data(section, &size);
    if (!bytes || !size)
        return;
    functions->cfi.bytes = malloc(size);
    if (!functions->cfi.bytes)
        return;
    memcpy(functions->cfi.bytes, bytes, size);
    functions->cfi.size = size;
    functions->cfi.address = section->header.sh_addr;
}

void elf_functions_release(struct elf_functions *functions)
{
    cfi_release(&functions->cfi);
    functions->indexed = false;
}

bool elf_functions_find(struct elf_functions *functions, uint64_t address, uint64_t *ret_start, uint64_t *ret_size)
{
    if (!functions->indexed && functions->cfi.bytes) {
        if (cfi_index(&functions->cfi) < 0) /* its entries are then not in order */
            cfi_release(&functions->cfi);
        free(functions->cfi.bytes);
        functions->cfi.bytes = NULL;
    }
    functions->indexed = true;
    return cfi_find_function(&functions->cfi, address, ret_start, ret_size);
}
