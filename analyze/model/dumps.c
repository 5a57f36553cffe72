/* SPDX-License-Identifier: MIT */
#include "analyze/model/dumps.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/bytes.h"
#include "analyze/sym/debug_file.h"

#define DELETED      " (deleted)"
#define SYSTEM_DEBUG "/usr/lib/debug"

void dumps_release(struct dumps *dumps)
{
    unwind_files_free(dumps->files);
    unwind_engine_free(dumps->engine);
    free(dumps->of_module);
    free(dumps->asked);
    dumps->files = NULL;
    dumps->engine = NULL;
    dumps->of_module = NULL;
    dumps->asked = NULL;
    dumps->modules = 0;
}

static bool is_recorded_file(const struct profile_module *module, const struct elf_file *elf)
{
    return module->build_id_size == 0 ||
           elf_file_same_build_id(module->build_id, module->build_id_size, elf->build_id, elf->build_id_size);
}

/* Opens exactly the file that was mapped, wherever it is now; the tables of another build would be wrong. */
static bool open_elf(const struct dumps *dumps, const struct profile_module *module, struct elf_file *ret)
{
    size_t length = strlen(module->path), suffix = strlen(DELETED);
    bool deleted = length > suffix && strcmp(module->path + length - suffix, DELETED) == 0;
    char *path = NULL, *found = NULL;
    if (asprintf(&path, "%s%.*s", dumps->symfs, (int)(deleted ? length - suffix : length), module->path) < 0)
        return false;
    bool opened = (!deleted || module->build_id_size) && elf_file_init(ret, path) == 0;
    free(path);
    if (opened && is_recorded_file(module, ret))
        return true;
    if (opened)
        elf_file_release(ret);
    const char **roots = calloc(dumps->debug_path_count + 1, sizeof(*roots));
    if (!roots || module->build_id_size == 0) {
        free(roots);
        return false;
    }
    for (size_t i = 0; i < dumps->debug_path_count; i++)
        roots[i] = dumps->debug_paths[i];
    roots[dumps->debug_path_count] = SYSTEM_DEBUG;
    const struct debug_roots where = {roots, dumps->debug_path_count + 1, dumps->symfs};
    opened = debug_file_by_build_id(ret, &found, module->build_id, module->build_id_size, "", &where) == 0;
    free(roots);
    free(found);
    return opened;
}

static struct unwind_file *find_file(struct dumps *dumps, const struct profile_module *module)
{
    struct elf_file elf;
    if (strcmp(module->path, "[vdso]") == 0)
        return dumps->vdso ? unwind_files_vdso(dumps->files) : NULL;
    if (module->pid || module->path[0] != '/' || !open_elf(dumps, module, &elf))
        return NULL;
    struct unwind_file *file = unwind_files_fd(dumps->files, elf.fd);
    elf_file_release(&elf);
    return file;
}

static bool reserve_modules(struct dumps *dumps, uint32_t count)
{
    struct unwind_file **files = reallocarray(dumps->of_module, count, sizeof(*files));
    if (files)
        dumps->of_module = files;
    bool *asked = reallocarray(dumps->asked, count, sizeof(*asked));
    if (asked)
        dumps->asked = asked;
    if (!files || !asked)
        return false;
    memset(asked + dumps->modules, 0, (count - dumps->modules) * sizeof(*asked));
    dumps->modules = count;
    return true;
}

static bool find_mapping(void *context, uint64_t address, struct unwind_map *ret)
{
    struct dumps *dumps = context;
    const struct mapping *mapping = space_find(dumps->user, address);
    if (!mapping)
        return false;
    *ret = (struct unwind_map){.start = mapping->start, .offset = mapping->pgoff};
    uint32_t module = mapping->module;
    ret->anonymous = strncmp(store_module_at(dumps->store, module)->path, "//anon", 6) == 0;
    if (module >= dumps->modules && !reserve_modules(dumps, dumps->store->modules.count))
        return true;
    if (!dumps->asked[module])
        dumps->of_module[module] = find_file(dumps, store_module_at(dumps->store, module));
    dumps->asked[module] = true;
    ret->file = dumps->of_module[module];
    return true;
}

/* Unwinds the dump into dumps->chain from AT on. Returns the number of addresses; 0: it cannot be unwound. */
static unsigned unwind_sample(struct dumps *dumps, const struct record *sample, size_t at, struct unwind_outcome *ret)
{
    uint64_t words[64], mask = sample->attr->perf.sample_regs_user;
    size_t count = (size_t)__builtin_popcountll(mask);
    struct unwind_regs regs;
    if (!dumps->native || sample->swap || sample->user_abi != PERF_SAMPLE_REGS_ABI_64)
        return 0;
    memcpy(words, sample->user_regs, count * sizeof(*words));
    if (!unwind_regs_of_perf(mask, words, count, &regs))
        return 0;
    if (!dumps->files)
        dumps->files = unwind_files_new();
    if (!dumps->engine)
        dumps->engine = unwind_engine_new(dumps->unwinder);
    if (!dumps->files || !dumps->engine)
        return 0;
    const struct unwind_dump dump = {.bytes = sample->user_stack,
                                     .start = regs.value[UNWIND_SP],
                                     .size = sample->stack_size,
                                     .full = sample->stack_full};
    const struct unwind_target target = {find_mapping, dumps};
    return unwind_engine_stack(dumps->engine, dumps->user->state, &target, &regs, &dump, dumps->chain + at, DUMPS_DEPTH,
                               ret);
}

/* Whether the chain has no user part, as when perf records dumps. */
static bool has_no_user_part(const struct record *sample)
{
    bool user = false;
    for (uint64_t i = 0; i < sample->chain_count && !user; i++)
        user = bytes_u64(sample->chain + 8 * i, sample->swap) == PERF_CONTEXT_USER;
    return !user;
}

struct record dumps_unwound(struct dumps *dumps, const struct space *user, const struct record *sample)
{
    struct record whole = *sample;
    size_t recorded = sample->chain_count;
    struct unwind_outcome outcome = {.end = UNWIND_NO_TABLE};
    if (!sample->user_stack || !sample->user_regs || recorded > DUMPS_RECORDED || !has_no_user_part(sample))
        return whole;
    dumps->user = user;
    unsigned count = unwind_sample(dumps, sample, recorded + 1, &outcome);
    dumps->left += count == 0;
    if (count == 0)
        return whole;
    dumps->ends[outcome.end]++;
    if (recorded > 0)
        memcpy(dumps->chain, sample->chain, 8 * recorded);
    dumps->chain[recorded] = PERF_CONTEXT_USER;
    whole.chain = (const unsigned char *)dumps->chain;
    whole.chain_count = recorded + 1 + count;
    whole.user_regs = whole.user_stack = NULL;
    whole.unwound = true;
    whole.cut = outcome.end == UNWIND_TRUNCATED || outcome.end == UNWIND_TOO_DEEP;
    return whole;
}
