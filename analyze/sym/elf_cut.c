/* SPDX-License-Identifier: MIT */
#include "analyze/sym/elf_cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>

#include "analyze/sym/dwarf_bytes.h"

enum {
    RELOCATIONS_MAX = 1 << 20, /* only the few of the PLT are needed, but they may be among all others */
    PACK_AT_LEAST = 512,
    LOW_MAX = 4 << 20, /* most zeros in front of the PLT; some linkers place it after all code */
};

struct cut {
    const struct elf_file *from;
    Elf *to;
    uint64_t end;     /* of the output so far, above `low_end` */
    uint64_t low;     /* of the output so far, below `low_end` */
    uint64_t low_end; /* sections below it keep their offsets; 0: none do */
    bool plt_moves;   /* the PLT is above LOW_MAX and cannot keep its offset */
    void **packed;    /* by section; freed after the file was written */
};

static bool is_debug(const char *name, bool *ret_gnu)
{
    size_t head = strncmp(name, ".zdebug_", 8) == 0 ? 8 : strncmp(name, ".debug_", 7) == 0 ? 7 : 0;

    *ret_gnu = head == 8;
    for (int part = 0; head && part < DWARF_PARTS; part++) {
        const char *wanted = dwarf_sections_name((enum dwarf_part)part);
        size_t size = strlen(wanted);

        if (!strncmp(name + head, wanted, size) && (!name[head + size] || !strcmp(name + head + size, ".dwo")))
            return true;
    }
    return false;
}

static bool is_plt(const struct elf_file_section *section)
{
    return !strncmp(section->name, ".plt", 4);
}

static bool is_kept(const struct cut *cut, const struct elf_file_section *section)
{
    static const char *const names[] = {".shstrtab",      ".strtab",        ".dynstr",
                                        ".gnu_debugdata", ".gnu_debuglink", ".gnu_debugaltlink"};
    uint32_t type = section->header.sh_type;
    size_t number = (size_t)(section - cut->from->sections) + 1, strings = 0;
    bool gnu;

    if (type == SHT_NOBITS || section->header.sh_size == 0)
        return false;
    if (type == SHT_SYMTAB || type == SHT_DYNSYM || type == SHT_NOTE || is_debug(section->name, &gnu))
        return true;
    if (elf_getshdrstrndx(cut->from->elf, &strings) == 0 && strings == number)
        return true;
    if (!strcmp(section->name, ".eh_frame")) /* the bounds of functions, where no symbol table has them */
        return !elf_file_section_by_type(cut->from, SHT_SYMTAB) && !elf_file_section(cut->from, ".gnu_debugdata");
    if (type == SHT_RELA || type == SHT_REL)
        return section->header.sh_size <= RELOCATIONS_MAX;
    if (is_plt(section) || !strncmp(section->name, ".got", 4))
        return section->header.sh_size <= RELOCATIONS_MAX;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(section->name, names[i]))
            return true;
    return false;
}

static bool has_swapped_head(const struct elf_file *elf)
{
    return (elf->header.e_ident[EI_DATA] != ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

/* Compresses DATA of an uncompressed section; leaves it as it is where that does not make it smaller. */
static void *pack_section(const struct elf_file *elf, Elf_Data *data, GElf_Shdr *header)
{
    bool wide = elf->header.e_ident[EI_CLASS] == ELFCLASS64;
    size_t head = wide ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
    uLongf size = compressBound(data->d_size);
    unsigned char *bytes;

    if (data->d_size < PACK_AT_LEAST || (header->sh_flags & SHF_COMPRESSED) || has_swapped_head(elf))
        return NULL;
    bytes = malloc(head + size);
    if (!bytes || compress2(bytes + head, &size, data->d_buf, data->d_size, 6) != Z_OK || head + size >= data->d_size) {
        free(bytes);
        return NULL;
    }
    if (wide)
        memcpy(bytes, &(Elf64_Chdr){.ch_type = ELFCOMPRESS_ZLIB, .ch_size = data->d_size, .ch_addralign = 1}, head);
    else
        memcpy(bytes,
               &(Elf32_Chdr){.ch_type = ELFCOMPRESS_ZLIB, .ch_size = (Elf32_Word)data->d_size, .ch_addralign = 1},
               head);
    data->d_buf = bytes;
    data->d_size = head + size;
    header->sh_flags |= SHF_COMPRESSED;
    return bytes;
}

/*
 * perf computes the address of a PLT stub from the file offset of its section, so these sections and those in front of
 * them keep their offsets.
 */
static void find_low_sections(struct cut *cut)
{
    for (size_t i = 0; i < cut->from->section_count; i++) {
        const struct elf_file_section *section = &cut->from->sections[i];
        const GElf_Shdr *header = &section->header;

        if (!is_plt(section) || !(header->sh_flags & SHF_ALLOC) || !is_kept(cut, section))
            continue;
        if (header->sh_offset > LOW_MAX || header->sh_size > LOW_MAX - header->sh_offset)
            cut->plt_moves = true;
        else if (cut->low_end < header->sh_offset + header->sh_size)
            cut->low_end = header->sh_offset + header->sh_size;
    }
    cut->low = cut->end;
    if (cut->end < cut->low_end)
        cut->end = cut->low_end;
}

/* The offset in the output of a section with SIZE bytes. */
static uint64_t place_section(struct cut *cut, const GElf_Shdr *header, size_t size)
{
    uint64_t align = header->sh_addralign, offset = header->sh_offset;

    /* A damaged file may have sections that overlap. */
    if ((header->sh_flags & SHF_ALLOC) && offset >= cut->low && offset <= cut->low_end &&
        size <= cut->low_end - offset) {
        cut->low = offset + size;
        return offset;
    }
    offset = (cut->end + align - 1) / align * align;
    cut->end = offset + size;
    return offset;
}

static int add_section(struct cut *cut, size_t index)
{
    const struct elf_file_section *from = &cut->from->sections[index];
    Elf_Scn *scn = elf_newscn(cut->to);
    GElf_Shdr header = from->header;
    Elf_Data *data;
    size_t size;
    const void *bytes = is_kept(cut, from) ? elf_file_data(from, &size) : NULL;
    bool gnu;

    if (!scn)
        return -ENOMEM;
    if (bytes) {
        data = elf_newdata(scn);
        if (!data)
            return -ENOMEM;
        /* As bytes: nothing is converted, and damaged tables are copied as they are. */
        *data = (Elf_Data){.d_buf = (void *)(uintptr_t)bytes,
                           .d_size = size,
                           .d_type = ELF_T_BYTE,
                           .d_align = 1,
                           .d_version = EV_CURRENT};
        if (is_debug(from->name, &gnu) && !gnu)
            cut->packed[index] = pack_section(cut->from, data, &header);
        header.sh_addralign = header.sh_addralign && header.sh_addralign <= 64 ? header.sh_addralign : 1;
        header.sh_offset = place_section(cut, &header, data->d_size);
        header.sh_size = data->d_size;
        /* perf then has no names of stubs, rather than wrong ones. */
        if (cut->plt_moves && (!strcmp(from->name, ".rela.plt") || !strcmp(from->name, ".rel.plt")))
            header.sh_link = 0;
    } else {
        header.sh_type = SHT_NOBITS;
        if (!(header.sh_flags & SHF_ALLOC)) {
            header.sh_offset = cut->end;
            header.sh_size = 0;
        }
    }
    return gelf_update_shdr(scn, &header) ? 0 : -ENOEXEC;
}

static int add_headers(struct cut *cut)
{
    const struct elf_file *from = cut->from;
    bool wide = from->header.e_ident[EI_CLASS] == ELFCLASS64;
    GElf_Ehdr header = from->header;
    size_t count;
    GElf_Phdr program;

    if (!gelf_newehdr(cut->to, from->header.e_ident[EI_CLASS]) || elf_getphdrnum(from->elf, &count) != 0)
        return -ENOEXEC;
    if (count && !gelf_newphdr(cut->to, count))
        return -ENOMEM;
    elf_flagelf(cut->to, ELF_C_SET, ELF_F_LAYOUT);
    header.e_phoff = count ? gelf_fsize(cut->to, ELF_T_EHDR, 1, EV_CURRENT) : 0;
    cut->end = gelf_fsize(cut->to, ELF_T_EHDR, 1, EV_CURRENT) + count * gelf_fsize(cut->to, ELF_T_PHDR, 1, EV_CURRENT);
    for (size_t i = 0; i < count; i++)
        if (!gelf_getphdr(from->elf, (int)i, &program) || !gelf_update_phdr(cut->to, (int)i, &program))
            return -ENOEXEC;
    find_low_sections(cut);
    for (size_t i = 0; i < from->section_count; i++) {
        int error = add_section(cut, i);

        if (error)
            return error;
    }
    cut->end = (cut->end + 7) / 8 * 8;
    header.e_shoff = cut->end;
    header.e_shnum = 0; /* libelf's own */
    header.e_phnum = (uint16_t)(count < PN_XNUM ? count : PN_XNUM);
    header.e_ehsize = wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    return gelf_update_ehdr(cut->to, &header) ? 0 : -ENOEXEC;
}

static int read_back(int fd, unsigned char **ret, size_t *ret_size)
{
    off_t size = lseek(fd, 0, SEEK_END);
    unsigned char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    size_t got = 0;

    if (!bytes)
        return -ENOMEM;
    while (got < (size_t)size) {
        ssize_t part = pread(fd, bytes + got, (size_t)size - got, (off_t)got);

        if (part <= 0) {
            free(bytes);
            return -EIO;
        }
        got += (size_t)part;
    }
    *ret = bytes;
    *ret_size = got;
    return 0;
}

static int write_cut(const struct elf_file *elf, int fd)
{
    struct cut cut = {.from = elf, .to = elf_begin(fd, ELF_C_WRITE, NULL)};
    int error = -ENOMEM;

    cut.packed = calloc(elf->section_count + 1, sizeof(*cut.packed));
    if (cut.to && cut.packed)
        error = add_headers(&cut);
    errno = 0;
    if (!error && elf_update(cut.to, ELF_C_WRITE) < 0)
        error = errno ? -errno : -ENOEXEC;
    elf_end(cut.to);
    for (size_t i = 0; cut.packed && i < elf->section_count; i++)
        free(cut.packed[i]);
    free(cut.packed);
    return error;
}

int elf_cut(const char *path, unsigned char **ret, size_t *ret_size)
{
    struct elf_file elf;
    int error = elf_file_init(&elf, path);
    int fd;

    if (error)
        return error;
    fd = memfd_create("cut", MFD_CLOEXEC);
    if (!elf.section_count)
        error = -ENOEXEC;
    else if (fd < 0)
        error = -errno;
    if (!error)
        error = write_cut(&elf, fd);
    if (!error)
        error = read_back(fd, ret, ret_size);
    if (fd >= 0)
        close(fd);
    elf_file_release(&elf);
    return error;
}
