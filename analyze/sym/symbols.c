/* SPDX-License-Identifier: MIT */
#include "analyze/sym/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/sym_object.h"

static const char system_debug_path[] = "/usr/lib/debug";

/* debug_paths, /usr/lib/debug below symfs, /usr/lib/debug: asked for first, nearest next. */
static int copy_roots(struct symbols *symbols, const struct symbols_options *options)
{
    size_t count = 0;

    symbols->debug_paths = calloc(options->debug_path_count + 3, sizeof(*symbols->debug_paths));
    if (!symbols->debug_paths)
        return -ENOMEM;
    symbols->roots.paths = (const char *const *)symbols->debug_paths;
    symbols->roots.symfs = symbols->symfs;
    for (size_t i = 0; i < options->debug_path_count; i++) {
        symbols->debug_paths[count] = strdup(options->debug_paths[i]);
        if (!symbols->debug_paths[count++])
            return -ENOMEM;
    }
    if (symbols->symfs[0] && asprintf(&symbols->debug_paths[count++], "%s%s", symbols->symfs, system_debug_path) < 0) {
        symbols->debug_paths[count - 1] = NULL;
        return -ENOMEM;
    }
    symbols->debug_paths[count] = strdup(system_debug_path);
    if (!symbols->debug_paths[count++])
        return -ENOMEM;
    symbols->roots.count = count;
    return 0;
}

int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols)
{
    static const struct symbols_options defaults;
    struct symbols *symbols = calloc(1, sizeof(*symbols));

    if (!options)
        options = &defaults;
    if (symbols) {
        symbols->no_demangle = options->no_demangle;
        symbols->no_kernel = options->no_kernel;
        if (options->debuginfod_seconds)
            symbols->debuginfod_error = debuginfod_new(options->debuginfod_seconds, &symbols->debuginfod);
        symbols->symfs = strdup(options->symfs ? options->symfs : "");
    }
    if (!symbols || !symbols->symfs || copy_roots(symbols, options) != 0) {
        symbols_free(symbols);
        return -ENOMEM;
    }
    *ret_symbols = symbols;
    return 0;
}

static void free_object(struct symbols_object *object)
{
    dwarf_free(object->dwarf);
    name_table_release(&object->table);
    elf_functions_release(&object->functions);
    name_pool_release(&object->pool);
    text_names_release(&object->text);
    if (object->has_image)
        elf_image_release(&object->image);
    if (object->has_debug)
        elf_image_release(&object->debug);
    if (object->has_mini)
        elf_image_release(&object->mini);
    free(object->fetched_file);
    free(object->file);
    free(object->debug_file);
    free(object->dump);
    free(object->osrelease);
    free(object->reference);
    free(object->listing);
    free(object->path);
    free(object->key);
    free(object);
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    struct symbols_object *object, *next;
    HASH_ITER(hh, symbols->objects, object, next)
    {
        HASH_DEL(symbols->objects, object);
        free_object(object);
    }
    for (char **path = symbols->debug_paths; path && *path; path++)
        free(*path);
    debuginfod_free(symbols->debuginfod);
    free(symbols->debug_paths);
    free(symbols->symfs);
    free(symbols);
}

/* What makes an object different: its kind and the parts that are given, each with its size in front. */
struct key {
    unsigned char *bytes;
    size_t size;
    bool failed;
};

static void key_add(struct key *key, const void *part, size_t size)
{
    unsigned char *grown = key->failed ? NULL : realloc(key->bytes, key->size + sizeof(size) + size);

    if (!grown) {
        key->failed = true;
        return;
    }
    memcpy(grown + key->size, &size, sizeof(size));
    if (size)
        memcpy(grown + key->size + sizeof(size), part, size);
    key->bytes = grown;
    key->size += sizeof(size) + size;
}

/* The object of KEY, new or known; *ret_new. Takes the key's bytes. */
static struct symbols_object *get_object(struct symbols *symbols, struct key *key, bool *ret_new)
{
    struct symbols_object *object = NULL;

    *ret_new = false;
    if (!key->failed)
        HASH_FIND(hh, symbols->objects, key->bytes, key->size, object);
    if (object || key->failed || !(object = calloc(1, sizeof(*object)))) {
        free(key->bytes);
        return object;
    }
    object->key = key->bytes;
    HASH_ADD_KEYPTR(hh, symbols->objects, object->key, key->size, object);
    if (!TABLE_HAS(object)) {
        free(object->key);
        free(object);
        return NULL;
    }
    *ret_new = true;
    object->owner = symbols;
    name_table_init(&object->table, &object->pool, symbols->no_demangle);
    return object;
}

/* A new object that could not be filled stays in the table, without names, and says so. */
static void check_copy(struct symbols_object *object, bool failed)
{
    if (!failed)
        return;
    object->loaded = true;
    sym_object_lack(object, SYMBOLS_NO_MEMORY, "out of memory");
}

/* All zero bytes are no build-id: some writers leave the field so. */
static size_t known_size(const unsigned char *build_id, size_t size)
{
    size_t used = 0;

    if (size > ELF_IMAGE_BUILD_ID_MAX)
        size = ELF_IMAGE_BUILD_ID_MAX;
    for (size_t i = 0; build_id && i < size; i++)
        if (build_id[i])
            used = size;
    return used;
}

static void copy_build_id(struct symbols_object *object, const unsigned char *build_id, size_t size)
{
    if (size)
        memcpy(object->build_id, build_id, size);
    object->build_id_size = size;
}

struct symbols_object *symbols_object(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                      size_t build_id_size)
{
    struct symbols_object *object;
    struct key key = {NULL, 0, false};
    bool is_new;

    build_id_size = known_size(build_id, build_id_size);
    key_add(&key, "f", 1);
    key_add(&key, path, strlen(path));
    key_add(&key, build_id, build_id_size);
    object = get_object(symbols, &key, &is_new);
    if (is_new) {
        object->kind = OBJECT_FILE;
        object->path = strdup(path);
        copy_build_id(object, build_id, build_id_size);
        check_copy(object, !object->path);
    }
    return object;
}

struct symbols_object *symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel)
{
    static const struct symbols_kernel unknown;
    struct symbols_object *object;
    struct key key = {NULL, 0, false};
    size_t build_id_size;
    bool is_new;

    if (!kernel)
        kernel = &unknown;
    build_id_size = known_size(kernel->build_id, kernel->build_id_size);
    key_add(&key, "k", 1);
    key_add(&key, kernel->osrelease, kernel->osrelease ? strlen(kernel->osrelease) : 0);
    key_add(&key, kernel->build_id, build_id_size);
    key_add(&key, kernel->reference_name, kernel->reference_name ? strlen(kernel->reference_name) : 0);
    key_add(&key, &kernel->reference_address, sizeof(kernel->reference_address));
    object = get_object(symbols, &key, &is_new);
    if (is_new) {
        object->kind = OBJECT_KERNEL;
        object->path = strdup("[kernel.kallsyms]");
        object->osrelease = kernel->osrelease ? strdup(kernel->osrelease) : NULL;
        object->reference = kernel->reference_name ? strdup(kernel->reference_name) : NULL;
        object->reference_address = kernel->reference_address;
        copy_build_id(object, kernel->build_id, build_id_size);
        check_copy(object, !object->path || (kernel->osrelease && !object->osrelease) ||
                               (kernel->reference_name && !object->reference));
    }
    return object;
}

struct symbols_object *symbols_jit(struct symbols *symbols, uint32_t pid)
{
    struct symbols_object *object;
    struct key key = {NULL, 0, false};
    bool is_new;

    key_add(&key, "j", 1);
    key_add(&key, &pid, sizeof(pid));
    object = get_object(symbols, &key, &is_new);
    if (is_new) {
        object->kind = OBJECT_JIT;
        object->path = strdup("//anon");
        object->pid = pid;
        check_copy(object, !object->path);
    }
    return object;
}

void sym_object_lack(struct symbols_object *object, enum symbols_lack lack, const char *why)
{
    object->lacks |= lack;
    if (!object->why)
        object->why = why;
}

static void load(struct symbols_object *object)
{
    static void (*const loaders[])(struct symbols_object *) = {
        [OBJECT_FILE] = sym_object_load_file,
        [OBJECT_KERNEL] = sym_object_load_kernel,
        [OBJECT_JIT] = sym_object_load_jit,
    };

    if (object->loaded)
        return;
    object->loaded = true;
    loaders[object->kind](object);
}

int symbols_debuginfod(const struct symbols *symbols)
{
    return symbols->debuginfod_error;
}

bool symbols_address(struct symbols_object *object, uint64_t file_offset, uint64_t *ret_address)
{
    load(object);
    if (object->kind != OBJECT_FILE) {
        *ret_address = file_offset;
        return true;
    }
    return object->has_image && elf_image_address(&object->image, file_offset, ret_address);
}

bool symbols_find(struct symbols_object *object, uint64_t file_offset, struct symbol *ret_symbol)
{
    struct name_entry *entry;
    uint64_t address;

    if (!symbols_address(object, file_offset, &address))
        return false;
    entry = name_table_find(&object->table, address - object->shift);
    if (!entry || (object->shift && entry->module))
        return false;
    if (object->kind == OBJECT_KERNEL && !strcmp(entry->raw, KALLSYMS_GAP))
        return false;
    *ret_symbol = (struct symbol){
        .name = name_table_name(&object->table, entry),
        .raw_name = entry->raw,
        .module = entry->module,
        .start = entry->start + object->shift,
        .size = entry->end - entry->start,
        .address = address,
        .plt = entry->flags & NAME_PLT,
        .ifunc = entry->flags & NAME_IFUNC,
        .from_dynsym = entry->flags & NAME_DYNSYM,
    };
    return true;
}

bool symbols_bounds(struct symbols_object *object, uint64_t file_offset, uint64_t *ret_start, uint64_t *ret_size)
{
    uint64_t address;

    return symbols_address(object, file_offset, &address) &&
           elf_functions_find(&object->functions, address, ret_start, ret_size);
}

unsigned symbols_lacks(struct symbols_object *object)
{
    load(object);
    return object->lacks;
}

const char *symbols_why(struct symbols_object *object)
{
    load(object);
    return object->why;
}

const char *symbols_path(const struct symbols_object *object)
{
    return object->path ? object->path : "";
}

const char *symbols_file(struct symbols_object *object)
{
    load(object);
    return object->file;
}

const char *symbols_debug_file(struct symbols_object *object)
{
    load(object);
    return object->debug_file;
}

bool symbols_has_code(struct symbols_object *object, uint64_t address)
{
    load(object);
    const struct elf_image_section *text = object->has_image ? elf_image_text_at(&object->image, address) : NULL;

    return object->has_image && (!text || text->header.sh_type != SHT_NOBITS);
}

bool symbols_replaced(struct symbols_object *object)
{
    load(object);
    return object->replaced;
}

size_t symbols_count(struct symbols_object *object)
{
    load(object);
    return object->table.finished;
}

const unsigned char *symbols_build_id(struct symbols_object *object, size_t *ret_size)
{
    if (object->build_id_size) {
        *ret_size = object->build_id_size;
        return object->build_id;
    }
    load(object);
    *ret_size = object->has_image ? object->image.build_id_size : 0;
    return object->image.build_id;
}
