/* SPDX-License-Identifier: MIT */
/* For tests of names in ELF files: a file with one .text and the symbols of a test, and its names. */
#ifndef UNIT_ELF_NAMES_KIT_H
#define UNIT_ELF_NAMES_KIT_H

#include "analyze/sym/elf_names.h"
#include "elf_kit.h"

enum { TEXT = 0x1000, TEXT_SIZE = 0x100 };

static char path[] = "/tmp/pinject-elf-names-XXXXXX";

static __attribute__((unused)) int set_up(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static __attribute__((unused)) int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static struct names {
    struct elf_file elf;
    struct name_pool pool;
    struct name_table table;
} names;

/* Reads the file at `path` and the symbols of its .dynsym. */
static __attribute__((unused)) void read_names(void)
{
    const struct elf_file_section *symbols;
    memset(&names, 0, sizeof(names));
    assert_int_equal(elf_file_init(&names.elf, path), 0);
    name_table_init(&names.table, &names.pool, true);
    symbols = elf_file_section_by_type(&names.elf, SHT_DYNSYM);
    assert_non_null(symbols);
    elf_names_add(&names.table, &names.elf, symbols, &names.elf, NAME_DYNSYM);
}

static __attribute__((unused)) void release_names(void)
{
    name_table_release(&names.table);
    name_pool_release(&names.pool);
    elf_file_release(&names.elf);
}

/* ---- symbols */

static char strings[4096];
static size_t strings_size;
static Elf64_Sym symbols[64];
static Elf32_Sym symbols32[64];
static size_t symbol_count;

static __attribute__((unused)) void begin_symbols(void)
{
    strings_size = symbol_count = 1;
    strings[0] = '\0';
    memset(symbols, 0, sizeof(symbols));
    memset(symbols32, 0, sizeof(symbols32));
}

static __attribute__((unused)) Elf64_Sym *put_symbol(const char *name, int bind, int type, uint16_t section,
                                                     uint64_t value, uint64_t size)
{
    Elf64_Sym *symbol = &symbols[symbol_count];
    *symbol = (Elf64_Sym){.st_name = elf_kit_text(strings, &strings_size, name),
                          .st_info = (unsigned char)ELF64_ST_INFO(bind, type),
                          .st_shndx = section,
                          .st_value = value,
                          .st_size = size};
    symbols32[symbol_count++] = (Elf32_Sym){.st_name = symbol->st_name,
                                            .st_info = symbol->st_info,
                                            .st_shndx = section,
                                            .st_value = (Elf32_Addr)value,
                                            .st_size = (Elf32_Word)size};
    return symbol;
}

/* Writes a file with .text, .dynsym and .dynstr, then MORE. */
static __attribute__((unused)) void write_symbols(const struct elf_kit_file *file, const struct elf_kit_section *more,
                                                  size_t more_count)
{
    bool small = file && file->class == ELFCLASS32;
    struct elf_kit_section sections[64] = {
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, .size = TEXT_SIZE},
        {".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x800, small ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym), .link = 3,
         .bytes = small ? (void *)symbols32 : (void *)symbols,
         .size = symbol_count * (small ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym)), .as = ELF_T_SYM},
        {".dynstr", SHT_STRTAB, SHF_ALLOC, 0xc00, .bytes = strings, .size = strings_size},
    };
    assert_true(more_count <= 61);
    if (more_count)
        memcpy(sections + 3, more, more_count * sizeof(*more));
    elf_kit_write(path, file, sections, 3 + more_count);
}

#endif
