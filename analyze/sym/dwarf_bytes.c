/* SPDX-License-Identifier: MIT */
#include "analyze/sym/dwarf_bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#ifdef PINJECT_ZSTD
#include <zstd.h>
#endif

/* The highest compression ratios: a section that claims more is refused before it costs memory. */
#define ZLIB_RATIO_MAX 1040u
#define ZSTD_RATIO_MAX 65536u
#define ZSTD_TYPE      2 /* ELFCOMPRESS_ZSTD, which older elf.h do not know */

static const char *const part_names[DWARF_PARTS] = {
    [DWARF_INFO] = "info",         [DWARF_ABBREV] = "abbrev",     [DWARF_LINE] = "line",
    [DWARF_STR] = "str",           [DWARF_LINE_STR] = "line_str", [DWARF_RANGES] = "ranges",
    [DWARF_RNGLISTS] = "rnglists", [DWARF_ADDR] = "addr",         [DWARF_STR_OFFSETS] = "str_offsets",
    [DWARF_CU_INDEX] = "cu_index",
};

const char *dwarf_sections_name(enum dwarf_part part)
{
    return part_names[part];
}

static const struct elf_file_section *find_section(const struct elf_file *elf, enum dwarf_part part, bool dwo,
                                                   bool *ret_gnu)
{
    const struct elf_file_section *section;
    char name[64];

    /* The index belongs to a .dwp, whose other sections are named like those of a .dwo. */
    snprintf(name, sizeof(name), ".debug_%s%s", part_names[part], dwo && part != DWARF_CU_INDEX ? ".dwo" : "");
    *ret_gnu = false;
    section = elf_file_section(elf, name);
    if (section)
        return section;
    snprintf(name, sizeof(name), ".zdebug_%s%s", part_names[part], dwo && part != DWARF_CU_INDEX ? ".dwo" : "");
    *ret_gnu = true;
    return elf_file_section(elf, name);
}

bool dwarf_sections_present(const struct elf_file *elf)
{
    bool gnu;
    const struct elf_file_section *section = find_section(elf, DWARF_INFO, false, &gnu);

    return section && section->header.sh_type != SHT_NOBITS && section->header.sh_size;
}

/* Decompresses BYTES[SIZE], a zlib or zstd stream of PLAIN bytes. NULL: it is none, or out of memory. */
static void *unpack_section(unsigned type, const unsigned char *bytes, size_t size, uint64_t plain)
{
    unsigned char *to;
    uLongf filled = (uLongf)plain;

    if (plain > ELF_FILE_DATA_MAX || plain / (type == ZSTD_TYPE ? ZSTD_RATIO_MAX : ZLIB_RATIO_MAX) > size)
        return NULL;
    to = malloc(plain + 1);
    if (!to)
        return NULL;
    if (type == ELFCOMPRESS_ZLIB && uncompress(to, &filled, bytes, size) == Z_OK && filled == plain)
        return to;
#ifdef PINJECT_ZSTD
    if (type == ZSTD_TYPE && ZSTD_decompress(to, plain, bytes, size) == plain)
        return to;
#endif
    free(to);
    return NULL;
}

/* The header of a compressed section: its method, the uncompressed size, and the size of the header. */
static bool read_head(const struct elf_file *elf, const unsigned char *bytes, size_t size, bool gnu, bool swap,
                      unsigned *ret_type, uint64_t *ret_plain, size_t *ret_head)
{
    struct cursor cursor = cursor_of(bytes, size);

    cursor.swap = swap;
    if (gnu) {
        *ret_type = ELFCOMPRESS_ZLIB;
        *ret_head = 12;
        *ret_plain = 0;
        if (size < 12 || memcmp(bytes, "ZLIB", 4) != 0)
            return false;
        for (int i = 4; i < 12; i++)
            *ret_plain = *ret_plain << 8 | bytes[i];
        return true;
    }
    *ret_type = cursor_u32(&cursor);
    if (elf->header.e_ident[EI_CLASS] == ELFCLASS64) {
        cursor_skip(&cursor, 4);
        *ret_plain = cursor_u64(&cursor);
        *ret_head = sizeof(Elf64_Chdr);
    } else {
        *ret_plain = cursor_u32(&cursor);
        *ret_head = sizeof(Elf32_Chdr);
    }
    return !cursor.failed && size >= *ret_head;
}

static void load_section(struct dwarf_sections *sections, const struct elf_file *elf, enum dwarf_part part, bool dwo)
{
    bool gnu;
    const struct elf_file_section *section = find_section(elf, part, dwo, &gnu);
    struct dwarf_slice *slice = &sections->part[part];
    size_t size, head;
    const unsigned char *bytes;
    unsigned type;
    uint64_t plain;

    if (!section || section->header.sh_type == SHT_NOBITS || !section->header.sh_size)
        return;
    bytes = elf_file_data(section, &size);
    if (!bytes || !size) {
        sections->unreadable = true;
        return;
    }
    if (!gnu && !(section->header.sh_flags & SHF_COMPRESSED)) {
        *slice = (struct dwarf_slice){bytes, size}; /* lives as long as the ELF file */
        return;
    }
    if (read_head(elf, bytes, size, gnu, sections->swap, &type, &plain, &head))
        sections->owned[part] = unpack_section(type, bytes + head, size - head, plain);
    if (sections->owned[part])
        *slice = (struct dwarf_slice){sections->owned[part], plain};
    else
        sections->unreadable = true;
}

void dwarf_sections_init(struct dwarf_sections *sections, const struct elf_file *elf, bool dwo)
{
    bool little = elf->header.e_ident[EI_DATA] != ELFDATA2MSB;

    memset(sections, 0, sizeof(*sections));
    sections->swap = little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    for (int part = 0; part < DWARF_PARTS; part++)
        load_section(sections, elf, (enum dwarf_part)part, dwo);
}

void dwarf_sections_release(struct dwarf_sections *sections)
{
    for (int part = 0; part < DWARF_PARTS; part++)
        free(sections->owned[part]);
    memset(sections, 0, sizeof(*sections));
}

const char *dwarf_text(const struct dwarf_sections *sections, enum dwarf_part part, uint64_t offset)
{
    struct cursor cursor = dwarf_cursor(sections, part, offset);

    return cursor.failed ? NULL : cursor_string(&cursor);
}
