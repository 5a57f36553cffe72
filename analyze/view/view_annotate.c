/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/annotate.h"
#include "analyze/view/archive.h"
#include "analyze/view/coverage.h"
#include "analyze/view/heading.h"
#include "analyze/view/line_histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/missing.h"
#include "analyze/view/select.h"
#include "analyze/view/text.h"
#include "common/report.h"

/* Number of functions without --top: of the heaviest ones, or with --symbol. */
#define TOP_HEAVIEST 5
#define TOP_NAMED    20

/* Why names are missing in the first DSO that the filters want: the reason why a function is not found. */
struct missing_code {
    const struct view *view;
    char *text;
};

static void note_missing_names(void *context, const char *path, const char *why, unsigned reasons)
{
    struct missing_code *reason = context;
    if (reason->text || !select_dso(reason->view->settings, path))
        return;
    char *advice = reason->view->path_count ? missing_advice(reason->view->paths[0], path, reasons) : NULL;
    reason->text = memory_print("; no names for %s: %s%s%s", path, why, advice ? "; " : "", advice ? advice : "");
    free(advice);
}

/* Whether the leaf of the stack INDEX is in an inlined function that the filters select. */
static bool passes_inlined(struct view *view, uint32_t index)
{
    const uint32_t leaf = view->profile->stacks[index].frames[0];
    uint32_t depth;
    const uint32_t *frames = names_stack(view->names, index, &depth);
    bool named = false;
    for (uint32_t j = 0; j < depth && frames[j] != leaf; j++) {
        const struct names_place *place = names_frame(view->names, frames[j]);
        named |= place->inlined && select_place(view->settings, place->dso, place->symbol);
    }
    return named;
}

/* A function whose code contains an inlined function that the filters select, with samples there; NULL: none.
 * *ret_several: there are more. */
static const struct names_place *find_inlined_in(struct view *view, bool *ret_several)
{
    const struct names_place *first = NULL;
    names_symbolize(view->names, NULL, true, (unsigned)view->settings->threads);
    *ret_several = false;
    for (uint32_t i = 0; i < view->selection->entry_count && !*ret_several; i++) {
        const uint32_t index = view->profile->entries[view->selection->entries[i]].stack;
        if (!passes_inlined(view, index))
            continue;
        const struct names_place *place = names_frame(view->names, view->profile->stacks[index].frames[0]);
        *ret_several = first && place->function != first->function;
        first = first ? first : place;
    }
    return first;
}

static bool refuse_inlined(struct view *view)
{
    bool several = false;
    const struct names_place *place = view->settings->symbols.count ? find_inlined_in(view, &several) : NULL;
    if (!place)
        return false;
    const char *name = view->settings->symbols.items[0];
    char *inner = text_command(&name, 1), *outer = text_command(&place->symbol, 1);
    char *results = archive_results(view->paths[0], view->path_count);
    report_error("'%s' has no code of its own: it is inlined into '%s'%s. To see the lines of '%s', type: panalyze "
                 "report --by=line --symbol=%s %s; to see the instructions around these lines, type: panalyze annotate "
                 "--symbol=%s %s",
                 name, place->symbol, several ? " and other functions" : "", name, inner, results, outer, results);
    free(results);
    free(outer);
    free(inner);
    return true;
}

static int refuse_no_hit(struct view *view)
{
    if (view->selection->total_samples && refuse_inlined(view))
        return 1;
    struct missing_code reason = {.view = view};
    bool named = view->settings->symbols.count || view->settings->dsos.count;
    names_missing(view->names, note_missing_names, &reason);
    const char *why = reason.text ? reason.text : "";
    char *hint = suggest_hint(view, true);
    if (!view->selection->total_samples)
        report_error("there are no samples; 'panalyze counts' shows what was counted");
    else if (named)
        report_error("no sample hit a function like '%s'%s%s",
                     view->settings->symbols.count ? view->settings->symbols.items[0] : view->settings->dsos.items[0],
                     *hint ? hint : "; 'panalyze report' lists the sampled functions", *hint ? "" : why);
    else
        report_error("no sample hit a named function%s", why);
    free(hint);
    free(reason.text);
    return 1;
}

struct shown {
    struct view *view;
    struct source_texts *sources;
    struct json json;
    bool excerpt;
    size_t failed;
};

static void show_function(struct shown *shown, const struct annotate_function *function)
{
    struct annotate_code code;
    char reason[512] = "";
    struct view *view = shown->view;
    int status = annotate_code_init(&code, function, view->settings, reason, sizeof(reason));
    shown->failed += status < 0;
    if (view->settings->json) {
        annotate_json(view, &shown->json, function, status < 0 ? NULL : &code, status < 0 ? reason : NULL);
    } else {
        annotate_print(view, function, status < 0 ? NULL : &code, shown->sources, shown->excerpt);
        if (status < 0) {
            char *line = memory_print("No instructions: %s", reason);
            output_wrapped(view->output, 2, line);
            free(line);
        }
    }
    if (status == 0)
        annotate_code_release(&code);
}

static void begin_output(struct shown *shown)
{
    struct view *view = shown->view;
    struct json *json = &shown->json;
    if (!view->settings->json) {
        heading_print(view);
        return;
    }
    json_object(json, NULL);
    json_string(json, "schema", "pinject.annotate/1");
    json_string(json, "event", view->profile->events[view->profile->event].name);
    json_bool(json, "nanoseconds", view->profile->events[view->profile->event].nanoseconds);
    json_object(json, "total");
    json_unsigned(json, "samples", view->selection->total_samples);
    json_unsigned(json, "weight", view->selection->total_weight);
    json_unsigned(json, "lost", view->selection->lost);
    json_end_object(json);
    json_list(json, "functions");
}

/* Notes lines without a text. It names only the file of the heaviest line. */
static void note_missing(struct shown *shown)
{
    const char *symfs = shown->view->settings->symfs, *first = NULL;
    char number[TEXT_AMOUNT];
    const size_t count = source_texts_missing(shown->sources, &first);
    if (!count)
        return;
    text_plural(number, count - 1, "other file", "other files");
    char *others = count > 1 ? memory_print(" (and of %s)", number) : memory_text("");
    char *advice = symfs ? memory_print("the file %s%s%s does not exist either", symfs, *first == '/' ? "" : "/", first)
                         : memory_print("with --symfs=DIR, panalyze looks for DIR/%s", first + (*first == '/'));
    char *line = memory_print("Note: the text of %s%s is not shown: there is no such file%s; %s", first, others,
                              *first == '/' ? "" : " (the path is relative)", advice);
    output_wrapped(shown->view->output, 2, line);
    free(line);
    free(advice);
    free(others);
}

static void end_output(struct shown *shown, const struct annotate *annotate, size_t count)
{
    struct view *view = shown->view;
    uint64_t weight = 0;
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT];
    if (view->settings->json) {
        json_end_list(&shown->json);
        coverage_json(&shown->json, view->profile);
        json_end_object(&shown->json);
        return;
    }
    for (size_t i = count; i < annotate->count; i++)
        weight += annotate->list[i].weight;
    if (count < annotate->count)
        fprintf(view->output->to,
                "\nand %s more with %s together; --symbol NAME shows one function, --top N shows more\n",
                text_plural(number, annotate->count - count, "function", "functions"),
                text_percent(share, weight, view->selection->total_weight));
    fputc('\n', view->output->to);
    note_missing(shown);
    output_wrapped(view->output, 2, LINES_ARE_LATE);
    coverage_print(view);
}

/* Reports a missing objdump before anything is shown. */
static int check_objdump(const struct settings *settings)
{
    char reason[512];
    struct code code;
    const struct code_request request = {.objdump = settings->objdump, .file = "/proc/self/exe", .start = 0, .end = 1};
    if (code_init(&code, &request, reason, sizeof(reason)) != -ENOENT) {
        code_release(&code);
        return 0;
    }
    if (settings->objdump)
        report_error("option '--objdump': there is no program '%s'", settings->objdump);
    else
        report_error("annotate needs objdump, which is not installed; install the package binutils, or give the path "
                     "of objdump with --objdump=PATH");
    return 1;
}

int view_annotate(struct view *view)
{
    struct annotate annotate;
    struct shown shown = {.view = view, .json = {.to = view->output->to}, .excerpt = !view->settings->symbols.count};
    uint64_t top = view->settings->top ? view->settings->top : shown.excerpt ? TOP_HEAVIEST : TOP_NAMED;
    annotate_init(&annotate, view);
    int status = annotate.count ? check_objdump(view->settings) : refuse_no_hit(view);
    if (status == 0) {
        size_t count = annotate.count < top ? annotate.count : (size_t)top;
        shown.sources = source_texts_new(view->settings->symfs);
        begin_output(&shown);
        for (size_t i = 0; i < count && !output_is_over(view->output); i++)
            show_function(&shown, &annotate.list[i]);
        end_output(&shown, &annotate, count);
        source_texts_free(shown.sources);
        /* With --symbol each failure is an error; the heaviest functions may include some of the kernel. */
        status = shown.failed && (!shown.excerpt || shown.failed == count);
        if (status)
            report_error(shown.failed == count
                             ? "none of these functions could be disassembled; the output gives the reasons"
                             : "some of these functions could not be disassembled; the output gives the reasons");
    }
    annotate_release(&annotate);
    return status;
}
