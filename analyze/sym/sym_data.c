/* SPDX-License-Identifier: MIT */
/* Names of variables in files. */
#include "analyze/sym/elf_names.h"
#include "analyze/sym/sym_dso.h"

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
    for (size_t i = 0; i < dso->elf.load_count; i++) {
        const GElf_Phdr *load = &dso->elf.loads[i];

        if (found >= load->p_vaddr && found - load->p_vaddr < load->p_memsz) {
            *ret_virtual = found;
            return true;
        }
    }
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
