/* SPDX-License-Identifier: MIT */
#include "analyze/view/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/brief.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"

/* Why the module of FRAME cannot be disassembled, or NULL. */
static const char *why_no_code(const struct profile_frame *frame, struct symbols_dso *dso)
{
    if (frame->kernel)
        return "there is no file with the kernel's code to disassemble";
    if (frame->module && frame->module->pid)
        return "the code was generated while the program ran, and is gone";
    if (!dso || !symbols_file(dso))
        return frame->module && strcmp(frame->module->path, "[vdso]") == 0 ? "the vdso is not a file"
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
        annotate->list[annotate->count++] = (struct annotate_function){
            .dso = dso, .symbol = place->symbol, .dso_name = place->dso, .start = start};
    }
    return &annotate->list[index];
}

static void add_sample(struct annotate_function *function, uint64_t address, const struct profile_entry *entry)
{
    function->samples += entry->samples;
    function->weight += entry->weight;
    function->histogram = memory_grow(function->histogram, &function->address_capacity, function->address_count + 1,
                                      sizeof(*function->histogram));
    function->histogram[function->address_count++] = (struct annotate_address){address, entry->samples, entry->weight};
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
    if (!function->address_count) {
        function->why = why_no_code(frame, dso);
        function->size = function_size(dso, frame->offset);
        function->shift = place->address - frame->offset;
    }
    /* If the symbol table has no size, the function still reaches at least to the sampled address. */
    if (place->offset >= function->size)
        function->size = place->offset + 1;
    add_sample(function, place->address, entry);
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
        const uint32_t index = map_find(keys, (uintptr_t)names_symbols(view->names, frame),
                                        place->address - place->offset);
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
    for (size_t i = 0; i < function->address_count; i++) {
        const struct annotate_address *row = &function->histogram[i];
        const struct code_instruction *at = code_at(&code->code, row->address, end);
        if (at) {
            code->samples[at - code->code.list] += row->samples;
            code->weights[at - code->code.list] += row->weight;
        } else {
            code->elsewhere_samples += row->samples;
            code->elsewhere_weight += row->weight;
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
            code->heavy[code->heavy_count++] = (struct annotate_line){
                .file = row->file, .line = row->line, .address = code->code.list[i].address};
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
    snprintf(reason, size,
             "the archive has names but no code, and the file %s%s is %s; copy the recorded file to DIR%s and add "
             "--symfs=DIR",
             symfs, path, symbols_replaced(function->dso) ? "of another build" : "missing", path);
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

/* ---- As text and as JSON ---- */

enum {
    INLINED_COLUMNS = 40, /* of the name of an inlined function beside its line */
    HEAVY_LINES = 10,     /* at most, and only lines with at least HEAVY_PERCENT of the function */
    AROUND = 3,           /* instructions before and after a sampled one, in an excerpt */
    SHARE_COLUMNS = 9,
};
#define HEAVY_PERCENT 0.5

/* Prints untrusted text up to the end of a line, cut at the width of the terminal; COLUMNS are already used. */
static void print_cut_text(struct output *output, size_t columns, const char *text)
{
    char *clean = text_clean(text, output->utf8);
    if (output->width)
        text_cut(clean, (size_t)output->width > columns ? (size_t)output->width - columns : 1, output->utf8);
    fprintf(output->to, "%s\n", clean);
    free(clean);
}

static void print_share(struct output *output, uint64_t part, uint64_t whole, double heat)
{
    char text[TEXT_AMOUNT];
    output_color(output, output_heat(heat));
    fprintf(output->to, "%*s", SHARE_COLUMNS, part ? text_percent(text, part, whole) : "");
    output_color(output, OUTPUT_PLAIN);
}

/* The share of everything, and the share of the function. */
static void print_shares(struct view *view, const struct annotate_function *function, uint64_t weight)
{
    double heat = text_share(weight, function->weight);
    print_share(view->output, weight, view->selection->total_weight, heat);
    print_share(view->output, weight, function->weight, heat);
}

static struct source_place place_of(const struct annotate_function *function, const struct code_lines *lines,
                                    uint32_t file)
{
    return (struct source_place){lines->files[file], lines->directories[file], symbols_file(function->dso)};
}

/* "burn.h:40  value = ...", with INLINED "burn.h:40 (burn)  value = ..."; owned by the caller. */
static char *line_text(const struct annotate_function *function, const struct code_lines *lines, uint32_t file,
                       uint32_t line, const char *inlined, struct source_texts *sources)
{
    struct source_place place = place_of(function, lines, file);
    const char *path = place.file, *text = source_texts_line(sources, &place, line);
    char *clean = inlined ? text_clean(inlined, true) : NULL;
    char *name = clean ? brief_name(clean, INLINED_COLUMNS, true) : NULL;
    char *whole = memory_print("%s:%" PRIu32 "%s%s%s%s%s", text_base(path), line, name ? " (" : "", name ? name : "",
                               name ? ")" : "", text ? "  " : "", text ? text + strspn(text, " ") : "");
    free(name);
    free(clean);
    return whole;
}

static void print_head(struct view *view, const struct annotate_function *function)
{
    struct output *output = view->output;
    char share[TEXT_AMOUNT], weight[TEXT_AMOUNT], samples[TEXT_AMOUNT], total[TEXT_AMOUNT];
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    output_color(output, OUTPUT_BOLD);
    output_text(output, function->symbol);
    output_color(output, OUTPUT_PLAIN);
    fputs(" in ", output->to);
    output_text(output, function->dso_name);
    fprintf(output->to, ": %s, %s in %s", text_percent(share, function->weight, view->selection->total_weight),
            text_weight(weight, function->weight, nanoseconds),
            text_plural(samples, function->samples, "sample", "samples"));
    if (function->total_weight > function->weight)
        fprintf(output->to, "; %s with the functions that it called",
                text_percent(total, function->total_weight, view->selection->total_weight));
    fputc('\n', output->to);
}

static void print_lines(struct view *view, const struct annotate_function *function, const struct annotate_code *code,
                        struct source_texts *sources)
{
    struct output *output = view->output;
    size_t shown = 0;
    for (; shown < code->heavy_count && shown < HEAVY_LINES; shown++) {
        const struct annotate_line *line = &code->heavy[shown];
        if (text_share(line->weight, function->weight) < HEAVY_PERCENT)
            break;
        if (!shown)
            fprintf(output->to, "\n%*s%*s  Source line\n", SHARE_COLUMNS, "Self", SHARE_COLUMNS, "Of it");
        print_shares(view, function, line->weight);
        char *text = line_text(function, &code->lines, line->file, line->line, line->inlined, sources);
        fputs("  ", output->to);
        print_cut_text(output, 2 * SHARE_COLUMNS + 2, text);
        free(text);
    }
    uint64_t rest = 0;
    char number[TEXT_AMOUNT];
    for (size_t i = shown; i < code->heavy_count; i++)
        rest += code->heavy[i].weight;
    if (shown && shown < code->heavy_count) {
        print_shares(view, function, rest);
        fprintf(output->to, "  %s more\n", text_plural(number, code->heavy_count - shown, "line", "lines"));
    }
}

/* By instruction: whether it is shown. */
static bool *choose_instructions(const struct annotate_code *code, bool excerpt)
{
    bool *shown = memory_new(code->code.count, sizeof(*shown));
    for (size_t i = 0; i < code->code.count; i++) {
        size_t low = i > AROUND ? i - AROUND : 0,
               high = i + AROUND < code->code.count ? i + AROUND : code->code.count - 1;
        for (size_t j = low; (code->samples[i] || !excerpt) && j <= high; j++)
            shown[j] = true;
    }
    return shown;
}

static void print_source(struct output *output, const struct annotate_function *function,
                         const struct annotate_code *code, const struct code_lines_row *row,
                         struct source_texts *sources)
{
    char *text = line_text(function, &code->lines, row->file, row->line, NULL, sources);
    fprintf(output->to, "%*s", 2 * SHARE_COLUMNS + 2, "");
    output_color(output, OUTPUT_NAME);
    print_cut_text(output, 2 * SHARE_COLUMNS + 2, text);
    output_color(output, OUTPUT_PLAIN);
    free(text);
}

static void print_left_out(struct output *output, uint64_t count)
{
    char number[TEXT_AMOUNT];
    if (count)
        fprintf(output->to, "%*s  ... %s without a sample\n", 2 * SHARE_COLUMNS, "",
                text_plural(number, count, "instruction", "instructions"));
}

static void print_instructions(struct view *view, const struct annotate_function *function,
                               const struct annotate_code *code, struct source_texts *sources, const bool *shown)
{
    struct output *output = view->output;
    uint32_t file = CODE_LINES_NONE, line = 0;
    uint64_t left_out = 0;
    fprintf(output->to, "\n%*s%*s  %16s\n", SHARE_COLUMNS, "Self", SHARE_COLUMNS, "Of it", "Address");
    for (size_t i = 0; i < code->code.count && !output_is_over(output); i++) {
        const struct code_instruction *instruction = &code->code.list[i];
        const struct code_lines_row *row = code_lines_at(&code->lines, instruction->address);
        left_out += !shown[i];
        if (!shown[i])
            continue;
        print_left_out(output, left_out);
        if (row && (left_out || row->file != file || row->line != line)) {
            print_source(output, function, code, row, sources);
            file = row->file;
            line = row->line;
        }
        left_out = 0;
        print_shares(view, function, code->weights[i]);
        fprintf(output->to, "  %16" PRIx64 "  ", instruction->address);
        print_cut_text(output, 2 * SHARE_COLUMNS + 20, instruction->text);
    }
    print_left_out(output, left_out);
}

/* Notes source files that changed since the compilation (lines may be wrong), and those that are not shown. */
static void note_sources(struct view *view, const struct annotate_function *function, const struct annotate_code *code,
                         struct source_texts *sources)
{
    struct stat status;
    const char *file = symbols_file(function->dso);
    if (!file || stat(file, &status) < 0)
        return;
    for (uint32_t i = 0; i < code->lines.file_count; i++) {
        struct source_place place = place_of(function, &code->lines, i);
        const char *why = source_texts_why(sources, &place);
        if (!why && !source_texts_changed(sources, &place, status.st_mtime))
            continue;
        char *line = why ? memory_print("Note: the text of %s is not shown: %s", place.file, why)
                         : memory_print("Note: %s is newer than the program; the lines shown may differ from the "
                                        "compiled ones",
                                        place.file);
        output_wrapped(view->output, 2, line);
        free(line);
    }
}

void annotate_print(struct view *view, const struct annotate_function *function, const struct annotate_code *code,
                    struct source_texts *sources, bool excerpt)
{
    struct output *output = view->output;
    char share[TEXT_AMOUNT];
    fputc('\n', output->to);
    print_head(view, function);
    if (!code)
        return;
    print_lines(view, function, code, sources);
    bool *shown = choose_instructions(code, excerpt);
    print_instructions(view, function, code, sources, shown);
    free(shown);
    note_sources(view, function, code, sources);
    if (code->elsewhere_samples)
        fprintf(output->to, "%s of the function's samples are at addresses where objdump finds no instruction\n",
                text_percent(share, code->elsewhere_weight, function->weight));
}

static void samples_json(struct view *view, struct json *json, uint64_t samples, uint64_t weight)
{
    json_unsigned(json, "self_samples", samples);
    json_unsigned(json, "self_weight", weight);
    json_number(json, "self_percent", text_share(weight, view->selection->total_weight));
}

static void line_json(struct json *json, const struct code_lines *lines, uint32_t file, uint32_t line)
{
    json_string(json, "file", file == CODE_LINES_NONE ? NULL : lines->files[file]);
    if (file == CODE_LINES_NONE)
        json_null(json, "line");
    else
        json_unsigned(json, "line", line);
}

static void code_json(struct view *view, struct json *json, const struct annotate_code *code)
{
    json_list(json, "lines");
    for (size_t i = 0; i < code->heavy_count; i++) {
        json_object(json, NULL);
        line_json(json, &code->lines, code->heavy[i].file, code->heavy[i].line);
        json_string(json, "inlined", code->heavy[i].inlined);
        samples_json(view, json, code->heavy[i].samples, code->heavy[i].weight);
        json_end_object(json);
    }
    json_end_list(json);
    json_list(json, "instructions");
    for (size_t i = 0; i < code->code.count; i++) {
        const struct code_instruction *instruction = &code->code.list[i];
        const struct code_lines_row *row = code_lines_at(&code->lines, instruction->address);
        json_object(json, NULL);
        json_unsigned(json, "address", instruction->address);
        json_string(json, "text", instruction->text);
        line_json(json, &code->lines, row ? row->file : CODE_LINES_NONE, row ? row->line : 0);
        samples_json(view, json, code->samples[i], code->weights[i]);
        json_end_object(json);
    }
    json_end_list(json);
    json_object(json, "elsewhere");
    samples_json(view, json, code->elsewhere_samples, code->elsewhere_weight);
    json_end_object(json);
}

void annotate_json(struct view *view, struct json *json, const struct annotate_function *function,
                   const struct annotate_code *code, const char *reason)
{
    json_object(json, NULL);
    json_string(json, "symbol", function->symbol);
    json_string(json, "dso", function->dso_name);
    json_string(json, "reason", reason);
    json_unsigned(json, "start", function->start);
    json_unsigned(json, "size", function->size);
    samples_json(view, json, function->samples, function->weight);
    json_unsigned(json, "total_samples", function->total_samples);
    json_unsigned(json, "total_weight", function->total_weight);
    json_number(json, "total_percent", text_share(function->total_weight, view->selection->total_weight));
    if (code)
        code_json(view, json, code);
    json_end_object(json);
}
