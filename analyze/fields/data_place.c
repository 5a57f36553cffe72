/* SPDX-License-Identifier: MIT */
#include "analyze/fields/data_place.h"

#include <string.h>

#include "analyze/sym/symbols.h"

/* A mapping of a file, which may have symbols. */
static bool is_file(const struct profile_mapping *mapping)
{
    return mapping->module && !mapping->module->pid && !mapping->module->kernel;
}

/*
 * Whether an address in the mappings of DATA can belong to the file that is mapped at CODE. Zeroed data (.bss) is in
 * memory without a file that follows the file's own data. Mappings of unloaded files stay, because nothing records an
 * munmap: what follows them can also be newer memory, see find_in_file().
 */
static bool can_belong(const struct profile_data *data, const struct profile_mapping *code)
{
    const char *path = code->module->path; /* equal strings are equal pointers */
    if (!data->at.module)
        return true; /* files of older versions of pinject-run have no mappings of data */
    if (is_file(&data->at))
        return data->at.module->path == path;
    return data->before.module && data->before.module->path == path;
}

/* Sets RET if the file at CODE has ADDRESS, which is in the mapping AT. WITHIN: ADDRESS is in its code. */
static bool find_in_file(const struct view *view, const struct profile_mapping *code, const struct profile_mapping *at,
                         uint64_t address, bool within, struct data_place *ret)
{
    const bool anonymous = at->module && !is_file(at);
    const struct symbols_mapping mapping = {code->start, code->end - code->start, code->pgoff};
    struct symbols_dso *dso = names_module(view->names, code->module);
    struct symbol symbol;
    uint64_t virtual;
    if (!dso || !symbols_virtual(dso, &mapping, address, &virtual))
        return false;
    if (anonymous && !symbols_is_zeroed(dso, virtual, virtual - (address - at->start)))
        return false;
    ret->dso = code->module->path;
    if (symbols_variable(dso, virtual, &symbol) ||
        (within && !anonymous && symbols_find(dso, address - code->start + code->pgoff, &symbol)))
        ret->symbol = symbol.name;
    return true;
}

/* The kernel's mapping covers only its text, so all other kernel memory outside of modules is '[kernel]', too. */
static const char *name_memory(const struct profile_mapping *at, uint64_t address)
{
    if (profile_is_kernel(address) && (!at->module || strcmp(at->module->path, "[kernel.kallsyms]") == 0))
        return "[kernel]";
    return at->module ? at->module->path : "[unknown]";
}

struct data_place data_place_find(const struct view *view, const struct profile_sample *sample, uint64_t address)
{
    if (profile_sample_is_guest(sample))
        return (struct data_place){.dso = "[guest]"};
    const struct profile_data data = profile_sample_data(view->profile, sample, address);
    struct data_place place = {.dso = name_memory(&data.at, address), .kernel = profile_is_kernel(address)};
    for (int i = 0; i < 3 && !place.kernel; i++)
        if (is_file(&data.code[i]) && can_belong(&data, &data.code[i]) &&
            find_in_file(view, &data.code[i], &data.at, address, i == 0, &place))
            break;
    return place;
}
