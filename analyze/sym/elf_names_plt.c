/* SPDX-License-Identifier: MIT */
/*
 * Names for the PLT stubs. On x86 and aarch64 the code of a stub says which GOT slot it jumps through, and a relocation
 * says which function the slot is for: that is right for every linker and every kind of table (.plt, .plt.sec,
 * .plt.got). On other machines the stubs are assumed to be in the order of .rela.plt.
 */
#include "analyze/sym/elf_names.h"

#include <stdlib.h>
#include <string.h>

/* More sections of a kind than any linker makes; a hostile file may have thousands that share the same megabytes. */
enum { PLT_SECTIONS_MAX = 16 };

struct slot {
    uint64_t address;  /* of the GOT slot */
    uint64_t resolver; /* of an indirect function without a symbol, else 0 */
    size_t symbol;     /* index in symbols */
};

struct plt {
    struct name_table *table;
    const struct elf_file *elf;
    const struct elf_file_section *symbols; /* .dynsym */
    struct slot *slots;                     /* by address */
    size_t slot_count, slot_capacity;
    struct slot *jumps; /* slots of .rela.plt, in its order */
    size_t jump_count, jump_capacity;
    uint64_t got; /* the value of %ebx on i386 */
};

static bool keep_slot(struct slot **slots, size_t *count, size_t *capacity, const struct slot *slot)
{
    if (*count == *capacity) {
        size_t wanted = *capacity ? 2 * *capacity : 64;
        struct slot *grown = realloc(*slots, wanted * sizeof(*grown));

        if (!grown)
            return false;
        *slots = grown;
        *capacity = wanted;
    }
    (*slots)[(*count)++] = *slot;
    return true;
}

static bool is_irelative(const struct elf_file *elf, uint64_t type)
{
    switch (elf->header.e_machine) {
    case EM_X86_64: return type == R_X86_64_IRELATIVE;
    case EM_386: return type == R_386_IRELATIVE;
    case EM_AARCH64: return type == R_AARCH64_IRELATIVE;
    default: return false;
    }
}

static bool read_relocation(const struct elf_file_section *section, Elf_Data *data, int index, GElf_Rela *ret)
{
    GElf_Rel rel;

    if (section->header.sh_type == SHT_RELA)
        return gelf_getrela(data, index, ret) != NULL;
    if (!gelf_getrel(data, index, &rel))
        return false;
    *ret = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
    return true;
}

static bool read_relocations(struct plt *plt, const struct elf_file_section *section)
{
    bool of_plt = !strcmp(section->name, ".rela.plt") || !strcmp(section->name, ".rel.plt");
    Elf_Data *data = section->header.sh_size <= ELF_FILE_DATA_MAX ? elf_getdata(section->scn, NULL) : NULL;
    size_t entry_size = gelf_fsize(plt->elf->elf, section->header.sh_type == SHT_RELA ? ELF_T_RELA : ELF_T_REL, 1,
                                   EV_CURRENT);

    for (size_t i = 0; data && data->d_buf && entry_size && i < data->d_size / entry_size; i++) {
        struct slot slot = {0};
        GElf_Rela rela;

        if (!read_relocation(section, data, (int)i, &rela))
            break;
        slot.address = rela.r_offset;
        slot.symbol = GELF_R_SYM(rela.r_info);
        if (!slot.symbol && is_irelative(plt->elf, GELF_R_TYPE(rela.r_info)))
            slot.resolver = (uint64_t)rela.r_addend;
        if (of_plt && !keep_slot(&plt->jumps, &plt->jump_count, &plt->jump_capacity, &slot))
            return false;
        if ((slot.symbol || slot.resolver) && !keep_slot(&plt->slots, &plt->slot_count, &plt->slot_capacity, &slot))
            return false;
    }
    return true;
}

static int by_address(const void *one, const void *other)
{
    const struct slot *a = one, *b = other;

    return (a->address > b->address) - (a->address < b->address);
}

static const struct slot *find_slot(const struct plt *plt, uint64_t address)
{
    struct slot key = {.address = address};

    return plt->slot_count ? bsearch(&key, plt->slots, plt->slot_count, sizeof(key), by_address) : NULL;
}

static void add_stub(struct plt *plt, uint64_t start, uint64_t size, const struct slot *slot)
{
    struct name_entry entry = {.start = start, .end = start + size, .limit = start + size};
    uint64_t value;

    entry.flags = NAME_PLT | NAME_GLOBAL;
    if (slot->symbol && plt->symbols) {
        entry.raw = elf_names_one(plt->elf, plt->symbols, slot->symbol, &value);
    } else if (slot->resolver) {
        const struct name_entry *function = name_table_find(plt->table, slot->resolver);

        if (function && function->start == slot->resolver)
            entry.raw = function->raw;
    }
    if (entry.raw && entry.raw[0])
        name_table_add(plt->table, &entry);
}

static uint32_t little_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

/* The GOT slot that the x86 stub BYTES[SIZE] at ADDRESS jumps through, or NULL. */
static const struct slot *x86_slot(const struct plt *plt, const unsigned char *bytes, size_t size, uint64_t address)
{
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, endbr32[] = {0xf3, 0x0f, 0x1e, 0xfb};
    size_t at = 0;

    if (size >= 4 && (!memcmp(bytes, endbr64, 4) || !memcmp(bytes, endbr32, 4)))
        at = 4;
    /* push of an index into .rela.plt: the lazy half of a table whose other half is .plt.sec */
    if (at + 5 <= size && bytes[at] == 0x68 && plt->elf->header.e_machine == EM_X86_64) {
        uint32_t index = little_u32(bytes + at + 1);

        return index < plt->jump_count ? &plt->jumps[index] : NULL;
    }
    if (at < size && bytes[at] == 0xf2) /* bnd */
        at++;
    if (at + 6 > size || bytes[at] != 0xff)
        return NULL;
    if (bytes[at + 1] == 0x25 && plt->elf->header.e_machine == EM_X86_64)
        return find_slot(plt, address + at + 6 + (uint64_t)(int64_t)(int32_t)little_u32(bytes + at + 2));
    if (bytes[at + 1] == 0x25)
        return find_slot(plt, little_u32(bytes + at + 2));
    if (bytes[at + 1] == 0xa3 && plt->elf->header.e_machine == EM_386)
        return find_slot(plt, (uint32_t)(plt->got + little_u32(bytes + at + 2)));
    return NULL;
}

static void add_x86_stubs(struct plt *plt, const struct elf_file_section *section, const unsigned char *bytes,
                          size_t size)
{
    static const unsigned char push_got[] = {0xff, 0x35};
    uint64_t step = section->header.sh_entsize;

    if (step != 8 && step != 16 && step != 32)
        step = 16;
    for (size_t at = 0; at < size; at += step) {
        size_t left = size - at < step ? size - at : step;
        uint64_t address = section->header.sh_addr + at;
        const struct slot *slot = x86_slot(plt, bytes + at, left, address);

        if (slot) {
            add_stub(plt, address, left, slot);
        } else if (at == 0 && left >= 2 && !memcmp(bytes, push_got, 2)) {
            /* The stub that all others jump to until their function is bound. */
            struct name_entry entry = {.start = address, .end = address + left, .limit = address + left};

            entry.raw = entry.name = ".plt";
            entry.flags = NAME_PLT;
            name_table_add(plt->table, &entry);
        }
    }
}

static void add_aarch64_stubs(struct plt *plt, const struct elf_file_section *section, const unsigned char *bytes,
                              size_t size)
{
    enum { BTI_C = 0xd503245f, BR_X17 = 0xd61f0220 };
    uint64_t page = 0;
    bool have_page = false;
    const struct slot *slot = NULL;
    size_t start = 0;

    for (size_t at = 0; at + 4 <= size; at += 4) {
        uint32_t code = little_u32(bytes + at);

        if ((code & 0x9f00001f) == 0x90000010) { /* adrp x16, page */
            uint64_t pages = ((uint64_t)(code >> 5 & 0x7ffff) << 2) | (code >> 29 & 3);

            if (pages & 0x100000)
                pages |= ~UINT64_C(0x1fffff);
            page = ((section->header.sh_addr + at) & ~UINT64_C(0xfff)) + (pages << 12);
            have_page = true;
            start = at >= 4 && little_u32(bytes + at - 4) == BTI_C ? at - 4 : at;
        } else if ((code & 0xffc003ff) == 0xf9400211 && have_page) { /* ldr x17, [x16, #offset] */
            slot = find_slot(plt, page + (code >> 10 & 0xfff) * 8);
        } else if (code == (uint32_t)BR_X17) {
            if (slot)
                add_stub(plt, section->header.sh_addr + start, at + 4 - start, slot);
            slot = NULL;
            have_page = false;
        }
    }
}

static void add_stubs_in_order(struct plt *plt, const struct elf_file_section *section)
{
    uint64_t step = section->header.sh_entsize, size = section->header.sh_size;

    if (strcmp(section->name, ".plt") || step < 4 || step > 64 || plt->jump_count > size / step)
        return;
    for (size_t i = 0; i < plt->jump_count; i++)
        add_stub(plt, section->header.sh_addr + size - (plt->jump_count - i) * step, step, &plt->jumps[i]);
}

static void add_section_stubs(struct plt *plt, const struct elf_file_section *section)
{
    const unsigned char *bytes;
    size_t size;

    if (!(section->header.sh_flags & SHF_EXECINSTR) || section->header.sh_type != SHT_PROGBITS)
        return;
    bytes = elf_file_data(section, &size);
    if (!bytes)
        return;
    if (plt->elf->header.e_machine == EM_X86_64 || plt->elf->header.e_machine == EM_386)
        add_x86_stubs(plt, section, bytes, size);
    else if (plt->elf->header.e_machine == EM_AARCH64)
        add_aarch64_stubs(plt, section, bytes, size);
    else
        add_stubs_in_order(plt, section);
}

void elf_names_add_plt(struct name_table *table, const struct elf_file *elf)
{
    const struct elf_file_section *got = elf_file_section(elf, ".got.plt");
    struct plt plt = {.table = table, .elf = elf};

    plt.symbols = elf_file_section_by_type(elf, SHT_DYNSYM);
    if (!got)
        got = elf_file_section(elf, ".got");
    plt.got = got ? got->header.sh_addr : 0;
    for (size_t i = 0, count = 0; i < elf->section_count && count < PLT_SECTIONS_MAX; i++) {
        const struct elf_file_section *section = &elf->sections[i];

        if ((section->header.sh_type != SHT_RELA && section->header.sh_type != SHT_REL) ||
            !(section->header.sh_flags & SHF_ALLOC))
            continue;
        count++;
        if (!read_relocations(&plt, section))
            table->failed = true;
    }
    if (plt.slot_count)
        qsort(plt.slots, plt.slot_count, sizeof(*plt.slots), by_address);
    for (size_t i = 0, count = 0; i < elf->section_count && count < PLT_SECTIONS_MAX; i++) {
        if (strncmp(elf->sections[i].name, ".plt", 4))
            continue;
        count++;
        add_section_stubs(&plt, &elf->sections[i]);
    }
    free(plt.slots);
    free(plt.jumps);
}
