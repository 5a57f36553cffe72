/* SPDX-License-Identifier: MIT */
#include "analyze/sym/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/sym_dso.h"

static const char system_debug_path[] = "/usr/lib/debug";

/* In this order: debug_paths of the options, /usr/lib/debug below symfs, /usr/lib/debug. */
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

static void free_dso(struct symbols_dso *dso)
{
    dwarf_free(dso->dwarf);
    name_table_release(&dso->table);
    name_table_release(&dso->variables);
    elf_functions_release(&dso->functions);
    name_pool_release(&dso->pool);
    text_names_release(&dso->text);
    if (dso->has_elf)
        elf_file_release(&dso->elf);
    if (dso->has_debug)
        elf_file_release(&dso->debug);
    if (dso->has_mini)
        elf_file_release(&dso->mini);
    free(dso->fetched_file);
    free(dso->file);
    free(dso->debug_file);
    free(dso->dump);
    free(dso->osrelease);
    free(dso->reference);
    free(dso->listing);
    free(dso->path);
    free(dso->key);
    free(dso);
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    struct symbols_dso *dso, *next;
    HASH_ITER(hh, symbols->dsos, dso, next)
    {
        HASH_DEL(symbols->dsos, dso);
        free_dso(dso);
    }
    for (char **path = symbols->debug_paths; path && *path; path++)
        free(*path);
    debuginfod_free(symbols->debuginfod);
    free(symbols->debug_paths);
    free(symbols->symfs);
    free(symbols);
}

/* The key of a DSO: its kind and the parts that are given, each preceded by its size. */
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

/* The DSO of KEY; *ret_new: it was created. Takes ownership of the key's bytes. NULL: out of memory. */
static struct symbols_dso *get_dso(struct symbols *symbols, struct key *key, bool *ret_new)
{
    struct symbols_dso *dso = NULL;

    *ret_new = false;
    if (!key->failed)
        HASH_FIND(hh, symbols->dsos, key->bytes, key->size, dso);
    if (dso || key->failed || !(dso = calloc(1, sizeof(*dso)))) {
        free(key->bytes);
        return dso;
    }
    dso->key = key->bytes;
    HASH_ADD_KEYPTR(hh, symbols->dsos, dso->key, key->size, dso);
    if (!TABLE_HAS(dso)) {
        free(dso->key);
        free(dso);
        return NULL;
    }
    *ret_new = true;
    dso->owner = symbols;
    name_table_init(&dso->table, &dso->pool, symbols->no_demangle);
    name_table_init(&dso->variables, &dso->pool, symbols->no_demangle);
    return dso;
}

/* A new DSO that could not be filled stays in the table without names, and has the reason. */
static void check_copy(struct symbols_dso *dso, bool failed)
{
    if (!failed)
        return;
    dso->loaded = true;
    sym_dso_missing(dso, SYMBOLS_NO_MEMORY, "out of memory");
}

/* Only zero bytes are no build-id: some writers leave the field empty. */
static size_t known_size(const unsigned char *build_id, size_t size)
{
    size_t used = 0;

    if (size > ELF_FILE_BUILD_ID_MAX)
        size = ELF_FILE_BUILD_ID_MAX;
    for (size_t i = 0; build_id && i < size; i++)
        if (build_id[i])
            used = size;
    return used;
}

static void copy_build_id(struct symbols_dso *dso, const unsigned char *build_id, size_t size)
{
    if (size)
        memcpy(dso->build_id, build_id, size);
    dso->build_id_size = size;
}

struct symbols_dso *symbols_dso(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                size_t build_id_size)
{
    struct symbols_dso *dso;
    struct key key = {NULL, 0, false};
    bool is_new;

    build_id_size = known_size(build_id, build_id_size);
    key_add(&key, "f", 1);
    key_add(&key, path, strlen(path));
    key_add(&key, build_id, build_id_size);
    dso = get_dso(symbols, &key, &is_new);
    if (is_new) {
        dso->kind = DSO_FILE;
        dso->path = strdup(path);
        copy_build_id(dso, build_id, build_id_size);
        check_copy(dso, !dso->path);
    }
    return dso;
}

struct symbols_dso *symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel)
{
    static const struct symbols_kernel unknown;
    struct symbols_dso *dso;
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
    dso = get_dso(symbols, &key, &is_new);
    if (is_new) {
        dso->kind = DSO_KERNEL;
        dso->path = strdup("[kernel.kallsyms]");
        dso->osrelease = kernel->osrelease ? strdup(kernel->osrelease) : NULL;
        dso->reference = kernel->reference_name ? strdup(kernel->reference_name) : NULL;
        dso->reference_address = kernel->reference_address;
        copy_build_id(dso, kernel->build_id, build_id_size);
        check_copy(dso,
                   !dso->path || (kernel->osrelease && !dso->osrelease) || (kernel->reference_name && !dso->reference));
    }
    return dso;
}

struct symbols_dso *symbols_jit(struct symbols *symbols, uint32_t pid)
{
    struct symbols_dso *dso;
    struct key key = {NULL, 0, false};
    bool is_new;

    key_add(&key, "j", 1);
    key_add(&key, &pid, sizeof(pid));
    dso = get_dso(symbols, &key, &is_new);
    if (is_new) {
        dso->kind = DSO_JIT;
        dso->path = strdup("//anon");
        dso->pid = pid;
        check_copy(dso, !dso->path);
    }
    return dso;
}

void sym_dso_missing(struct symbols_dso *dso, enum symbols_missing missing, const char *why)
{
    dso->missing |= missing;
    if (!dso->why)
        dso->why = why;
}

static void load_names(struct symbols_dso *dso)
{
    static void (*const loaders[])(struct symbols_dso *) = {
        [DSO_FILE] = sym_dso_load_file,
        [DSO_KERNEL] = sym_dso_load_kernel,
        [DSO_JIT] = sym_dso_load_jit,
    };

    if (dso->loaded)
        return;
    dso->loaded = true;
    loaders[dso->kind](dso);
}

int symbols_debuginfod(const struct symbols *symbols)
{
    return symbols->debuginfod_error;
}

bool symbols_address(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_address)
{
    load_names(dso);
    if (dso->kind != DSO_FILE) {
        *ret_address = file_offset;
        return true;
    }
    return dso->has_elf && elf_file_address(&dso->elf, file_offset, ret_address);
}

bool symbols_find(struct symbols_dso *dso, uint64_t file_offset, struct symbol *ret_symbol)
{
    struct name_entry *entry;
    uint64_t address;

    if (!symbols_address(dso, file_offset, &address))
        return false;
    entry = name_table_find(&dso->table, address - dso->shift);
    if (!entry || (dso->shift && entry->module))
        return false;
    if (dso->kind == DSO_KERNEL && !strcmp(entry->raw, KALLSYMS_GAP))
        return false;
    *ret_symbol = (struct symbol){
        .name = name_table_name(&dso->table, entry),
        .raw_name = entry->raw,
        .module = entry->module,
        .start = entry->start + dso->shift,
        .size = entry->end - entry->start,
        .address = address,
        .plt = entry->flags & NAME_PLT,
        .ifunc = entry->flags & NAME_IFUNC,
        .from_dynsym = entry->flags & NAME_DYNSYM,
    };
    return true;
}

bool symbols_bounds(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_start, uint64_t *ret_size)
{
    uint64_t address;

    return symbols_address(dso, file_offset, &address) &&
           elf_functions_find(&dso->functions, address, ret_start, ret_size);
}

unsigned symbols_missing(struct symbols_dso *dso)
{
    load_names(dso);
    return dso->missing;
}

const char *symbols_why(struct symbols_dso *dso)
{
    load_names(dso);
    return dso->why;
}

const char *symbols_path(const struct symbols_dso *dso)
{
    return dso->path ? dso->path : "";
}

const char *symbols_file(struct symbols_dso *dso)
{
    load_names(dso);
    return dso->file;
}

const char *symbols_debug_file(struct symbols_dso *dso)
{
    load_names(dso);
    return dso->debug_file;
}

bool symbols_has_code(struct symbols_dso *dso, uint64_t address)
{
    load_names(dso);
    const struct elf_file_section *text = dso->has_elf ? elf_file_text_at(&dso->elf, address) : NULL;

    return dso->has_elf && (!text || text->header.sh_type != SHT_NOBITS);
}

bool symbols_replaced(struct symbols_dso *dso)
{
    load_names(dso);
    return dso->replaced;
}

size_t symbols_count(struct symbols_dso *dso)
{
    load_names(dso);
    return dso->table.finished;
}

const unsigned char *symbols_build_id(struct symbols_dso *dso, size_t *ret_size)
{
    if (dso->build_id_size) {
        *ret_size = dso->build_id_size;
        return dso->build_id;
    }
    load_names(dso);
    *ret_size = dso->has_elf ? dso->elf.build_id_size : 0;
    return dso->elf.build_id;
}
