/* SPDX-License-Identifier: MIT */
/*
 * One ELF file, opened by libelf and not trusted. Sections are copied when they are asked for, so a file that shrinks
 * meanwhile causes an error, not a SIGBUS.
 */
#ifndef ANALYZE_SYM_ELF_FILE_H
#define ANALYZE_SYM_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELF_FILE_BUILD_ID_MAX = 64,
    ELF_FILE_DATA_MAX = 1 << 30, /* of one section; the largest symbol tables of browsers have a tenth of it */
};

struct elf_file_section {
    Elf_Scn *scn;
    GElf_Shdr header;
    const char *name; /* "" when it has none */
};

struct elf_file {
    Elf *elf;
    void *memory; /* owned copy of an ELF file that was given as bytes, or NULL */
    int fd;       /* -1 after elf_file_settle() */
    uint64_t file_size;
    GElf_Ehdr header;
    struct elf_file_section *sections; /* [0] is section 1: the null section is left out */
    size_t section_count;
    struct elf_file_section **texts; /* executable sections, by address */
    size_t text_count;
    GElf_Phdr *loads; /* PT_LOAD only */
    size_t load_count;
    unsigned char build_id[ELF_FILE_BUILD_ID_MAX];
    size_t build_id_size;
};

/* Opens the regular file PATH. 0, -ENOEXEC (no usable ELF), or -errno (-EINVAL: not a regular file). */
int elf_file_init(struct elf_file *elf, const char *path);
/* The same for SIZE bytes at BYTES, which are copied. */
int elf_file_init_memory(struct elf_file *elf, const void *bytes, size_t size);
/* Closes the file; what elf_file_data() returned stays valid. */
void elf_file_settle(struct elf_file *elf);
void elf_file_release(struct elf_file *elf);

/* The content of SECTION; NULL and size 0: it has none, is too large, or lies outside the file. */
const void *elf_file_data(const struct elf_file_section *section, size_t *ret_size);
const struct elf_file_section *elf_file_section(const struct elf_file *elf, const char *name);
const struct elf_file_section *elf_file_section_by_type(const struct elf_file *elf, uint32_t type);
/* The executable section that holds ADDRESS, or NULL. */
const struct elf_file_section *elf_file_text_at(const struct elf_file *elf, uint64_t address);
/* The section with NUMBER, as sh_link and the like have it, or NULL. */
const struct elf_file_section *elf_file_section_by_number(const struct elf_file *elf, uint64_t number);

/* The virtual address of FILE_OFFSET, by the program headers. False: no PT_LOAD has it. */
bool elf_file_address(const struct elf_file *elf, uint64_t file_offset, uint64_t *ret_address);

/* Whether a recorded build-id (the kernel may pad it with zeros or cut it at 20 bytes) is that of a file. */
bool elf_file_same_build_id(const unsigned char *recorded, size_t recorded_size, const unsigned char *file,
                            size_t file_size);

/* Opens PATH for reading if it is a regular file; never blocks on another kind. The fd or -errno. */
int elf_file_open_regular(const char *path, int extra_flags, uint64_t *ret_size);

#endif
