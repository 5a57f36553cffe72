/* SPDX-License-Identifier: MIT */
#include "analyze/view/lines.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/symbol_batch.h"

struct function {
    uint32_t symbol, dso, linkage; /* numbers of strings */
    bool inlined;
};

struct line {
    uint32_t file, number; /* file: number of a string; NO_FILE: none */
    uint32_t function;
};

#define NO_FILE UINT32_MAX

struct parts {
    uint32_t count;
    struct lines_part list[];
};

struct lines {
    struct names *names;
    struct map_strings strings;
    struct map functions, lines;
    struct map files; /* (string of the file, or of the DSO, 1 for a file) */
    struct function *function_list;
    struct line *line_list;
    size_t function_capacity, line_capacity;
    struct parts **frames; /* NULL: not looked up yet */
    uint32_t frame_count;
};

struct lines *lines_new(struct names *names, uint32_t frame_count)
{
    struct lines *lines = memory_new(1, sizeof(*lines));
    lines->names = names;
    lines->frames = memory_new(frame_count, sizeof(*lines->frames));
    lines->frame_count = frame_count;
    return lines;
}

void lines_free(struct lines *lines)
{
    if (!lines)
        return;
    for (uint32_t i = 0; i < lines->frame_count; i++)
        free(lines->frames[i]);
    free(lines->frames);
    free(lines->function_list);
    free(lines->line_list);
    map_release(&lines->functions);
    map_release(&lines->lines);
    map_release(&lines->files);
    map_strings_release(&lines->strings);
    free(lines);
}

static uint32_t number_function(struct lines *lines, const char *symbol, const char *linkage, const char *dso,
                                bool inlined)
{
    struct function function = {map_strings_add(&lines->strings, symbol), map_strings_add(&lines->strings, dso),
                                map_strings_add(&lines->strings, linkage), inlined};
    const size_t before = lines->functions.count;
    uint32_t index = map_add(&lines->functions, function.dso, (uint64_t)function.symbol * 2 + inlined);
    lines->function_list = memory_grow(lines->function_list, &lines->function_capacity, lines->functions.count,
                                       sizeof(function));
    if (lines->functions.count > before)
        lines->function_list[index] = function;
    return index;
}

static uint32_t number_line(struct lines *lines, const char *file, uint32_t number, uint32_t function)
{
    struct line line = {file ? map_strings_add(&lines->strings, file) : NO_FILE, number, function};
    size_t before = lines->lines.count;
    uint32_t index = map_add(&lines->lines, line.file, file ? number : function);
    lines->line_list = memory_grow(lines->line_list, &lines->line_capacity, lines->lines.count, sizeof(line));
    if (lines->lines.count > before)
        lines->line_list[index] = line;
    return index;
}

static uint32_t number_file(struct lines *lines, const char *file, const char *dso)
{
    return map_add(&lines->files, map_strings_add(&lines->strings, file ? file : dso), file != NULL);
}

/* FOUND may be NULL if COUNT is 0. */
static struct parts *number_parts(struct lines *lines, uint32_t frame, const struct symbol_line *found, size_t count)
{
    static const struct symbol_line nothing;
    const struct names_place *place = names_frame(lines->names, frame);
    if (!count) {
        found = &nothing;
        count = 1;
    }
    struct parts *parts = memory_new(1, sizeof(*parts) + count * sizeof(parts->list[0]));
    parts->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        bool inlined = i + 1 < count;
        const char *symbol = found[i].function ? found[i].function : "[unknown]";
        /* The function that contains the code has the same name as in other views. */
        const char *linkage = found[i].raw_function ? found[i].raw_function : symbol;
        if (!inlined && (place->named || !found[i].function)) {
            symbol = place->symbol;
            linkage = names_function(lines->names, place->function).linkage;
        }
        parts->list[i].function = number_function(lines, symbol, linkage, place->dso, inlined);
        parts->list[i].line = number_line(lines, found[i].file, found[i].line, parts->list[i].function);
        parts->list[i].file = number_file(lines, found[i].file, place->dso);
    }
    return parts;
}

static struct parts *look_up_frame(struct lines *lines, uint32_t frame)
{
    struct symbol_line found[SYMBOLS_LINES_MAX];
    struct symbols_dso *dso = names_symbols(lines->names, frame);
    size_t count = dso ? symbols_lines(dso, names_offset(lines->names, frame), found) : 0;
    return number_parts(lines, frame, found, count);
}

void lines_symbolize(struct lines *lines, const struct profile *profile, const bool *wanted, unsigned threads)
{
    struct symbol_batch *batch = symbol_batch_new(lines->names, profile, wanted, BATCH_LINES, threads);
    for (uint32_t i = 0; i < lines->frame_count; i++) {
        const struct symbol_batch_frame *found = symbol_batch_frame(batch, i);
        if (found->job && !lines->frames[i])
            lines->frames[i] = number_parts(lines, i, symbol_batch_lines(batch, found), found->line_count);
    }
    symbol_batch_free(batch);
}

/* A file that grew or changed between two passes may give new frames. */
static void reserve_frame(struct lines *lines, uint32_t frame)
{
    size_t capacity = lines->frame_count;
    if (frame < lines->frame_count)
        return;
    lines->frames = memory_grow(lines->frames, &capacity, (size_t)frame + 1, sizeof(*lines->frames));
    for (; lines->frame_count < capacity; lines->frame_count++)
        lines->frames[lines->frame_count] = NULL;
}

const struct lines_part *lines_frame(struct lines *lines, uint32_t frame, uint32_t *ret_count)
{
    reserve_frame(lines, frame);
    if (!lines->frames[frame])
        lines->frames[frame] = look_up_frame(lines, frame);
    *ret_count = lines->frames[frame]->count;
    return lines->frames[frame]->list;
}

struct lines_function lines_function(const struct lines *lines, uint32_t index)
{
    const struct function *function = &lines->function_list[index];
    return (struct lines_function){
        .symbol = lines->strings.texts[function->symbol],
        .dso = lines->strings.texts[function->dso],
        .linkage = lines->strings.texts[function->linkage],
        .inlined = function->inlined,
    };
}

struct lines_line lines_line(const struct lines *lines, uint32_t index)
{
    const struct line *line = &lines->line_list[index];
    struct lines_function function = lines_function(lines, line->function);
    return (struct lines_line){
        .file = line->file == NO_FILE ? NULL : lines->strings.texts[line->file],
        .number = line->number,
        .symbol = function.symbol,
        .dso = function.dso,
    };
}

struct lines_source lines_source(const struct lines *lines, uint32_t index)
{
    const struct map_pair *pair = &lines->files.pairs[index];
    const char *text = lines->strings.texts[pair->a];
    return pair->b ? (struct lines_source){.file = text} : (struct lines_source){.dso = text};
}

int lines_order_functions(const struct lines *lines, uint32_t a, uint32_t b)
{
    struct lines_function x = lines_function(lines, a), y = lines_function(lines, b);
    int order = strcmp(x.symbol, y.symbol);
    if (!order)
        order = strcmp(x.dso, y.dso);
    return order ? order : order_smaller(x.inlined, y.inlined);
}

int lines_order(const struct lines *lines, uint32_t a, uint32_t b)
{
    struct lines_line x = lines_line(lines, a), y = lines_line(lines, b);
    if (!x.file || !y.file)
        return x.file   ? -1
               : y.file ? 1
                        : lines_order_functions(lines, lines->line_list[a].function, lines->line_list[b].function);
    int order = strcmp(x.file, y.file);
    return order ? order : order_smaller(x.number, y.number);
}

int lines_order_files(const struct lines *lines, uint32_t a, uint32_t b)
{
    struct lines_source x = lines_source(lines, a), y = lines_source(lines, b);
    if (!x.file != !y.file)
        return x.file ? -1 : 1;
    return x.file ? strcmp(x.file, y.file) : strcmp(x.dso, y.dso);
}

const char *lines_why(struct lines *lines, uint32_t frame)
{
    struct symbols_dso *dso = names_symbols(lines->names, frame);
    const char *why = dso ? symbols_lines_why(dso) : NULL;
    return why ? why : "no memory mapping is known for the address";
}
