/* SPDX-License-Identifier: MIT */
#include "analyze/view/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/archive.h"
#include "analyze/view/memory.h"
#include "analyze/view/names_data.h"
#include "analyze/view/text.h"
#include "common/report.h"

#define DEBUGINFOD_SECONDS 20 /* for all DSOs together */

static void check_servers(int error)
{
    if (error == -EDESTADDRREQ)
        report_note("--debuginfod: DEBUGINFOD_URLS lists no server, none is asked; set it to the URLs of servers");
    else if (error == -ENOENT)
        report_note("--debuginfod: libdebuginfod.so.1 is not installed (Debian: libdebuginfod1), no server is asked");
    else if (error < 0)
        report_note("--debuginfod: no server is asked: %s", strerror(-error));
}

/* Whether ONE and OTHER are in the same directory. */
static bool same_directory(const char *one, const char *other)
{
    const char *slash = strrchr(one, '/'), *other_slash = strrchr(other, '/');
    size_t size = slash ? (size_t)(slash - one) : 0, other_size = other_slash ? (size_t)(other_slash - other) : 0;
    return !slash == !other_slash && size == other_size && memcmp(one, other, size) == 0;
}

/* Sources of symbols: those that the user gave, then the archives beside the results. */
static int new_symbols(struct names *names, const struct settings *settings, struct symbols_options *options)
{
    const struct profile *profile = names->profile;
    const struct settings_list *given = &settings->debug_paths;
    const char *last = NULL;
    char **archives = NULL;
    size_t count = 0;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const char *file = profile->tasks[i].file;
        if (file && (!last || !same_directory(last, file)))
            archives = archive_find(archives, &count, file);
        last = file ? file : last;
    }
    const char **paths = memory_new(given->count + count, sizeof(*paths));
    for (size_t i = 0; i < given->count + count; i++)
        paths[i] = i < given->count ? given->items[i] : archives[i - given->count];
    options->debug_paths = paths;
    options->debug_path_count = given->count + count;
    int error = symbols_new(options, &names->symbols);
    for (size_t i = 0; i < count; i++)
        free(archives[i]);
    free(archives);
    free(paths);
    return error;
}

struct names *names_new(const struct profile *profile, const struct settings *settings)
{
    struct names *names = memory_new(1, sizeof(*names));
    struct symbols_options options = {
        .symfs = settings->symfs,
        .no_demangle = settings->no_demangle,
        .debuginfod_seconds = settings->debuginfod ? DEBUGINFOD_SECONDS : 0,
    };
    names->profile = profile;
    names->dsos = memory_new(profile->module_count, sizeof(*names->dsos));
    names->frame_count = profile->frame_count;
    for (int i = 0; i < 3; i++)
        names->frame_capacity[i] = names->frame_count;
    names->places = memory_new(names->frame_count, sizeof(*names->places));
    names->functions_of = memory_new(names->frame_count, sizeof(*names->functions_of));
    names->dsos_of = memory_new(names->frame_count, sizeof(*names->dsos_of));
    if (new_symbols(names, settings, &options) < 0)
        names->symbols = NULL;
    else if (settings->debuginfod)
        check_servers(symbols_debuginfod(names->symbols));
    return names;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->frame_count; i++)
        free(names->places[i]);
    free(names->places);
    free(names->functions_of);
    free(names->dsos_of);
    free(names->known_functions);
    free(names->inlined_at);
    free(names->inlined);
    free(names->stack);
    map_release(&names->known);
    free(names->dsos);
    free(names->function_list);
    map_release(&names->functions);
    map_strings_release(&names->strings);
    symbols_free(names->symbols);
    free(names);
}

static struct symbols_dso *dso_of(struct names *names, const struct profile_module *module)
{
    if (names->dsos[module->index] || !names->symbols || module->symbol)
        return names->dsos[module->index];
    struct symbols_dso *dso;
    if (module->kernel) {
        const struct profile_session *session = &names->profile->session;
        struct symbols_kernel kernel = {
            .osrelease = session->osrelease,
            .build_id = session->kernel_build_id,
            .build_id_size = session->kernel_build_id_size,
            .reference_name = session->kernel_reference,
            .reference_address = session->kernel_reference_address,
        };
        dso = symbols_kernel(names->symbols, &kernel);
    } else if (module->pid) {
        dso = symbols_jit(names->symbols, (uint32_t)module->pid);
        for (uint32_t i = 0; dso && i < names->profile->jit_dump_count; i++)
            if (names->profile->jit_dumps[i].pid == module->pid)
                symbols_jit_dump(dso, names->profile->jit_dumps[i].path);
    } else {
        dso = symbols_dso(names->symbols, module->path, module->build_id, module->build_id_size);
    }
    names->dsos[module->index] = dso;
    return dso;
}

/* The name of FRAME without a symbol: DSO+0xADDRESS (of the function's start, if known), or only the address. */
static void name_address(const struct names_place *place, const struct profile_frame *frame, char *ret, size_t size)
{
    if (frame->module && !frame->kernel)
        snprintf(ret, size, "%s+0x%" PRIx64, text_base(frame->module->path), place->address - place->offset);
    else
        snprintf(ret, size, "0x%" PRIx64, frame->module || frame->kernel ? place->address : frame->ip);
}

uint32_t names_number(struct names *names, const char *dso, const char *symbol, const char *linkage,
                      unsigned flags)
{
    const size_t before = names->functions.count;
    uint32_t dso_id = map_strings_add(&names->strings, dso);
    uint32_t symbol_id = map_strings_add(&names->strings, symbol);
    bool inlined = flags & NAMES_INLINED;
    uint32_t function = map_add(&names->functions, dso_id, (uint64_t)symbol_id * 2 + inlined);
    names->function_list = memory_grow(names->function_list, &names->function_capacity, names->functions.count,
                                       sizeof(*names->function_list));
    if (names->functions.count > before)
        names->function_list[function] =
            (struct names_entry){symbol_id, dso_id, linkage ? map_strings_add(&names->strings, linkage) : symbol_id,
                                 flags};
    return function;
}

const char *names_dso_name(const struct profile_frame *frame)
{
    if (frame->module)
        return frame->module->path;
    return frame->kernel ? "[kernel.kallsyms]" : "[unknown]";
}

/* The address of a string in memory identifies a name, though equal names may have several addresses: most frames are
 * found by it, without a look at the text. */
uint32_t names_number_symbol(struct names *names, const struct profile_frame *frame, const struct symbol *symbol)
{
    const char *dso = symbol->module ? symbol->module : names_dso_name(frame);
    size_t before = names->known.count;
    uint32_t index = map_add(&names->known, (uintptr_t)symbol->name, (uintptr_t)dso);
    if (names->known.count == before)
        return names->known_functions[index];
    char module[256];
    if (symbol->module) {
        snprintf(module, sizeof(module), "[%s]", symbol->module);
        dso = module;
    }
    names->known_functions = memory_grow(names->known_functions, &names->known_capacity, names->known.count,
                                         sizeof(*names->known_functions));
    uint32_t function = names_number(names, dso, symbol->name, symbol->raw_name, NAMES_NAMED);
    names->known_functions[index] = function;
    return function;
}

static void look_up(struct names *names, const struct profile_frame *frame, struct names_place *place)
{
    struct symbols_dso *dso = frame->module ? dso_of(names, frame->module) : NULL;
    struct symbol symbol;
    uint64_t address, start, bytes;
    *place = (struct names_place){.address = frame->offset, .kernel = frame->kernel};
    if (frame->module && frame->module->symbol) {
        place->named = true;
        place->offset = frame->offset - frame->module->symbol_start;
        place->function = names_number(names, frame->module->path, frame->module->symbol, NULL, NAMES_NAMED);
        return;
    }
    place->named = dso && symbols_find(dso, frame->offset, &symbol);
    if (place->named) {
        place->address = symbol.address;
        place->offset = symbol.address >= symbol.start ? symbol.address - symbol.start : 0;
        place->function = names_number_symbol(names, frame, &symbol);
        return;
    }
    if (dso && !frame->kernel && symbols_address(dso, frame->offset, &address))
        place->address = address;
    place->bounded = dso && symbols_bounds(dso, frame->offset, &start, &bytes);
    if (place->bounded)
        place->offset = place->address - start;
    char text[4200];
    name_address(place, frame, text, sizeof(text));
    place->function = names_number(names, names_dso_name(frame), text, NULL, 0);
}

void names_make_room(struct names *names, size_t count)
{
    if (count <= names->frame_count)
        return;
    names->places = memory_grow(names->places, &names->frame_capacity[0], count, sizeof(*names->places));
    names->functions_of =
        memory_grow(names->functions_of, &names->frame_capacity[1], count, sizeof(*names->functions_of));
    names->dsos_of =
        memory_grow(names->dsos_of, &names->frame_capacity[2], count, sizeof(*names->dsos_of));
    for (; names->frame_count < count; names->frame_count++) {
        names->places[names->frame_count] = NULL;
        names->functions_of[names->frame_count] = names->dsos_of[names->frame_count] = 0;
    }
}

/* A file that grew or changed between two passes may give new frames. */
static inline void make_room(struct names *names, uint32_t index)
{
    if (index >= names->frame_count)
        names_make_room(names, names->profile->frame_count);
}

const struct names_place *names_frame(struct names *names, uint32_t index)
{
    make_room(names, index);
    if (names->places[index])
        return names->places[index];
    struct names_place *place = memory_new(1, sizeof(*place));
    look_up(names, &names->profile->frames[index], place);
    const struct names_entry *function = &names->function_list[place->function];
    place->dso_id = function->dso;
    place->dso = names->strings.texts[function->dso];
    place->symbol = names->strings.texts[function->symbol];
    names->functions_of[index] = place->function + 1;
    return names->places[index] = place;
}

char *names_address_label(const struct names_place *place)
{
    if (place->named)
        return memory_print("%s+0x%" PRIx64, place->symbol, place->offset);
    if (place->bounded)
        return memory_print("%s+0x%" PRIx64, text_base(place->dso), place->address);
    return memory_text(place->symbol);
}

uint32_t names_function_of(struct names *names, uint32_t index)
{
    make_room(names, index);
    if (names->functions_of[index] == 0) {
        struct names_place place;
        look_up(names, &names->profile->frames[index], &place);
        names->functions_of[index] = place.function + 1;
    }
    return names->functions_of[index] - 1;
}

struct symbols_dso *names_symbols(struct names *names, uint32_t index)
{
    const struct profile_frame *frame = &names->profile->frames[index];
    return frame->module ? dso_of(names, frame->module) : NULL;
}

uint64_t names_offset(const struct names *names, uint32_t index)
{
    return names->profile->frames[index].offset;
}

uint32_t names_dso_of(struct names *names, uint32_t index)
{
    make_room(names, index);
    if (names->dsos_of[index] == 0) {
        const struct profile_frame *frame = &names->profile->frames[index];
        if (frame->kernel) {
            uint32_t function = names_function_of(names, index);
            names->dsos_of[index] = names->function_list[function].dso + 1;
        } else {
            names->dsos_of[index] = map_strings_add(&names->strings, names_dso_name(frame)) + 1;
        }
    }
    return names->dsos_of[index] - 1;
}

const uint32_t *names_functions(const struct names *names)
{
    return names->functions_of;
}

const uint32_t *names_dsos(const struct names *names)
{
    return names->dsos_of;
}

struct names_function names_function(const struct names *names, uint32_t index)
{
    const struct names_entry *function = &names->function_list[index];
    return (struct names_function){
        .symbol = names->strings.texts[function->symbol],
        .dso = names->strings.texts[function->dso],
        .linkage = names->strings.texts[function->linkage],
        .dso_id = function->dso,
        .named = function->flags & NAMES_NAMED,
        .inlined = function->flags & NAMES_INLINED,
    };
}

const char *names_dso(const struct names *names, uint32_t dso_id)
{
    return names->strings.texts[dso_id];
}

void names_missing(struct names *names, names_each_missing *each, void *context)
{
    for (uint32_t i = 0; i < names->profile->module_count; i++) {
        struct symbols_dso *dso = names->dsos[i];
        unsigned missing = dso ? symbols_missing(dso) : 0;
        const char *why = missing ? symbols_why(dso) : NULL;
        if (why)
            each(context, names->profile->modules[i]->path, why, missing);
    }
}
