/* SPDX-License-Identifier: MIT */
#include "analyze/sym/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bound.h"

/* More than any linker writes; a hostile file is refused before it costs memory. */
#define ELF_FILE_SECTIONS_MAX 200000u
#define ELF_FILE_LOADS_MAX    10000u
#define ELF_FILE_NOTES_MAX    64
#define ELF_FILE_NOTE_MAX     (UINT64_C(1) << 20)

int elf_file_open_regular(const char *path, int extra_flags, uint64_t *ret_size)
{
    struct stat status;
    int fd;

    /* stat() before open(), since opening a device can have effects. */
    if (stat(path, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | extra_flags);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    *ret_size = (uint64_t)status.st_size;
    return fd;
}

/* Without a NUL at the end of the table, each name could cost a search through all of it. */
static bool ends_with_nul(Elf *elf, size_t section)
{
    Elf_Data *data = elf_rawdata(elf_getscn(elf, section), NULL);

    return data && data->d_buf && data->d_size && ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

static int by_address(const void *one, const void *other)
{
    const struct elf_file_section *a = *(const struct elf_file_section *const *)one;
    const struct elf_file_section *b = *(const struct elf_file_section *const *)other;

    return (a->header.sh_addr > b->header.sh_addr) - (a->header.sh_addr < b->header.sh_addr);
}

static int find_texts(struct elf_file *elf)
{
    const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;

    elf->texts = calloc(elf->section_count + 1, sizeof(*elf->texts));
    if (!elf->texts)
        return -ENOMEM;
    for (size_t i = 0; i < elf->section_count; i++)
        if ((elf->sections[i].header.sh_flags & wanted) == wanted && elf->sections[i].header.sh_size)
            elf->texts[elf->text_count++] = &elf->sections[i];
    qsort(elf->texts, elf->text_count, sizeof(*elf->texts), by_address);
    return 0;
}

static int read_sections(struct elf_file *elf)
{
    size_t count, names;
    Elf_Scn *scn = NULL;

    if (elf_getshdrnum(elf->elf, &count) != 0 || count > ELF_FILE_SECTIONS_MAX)
        return -ENOEXEC;
    if (count < 2)
        return 0;
    if (elf_getshdrstrndx(elf->elf, &names) != 0 || !ends_with_nul(elf->elf, names))
        names = 0;
    elf->sections = calloc(count, sizeof(*elf->sections));
    if (!elf->sections)
        return -ENOMEM;
    while (elf->section_count < count - 1 && (scn = elf_nextscn(elf->elf, scn))) {
        struct elf_file_section *section = &elf->sections[elf->section_count];

        if (!gelf_getshdr(scn, &section->header))
            return -ENOEXEC;
        section->scn = scn;
        section->name = names ? elf_strptr(elf->elf, names, section->header.sh_name) : NULL;
        if (!section->name)
            section->name = "";
        elf->section_count++;
    }
    return find_texts(elf);
}

static int read_loads(struct elf_file *elf)
{
    size_t count;

    if (elf_getphdrnum(elf->elf, &count) != 0)
        return -ENOEXEC;
    if (count > ELF_FILE_LOADS_MAX)
        return -ENOEXEC;
    elf->loads = calloc(count + 1, sizeof(*elf->loads));
    if (!elf->loads)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;

        if (gelf_getphdr(elf->elf, (int)i, &header) && header.p_type == PT_LOAD)
            elf->loads[elf->load_count++] = header;
    }
    return 0;
}

static bool build_id_of_notes(struct elf_file *elf, Elf_Data *data)
{
    size_t offset = 0, name, description;
    GElf_Nhdr note;

    while (data && data->d_buf && (offset = gelf_getnote(data, offset, &note, &name, &description)) > 0) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
            continue;
        if (note.n_descsz == 0 || note.n_descsz > ELF_FILE_BUILD_ID_MAX)
            continue;
        memcpy(elf->build_id, (char *)data->d_buf + description, note.n_descsz);
        elf->build_id_size = note.n_descsz;
        return true;
    }
    return false;
}

static void read_build_id(struct elf_file *elf)
{
    size_t count, looked_at = 0;

    for (size_t i = 0; i < elf->section_count && looked_at < ELF_FILE_NOTES_MAX; i++) {
        const struct elf_file_section *section = &elf->sections[i];

        if (section->header.sh_type == SHT_NOTE && section->header.sh_size <= ELF_FILE_NOTE_MAX && ++looked_at &&
            build_id_of_notes(elf, elf_getdata(section->scn, NULL)))
            return;
    }
    if (elf_getphdrnum(elf->elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && i < ELF_FILE_LOADS_MAX && looked_at < ELF_FILE_NOTES_MAX; i++) {
        GElf_Phdr header;

        if (!gelf_getphdr(elf->elf, (int)i, &header) || header.p_type != PT_NOTE || header.p_filesz > ELF_FILE_NOTE_MAX)
            continue;
        looked_at++;
        if (build_id_of_notes(elf, elf_getdata_rawchunk(elf->elf, (int64_t)header.p_offset, header.p_filesz,
                                                        header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
            return;
    }
}

static int read_headers(struct elf_file *elf)
{
    int error;

    if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF || !gelf_getehdr(elf->elf, &elf->header))
        return -ENOEXEC;
    error = read_sections(elf);
    if (!error)
        error = read_loads(elf);
    if (!error)
        read_build_id(elf);
    return error;
}

int elf_file_init(struct elf_file *elf, const char *path)
{
    int error;

    memset(elf, 0, sizeof(*elf));
    elf->fd = elf_file_open_regular(path, 0, &elf->file_size);
    if (elf->fd < 0) {
        error = elf->fd;
        elf->fd = -1;
        return error;
    }
    elf_version(EV_CURRENT);
    /* Not ELF_C_READ_MMAP: see the top of elf_file.h. Only sections that are asked for are read, so large files do no
     * harm. */
    elf->elf = elf_begin(elf->fd, ELF_C_READ, NULL);
    error = read_headers(elf);
    if (error)
        elf_file_release(elf);
    return error;
}

int elf_file_init_memory(struct elf_file *elf, const void *bytes, size_t size)
{
    int error;

    memset(elf, 0, sizeof(*elf));
    elf->fd = -1;
    elf->file_size = size;
    elf->memory = malloc(size ? size : 1);
    if (!elf->memory)
        return -ENOMEM;
    memcpy(elf->memory, bytes, size);
    elf_version(EV_CURRENT);
    elf->elf = elf_memory(elf->memory, size);
    error = read_headers(elf);
    if (error)
        elf_file_release(elf);
    return error;
}

void elf_file_settle(struct elf_file *elf)
{
    if (elf->fd < 0)
        return;
    elf_cntl(elf->elf, ELF_C_FDDONE);
    close(elf->fd);
    elf->fd = -1;
}

void elf_file_release(struct elf_file *elf)
{
    elf_end(elf->elf);
    free(elf->memory);
    if (elf->fd >= 0)
        close(elf->fd);
    free(elf->sections);
    free(elf->texts);
    free(elf->loads);
    memset(elf, 0, sizeof(*elf));
    elf->fd = -1;
}

const void *elf_file_data(const struct elf_file_section *section, size_t *ret_size)
{
    Elf_Data *data = NULL;

    *ret_size = 0;
    if (section->header.sh_type != SHT_NOBITS && section->header.sh_size <= ELF_FILE_DATA_MAX)
        data = elf_rawdata(section->scn, NULL);
    if (!data || !data->d_buf)
        return NULL;
    *ret_size = data->d_size;
    return data->d_buf;
}

const struct elf_file_section *elf_file_section(const struct elf_file *elf, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (!strcmp(elf->sections[i].name, name))
            return &elf->sections[i];
    return NULL;
}

const struct elf_file_section *elf_file_section_by_type(const struct elf_file *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].header.sh_type == type)
            return &elf->sections[i];
    return NULL;
}

const struct elf_file_section *elf_file_section_by_number(const struct elf_file *elf, uint64_t number)
{
    return number >= 1 && number <= elf->section_count ? &elf->sections[number - 1] : NULL;
}

const struct elf_file_section *elf_file_text_at(const struct elf_file *elf, uint64_t address)
{
    size_t after = UPPER_BOUND(elf->texts, elf->text_count, ->header.sh_addr, address);
    const struct elf_file_section *section = after ? elf->texts[after - 1] : NULL;

    return section && address - section->header.sh_addr < section->header.sh_size ? section : NULL;
}

/* Code segments come first: where two segments meet, the same page of the file is mapped twice. */
bool elf_file_address(const struct elf_file *elf, uint64_t file_offset, uint64_t *ret_address)
{
    for (int code = 1; code >= 0; code--) {
        for (size_t i = 0; i < elf->load_count; i++) {
            const GElf_Phdr *load = &elf->loads[i];

            if ((load->p_flags & PF_X ? 1 : 0) != code || file_offset < load->p_offset ||
                file_offset - load->p_offset >= load->p_filesz)
                continue;
            *ret_address = load->p_vaddr + (file_offset - load->p_offset);
            return true;
        }
    }
    return false;
}

bool elf_file_same_build_id(const unsigned char *recorded, size_t recorded_size, const unsigned char *file,
                            size_t file_size)
{
    size_t common = recorded_size < file_size ? recorded_size : file_size;

    if (memcmp(recorded, file, common) != 0)
        return false;
    if (recorded_size < file_size)
        return recorded_size == 20;
    for (size_t i = common; i < recorded_size; i++)
        if (recorded[i])
            return false;
    return true;
}
