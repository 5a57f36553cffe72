/* SPDX-License-Identifier: MIT */
#include "analyze/view/annotate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"

/* Why the module of FRAME cannot be disassembled, or NULL. */
static const char *why_no_code(const struct profile_frame *frame, struct symbols_dso *dso)
{
    if (frame->kernel)
        return "there is no file with the kernel's code to disassemble";
    if (frame->module && frame->module->pid)
        return "the code was generated while the program ran, and is gone";
    if (!dso || !symbols_file(dso))
        return frame->module && strcmp(frame->module->path, "[vdso]") == 0 ? "the vdso is in no file"
                                                                           : "the file is missing";
    return NULL;
}

static struct annotate_function *function_of(struct annotate *annotate, struct map *keys, struct symbols_dso *dso,
                                             const struct names_place *place)
{
    uint64_t start = place->address - place->offset;
    uint32_t index = map_add(keys, (uintptr_t)dso, start);
    if (index == annotate->count) {
        annotate->list = memory_grow(annotate->list, &annotate->capacity, annotate->count + 1, sizeof(*annotate->list));
        annotate->list[annotate->count++] =
            (struct annotate_function){.dso = dso, .symbol = place->symbol, .dso_name = place->dso, .start = start};
    }
    return &annotate->list[index];
}

static void add_hit(struct annotate_function *function, uint64_t address, const struct profile_entry *entry)
{
    function->samples += entry->samples;
    function->weight += entry->weight;
    function->histogram =
        memory_grow(function->histogram, &function->hit_capacity, function->hit_count + 1,
                    sizeof(*function->histogram));
    function->histogram[function->hit_count++] = (struct annotate_hit){address, entry->samples, entry->weight};
}

static uint64_t function_size(struct symbols_dso *dso, uint64_t offset)
{
    struct symbol symbol;
    uint64_t start, size;
    if (!dso)
        return 0;
    if (symbols_find(dso, offset, &symbol))
        return symbol.size;
    return symbols_bounds(dso, offset, &start, &size) ? size : 0;
}

static void add_entry(struct annotate *annotate, struct map *keys, struct map *numbers, struct view *view,
                      const struct profile_entry *entry)
{
    uint32_t leaf = view->profile->stacks[entry->stack].frames[0];
    const struct names_place *place = names_frame(view->names, leaf);
    const struct profile_frame *frame = &view->profile->frames[leaf];
    if (!(place->named || place->bounded) || !select_place(view->settings, place->dso, place->symbol))
        return;
    struct symbols_dso *dso = names_symbols(view->names, leaf);
    struct annotate_function *function = function_of(annotate, keys, dso, place);
    map_add(numbers, place->function, 0);
    if (!function->hit_count) {
        function->why = why_no_code(frame, dso);
        function->size = function_size(dso, frame->offset);
        function->shift = place->address - frame->offset;
    }
    /* If the symbol table has no size, the function still reaches at least to the sampled address. */
    if (place->offset >= function->size)
        function->size = place->offset + 1;
    add_hit(function, place->address, entry);
}

/* Adds ENTRY to the totals of the functions of ANNOTATE in its stack. KEYS finds them by DSO and start; NUMBERS has
 * their numbers of names.h. */
static void add_total(struct annotate *annotate, const struct map *keys, const struct map *numbers, struct view *view,
                      uint64_t *counted, uint64_t stamp, const struct profile_entry *entry)
{
    const struct profile_stack *stack = &view->profile->stacks[entry->stack];
    for (uint32_t j = 0; j < stack->depth; j++) {
        const uint32_t frame = stack->frames[j];
        if (map_find(numbers, names_function_of(view->names, frame), 0) == MAP_NONE)
            continue;
        const struct names_place *place = names_frame(view->names, frame);
        const uint32_t index =
            map_find(keys, (uintptr_t)names_symbols(view->names, frame), place->address - place->offset);
        if (index == MAP_NONE || counted[index] == stamp)
            continue;
        counted[index] = stamp;
        annotate->list[index].total_samples += entry->samples;
        annotate->list[index].total_weight += entry->weight;
    }
}

static void add_totals(struct annotate *annotate, const struct map *keys, const struct map *numbers, struct view *view)
{
    uint64_t *counted = memory_new(annotate->count, sizeof(*counted));
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        add_total(annotate, keys, numbers, view, counted, i + UINT64_C(1),
                  &view->profile->entries[view->selection->entries[i]]);
    free(counted);
}

static int compare_weight(const void *left, const void *right)
{
    const struct annotate_function *a = left, *b = right;
    int order = order_larger(a->weight, b->weight);
    if (!order)
        order = strcmp(a->symbol, b->symbol);
    if (!order)
        order = strcmp(a->dso_name, b->dso_name);
    return order ? order : order_smaller(a->start, b->start);
}

void annotate_init(struct annotate *annotate, struct view *view)
{
    struct map keys = {0}, numbers = {0};
    *annotate = (struct annotate){0};
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        add_entry(annotate, &keys, &numbers, view, &view->profile->entries[view->selection->entries[i]]);
    add_totals(annotate, &keys, &numbers, view);
    map_release(&keys);
    map_release(&numbers);
    if (annotate->count)
        qsort(annotate->list, annotate->count, sizeof(*annotate->list), compare_weight);
}

void annotate_release(struct annotate *annotate)
{
    for (size_t i = 0; i < annotate->count; i++)
        free(annotate->list[i].histogram);
    free(annotate->list);
    *annotate = (struct annotate){0};
}

static void add_histogram(struct annotate_code *code, const struct annotate_function *function)
{
    uint64_t end = function->start + function->size;
    code->samples = memory_new(code->code.count, sizeof(*code->samples));
    code->weights = memory_new(code->code.count, sizeof(*code->weights));
    for (size_t i = 0; i < function->hit_count; i++) {
        const struct annotate_hit *hit = &function->histogram[i];
        const struct code_instruction *at = code_at(&code->code, hit->address, end);
        if (at) {
            code->samples[at - code->code.list] += hit->samples;
            code->weights[at - code->code.list] += hit->weight;
        } else {
            code->elsewhere_samples += hit->samples;
            code->elsewhere_weight += hit->weight;
        }
    }
}

static int compare_lines(const void *left, const void *right, void *files)
{
    const struct annotate_line *a = left, *b = right;
    int order = order_larger(a->weight, b->weight);
    if (!order)
        order = strcmp(((char **)files)[a->file], ((char **)files)[b->file]);
    return order ? order : order_smaller(a->line, b->line);
}

/* Finds the inlined functions of the lines with samples. */
static void name_inlined(struct annotate_code *code, const struct annotate_function *function)
{
    struct symbol_line found[SYMBOLS_LINES_MAX];
    for (size_t i = 0; i < code->heavy_count; i++) {
        struct annotate_line *line = &code->heavy[i];
        const size_t count = symbols_lines(function->dso, line->address - function->shift, found);
        if (count > 1 && found[0].function)
            line->inlined = memory_text(found[0].function);
    }
}

static void add_lines(struct annotate_code *code)
{
    struct map keys = {0};
    size_t capacity = 0;
    for (size_t i = 0; i < code->code.count; i++) {
        const struct code_lines_row *row = code_lines_at(&code->lines, code->code.list[i].address);
        if (!code->samples[i] || !row)
            continue;
        uint32_t index = map_add(&keys, row->file, row->line);
        if (index == code->heavy_count) {
            code->heavy = memory_grow(code->heavy, &capacity, code->heavy_count + 1, sizeof(*code->heavy));
            code->heavy[code->heavy_count++] =
                (struct annotate_line){.file = row->file, .line = row->line, .address = code->code.list[i].address};
        }
        code->heavy[index].samples += code->samples[i];
        code->heavy[index].weight += code->weights[i];
    }
    map_release(&keys);
    if (code->heavy_count)
        qsort_r(code->heavy, code->heavy_count, sizeof(*code->heavy), compare_lines, code->lines.files);
}

/* The name in reports of the PLT stub at ADDRESS, in the DSO of FUNCTION; NULL: it has none. */
static const char *stub_name(const struct annotate_function *function, uint64_t address, struct symbol *symbol)
{
    const uint64_t offset = address - function->shift;
    uint64_t same;
    if (!symbols_address(function->dso, offset, &same) || same != address ||
        !symbols_find(function->dso, offset, symbol))
        return NULL;
    return symbol->name;
}

/* Names PLT stubs of indirect functions, which objdump does not: "call   10170 <*ABS*+0x2b5f0@plt>". */
static void name_stub(struct code_instruction *instruction, const struct annotate_function *function)
{
    static const char unnamed[] = " <*ABS*+0x", stub[] = "@plt>";
    struct symbol symbol;
    char *at = strstr(instruction->text, unnamed), *end = at ? strstr(at, stub) : NULL, *after;
    if (!end || at == instruction->text)
        return;
    const char *number = at;
    while (number > instruction->text && number[-1] != ' ')
        number--;
    const uint64_t address = strtoull(number, &after, 16);
    const char *name = after == at ? stub_name(function, address, &symbol) : NULL;
    if (!name)
        return;
    char *text = memory_print("%.*s <%s>%s", (int)(at - instruction->text), instruction->text, name,
                              end + strlen(stub));
    free(instruction->text);
    instruction->text = text;
}

/* Whether objdump would find no code, since the file is of an archive; fills REASON. */
static bool is_without_code(const struct annotate_function *function, const struct settings *settings, char *reason,
                            size_t size)
{
    const char *path = symbols_path(function->dso), *symfs = settings->symfs ? settings->symfs : "";
    if (symbols_has_code(function->dso, function->start))
        return false;
    snprintf(reason, size, "the archive has names, no code, and %s%s is %s; copy the recorded one to DIR%s and add "
             "--symfs=DIR", symfs, path, symbols_replaced(function->dso) ? "another build" : "not there", path);
    return true;
}

int annotate_code_init(struct annotate_code *code, const struct annotate_function *function,
                       const struct settings *settings, char *reason, size_t size)
{
    *code = (struct annotate_code){0};
    if (function->why) {
        snprintf(reason, size, "%s", function->why);
        return -ENODATA;
    }
    if (is_without_code(function, settings, reason, size))
        return -ENODATA;
    const char *file = symbols_file(function->dso);
    const struct code_request request = {.objdump = settings->objdump,
                                         .file = file,
                                         .start = function->start,
                                         .end = function->start + function->size,
                                         .no_demangle = settings->no_demangle};
    int status = code_init(&code->code, &request, reason, size);
    if (status < 0)
        return status;
    for (size_t i = 0; i < code->code.count; i++)
        name_stub(&code->code.list[i], function);
    if (code_lines_init(&code->lines, function->dso, request.start, request.end) < 0)
        memory_exhausted();
    add_histogram(code, function);
    add_lines(code);
    name_inlined(code, function);
    return 0;
}

void annotate_code_release(struct annotate_code *code)
{
    code_release(&code->code);
    code_lines_release(&code->lines);
    free(code->samples);
    free(code->weights);
    for (size_t i = 0; i < code->heavy_count; i++)
        free(code->heavy[i].inlined);
    free(code->heavy);
    *code = (struct annotate_code){0};
}
