/* SPDX-License-Identifier: MIT */
/* One annotated function, as text and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/annotate.h"
#include "analyze/view/brief.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

enum {
    INLINED_COLUMNS = 40, /* of the name of an inlined function beside its line */
    HEAVY_LINES = 10, /* at most, and only lines with at least HEAVY_PERCENT of the function */
    AROUND = 3,       /* instructions before and after a sampled one, in an excerpt */
    SHARE_COLUMNS = 9,
};
#define HEAVY_PERCENT 0.5

/* Prints untrusted text up to the end of a line, cut at the width of the terminal; COLUMNS are already used. */
static void print_rest(struct output *output, size_t columns, const char *text)
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
        fprintf(output->to, "; %s with what it called",
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
        print_rest(output, 2 * SHARE_COLUMNS + 2, text);
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
static bool *choose(const struct annotate_code *code, bool excerpt)
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
    print_rest(output, 2 * SHARE_COLUMNS + 2, text);
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
        print_rest(output, 2 * SHARE_COLUMNS + 20, instruction->text);
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
                         : memory_print("Note: %s is newer than the program; its lines may differ", place.file);
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
    bool *shown = choose(code, excerpt);
    print_instructions(view, function, code, sources, shown);
    free(shown);
    note_sources(view, function, code, sources);
    if (code->elsewhere_samples)
        fprintf(output->to, "%s of it at addresses where objdump finds no instruction\n",
                text_percent(share, code->elsewhere_weight, function->weight));
}

static void hit_json(struct view *view, struct json *json, uint64_t samples, uint64_t weight)
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
        hit_json(view, json, code->heavy[i].samples, code->heavy[i].weight);
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
        hit_json(view, json, code->samples[i], code->weights[i]);
        json_end_object(json);
    }
    json_end_list(json);
    json_object(json, "elsewhere");
    hit_json(view, json, code->elsewhere_samples, code->elsewhere_weight);
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
    hit_json(view, json, function->samples, function->weight);
    json_unsigned(json, "total_samples", function->total_samples);
    json_unsigned(json, "total_weight", function->total_weight);
    json_number(json, "total_percent", text_share(function->total_weight, view->selection->total_weight));
    if (code)
        code_json(view, json, code);
    json_end_object(json);
}
