/* SPDX-License-Identifier: MIT */
#include "unwind/unwind_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/cursor.h"
#include "unwind/pointer.h"

/*
 * Larger tables are invalid: that of a large browser has 30 MB. Also, tables are smaller than the code that they
 * describe: in 1627 programs and libraries at most a quarter of its size, where that was more than a few hundred KiB.
 */
#define TABLE_MAX  (UINT64_C(64) << 20)
#define TABLE_FREE (UINT64_C(1) << 20)
enum { SECTIONS_MAX = 65536, NAMES_MAX = 1 << 22 };

struct reading {
    struct unwind_file *file;
    const struct elf_bytes *elf;
    Elf64_Ehdr header;
    Elf64_Phdr *programs;
    Elf64_Shdr *sections;
    char *names;
    size_t name_size;
};

static bool read_header(struct reading *reading)
{
    Elf64_Ehdr *header = &reading->header;
    if (!elf_bytes_read(reading->elf, 0, header, sizeof(*header)) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != UNWIND_MACHINE || header->e_phentsize != sizeof(Elf64_Phdr))
        return false;
    reading->file->entry = header->e_entry;
    reading->programs = elf_bytes_load(reading->elf, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr),
                                       UINT16_MAX * sizeof(Elf64_Phdr));
    return reading->programs;
}

static void read_segments(struct reading *reading)
{
    struct unwind_file *file = reading->file;
    for (unsigned i = 0; i < reading->header.e_phnum; i++) {
        const Elf64_Phdr *program = &reading->programs[i];
        if (program->p_type == PT_LOAD && program->p_flags & PF_X && file->segment_count < UNWIND_FILE_SEGMENTS)
            file->segments[file->segment_count++] = (struct unwind_file_segment){program->p_offset, program->p_vaddr,
                                                                                 program->p_filesz};
    }
}

static void read_sections(struct reading *reading)
{
    const Elf64_Ehdr *header = &reading->header;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum)
        return;
    reading->sections = elf_bytes_load(reading->elf, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr),
                                       SECTIONS_MAX * sizeof(Elf64_Shdr));
    if (!reading->sections)
        return;
    const Elf64_Shdr *names = &reading->sections[header->e_shstrndx];
    reading->names = elf_bytes_load(reading->elf, names->sh_offset, names->sh_size, NAMES_MAX);
    reading->name_size = reading->names ? (size_t)names->sh_size : 0;
}

static const Elf64_Shdr *find_section(const struct reading *reading, const char *name)
{
    size_t size = strlen(name) + 1;
    for (unsigned i = 0; reading->names && i < reading->header.e_shnum; i++) {
        const Elf64_Shdr *section = &reading->sections[i];
        if (section->sh_name < reading->name_size && reading->name_size - section->sh_name >= size &&
            memcmp(reading->names + section->sh_name, name, size) == 0)
            return section;
    }
    return NULL;
}

static const Elf64_Phdr *find_program(const struct reading *reading, uint32_t type)
{
    for (unsigned i = 0; i < reading->header.e_phnum; i++)
        if (reading->programs[i].p_type == type)
            return &reading->programs[i];
    return NULL;
}

static uint64_t table_limit(const struct reading *reading)
{
    uint64_t limit = TABLE_FREE;
    for (unsigned i = 0; i < reading->file->segment_count; i++) {
        uint64_t size = reading->file->segments[i].size;
        limit += size < TABLE_MAX ? size : TABLE_MAX;
    }
    return limit < TABLE_MAX ? limit : TABLE_MAX;
}

static bool index_by_header(const struct reading *reading, struct cfi *cfi)
{
    const Elf64_Phdr *program = find_program(reading, PT_GNU_EH_FRAME);
    unsigned char *bytes = program ? elf_bytes_load(reading->elf, program->p_offset, program->p_filesz,
                                                    table_limit(reading))
                                   : NULL;
    bool valid = bytes && cfi_index_by_header(cfi, bytes, (size_t)program->p_filesz, program->p_vaddr);
    free(bytes);
    return valid;
}

static void load_table(const struct reading *reading, uint64_t offset, uint64_t size, uint64_t address, bool debug,
                       struct cfi *cfi)
{
    cfi->bytes = elf_bytes_load(reading->elf, offset, size, table_limit(reading));
    cfi->size = cfi->bytes ? (size_t)size : 0;
    cfi->address = address;
    cfi->debug = debug;
    bool valid = cfi->bytes && ((!debug && index_by_header(reading, cfi)) || cfi_index(cfi) == 0);
    if (!valid || !cfi->count) /* its bytes are not needed */
        cfi_release(cfi);
}

static void load_section(const struct reading *reading, const char *name, bool debug, struct cfi *cfi)
{
    const Elf64_Shdr *section = find_section(reading, name);
    if (section && section->sh_type != SHT_NOBITS && !(section->sh_flags & SHF_COMPRESSED))
        load_table(reading, section->sh_offset, section->sh_size, section->sh_addr, debug, cfi);
}

/* Without section headers: .eh_frame_hdr has the start of .eh_frame, which ends with its segment at the latest. */
static void load_by_header(const struct reading *reading, struct cfi *cfi)
{
    unsigned char bytes[16];
    const Elf64_Phdr *found = find_program(reading, PT_GNU_EH_FRAME);
    if (!found || !elf_bytes_read(reading->elf, found->p_offset, bytes, sizeof(bytes)) || bytes[0] != 1)
        return;
    struct cursor cursor = cursor_of(bytes + 4, sizeof(bytes) - 4);
    uint64_t address = pointer_read(&cursor, bytes[1], found->p_vaddr + 4);
    for (unsigned i = 0; i < reading->header.e_phnum && !cursor.failed; i++) {
        const Elf64_Phdr *program = &reading->programs[i];
        uint64_t at = address - program->p_vaddr;
        if (program->p_type == PT_LOAD && address >= program->p_vaddr && at < program->p_filesz &&
            program->p_offset <= UINT64_MAX - at) {
            uint64_t size = program->p_filesz - at, limit = table_limit(reading);
            load_table(reading, program->p_offset + at, size < limit ? size : limit, address, false, cfi);
            return;
        }
    }
}

bool unwind_file_read(struct unwind_file *file, const struct elf_bytes *elf)
{
    struct reading reading = {.file = file, .elf = elf};
    bool valid = read_header(&reading);
    if (valid) {
        read_segments(&reading);
        read_sections(&reading);
        load_section(&reading, ".eh_frame", false, &file->frames);
        if (!file->frames.count)
            load_by_header(&reading, &file->frames);
        load_section(&reading, ".debug_frame", true, &file->debug);
    }
    free(reading.programs);
    free(reading.sections);
    free(reading.names);
    file->valid = valid;
    return valid;
}

bool unwind_file_address(const struct unwind_file *file, uint64_t offset, uint64_t *ret_address)
{
    /* A mapping starts at a page boundary, which may be before its segment. */
    for (unsigned i = 0; i < file->segment_count; i++) {
        const struct unwind_file_segment *segment = &file->segments[i];
        if (offset >= segment->offset && offset - segment->offset < segment->size) {
            *ret_address = segment->address + (offset - segment->offset);
            return true;
        }
    }
    return false;
}

static void remember_row(struct unwind_file *file, uint64_t address, const struct cfi_row *row)
{
    const size_t before = row_cache_size(&file->rows);
    row_cache_add(&file->rows, address, row);
    if (file->account)
        file->account->bytes += row_cache_size(&file->rows) - before;
}

bool unwind_file_row(struct unwind_file *file, uint64_t address, struct cfi_row *ret)
{
    bool found = cfi_find_row(&file->frames, address, ret);
    if (!found) {
        uint32_t work = ret->work;
        found = cfi_find_row(&file->debug, address, ret);
        ret->work += work;
    }
    if (found)
        remember_row(file, address, ret);
    return found;
}

void unwind_file_use(struct unwind_file *file)
{
    struct unwind_file_account *account = file->account;
    if (!account || account->newest == file)
        return;
    file->newer->older = file->older;
    *(file->older ? &file->older->newer : &account->oldest) = file->newer;
    file->newer = NULL;
    file->older = account->newest;
    account->newest = account->newest->newer = file;
}

size_t unwind_file_size(const struct unwind_file *file)
{
    return sizeof(*file) + file->frames.size + file->debug.size +
           (file->frames.count + file->debug.count) * (sizeof(struct cfi_fde) + sizeof(uint32_t)) +
           row_cache_size(&file->rows);
}

void unwind_file_free(struct unwind_file *file)
{
    if (!file)
        return;
    cfi_release(&file->frames);
    cfi_release(&file->debug);
    row_cache_release(&file->rows);
    free(file->name);
    free(file);
}
