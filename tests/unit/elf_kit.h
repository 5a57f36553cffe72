/* SPDX-License-Identifier: MIT */
/* ELF files of any class, byte order and machine, with sections that a test says. */
#ifndef UNIT_ELF_KIT_H
#define UNIT_ELF_KIT_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* The first one is section 1; the table of names is added as the last one. */
struct elf_kit_section {
    const char *name;
    uint32_t type;
    uint64_t flags, address, entry_size;
    uint32_t link;
    const void *bytes; /* NULL: SIZE zeros */
    size_t size;
    Elf_Type as; /* what BYTES are, in the byte order of this machine */
};

struct elf_kit_file {
    int class, order, machine; /* 0: ELFCLASS64, ELFDATA2LSB, EM_X86_64 */
    const GElf_Phdr *programs;
    size_t program_count;
};

/* Writes FILE (NULL: all 0) to PATH. */
void elf_kit_write(const char *path, const struct elf_kit_file *file, const struct elf_kit_section *sections,
                   size_t count);

/* A table of strings: adds TEXT to BYTES[*SIZE]; its offset. */
uint32_t elf_kit_text(char *bytes, size_t *size, const char *text);

#endif
