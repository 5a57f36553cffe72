/* SPDX-License-Identifier: MIT */
/* Functions with their instructions and source lines, and the samples at each: for `panalyze annotate`. */
#ifndef ANALYZE_VIEW_ANNOTATE_H
#define ANALYZE_VIEW_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/sym/code.h"
#include "analyze/sym/code_lines.h"
#include "analyze/view/source_text.h"
#include "analyze/view/view.h"
#include "common/json.h"

/* A row of a histogram: the samples whose leaf is at ADDRESS. */
struct annotate_address {
    uint64_t address, samples, weight;
};

struct annotate_function {
    struct symbols_dso *dso;
    const char *symbol, *dso_name;
    const char *why; /* why there is no code to show: static text; NULL: there may be */
    uint64_t start, size;
    uint64_t shift;                       /* addresses minus file offsets of the code */
    uint64_t samples, weight;             /* at all its addresses */
    uint64_t total_samples, total_weight; /* with everything that its code called; a sample counts once */
    struct annotate_address *histogram;
    size_t address_count, address_capacity;
};

/* One source line of a function, with the samples at its instructions. */
struct annotate_line {
    uint32_t file, line; /* file: index into lines.files */
    uint64_t address;    /* of its first instruction with samples */
    char *inlined;       /* the inlined function that the line belongs to; NULL: none, or not known */
    uint64_t samples, weight;
};

struct annotate_code {
    struct code code;
    struct code_lines lines;
    uint64_t *samples, *weights; /* by instruction */
    struct annotate_line *heavy; /* lines with samples, heaviest first */
    size_t heavy_count;
    uint64_t elsewhere_samples, elsewhere_weight; /* at no instruction of objdump's output */
};

struct annotate {
    struct annotate_function *list; /* heaviest first */
    size_t count, capacity;
};

/* The functions with samples that --dso and --symbol select. */
void annotate_init(struct annotate *annotate, struct view *view);
void annotate_release(struct annotate *annotate);

/*
 * Disassembles FUNCTION. 0; -ENOENT: there is no objdump; else -errno with a phrase in REASON[SIZE]. After an error
 * there is nothing to release.
 */
int annotate_code_init(struct annotate_code *code, const struct annotate_function *function,
                       const struct settings *settings, char *reason, size_t size);
void annotate_code_release(struct annotate_code *code);

/* Print FUNCTION as text and as JSON. CODE NULL: there is none (REASON). EXCERPT: only code near samples. Shares are of
 * everything that the filters by task leave. */
void annotate_print(struct view *view, const struct annotate_function *function, const struct annotate_code *code,
                    struct source_texts *sources, bool excerpt);
void annotate_json(struct view *view, struct json *json, const struct annotate_function *function,
                   const struct annotate_code *code, const char *reason);

#endif
