/* SPDX-License-Identifier: MIT */
#include "analyze/sym/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dwarf_package_release(struct dwarf_package *package)
{
    if (package->found) {
        dwarf_sections_release(&package->sections);
        elf_file_release(&package->elf);
    }
    free(package->path);
    *package = (struct dwarf_package){0};
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Opens the file at the formatted path; *ret_path is that path then. */
static __attribute__((format(printf, 3, 4))) bool open_at(struct elf_file *elf, char **ret_path, const char *format,
                                                          ...)
{
    va_list arguments;
    char *path;

    va_start(arguments, format);
    if (vasprintf(&path, format, arguments) < 0)
        path = NULL;
    va_end(arguments);
    if (path && elf_file_init(elf, path) == 0) {
        *ret_path = path;
        return true;
    }
    free(path);
    return false;
}

static bool open_by_id(struct elf_file *elf, char **ret_path, const struct elf_file *debug, const char *suffix,
                       const char *root)
{
    char hex[2 * ELF_FILE_BUILD_ID_MAX + 1] = "";

    for (size_t i = 0; i < debug->build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", debug->build_id[i]);
    return debug->build_id_size > 1 && open_at(elf, ret_path, "%s/.build-id/%.2s/%s%s", root, hex, hex + 2, suffix);
}

static void find_package(struct dwarf_package *package, const struct dwarf_places *places, const struct elf_file *debug)
{
    const struct debug_roots *roots = places->roots;
    struct elf_file *elf = &package->elf;
    bool found = open_at(elf, &package->path, "%s.dwp", places->file);

    if (!found && places->path[0] == '/')
        found = open_at(elf, &package->path, "%s%s.dwp", roots->symfs, places->path);
    for (size_t i = 0; i < roots->count && !found; i++)
        found = open_by_id(elf, &package->path, debug, ".dwp", roots->paths[i]) ||
                open_at(elf, &package->path, "%s/%s.dwp", roots->paths[i], places->path) ||
                open_at(elf, &package->path, "%s/%s.dwp", roots->paths[i], base_of(places->path));
    package->looked_for = true;
    package->found = found;
    if (!found)
        return;
    dwarf_sections_init(&package->sections, elf, true);
    elf_file_settle(elf);
}

/* .debug_cu_index: where the sections of each unit are in a package. */
struct index {
    struct cursor columns, offsets, sizes;
    uint32_t column_count, version;
};

/* The row of ID in the index's hash table; 0: none. */
static uint32_t row_of(const struct dwarf_sections *sections, uint64_t id, struct index *index)
{
    struct cursor cursor = dwarf_cursor(sections, DWARF_CU_INDEX, 0), table, rows;
    uint32_t units, slots, row = 0;

    index->version = cursor_u32(&cursor);
    if (index->version != 2 && (index->version & 0xffff) != 5 && index->version >> 16 != 5)
        return 0;
    index->column_count = cursor_u32(&cursor);
    units = cursor_u32(&cursor);
    slots = cursor_u32(&cursor);
    table = cursor_part(&cursor, (size_t)slots * 8);
    rows = cursor_part(&cursor, (size_t)slots * 4);
    index->columns = cursor_part(&cursor, (size_t)index->column_count * 4);
    index->offsets = cursor_part(&cursor, (size_t)index->column_count * units * 4);
    index->sizes = cursor_part(&cursor, (size_t)index->column_count * units * 4);
    if (cursor.failed || !slots || (slots & (slots - 1)) || index->column_count > 32)
        return 0;
    for (uint32_t i = 0, at = (uint32_t)id & (slots - 1); i < slots; i++) {
        struct cursor slot = table, number = rows;

        cursor_skip(&slot, (size_t)at * 8);
        cursor_skip(&number, (size_t)at * 4);
        row = cursor_u32(&number);
        if (!row || cursor_u64(&slot) == id)
            break;
        row = 0;
        at = (at + (((uint32_t)(id >> 32) & (slots - 1)) | 1)) & (slots - 1);
    }
    return row <= units ? row : 0;
}

static int part_of_column(uint32_t column, uint32_t version)
{
    switch (column) {
    case 1: return DWARF_INFO;
    case 3: return DWARF_ABBREV;
    case 4: return DWARF_LINE;
    case 6: return DWARF_STR_OFFSETS;
    case 8: return version == 2 ? -1 : DWARF_RNGLISTS;
    default: return -1;
    }
}

/* The sections of the unit ID. False: the package does not have it. */
static bool cut_package(const struct dwarf_sections *package, uint64_t id, struct dwarf_sections *ret)
{
    static const enum dwarf_part cut[] = {DWARF_INFO, DWARF_ABBREV, DWARF_LINE, DWARF_STR_OFFSETS, DWARF_RNGLISTS};
    struct index index;
    uint32_t row = row_of(package, id, &index);

    if (!row)
        return false;
    *ret = (struct dwarf_sections){.swap = package->swap};
    memcpy(ret->part, package->part, sizeof(ret->part));
    for (size_t i = 0; i < sizeof(cut) / sizeof(*cut); i++)
        ret->part[cut[i]] = (struct dwarf_slice){NULL, 0};
    cursor_skip(&index.offsets, (size_t)(row - 1) * index.column_count * 4);
    cursor_skip(&index.sizes, (size_t)(row - 1) * index.column_count * 4);
    for (uint32_t i = 0; i < index.column_count; i++) {
        int part = part_of_column(cursor_u32(&index.columns), index.version);
        uint64_t offset = cursor_u32(&index.offsets), size = cursor_u32(&index.sizes);

        if (part < 0 || offset > package->part[part].size || size > package->part[part].size - offset)
            continue;
        ret->part[part] = (struct dwarf_slice){package->part[part].at + offset, size};
    }
    return ret->part[DWARF_INFO].size > 0;
}

static bool open_dwo(struct elf_file *elf, char **ret_path, const struct dwarf_unit *unit,
                     const struct dwarf_places *places)
{
    const struct debug_roots *roots = places->roots;
    const char *name = unit->dwo_name, *slash = strrchr(places->file, '/');
    int directory = slash ? (int)(slash - places->file) : 0;
    bool found;

    if (name[0] == '/')
        found = open_at(elf, ret_path, "%s%s", roots->symfs, name);
    else
        found = (unit->directory && open_at(elf, ret_path, "%s%s/%s", roots->symfs, unit->directory, name)) ||
                open_at(elf, ret_path, "%.*s%s%s", directory, places->file, slash ? "/" : "", name);
    if (!found)
        found = open_at(elf, ret_path, "%.*s%s%s", directory, places->file, slash ? "/" : "", base_of(name));
    for (size_t i = 0; i < roots->count && !found; i++)
        found = open_at(elf, ret_path, "%s/.dwo/%016" PRIx64 ".dwo", roots->paths[i], unit->dwo_id) ||
                open_at(elf, ret_path, "%s/%s", roots->paths[i], name) ||
                open_at(elf, ret_path, "%s/%s", roots->paths[i], base_of(name));
    return found;
}

static bool has_unit(const struct dwarf_file *file, uint64_t id)
{
    for (size_t i = 0; i < file->unit_count; i++)
        if (file->units[i].tag == DW_TAG_compile_unit && file->units[i].dwo_id == id)
            return true;
    return false;
}

int dwarf_split_new(const struct dwarf_file *file, const struct dwarf_unit *unit, struct dwarf_package *package,
                    const struct dwarf_places *places, const struct elf_file *debug, struct dwarf_file **ret,
                    char **ret_path)
{
    struct dwarf_file *split = calloc(1, sizeof(*split));
    int error = -ENOENT;

    if (!split)
        return -ENOMEM;
    *ret_path = NULL;
    if (!package->looked_for)
        find_package(package, places, debug);
    if (!package->found || !cut_package(&package->sections, unit->dwo_id, &split->sections)) {
        if (open_dwo(&split->elf, ret_path, unit, places)) {
            split->has_elf = true;
            dwarf_sections_init(&split->sections, &split->elf, true);
            elf_file_settle(&split->elf);
        }
    }
    split->dwo = true;
    split->is_code = file->is_code;
    split->code = file->code;
    split->sup = file->sup;
    split->skeleton_file = file;
    split->skeleton = unit;
    dwarf_file_allow(split);
    if (split->sections.part[DWARF_INFO].size)
        error = dwarf_units_init(split);
    if (error == 0 && has_unit(split, unit->dwo_id)) {
        *ret = split;
        return 0;
    }
    dwarf_file_free(split);
    free(*ret_path);
    *ret_path = NULL;
    return error == -ENOMEM ? error : -ENOENT;
}

/* .gnu_debugaltlink: a path with a NUL, then the build-id of that file. */
static bool read_link(const struct elf_file *debug, const char **ret_name, const unsigned char **ret_id,
                      size_t *ret_size)
{
    const struct elf_file_section *section = elf_file_section(debug, ".gnu_debugaltlink");
    const char *bytes;
    size_t size, length;

    if (!section || !(bytes = elf_file_data(section, &size)))
        return false;
    length = strnlen(bytes, size);
    if (!length || length + 3 > size || size - length - 1 > ELF_FILE_BUILD_ID_MAX)
        return false;
    *ret_name = bytes;
    *ret_id = (const unsigned char *)bytes + length + 1;
    *ret_size = size - length - 1;
    return true;
}

static bool open_sup(struct elf_file *elf, char **ret_path, const char *name, const unsigned char *id, size_t size,
                     const struct dwarf_places *places)
{
    const char *slash = strrchr(places->file, '/');
    int directory = slash ? (int)(slash - places->file) : 0;

    if (debug_file_by_build_id(elf, ret_path, id, size, ".debug", places->roots) == 0)
        return true;
    if (name[0] == '/' ? !open_at(elf, ret_path, "%s%s", places->roots->symfs, name)
                       : !open_at(elf, ret_path, "%.*s%s%s", directory, places->file, slash ? "/" : "", name))
        return false;
    if (elf->build_id_size == size && !memcmp(elf->build_id, id, size))
        return true;
    elf_file_release(elf);
    free(*ret_path);
    *ret_path = NULL;
    return false;
}

int dwarf_sup_new(const struct elf_file *debug, const struct dwarf_places *places, struct dwarf_file **ret,
                  char **ret_path)
{
    const unsigned char *id;
    struct dwarf_file *sup;
    const char *name;
    size_t size;

    if (!read_link(debug, &name, &id, &size))
        return elf_file_section(debug, ".gnu_debugaltlink") ? -ENOENT : -ENODATA;
    sup = calloc(1, sizeof(*sup));
    if (!sup)
        return -ENOMEM;
    sup->has_elf = open_sup(&sup->elf, ret_path, name, id, size, places);
    if (sup->has_elf) {
        dwarf_sections_init(&sup->sections, &sup->elf, false);
        elf_file_settle(&sup->elf);
        dwarf_file_allow(sup);
        if (dwarf_units_init(sup) == 0) {
            *ret = sup;
            return 0;
        }
        free(*ret_path);
        *ret_path = NULL;
    }
    dwarf_file_free(sup);
    return -ENOENT;
}
