/* SPDX-License-Identifier: MIT */
#include "analyze/sym/debug_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The checksum of a larger file would take too long; a sparse file can have any size. */
#define DEBUG_FILE_CRC_MAX (UINT64_C(8) << 30)

static uint32_t crc_add(uint32_t crc, const unsigned char *bytes, size_t size, const uint32_t table[256])
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ (crc >> 8);
    return ~crc;
}

static void crc_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;

        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? 0xedb88320u ^ (value >> 1) : value >> 1;
        table[i] = value;
    }
}

/* The CRC of .gnu_debuglink, over the whole file. */
static int crc_of_file(int fd, uint32_t *ret_crc)
{
    enum { CHUNK = 256 * 1024 };
    unsigned char *chunk = malloc(CHUNK);
    uint32_t table[256], crc = 0;
    off_t offset = 0;
    ssize_t got;

    if (!chunk)
        return -ENOMEM;
    crc_table(table);
    while ((got = pread(fd, chunk, CHUNK, offset)) > 0) {
        crc = crc_add(crc, chunk, (size_t)got, table);
        offset += got;
    }
    free(chunk);
    if (got < 0)
        return -errno;
    *ret_crc = crc;
    return 0;
}

static bool same_machine(const struct elf_file *a, const struct elf_file *b)
{
    return a->header.e_machine == b->header.e_machine && a->header.e_ident[EI_CLASS] == b->header.e_ident[EI_CLASS] &&
           a->header.e_ident[EI_DATA] == b->header.e_ident[EI_DATA];
}

/* The names of one kind of file after ".build-id/xx/yyyy": the debuggers' name first, then that of perf's build-id
 * cache, which archives use too. */
static size_t names_behind(const char *suffix, const char *ret[2])
{
    const char *of_perf = !*suffix ? DEBUG_FILE_ELF : !strcmp(suffix, ".debug") ? DEBUG_FILE_DEBUG : NULL;

    ret[0] = suffix;
    ret[1] = of_perf;
    return of_perf ? 2 : 1;
}

int debug_file_by_build_id(struct elf_file *ret_elf, char **ret_path, const unsigned char *build_id,
                           size_t build_id_size, const char *suffix, const struct debug_roots *roots)
{
    char hex[2 * ELF_FILE_BUILD_ID_MAX + 1];
    const char *names[2];
    size_t count = names_behind(suffix, names);

    if (build_id_size < 2 || build_id_size > ELF_FILE_BUILD_ID_MAX)
        return -ENOENT;
    for (size_t i = 0; i < build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
    for (size_t i = 0; i < count * roots->count; i++) {
        char *path;

        if (asprintf(&path, "%s/.build-id/%.2s/%s%s", roots->paths[i / count], hex, hex + 2, names[i % count]) < 0)
            return -ENOMEM;
        if (elf_file_init(ret_elf, path) == 0) {
            if (ret_elf->build_id_size == build_id_size && !memcmp(ret_elf->build_id, build_id, build_id_size)) {
                *ret_path = path;
                return 0;
            }
            elf_file_release(ret_elf);
        }
        free(path);
    }
    return -ENOENT;
}

/*
 * Whether the file that a debuglink led to belongs to ELF: by build-id where both have one, else by the link's CRC.
 */
static bool belongs_to(const struct elf_file *debug, const struct elf_file *elf, uint32_t crc)
{
    uint32_t found;

    if (!same_machine(debug, elf) || !elf_file_section_by_type(debug, SHT_SYMTAB))
        return false;
    if (debug->build_id_size && elf->build_id_size)
        return debug->build_id_size == elf->build_id_size &&
               !memcmp(debug->build_id, elf->build_id, elf->build_id_size);
    return debug->file_size <= DEBUG_FILE_CRC_MAX && crc_of_file(debug->fd, &found) == 0 && found == crc;
}

/* .gnu_debuglink: a name, a NUL, padding to 4 bytes, the CRC in the file's byte order. */
static const char *read_debuglink(const struct elf_file *elf, uint32_t *ret_crc)
{
    const struct elf_file_section *section = elf_file_section(elf, ".gnu_debuglink");
    const unsigned char *bytes;
    size_t size, length;

    if (!section || !(bytes = elf_file_data(section, &size)))
        return NULL;
    length = strnlen((const char *)bytes, size);
    /* A name, not a path: a hostile file must not lead to another directory. */
    if (length == 0 || length > 255 || memchr(bytes, '/', length) || !strcmp((const char *)bytes, ".."))
        return NULL;
    if (size < 4 || ((length + 4) & ~(size_t)3) > size - 4)
        return NULL;
    bytes += (length + 4) & ~(size_t)3;
    if (elf->header.e_ident[EI_DATA] == ELFDATA2MSB)
        *ret_crc = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    else
        *ret_crc = (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
    return (const char *)elf_file_data(section, &size);
}

static int try_debuglink(struct elf_file *ret_debug, char **ret_path, char *path, const struct elf_file *elf,
                         uint32_t crc)
{
    if (!path)
        return -ENOMEM;
    if (elf_file_init(ret_debug, path) == 0) {
        if (belongs_to(ret_debug, elf, crc)) {
            *ret_path = path;
            return 0;
        }
        elf_file_release(ret_debug);
    }
    free(path);
    return -ENOENT;
}

static __attribute__((format(printf, 1, 2))) char *format_path(const char *format, ...)
{
    va_list arguments;
    char *path;

    va_start(arguments, format);
    if (vasprintf(&path, format, arguments) < 0)
        path = NULL;
    va_end(arguments);
    return path;
}

static int by_debuglink(struct elf_file *ret_debug, char **ret_path, const struct elf_file *elf, const char *path,
                        const struct debug_roots *roots)
{
    static const char *const beside[] = {"", "/.debug"};
    const char *slash = strrchr(path, '/');
    int directory = slash ? (int)(slash - path) : 0;
    int error = -ENOENT;
    const char *name;
    uint32_t crc;

    name = slash ? read_debuglink(elf, &crc) : NULL;
    for (size_t i = 0; name && error == -ENOENT && i < 2; i++)
        error = try_debuglink(ret_debug, ret_path,
                              format_path("%s%.*s%s/%s", roots->symfs, directory, path, beside[i], name), elf, crc);
    for (size_t i = 0; name && error == -ENOENT && i < roots->count; i++)
        error = try_debuglink(ret_debug, ret_path, format_path("%s%.*s/%s", roots->paths[i], directory, path, name),
                              elf, crc);
    return error;
}

static int by_build_id(struct elf_file *ret_debug, char **ret_path, const struct elf_file *elf, const char *suffix,
                       const struct debug_roots *roots)
{
    int error = debug_file_by_build_id(ret_debug, ret_path, elf->build_id, elf->build_id_size, suffix, roots);

    if (error)
        return error;
    if (same_machine(ret_debug, elf) && elf_file_section_by_type(ret_debug, SHT_SYMTAB))
        return 0;
    elf_file_release(ret_debug);
    free(*ret_path);
    *ret_path = NULL;
    return -ENOENT;
}

int debug_file_init(struct elf_file *ret_debug, char **ret_path, const struct elf_file *elf, const char *path,
                    const struct debug_roots *roots)
{
    int error = by_build_id(ret_debug, ret_path, elf, ".debug", roots);

    /* An archive has an unstripped program as one file, without a debug file. */
    if (error == -ENOENT && !elf_file_section_by_type(elf, SHT_SYMTAB))
        error = by_build_id(ret_debug, ret_path, elf, "", roots);
    if (error == -ENOENT)
        error = by_debuglink(ret_debug, ret_path, elf, path, roots);
    return error;
}
