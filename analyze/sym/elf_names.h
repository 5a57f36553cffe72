/* SPDX-License-Identifier: MIT */
/* Adds the names of an ELF file to a table. */
#ifndef ANALYZE_SYM_ELF_NAMES_H
#define ANALYZE_SYM_ELF_NAMES_H

#include "analyze/sym/elf_file.h"
#include "analyze/sym/name_table.h"

/*
 * Adds the functions of the symbol table SECTION of ELF (SHT_SYMTAB or SHT_DYNSYM; FLAGS: NAME_DYNSYM or 0). TEXT
 * says where code is: ELF itself, or the file that the debug file ELF belongs to. Names point into ELF, which must
 * outlive TABLE.
 */
void elf_names_add(struct name_table *table, const struct elf_file *elf, const struct elf_file_section *section,
                   const struct elf_file *text, uint32_t flags);

/* The same for variables. Those of threads are left out: their values are no addresses. */
void elf_names_add_variables(struct name_table *table, const struct elf_file *elf,
                             const struct elf_file_section *section, uint32_t flags);

/* The name of symbol INDEX of the table SECTION (for relocations), or NULL. *ret_value: its value. */
const char *elf_names_one(const struct elf_file *elf, const struct elf_file_section *section, size_t index,
                          uint64_t *ret_value);

/*
 * Adds the PLT stubs. TABLE must be finished before, since its names are used for indirect functions, and again after.
 */
void elf_names_add_plt(struct name_table *table, const struct elf_file *elf);

#endif
