/* SPDX-License-Identifier: MIT */
#include "analyze/view/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/archive.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/symbol_batch.h"
#include "analyze/view/text.h"
#include "common/report.h"

#define DEBUGINFOD_SECONDS 20 /* for all DSOs together */

struct names_entry {
    uint32_t symbol, dso, linkage; /* numbers of strings */
    unsigned flags;
};

struct names {
    const struct profile *profile;
    struct symbols *symbols;   /* NULL: no names are looked up */
    bool addresses;            /* --no-resolve */
    struct symbols_dso **dsos; /* by module; NULL: not needed yet */
    uint32_t module_count;
    struct map_strings strings;
    struct map functions; /* (DSO string, symbol string * 2 + inlined) */
    struct names_entry *function_list;
    size_t function_capacity;
    struct map known; /* (name as returned by symbols.h, what it is in) */
    uint32_t *known_functions;
    size_t known_capacity;
    /* By frame, first those of the profile, then inlined functions: the number + 1; 0: not looked up yet. */
    uint32_t *functions_of, *dsos_of;
    struct names_place **places; /* by frame; NULL: only the function was needed */
    size_t frame_count, frame_capacity[3];
    bool symbolized;
    /* Inlined functions. By frame of the profile: the start of its list in `inlined`; 0: nothing is inlined. */
    uint32_t *inlined_at;
    uint32_t *inlined; /* lists: the count, then the frames, the innermost first */
    size_t inlined_count, inlined_capacity;
    uint32_t *stack; /* last result of names_stack() with inlined functions */
    size_t stack_capacity;
};

static void check_servers(int error)
{
    if (error == -EDESTADDRREQ)
        report_note(
            "--debuginfod has no effect, because DEBUGINFOD_URLS is empty; set it to the URLs of debuginfod servers");
    else if (error == -ENOENT)
        report_note(
            "--debuginfod has no effect, because libdebuginfod.so.1 is not installed (Debian package: libdebuginfod1)");
    else if (error < 0)
        report_note("--debuginfod has no effect, because debuginfod could not be initialized: %s", strerror(-error));
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
    names->addresses = settings->no_resolve;
    names->module_count = profile->module_count;
    names->dsos = memory_new(profile->module_count, sizeof(*names->dsos));
    names->frame_count = profile->frame_count;
    for (int i = 0; i < 3; i++)
        names->frame_capacity[i] = names->frame_count;
    names->places = memory_new(names->frame_count, sizeof(*names->places));
    names->functions_of = memory_new(names->frame_count, sizeof(*names->functions_of));
    names->dsos_of = memory_new(names->frame_count, sizeof(*names->dsos_of));
    if (names->addresses || new_symbols(names, settings, &options) < 0)
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
    if (module->index >= names->module_count) /* a file that changed between two passes may give new modules */
        return NULL;
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

/* The name of FRAME without a symbol: DSO+0xADDRESS (of the function's start, if known), or only the address. With
 * --no-resolve the address in the DSO is not known, only the offset in its file: DSO@0xOFFSET. */
static void name_address(const struct names *names, const struct names_place *place, const struct profile_frame *frame,
                         char *ret, size_t size)
{
    if (frame->module && !frame->kernel)
        snprintf(ret, size, "%s%c0x%" PRIx64, text_base(frame->module->path), names->addresses ? '@' : '+',
                 place->address - place->offset);
    else
        snprintf(ret, size, "0x%" PRIx64, frame->module || frame->kernel ? place->address : frame->ip);
}

uint32_t names_number(struct names *names, const char *dso, const char *symbol, const char *linkage, unsigned flags)
{
    const size_t before = names->functions.count;
    uint32_t dso_id = map_strings_add(&names->strings, dso);
    uint32_t symbol_id = map_strings_add(&names->strings, symbol);
    bool inlined = flags & NAMES_INLINED;
    uint32_t function = map_add(&names->functions, dso_id, (uint64_t)symbol_id * 2 + inlined);
    names->function_list = memory_grow(names->function_list, &names->function_capacity, names->functions.count,
                                       sizeof(*names->function_list));
    if (names->functions.count > before)
        names->function_list[function] = (struct names_entry){
            symbol_id, dso_id, linkage ? map_strings_add(&names->strings, linkage) : symbol_id, flags};
    return function;
}

static const char *dso_name(const struct profile_frame *frame)
{
    if (frame->module)
        return frame->module->path;
    return frame->kernel ? "[kernel.kallsyms]" : "[unknown]";
}

/* The address of a string in memory identifies a name, though equal names may have several addresses: most frames are
 * found by it, without a look at the text. */
static uint32_t number_symbol(struct names *names, const struct profile_frame *frame, const struct symbol *symbol)
{
    const char *dso = symbol->module ? symbol->module : dso_name(frame);
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

static void look_up_frame(struct names *names, const struct profile_frame *frame, struct names_place *place)
{
    struct symbols_dso *dso = frame->module ? dso_of(names, frame->module) : NULL;
    struct symbol symbol;
    uint64_t address, start, bytes;
    *place = (struct names_place){.address = frame->offset, .kernel = frame->kernel};
    if (frame->module && frame->module->symbol && !names->addresses) {
        place->named = true;
        place->offset = frame->offset - frame->module->symbol_start;
        place->function = names_number(names, frame->module->path, frame->module->symbol, NULL, NAMES_NAMED);
        return;
    }
    place->named = dso && symbols_find(dso, frame->offset, &symbol);
    if (place->named) {
        place->address = symbol.address;
        place->offset = symbol.address >= symbol.start ? symbol.address - symbol.start : 0;
        place->function = number_symbol(names, frame, &symbol);
        return;
    }
    if (dso && !frame->kernel && symbols_address(dso, frame->offset, &address))
        place->address = address;
    place->bounded = dso && symbols_bounds(dso, frame->offset, &start, &bytes);
    if (place->bounded)
        place->offset = place->address - start;
    char text[4200];
    name_address(names, place, frame, text, sizeof(text));
    place->function = names_number(names, dso_name(frame), text, NULL, 0);
}

static void reserve_frames(struct names *names, size_t count)
{
    if (count <= names->frame_count)
        return;
    names->places = memory_grow(names->places, &names->frame_capacity[0], count, sizeof(*names->places));
    names->functions_of = memory_grow(names->functions_of, &names->frame_capacity[1], count,
                                      sizeof(*names->functions_of));
    names->dsos_of = memory_grow(names->dsos_of, &names->frame_capacity[2], count, sizeof(*names->dsos_of));
    for (; names->frame_count < count; names->frame_count++) {
        names->places[names->frame_count] = NULL;
        names->functions_of[names->frame_count] = names->dsos_of[names->frame_count] = 0;
    }
}

/* A file that grew or changed between two passes may give new frames. */
static inline void reserve_frame(struct names *names, uint32_t index)
{
    if (index >= names->frame_count)
        reserve_frames(names, names->profile->frame_count);
}

void names_look_up(struct names *names, const struct profile_frame *frame, struct names_place *ret)
{
    look_up_frame(names, frame, ret);
    const struct names_entry *function = &names->function_list[ret->function];
    ret->dso_id = function->dso;
    ret->dso = names->strings.texts[function->dso];
    ret->symbol = names->strings.texts[function->symbol];
}

struct symbols_dso *names_module(struct names *names, const struct profile_module *module)
{
    return dso_of(names, module);
}

const struct names_place *names_frame(struct names *names, uint32_t index)
{
    reserve_frame(names, index);
    if (names->places[index])
        return names->places[index];
    struct names_place *place = memory_new(1, sizeof(*place));
    names_look_up(names, &names->profile->frames[index], place);
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
    reserve_frame(names, index);
    if (names->functions_of[index] == 0) {
        struct names_place place;
        look_up_frame(names, &names->profile->frames[index], &place);
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
    reserve_frame(names, index);
    if (names->dsos_of[index] == 0) {
        const struct profile_frame *frame = &names->profile->frames[index];
        if (frame->kernel) {
            uint32_t function = names_function_of(names, index);
            names->dsos_of[index] = names->function_list[function].dso + 1;
        } else {
            names->dsos_of[index] = map_strings_add(&names->strings, dso_name(frame)) + 1;
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
    for (uint32_t i = 0; i < names->module_count; i++) {
        struct symbols_dso *dso = names->dsos[i];
        unsigned missing = dso ? symbols_missing(dso) : 0;
        const char *why = missing ? symbols_why(dso) : NULL;
        if (why)
            each(context, names->profile->modules[i]->path, why, missing);
    }
}

/* ---- Many frames at once, and frames for inlined functions ---- */

/* The frame for the inlined FUNCTION, the same wherever it is inlined. */
static uint32_t inlined_frame(struct names *names, struct map *known, uint32_t function)
{
    uint32_t index = map_add(known, function, 0), frame = names->profile->frame_count + index;
    if (frame < names->frame_count)
        return frame;
    const struct names_entry *entry = &names->function_list[function];
    struct names_place *place = memory_new(1, sizeof(*place));
    *place = (struct names_place){
        .symbol = names->strings.texts[entry->symbol],
        .dso = names->strings.texts[entry->dso],
        .function = function,
        .dso_id = entry->dso,
        .named = true,
        .inlined = true,
    };
    reserve_frames(names, (size_t)frame + 1);
    names->places[frame] = place;
    names->functions_of[frame] = function + 1;
    names->dsos_of[frame] = entry->dso + 1;
    return frame;
}

static void put_inlined(struct names *names, uint32_t number)
{
    names->inlined = memory_grow(names->inlined, &names->inlined_capacity, names->inlined_count + 1,
                                 sizeof(*names->inlined));
    names->inlined[names->inlined_count++] = number;
}

/* Takes the functions inlined at FRAME: all of LINES except the last, which contains the code. */
static void take_inlined(struct names *names, struct map *known, uint32_t frame, const struct symbol_line *lines,
                         uint32_t count)
{
    uint32_t function = names->functions_of[frame];
    const char *dso = function ? names->strings.texts[names->function_list[function - 1].dso]
                               : dso_name(&names->profile->frames[frame]);
    names->inlined_at[frame] = (uint32_t)names->inlined_count;
    put_inlined(names, count - 1);
    for (uint32_t i = 0; i + 1 < count; i++) {
        const char *symbol = lines[i].function ? lines[i].function : "[unknown]";
        function = names_number(names, dso, symbol, lines[i].raw_function, NAMES_NAMED | NAMES_INLINED);
        put_inlined(names, inlined_frame(names, known, function));
    }
}

void names_symbolize(struct names *names, const bool *wanted, bool inlined, unsigned threads)
{
    const struct profile *profile = names->profile;
    if (names->symbolized || !names->symbols)
        return;
    names->symbolized = true;
    reserve_frames(names, profile->frame_count);
    struct symbol_batch *batch = symbol_batch_new(names, profile, wanted, BATCH_SYMBOLS | (inlined ? BATCH_INLINED : 0),
                                                  threads);
    struct map known = {0};
    if (inlined) {
        names->inlined_at = memory_new(profile->frame_count, sizeof(*names->inlined_at));
        put_inlined(names, 0);
    }
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct symbol_batch_frame *found = symbol_batch_frame(batch, i);
        const struct symbol symbol = {.name = found->name, .raw_name = found->raw_name, .module = found->module};
        if (found->name && !names->functions_of[i])
            names->functions_of[i] = number_symbol(names, &profile->frames[i], &symbol) + 1;
        if (inlined && found->line_count)
            take_inlined(names, &known, i, symbol_batch_lines(batch, found), found->line_count);
    }
    map_release(&known);
    symbol_batch_free(batch);
}

bool names_shows_inlined(const struct names *names)
{
    return names->inlined_at != NULL;
}

const uint32_t *names_stack(struct names *names, uint32_t index, uint32_t *ret_depth)
{
    const struct profile_stack *stack = &names->profile->stacks[index];
    uint32_t plain = 0, depth = 0;
    *ret_depth = stack->depth;
    while (plain < stack->depth && names->inlined_at && !names->inlined_at[stack->frames[plain]])
        plain++;
    if (!names->inlined_at || plain == stack->depth)
        return stack->frames;
    for (uint32_t i = 0; i < stack->depth; i++) {
        const uint32_t *list = &names->inlined[names->inlined_at[stack->frames[i]]];
        names->stack = memory_grow(names->stack, &names->stack_capacity, (size_t)depth + *list + 1,
                                   sizeof(*names->stack));
        memcpy(names->stack + depth, list + 1, *list * sizeof(*list));
        depth += *list;
        names->stack[depth++] = stack->frames[i];
    }
    *ret_depth = depth;
    return names->stack;
}

bool names_is_inlined(const struct names *names, uint32_t frame)
{
    return names->inlined_at && frame >= names->profile->frame_count;
}

size_t names_frame_count(const struct names *names)
{
    return names->frame_count;
}

/* ---- The order of lists ---- */

int order_functions(const struct names *names, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    struct names_function x = names_function(names, a), y = names_function(names, b);
    int order = strcmp(x.symbol, y.symbol);
    if (!order)
        order = strcmp(x.dso, y.dso);
    return order ? order : order_smaller(x.inlined, y.inlined);
}

int order_dsos(const struct names *names, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(names_dso(names, a), names_dso(names, b));
}

static int order_modules(const struct profile_module *a, const struct profile_module *b)
{
    if (a == b)
        return 0;
    if (!a || !b)
        return a ? 1 : -1;
    int order = order_smaller(a->build_id_size, b->build_id_size);
    if (!order && a->build_id_size)
        order = memcmp(a->build_id, b->build_id, a->build_id_size);
    return order ? order : order_smaller((uint32_t)a->pid, (uint32_t)b->pid);
}

int order_frames(struct names *names, const struct profile *profile, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    const struct names_place *x = names_frame(names, a), *y = names_frame(names, b);
    int order = strcmp(x->dso, y->dso);
    if (!order)
        order = order_smaller(x->address, y->address);
    if (!order)
        order = strcmp(x->symbol, y->symbol);
    /* Frames of inlined functions are not in the profile. */
    if (!order && a < profile->frame_count && b < profile->frame_count) {
        const struct profile_frame *one = &profile->frames[a], *other = &profile->frames[b];
        order = order_modules(one->module, other->module);
        if (!order)
            order = order_smaller(one->offset, other->offset);
        if (!order)
            order = order_smaller(one->ip, other->ip);
    }
    return order ? order : order_smaller(a, b);
}

int order_keys(struct names *names, const struct profile *profile, int by, uint64_t a, uint64_t b)
{
    switch (by) {
    case BY_DSO: return order_dsos(names, (uint32_t)a, (uint32_t)b);
    case BY_ADDRESS: return order_frames(names, profile, (uint32_t)a, (uint32_t)b);
    case BY_COMM: return strcmp((const char *)(uintptr_t)a, (const char *)(uintptr_t)b);
    case BY_TASK:
    case BY_PROCESS: return order_smaller(a, b);
    default: return order_functions(names, (uint32_t)a, (uint32_t)b);
    }
}
