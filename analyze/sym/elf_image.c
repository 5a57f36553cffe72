/* SPDX-License-Identifier: MIT */
#include "analyze/sym/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bound.h"

/* More than any linker wrote; a hostile file is refused before it costs memory. */
#define ELF_IMAGE_SECTIONS_MAX 200000u
#define ELF_IMAGE_LOADS_MAX    10000u
#define ELF_IMAGE_NOTES_MAX    64
#define ELF_IMAGE_NOTE_MAX     (UINT64_C(1) << 20)

int elf_image_open_regular(const char *path, int extra_flags, uint64_t *ret_size)
{
    struct stat status;
    int fd;

    /* Looked at before it is opened: opening a device can do things. */
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

/* A table without a NUL at its end would cost a search through all of it per name. */
static bool ends_with_nul(Elf *elf, size_t section)
{
    Elf_Data *data = elf_rawdata(elf_getscn(elf, section), NULL);

    return data && data->d_buf && data->d_size && ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

static int by_address(const void *one, const void *other)
{
    const struct elf_image_section *a = *(const struct elf_image_section *const *)one;
    const struct elf_image_section *b = *(const struct elf_image_section *const *)other;

    return (a->header.sh_addr > b->header.sh_addr) - (a->header.sh_addr < b->header.sh_addr);
}

static int find_texts(struct elf_image *image)
{
    const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;

    image->texts = calloc(image->section_count + 1, sizeof(*image->texts));
    if (!image->texts)
        return -ENOMEM;
    for (size_t i = 0; i < image->section_count; i++)
        if ((image->sections[i].header.sh_flags & wanted) == wanted && image->sections[i].header.sh_size)
            image->texts[image->text_count++] = &image->sections[i];
    qsort(image->texts, image->text_count, sizeof(*image->texts), by_address);
    return 0;
}

static int read_sections(struct elf_image *image)
{
    size_t count, names;
    Elf_Scn *scn = NULL;

    if (elf_getshdrnum(image->elf, &count) != 0 || count > ELF_IMAGE_SECTIONS_MAX)
        return -ENOEXEC;
    if (count < 2)
        return 0;
    if (elf_getshdrstrndx(image->elf, &names) != 0 || !ends_with_nul(image->elf, names))
        names = 0;
    image->sections = calloc(count, sizeof(*image->sections));
    if (!image->sections)
        return -ENOMEM;
    while (image->section_count < count - 1 && (scn = elf_nextscn(image->elf, scn))) {
        struct elf_image_section *section = &image->sections[image->section_count];

        if (!gelf_getshdr(scn, &section->header))
            return -ENOEXEC;
        section->scn = scn;
        section->name = names ? elf_strptr(image->elf, names, section->header.sh_name) : NULL;
        if (!section->name)
            section->name = "";
        image->section_count++;
    }
    return find_texts(image);
}

static int read_loads(struct elf_image *image)
{
    size_t count;

    if (elf_getphdrnum(image->elf, &count) != 0)
        return -ENOEXEC;
    if (count > ELF_IMAGE_LOADS_MAX)
        return -ENOEXEC;
    image->loads = calloc(count + 1, sizeof(*image->loads));
    if (!image->loads)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;

        if (gelf_getphdr(image->elf, (int)i, &header) && header.p_type == PT_LOAD)
            image->loads[image->load_count++] = header;
    }
    return 0;
}

static bool build_id_of_notes(struct elf_image *image, Elf_Data *data)
{
    size_t offset = 0, name, description;
    GElf_Nhdr note;

    while (data && data->d_buf && (offset = gelf_getnote(data, offset, &note, &name, &description)) > 0) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
            continue;
        if (note.n_descsz == 0 || note.n_descsz > ELF_IMAGE_BUILD_ID_MAX)
            continue;
        memcpy(image->build_id, (char *)data->d_buf + description, note.n_descsz);
        image->build_id_size = note.n_descsz;
        return true;
    }
    return false;
}

static void read_build_id(struct elf_image *image)
{
    size_t count, looked_at = 0;

    for (size_t i = 0; i < image->section_count && looked_at < ELF_IMAGE_NOTES_MAX; i++) {
        const struct elf_image_section *section = &image->sections[i];

        if (section->header.sh_type == SHT_NOTE && section->header.sh_size <= ELF_IMAGE_NOTE_MAX && ++looked_at &&
            build_id_of_notes(image, elf_getdata(section->scn, NULL)))
            return;
    }
    if (elf_getphdrnum(image->elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && i < ELF_IMAGE_LOADS_MAX && looked_at < ELF_IMAGE_NOTES_MAX; i++) {
        GElf_Phdr header;

        if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_NOTE ||
            header.p_filesz > ELF_IMAGE_NOTE_MAX)
            continue;
        looked_at++;
        if (build_id_of_notes(image, elf_getdata_rawchunk(image->elf, (int64_t)header.p_offset, header.p_filesz,
                                                          header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
            return;
    }
}

static int read_headers(struct elf_image *image)
{
    int error;

    if (!image->elf || elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &image->header))
        return -ENOEXEC;
    error = read_sections(image);
    if (!error)
        error = read_loads(image);
    if (!error)
        read_build_id(image);
    return error;
}

int elf_image_init(struct elf_image *image, const char *path)
{
    int error;

    memset(image, 0, sizeof(*image));
    image->fd = elf_image_open_regular(path, 0, &image->file_size);
    if (image->fd < 0) {
        error = image->fd;
        image->fd = -1;
        return error;
    }
    elf_version(EV_CURRENT);
    /* Not ELF_C_READ_MMAP: see the head of elf_image.h. Sections nobody asks for are never read, however big the file
     * is. */
    image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
    error = read_headers(image);
    if (error)
        elf_image_release(image);
    return error;
}

int elf_image_init_memory(struct elf_image *image, const void *bytes, size_t size)
{
    int error;

    memset(image, 0, sizeof(*image));
    image->fd = -1;
    image->file_size = size;
    image->memory = malloc(size ? size : 1);
    if (!image->memory)
        return -ENOMEM;
    memcpy(image->memory, bytes, size);
    elf_version(EV_CURRENT);
    image->elf = elf_memory(image->memory, size);
    error = read_headers(image);
    if (error)
        elf_image_release(image);
    return error;
}

void elf_image_settle(struct elf_image *image)
{
    if (image->fd < 0)
        return;
    elf_cntl(image->elf, ELF_C_FDDONE);
    close(image->fd);
    image->fd = -1;
}

void elf_image_release(struct elf_image *image)
{
    elf_end(image->elf);
    free(image->memory);
    if (image->fd >= 0)
        close(image->fd);
    free(image->sections);
    free(image->texts);
    free(image->loads);
    memset(image, 0, sizeof(*image));
    image->fd = -1;
}

const void *elf_image_data(const struct elf_image_section *section, size_t *ret_size)
{
    Elf_Data *data = NULL;

    *ret_size = 0;
    if (section->header.sh_type != SHT_NOBITS && section->header.sh_size <= ELF_IMAGE_DATA_MAX)
        data = elf_rawdata(section->scn, NULL);
    if (!data || !data->d_buf)
        return NULL;
    *ret_size = data->d_size;
    return data->d_buf;
}

const struct elf_image_section *elf_image_section(const struct elf_image *image, const char *name)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (!strcmp(image->sections[i].name, name))
            return &image->sections[i];
    return NULL;
}

const struct elf_image_section *elf_image_section_by_type(const struct elf_image *image, uint32_t type)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].header.sh_type == type)
            return &image->sections[i];
    return NULL;
}

const struct elf_image_section *elf_image_section_by_number(const struct elf_image *image, uint64_t number)
{
    return number >= 1 && number <= image->section_count ? &image->sections[number - 1] : NULL;
}

const struct elf_image_section *elf_image_text_at(const struct elf_image *image, uint64_t address)
{
    size_t after = UPPER_BOUND(image->texts, image->text_count, ->header.sh_addr, address);
    const struct elf_image_section *section = after ? image->texts[after - 1] : NULL;

    return section && address - section->header.sh_addr < section->header.sh_size ? section : NULL;
}

/* Code before data: at the border of two segments the same page of the file is mapped twice. */
bool elf_image_address(const struct elf_image *image, uint64_t file_offset, uint64_t *ret_address)
{
    for (int code = 1; code >= 0; code--) {
        for (size_t i = 0; i < image->load_count; i++) {
            const GElf_Phdr *load = &image->loads[i];

            if ((load->p_flags & PF_X ? 1 : 0) != code || file_offset < load->p_offset ||
                file_offset - load->p_offset >= load->p_filesz)
                continue;
            *ret_address = load->p_vaddr + (file_offset - load->p_offset);
            return true;
        }
    }
    return false;
}

bool elf_image_same_build_id(const unsigned char *recorded, size_t recorded_size, const unsigned char *file,
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
