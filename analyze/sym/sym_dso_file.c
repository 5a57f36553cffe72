/* SPDX-License-Identifier: MIT */
/* Names of a mapped file or of the vdso. */
#include "analyze/sym/sym_dso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "analyze/sym/elf_names.h"
#include "analyze/sym/mini_debug.h"

static const char deleted_suffix[] = " (deleted)";

static bool starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static bool is_anonymous(const char *path)
{
    static const char *const prefixes[] = {
        "[", "//anon", "anon_inode:", "/memfd:", "memfd:", "/dev/zero", "/SYSV", "/anon_hugepage",
    };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (starts_with(path, prefixes[i]))
            return true;
    return path[0] == '\0';
}

static void missing_by_error(struct symbols_dso *dso, int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR: sym_dso_missing(dso, SYMBOLS_NO_FILE, "the file is gone"); break;
    case -EACCES:
    case -EPERM: sym_dso_missing(dso, SYMBOLS_NO_FILE, "no permission to read the file"); break;
    case -EINVAL: sym_dso_missing(dso, SYMBOLS_NO_FILE, "the path does not name a regular file"); break;
    case -ENOEXEC: sym_dso_missing(dso, SYMBOLS_BROKEN, "the file is not an ELF file, or is damaged"); break;
    case -ENOMEM: sym_dso_missing(dso, SYMBOLS_NO_MEMORY, "out of memory"); break;
    default: sym_dso_missing(dso, SYMBOLS_NO_FILE, "the file cannot be read");
    }
}

/* Whether the opened ELF file is the one that was mapped, as far as the build-id tells. */
static bool is_recorded_file(const struct symbols_dso *dso)
{
    return !dso->build_id_size ||
           elf_file_same_build_id(dso->build_id, dso->build_id_size, dso->elf.build_id, dso->elf.build_id_size);
}

/* The size of this process's mapping at START, the [vdso]; 0: not found. */
static size_t vdso_size(uint64_t start)
{
    struct text_names maps;
    size_t size = 0;

    if (text_names_init(&maps, "/proc/self/maps", 0, NULL) != 0)
        return 0;
    for (const char *line = maps.text; line; line = strchr(line, '\n')) {
        uint64_t low, high;

        line += *line == '\n';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &low, &high) == 2 && low == start && high > low)
            size = (size_t)(high - low);
    }
    text_names_release(&maps);
    return size;
}

static void open_vdso(struct symbols_dso *dso)
{
    uint64_t start = getauxval(AT_SYSINFO_EHDR);
    size_t size = start ? vdso_size(start) : 0;
    int error = size ? elf_file_init_memory(&dso->elf, (const void *)(uintptr_t)start, size) : -ENOENT;

    if (error) {
        sym_dso_missing(dso, SYMBOLS_NO_FILE,
                        "panalyze takes the symbols of the vdso from its own vdso, but could not read its own vdso");
        return;
    }
    dso->has_elf = true;
    if (!is_recorded_file(dso)) {
        elf_file_release(&dso->elf);
        dso->has_elf = false;
        sym_dso_missing(dso, SYMBOLS_OTHER_KERNEL, "the recorded vdso is of another kernel than the one that runs now");
    }
}

/* The recorded path without " (deleted)", malloced. *ret_deleted: it had that suffix. */
static char *plain_path(const char *recorded, bool *ret_deleted)
{
    size_t size = strlen(recorded), suffix = sizeof(deleted_suffix) - 1;

    *ret_deleted = size > suffix && !strcmp(recorded + size - suffix, deleted_suffix);
    return strndup(recorded, *ret_deleted ? size - suffix : size);
}

/* Opens the file at its path, or an equal one by build-id. */
static void open_file(struct symbols_dso *dso, const char *path, bool deleted)
{
    struct symbols *symbols = dso->owner;
    int error = -ENOENT;

    /* A deleted file may have been replaced: only a build-id shows that. */
    if (!deleted || dso->build_id_size) {
        if (asprintf(&dso->file, "%s%s", symbols->symfs, path) < 0) {
            dso->file = NULL;
            error = -ENOMEM;
        } else {
            error = elf_file_init(&dso->elf, dso->file);
        }
    }
    dso->has_elf = error == 0;
    if (dso->has_elf && !is_recorded_file(dso)) {
        elf_file_release(&dso->elf);
        dso->has_elf = false;
        dso->replaced = true;
    }
    if (dso->has_elf)
        return;
    free(dso->file);
    dso->file = NULL;
    if (debug_file_by_build_id(&dso->elf, &dso->file, dso->build_id, dso->build_id_size, "", &symbols->roots) == 0)
        dso->has_elf = true;
    else if (dso->replaced)
        sym_dso_missing(dso, SYMBOLS_OTHER_BUILD_ID, "the file has another build-id than the recorded one");
    else if (deleted && error == -ENOENT)
        sym_dso_missing(dso, SYMBOLS_NO_FILE, "the file was deleted or replaced while it was mapped");
    else
        missing_by_error(dso, error);
}

/* The separate debug file comes first: if there is one, the file's own table is what strip left. */
static void add_symtab(struct symbols_dso *dso, const char *path)
{
    const struct elf_file_section *symtab;

    dso->has_debug = debug_file_init(&dso->debug, &dso->debug_file, &dso->elf, path, &dso->owner->roots) == 0;
    if (dso->has_debug) {
        /* strip may remove even the section headers; then the debug file says where code is. */
        const struct elf_file *text = dso->elf.text_count ? &dso->elf : &dso->debug;

        symtab = elf_file_section_by_type(&dso->debug, SHT_SYMTAB);
        elf_names_add(&dso->table, &dso->debug, symtab, text, 0);
    }
    symtab = elf_file_section_by_type(&dso->elf, SHT_SYMTAB);
    if (symtab)
        elf_names_add(&dso->table, &dso->elf, symtab, &dso->elf, 0);
    if (dso->table.count)
        return;
    dso->has_mini = mini_debug_init(&dso->mini, &dso->elf) == 0;
    symtab = dso->has_mini ? elf_file_section_by_type(&dso->mini, SHT_SYMTAB) : NULL;
    if (symtab)
        elf_names_add(&dso->table, &dso->mini, symtab, &dso->elf, 0);
}

static void read_names(struct symbols_dso *dso, const char *path)
{
    const struct elf_file_section *dynsym = elf_file_section_by_type(&dso->elf, SHT_DYNSYM);

    add_symtab(dso, path);
    if (!dso->table.count)
        sym_dso_missing(dso, SYMBOLS_STRIPPED, "the file is stripped and has no separate debug file");
    if (dynsym)
        elf_names_add(&dso->table, &dso->elf, dynsym, &dso->elf, NAME_DYNSYM);
    name_table_finish(&dso->table, NAME_BEST_ALIAS);
    elf_names_add_plt(&dso->table, &dso->elf);
    name_table_finish(&dso->table, NAME_BEST_ALIAS);
    if (dso->missing & SYMBOLS_STRIPPED)
        elf_functions_read(&dso->functions, &dso->elf);
    elf_file_settle(&dso->elf);
    if (dso->has_debug)
        elf_file_settle(&dso->debug);
    if (dso->table.failed)
        sym_dso_missing(dso, SYMBOLS_NO_MEMORY, "out of memory");
}

void sym_dso_load_file(struct symbols_dso *dso)
{
    bool deleted;
    char *path = plain_path(dso->path, &deleted);

    if (!path)
        sym_dso_missing(dso, SYMBOLS_NO_MEMORY, "out of memory");
    else if (!strcmp(path, "[vdso]"))
        open_vdso(dso);
    else if (!strcmp(path, "//toolong") || !strcmp(path, "//enomem"))
        sym_dso_missing(dso, SYMBOLS_NO_FILE, "the kernel could not record the file's name");
    else if (is_anonymous(path))
        sym_dso_missing(dso, SYMBOLS_ANONYMOUS, "the code was in memory without a file");
    else
        open_file(dso, path, deleted);
    if (dso->has_elf)
        read_names(dso, path);
    /* The vdso never has a .symtab; all functions that it offers are in .dynsym. */
    if (dso->has_elf && !strcmp(dso->path, "[vdso]") && dso->missing == SYMBOLS_STRIPPED) {
        dso->missing = 0;
        dso->why = NULL;
    }
    free(path);
}
