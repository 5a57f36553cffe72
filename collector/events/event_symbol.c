/* SPDX-License-Identifier: MIT */
#include "collector/events/event_symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fills in what the program headers say of SYMBOL. FILE: the ELF header. */
static void read_headers(Elf *elf, const GElf_Ehdr *file, struct event_symbol *symbol)
{
    size_t count = 0;
    GElf_Phdr header;
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &header))
            continue;
        symbol->loader |= header.p_type == PT_INTERP;
        if (header.p_type != PT_LOAD)
            continue;
        if (symbol->address >= header.p_vaddr && symbol->address - header.p_vaddr < header.p_filesz)
            symbol->offset = symbol->address - header.p_vaddr + header.p_offset;
        /* As the kernel computes AT_PHDR. */
        if (file->e_phoff >= header.p_offset && file->e_phoff - header.p_offset < header.p_filesz)
            symbol->program.headers = file->e_phoff - header.p_offset + header.p_vaddr;
    }
}

/* In one table of symbols: true if NAME is in it. */
static bool find_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name, GElf_Sym *ret,
                    struct event_words *words)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        if (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE && type != STT_GNU_IFUNC)
            continue;
        const char *text = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (text && strcmp(text, name) == 0) {
            *ret = symbol;
            return true;
        }
        if (text && *text && type != STT_NOTYPE)
            event_words_add(words, text);
    }
    return false;
}

static int find(Elf *elf, const char *name, struct event_symbol *ret, struct event_words *words)
{
    Elf_Scn *section = NULL;
    GElf_Ehdr file;
    GElf_Shdr header;
    GElf_Sym symbol;
    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &file))
        return -ENOEXEC;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        if (!find_in(elf, section, &header, name, &symbol, words))
            continue;
        *ret = (struct event_symbol){.address = symbol.st_value, .offset = UINT64_MAX, .fixed = file.e_type == ET_EXEC};
        read_headers(elf, &file, ret);
        return 0;
    }
    return -ENOENT;
}

int event_symbol_find(const char *path, const char *name, struct event_symbol *ret, struct event_words *words)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int status = -ENOEXEC;
    elf_version(EV_CURRENT);
    Elf *elf = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf)
        status = find(elf, name, ret, words);
    if (status == 0) {
        ret->program.device = info.st_dev;
        ret->program.inode = info.st_ino;
    }
    elf_end(elf);
    close(fd);
    return status;
}
