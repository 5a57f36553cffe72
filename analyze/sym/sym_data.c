/* SPDX-License-Identifier: MIT */
/* Names of variables in files. */
#include "analyze/sym/elf_names.h"
#include "analyze/sym/sym_dso.h"

#define SMALLEST_PAGE 0x1000
#define LARGEST_PAGE  0x10000

static const GElf_Phdr *code_of(const struct elf_file *elf, const struct symbols_mapping *mapping)
{
    for (size_t i = 0; i < elf->load_count; i++) {
        const GElf_Phdr *load = &elf->loads[i];

        /* A mapping begins at a page, so it may begin before its segment. */
        if ((load->p_flags & PF_X) &&
            (load->p_offset >= mapping->pgoff ? load->p_offset - mapping->pgoff < mapping->size
                                              : mapping->pgoff - load->p_offset < load->p_filesz))
            return load;
    }
    return NULL;
}

static const GElf_Phdr *segment_of(const struct symbols_dso *dso, uint64_t virtual)
{
    for (size_t i = 0; i < dso->elf.load_count; i++) {
        const GElf_Phdr *load = &dso->elf.loads[i];

        if (virtual >= load->p_vaddr && virtual - load->p_vaddr < load->p_memsz)
            return load;
    }
    return NULL;
}

bool symbols_virtual(struct symbols_dso *dso, const struct symbols_mapping *mapping, uint64_t address,
                     uint64_t *ret_virtual)
{
    const GElf_Phdr *code;
    uint64_t found;

    (void)symbols_missing(dso); /* opens the file */
    code = dso->kind == DSO_FILE && dso->has_elf ? code_of(&dso->elf, mapping) : NULL;
    if (!code)
        return false;
    /* Numbers of a hostile file may overflow; then no segment has the result. */
    found = address - mapping->start + mapping->pgoff - code->p_offset + code->p_vaddr;
    if (!segment_of(dso, found))
        return false;
    *ret_virtual = found;
    return true;
}

bool symbols_is_zeroed(const struct symbols_dso *dso, uint64_t virtual, uint64_t start)
{
    const GElf_Phdr *load = segment_of(dso, virtual);
    uint64_t end;

    if (!load || load->p_memsz <= load->p_filesz)
        return false;
    end = load->p_vaddr + load->p_filesz;
    /* A segment is aligned to the largest pages that its machine can have. */
    for (uint64_t page = SMALLEST_PAGE; page == SMALLEST_PAGE || (page <= LARGEST_PAGE && page <= load->p_align);
         page *= 4)
        if (start == ((end + page - 1) & ~(page - 1)))
            return true;
    return false;
}

static void add_table(struct symbols_dso *dso, const struct elf_file *elf, uint32_t type, uint32_t flags)
{
    const struct elf_file_section *section = elf_file_section_by_type(elf, type);

    if (section)
        elf_names_add_variables(&dso->variables, elf, section, flags);
}

/* The symbol tables were read for the functions, and stay in memory. */
static void load_variables(struct symbols_dso *dso)
{
    if (dso->variables_loaded)
        return;
    dso->variables_loaded = true;
    (void)symbols_missing(dso);
    if (dso->has_debug)
        add_table(dso, &dso->debug, SHT_SYMTAB, 0);
    if (dso->has_elf)
        add_table(dso, &dso->elf, SHT_SYMTAB, 0);
    if (dso->has_elf)
        add_table(dso, &dso->elf, SHT_DYNSYM, NAME_DYNSYM);
    name_table_finish(&dso->variables, NAME_BEST_ALIAS);
}

bool symbols_variable(struct symbols_dso *dso, uint64_t virtual, struct symbol *ret_symbol)
{
    struct name_entry *entry;

    load_variables(dso);
    entry = name_table_find(&dso->variables, virtual);
    if (!entry)
        return false;
    *ret_symbol = (struct symbol){
        .name = name_table_name(&dso->variables, entry),
        .raw_name = entry->raw,
        .start = entry->start,
        .size = entry->end - entry->start,
        .address = virtual,
        .from_dynsym = entry->flags & NAME_DYNSYM,
    };
    return true;
}
