/* SPDX-License-Identifier: MIT */
/* Names of a mapped file or of the vdso. */
#include "analyze/sym/sym_object.h"

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

static void lack_by_error(struct symbols_object *object, int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
        sym_object_lack(object, SYMBOLS_NO_FILE, "the file is gone");
        break;
    case -EACCES:
    case -EPERM:
        sym_object_lack(object, SYMBOLS_NO_FILE, "the file may not be read");
        break;
    case -EINVAL:
        sym_object_lack(object, SYMBOLS_NO_FILE, "not a regular file");
        break;
    case -ENOEXEC:
        sym_object_lack(object, SYMBOLS_BROKEN, "not an ELF file, or a damaged one");
        break;
    case -ENOMEM:
        sym_object_lack(object, SYMBOLS_NO_MEMORY, "out of memory");
        break;
    default:
        sym_object_lack(object, SYMBOLS_NO_FILE, "the file cannot be read");
    }
}

/* Whether the opened image is the one that was mapped, as far as anybody can know. */
static bool is_recorded(const struct symbols_object *object)
{
    return !object->build_id_size || elf_image_same_build_id(object->build_id, object->build_id_size,
                                                             object->image.build_id, object->image.build_id_size);
}

/* How much of this process is mapped as [vdso] from START on; 0 when the listing does not say. */
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

static void open_vdso(struct symbols_object *object)
{
    uint64_t start = getauxval(AT_SYSINFO_EHDR);
    size_t size = start ? vdso_size(start) : 0;
    int error = size ? elf_image_init_memory(&object->image, (const void *)(uintptr_t)start, size) : -ENOENT;

    if (error) {
        sym_object_lack(object, SYMBOLS_NO_FILE, "this process has no vdso to compare");
        return;
    }
    object->has_image = true;
    if (!is_recorded(object)) {
        elf_image_release(&object->image);
        object->has_image = false;
        sym_object_lack(object, SYMBOLS_OTHER_KERNEL, "the vdso is of another kernel");
    }
}

/* The recorded path without " (deleted)", malloced. *ret_deleted: it had that. */
static char *plain_path(const char *recorded, bool *ret_deleted)
{
    size_t size = strlen(recorded), suffix = sizeof(deleted_suffix) - 1;

    *ret_deleted = size > suffix && !strcmp(recorded + size - suffix, deleted_suffix);
    return strndup(recorded, *ret_deleted ? size - suffix : size);
}

/* Opens the file at its path, or an equal one by build-id. */
static void open_file(struct symbols_object *object, const char *path, bool deleted)
{
    struct symbols *symbols = object->owner;
    int error = -ENOENT;

    /* A deleted file may have been replaced: only a build-id can tell. */
    if (!deleted || object->build_id_size) {
        if (asprintf(&object->file, "%s%s", symbols->symfs, path) < 0) {
            object->file = NULL;
            error = -ENOMEM;
        } else {
            error = elf_image_init(&object->image, object->file);
        }
    }
    object->has_image = error == 0;
    if (object->has_image && !is_recorded(object)) {
        elf_image_release(&object->image);
        object->has_image = false;
        object->replaced = true;
    }
    if (object->has_image)
        return;
    free(object->file);
    object->file = NULL;
    if (debug_file_by_build_id(&object->image, &object->file, object->build_id, object->build_id_size, "",
                               &symbols->roots) == 0)
        object->has_image = true;
    else if (object->replaced)
        sym_object_lack(object, SYMBOLS_OTHER_BUILD_ID, "the file has another build-id");
    else if (deleted && error == -ENOENT)
        sym_object_lack(object, SYMBOLS_NO_FILE, "the file was deleted or replaced while it was mapped");
    else
        lack_by_error(object, error);
}

/* The separate debug file first: where there is one, the file's own table is the remains of strip. */
static void add_symtab(struct symbols_object *object, const char *path)
{
    const struct elf_image_section *symtab;

    object->has_debug =
        debug_file_init(&object->debug, &object->debug_file, &object->image, path, &object->owner->roots) == 0;
    if (object->has_debug) {
        /* strip removes section headers at worst; then the debug file knows where code was. */
        const struct elf_image *text = object->image.text_count ? &object->image : &object->debug;

        symtab = elf_image_section_by_type(&object->debug, SHT_SYMTAB);
        elf_names_add(&object->table, &object->debug, symtab, text, 0);
    }
    symtab = elf_image_section_by_type(&object->image, SHT_SYMTAB);
    if (symtab)
        elf_names_add(&object->table, &object->image, symtab, &object->image, 0);
    if (object->table.count)
        return;
    object->has_mini = mini_debug_init(&object->mini, &object->image) == 0;
    symtab = object->has_mini ? elf_image_section_by_type(&object->mini, SHT_SYMTAB) : NULL;
    if (symtab)
        elf_names_add(&object->table, &object->mini, symtab, &object->image, 0);
}

static void read_names(struct symbols_object *object, const char *path)
{
    const struct elf_image_section *dynsym = elf_image_section_by_type(&object->image, SHT_DYNSYM);

    add_symtab(object, path);
    if (!object->table.count)
        sym_object_lack(object, SYMBOLS_STRIPPED, "the file is stripped and has no separate debug file");
    if (dynsym)
        elf_names_add(&object->table, &object->image, dynsym, &object->image, NAME_DYNSYM);
    name_table_finish(&object->table, NAME_BEST_ALIAS);
    elf_names_add_plt(&object->table, &object->image);
    name_table_finish(&object->table, NAME_BEST_ALIAS);
    if (object->lacks & SYMBOLS_STRIPPED)
        elf_functions_read(&object->functions, &object->image);
    elf_image_settle(&object->image);
    if (object->has_debug)
        elf_image_settle(&object->debug);
    if (object->table.failed)
        sym_object_lack(object, SYMBOLS_NO_MEMORY, "out of memory");
}

void sym_object_load_file(struct symbols_object *object)
{
    bool deleted;
    char *path = plain_path(object->path, &deleted);

    if (!path)
        sym_object_lack(object, SYMBOLS_NO_MEMORY, "out of memory");
    else if (!strcmp(path, "[vdso]"))
        open_vdso(object);
    else if (!strcmp(path, "//toolong") || !strcmp(path, "//enomem"))
        sym_object_lack(object, SYMBOLS_NO_FILE, "the kernel could not record the file's name");
    else if (is_anonymous(path))
        sym_object_lack(object, SYMBOLS_ANONYMOUS, "memory without a file");
    else
        open_file(object, path, deleted);
    if (object->has_image)
        read_names(object, path);
    /* The vdso never has a .symtab, and all that it is for is in .dynsym. */
    if (object->has_image && !strcmp(object->path, "[vdso]") && object->lacks == SYMBOLS_STRIPPED) {
        object->lacks = 0;
        object->why = NULL;
    }
    free(path);
}
