/* SPDX-License-Identifier: MIT */
/*
 * One ELF file that is not trusted, opened by libelf. Reads copy the sections asked for, so that a file that shrinks
 * meanwhile is an error, not a SIGBUS.
 */
#ifndef ANALYZE_SYM_ELF_IMAGE_H
#define ANALYZE_SYM_ELF_IMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELF_IMAGE_BUILD_ID_MAX = 64,
    ELF_IMAGE_DATA_MAX = 1 << 30, /* of one section: the greatest symbol tables of browsers have a tenth of it */
};

struct elf_image_section {
    Elf_Scn *scn;
    GElf_Shdr header;
    const char *name; /* "" when it has none */
};

struct elf_image {
    Elf *elf;
    void *memory; /* owned copy of an image that is no file, or NULL */
    int fd;       /* -1 once settled */
    uint64_t file_size;
    GElf_Ehdr header;
    struct elf_image_section *sections; /* [0] is section 1: the null section is left out */
    size_t section_count;
    struct elf_image_section **texts; /* the executable ones, by address */
    size_t text_count;
    GElf_Phdr *loads; /* PT_LOAD only */
    size_t load_count;
    unsigned char build_id[ELF_IMAGE_BUILD_ID_MAX];
    size_t build_id_size;
};

/* Opens the regular file PATH. 0, -ENOEXEC (no usable ELF), or -errno (-EINVAL: not a regular file). */
int elf_image_init(struct elf_image *image, const char *path);
/* The same for SIZE bytes at BYTES, which are copied. */
int elf_image_init_memory(struct elf_image *image, const void *bytes, size_t size);
/* Closes the file; what elf_image_data() gave stays. */
void elf_image_settle(struct elf_image *image);
void elf_image_release(struct elf_image *image);

/* The content of SECTION, at most a sane size; NULL (and size 0) when it has none or it lies outside the file. */
const void *elf_image_data(const struct elf_image_section *section, size_t *ret_size);
const struct elf_image_section *elf_image_section(const struct elf_image *image, const char *name);
const struct elf_image_section *elf_image_section_by_type(const struct elf_image *image, uint32_t type);
/* The executable section that holds ADDRESS, or NULL. */
const struct elf_image_section *elf_image_text_at(const struct elf_image *image, uint64_t address);
/* Number of the section that sh_link and the like mean, or NULL. */
const struct elf_image_section *elf_image_section_by_number(const struct elf_image *image, uint64_t number);

/* The virtual address of FILE_OFFSET by the program headers. */
bool elf_image_address(const struct elf_image *image, uint64_t file_offset, uint64_t *ret_address);

/* Whether a recorded build-id (perhaps padded with zeros or cut at 20 bytes by the kernel) is that of a file. */
bool elf_image_same_build_id(const unsigned char *recorded, size_t recorded_size, const unsigned char *file,
                             size_t file_size);

/* Opens PATH for reading when it is a regular file, without ever blocking on anything else. The fd or -errno. */
int elf_image_open_regular(const char *path, int extra_flags, uint64_t *ret_size);

#endif
