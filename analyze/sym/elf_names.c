/* SPDX-License-Identifier: MIT */
#include "analyze/sym/elf_names.h"

#include <string.h>

struct strings {
    const char *bytes;
    size_t size; /* 0 unless the last byte is a NUL; so each offset below it is a terminated string */
};

static struct strings strings_of(const struct elf_file *elf, const struct elf_file_section *section)
{
    const struct elf_file_section *strings = elf_file_section_by_number(elf, section->header.sh_link);
    struct strings result = {NULL, 0};

    if (!strings || strings->header.sh_type != SHT_STRTAB)
        return result;
    result.bytes = elf_file_data(strings, &result.size);
    if (result.size && result.bytes[result.size - 1] != '\0')
        result.size = 0;
    return result;
}

/* Mapping symbols ($a, $t, $x, $d, ...) tell a disassembler what follows; they are no names. */
static bool is_mapping_symbol(const struct elf_file *elf, const char *name)
{
    uint16_t machine = elf->header.e_machine;

    return name[0] == '$' && (machine == EM_ARM || machine == EM_AARCH64 || machine == EM_RISCV) && name[1] != '\0' &&
           (name[2] == '\0' || name[2] == '.' || machine == EM_RISCV);
}

static bool is_function(const GElf_Sym *symbol, uint32_t *ret_flags)
{
    switch (GELF_ST_TYPE(symbol->st_info)) {
    case STT_FUNC: return true;
    case STT_GNU_IFUNC: *ret_flags |= NAME_IFUNC; return true;
    case STT_NOTYPE:
        *ret_flags |= NAME_LABEL;
        return GELF_ST_VISIBILITY(symbol->st_other) != STV_HIDDEN &&
               GELF_ST_VISIBILITY(symbol->st_other) != STV_INTERNAL;
    default: return false;
    }
}

/* Adds ENTRY, which has START in SECTION, with the end and the binding of SYMBOL. */
static void add_entry(struct name_table *table, struct name_entry *entry, const GElf_Sym *symbol,
                      const struct elf_file_section *section)
{
    /* A symbol ends with its section at the latest: a hostile size must not cover the rest of the file. */
    entry->limit = section->header.sh_addr + section->header.sh_size;
    entry->end = symbol->st_size > entry->limit - entry->start ? entry->limit : entry->start + symbol->st_size;
    if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
        entry->flags |= NAME_WEAK;
    else if (GELF_ST_BIND(symbol->st_info) == STB_GLOBAL)
        entry->flags |= NAME_GLOBAL;
    name_table_add(table, entry);
}

static void add_symbol(struct name_table *table, const struct elf_file *elf, const struct elf_file *text,
                       const GElf_Sym *symbol, const struct strings *strings, uint32_t flags)
{
    const struct elf_file_section *section;
    struct name_entry entry = {.flags = flags};

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_shndx == SHN_COMMON ||
        symbol->st_name == 0 || symbol->st_name >= strings->size || !is_function(symbol, &entry.flags))
        return;
    entry.raw = strings->bytes + symbol->st_name;
    if (entry.raw[0] == '\0' || is_mapping_symbol(elf, entry.raw))
        return;
    entry.start = symbol->st_value;
    if (elf->header.e_machine == EM_ARM && GELF_ST_TYPE(symbol->st_info) == STT_FUNC)
        entry.start &= ~UINT64_C(1);
    section = elf_file_text_at(text, entry.start);
    if (section)
        add_entry(table, &entry, symbol, section);
}

/* Only what has a size: an address behind a label may belong to anything. */
static void add_variable(struct name_table *table, const struct elf_file *elf, const struct elf_file *text,
                         const GElf_Sym *symbol, const struct strings *strings, uint32_t flags)
{
    const struct elf_file_section *section;
    struct name_entry entry = {.flags = flags, .start = symbol->st_value};

    (void)text;
    section = symbol->st_shndx < SHN_LORESERVE ? elf_file_section_by_number(elf, symbol->st_shndx) : NULL;
    if (!section || !(section->header.sh_flags & SHF_ALLOC) || GELF_ST_TYPE(symbol->st_info) != STT_OBJECT ||
        symbol->st_size == 0 || symbol->st_name == 0 || symbol->st_name >= strings->size)
        return;
    entry.raw = strings->bytes + symbol->st_name;
    if (entry.raw[0] == '\0' || entry.start < section->header.sh_addr ||
        entry.start - section->header.sh_addr >= section->header.sh_size)
        return;
    add_entry(table, &entry, symbol, section);
}

typedef void add_one(struct name_table *table, const struct elf_file *elf, const struct elf_file *text,
                     const GElf_Sym *symbol, const struct strings *strings, uint32_t flags);

static void add_all(add_one *add, struct name_table *table, const struct elf_file *elf,
                    const struct elf_file_section *section, const struct elf_file *text, uint32_t flags)
{
    struct strings strings = strings_of(elf, section);
    Elf_Data *data = section->header.sh_size <= ELF_FILE_DATA_MAX ? elf_getdata(section->scn, NULL) : NULL;
    size_t entry_size = gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);

    if (!data || !data->d_buf || !strings.size || !entry_size)
        return;
    for (size_t i = 1; i < data->d_size / entry_size; i++) {
        GElf_Sym symbol;

        if (!gelf_getsym(data, (int)i, &symbol))
            return;
        add(table, elf, text, &symbol, &strings, flags);
    }
}

void elf_names_add(struct name_table *table, const struct elf_file *elf, const struct elf_file_section *section,
                   const struct elf_file *text, uint32_t flags)
{
    add_all(add_symbol, table, elf, section, text, flags);
}

void elf_names_add_variables(struct name_table *table, const struct elf_file *elf,
                             const struct elf_file_section *section, uint32_t flags)
{
    add_all(add_variable, table, elf, section, NULL, flags);
}

const char *elf_names_one(const struct elf_file *elf, const struct elf_file_section *section, size_t index,
                          uint64_t *ret_value)
{
    struct strings strings = strings_of(elf, section);
    Elf_Data *data = section->header.sh_size <= ELF_FILE_DATA_MAX ? elf_getdata(section->scn, NULL) : NULL;
    GElf_Sym symbol;

    if (!data || !data->d_buf || index > INT32_MAX || !gelf_getsym(data, (int)index, &symbol) ||
        symbol.st_name >= strings.size)
        return NULL;
    *ret_value = symbol.st_value;
    return strings.bytes + symbol.st_name;
}
