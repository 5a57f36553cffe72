/* SPDX-License-Identifier: MIT */
/* A flame graph: its boxes, their positions and colours; flame_svg.c draws it. */
#ifndef ANALYZE_VIEW_FLAME_H
#define ANALYZE_VIEW_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/view/call_tree.h"
#include "analyze/view/view.h"

#define FLAME_COLORS 10 /* DSOs that have a colour of their own */

/* Adjacent boxes that are too small: one box replaces them. */
struct flame_folded {
    uint64_t start, weight, samples;
    uint32_t count;
};

struct flame {
    struct view *view;
    struct calls calls;
    bool hanging;                         /* the outermost level is at the top */
    uint64_t least;                       /* without --min: the weight of the heaviest box that is not drawn */
    uint64_t *starts;                     /* by node: the weight to its left */
    bool *drawn;                          /* by node */
    struct flame_folded *folded;          /* by node: its children that are not drawn */
    uint32_t levels;                      /* that are drawn, with the root's */
    uint64_t narrow_boxes, narrow_weight; /* left out */
    uint64_t deep_weight;                 /* too deep to be drawn */
    uint64_t unwanted_weight;             /* of stacks that --symbol and --dso leave out */
    const char *dsos[FLAME_COLORS];       /* paths, heaviest (self) first */
    uint64_t dso_weights[FLAME_COLORS];
    uint32_t dso_count;
};

/* Makes the graph of the selected entries of VIEW. */
void flame_init(struct flame *flame, struct view *view);
void flame_release(struct flame *flame);
/* Are the folded children of NODE together wide enough for a box? */
bool flame_shows_folded(const struct flame *flame, uint32_t node);
void flame_svg(struct flame *flame, FILE *to);

/*
 * Writes untrusted text into XML, for content and for attributes in double quotes: the document stays well-formed and
 * shows the text. Characters that text_clean() removes are shown as \033, characters that XML forbids as U+FFFD.
 */
void markup_text(FILE *to, const char *text);

#endif
