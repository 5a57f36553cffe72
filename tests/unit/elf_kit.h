/* SPDX-License-Identifier: MIT */
/* Makes ELF files of any class, byte order and machine, with the sections of a test. */
#ifndef UNIT_ELF_KIT_H
#define UNIT_ELF_KIT_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* The first one becomes section 1; the section name table is added as the last one. */
struct elf_kit_section {
    const char *name;
    uint32_t type;
    uint64_t flags, address, entry_size;
    uint32_t link;
    const void *bytes; /* NULL: `size` zeros */
    size_t size;
    Elf_Type as; /* type of `bytes`, which are in the byte order of this machine */
};

struct elf_kit_file {
    int class, order, machine; /* 0: ELFCLASS64, ELFDATA2LSB, EM_X86_64 */
    const GElf_Phdr *programs;
    size_t program_count;
};

/* Writes FILE (NULL: all 0) to PATH. */
void elf_kit_write(const char *path, const struct elf_kit_file *file, const struct elf_kit_section *sections,
                   size_t count);

/* Adds TEXT to the string table BYTES[*SIZE]; returns its offset. */
uint32_t elf_kit_text(char *bytes, size_t *size, const char *text);

#endif
