/* SPDX-License-Identifier: MIT */
/* A flame graph: which boxes it has, where they lie, and their colours; flame_svg.c draws it. */
#ifndef ANALYZE_VIEW_FLAME_H
#define ANALYZE_VIEW_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/view/calls.h"
#include "analyze/view/view.h"

#define FLAME_COLORS 10 /* DSOs that have a colour of their own */

/* Boxes beside each other that are too small: one takes their place. */
struct flame_folded {
    uint64_t start, weight, samples;
    uint32_t count;
};

struct flame {
    struct view *view;
    struct calls calls;
    bool hanging;                         /* the outermost level on top */
    uint64_t least;                       /* without --min: the weight of the heaviest box that is not drawn */
    uint64_t *starts;                     /* by node: the weight left of it */
    bool *drawn;                          /* by node */
    struct flame_folded *folded;          /* by node: its children that are not drawn */
    uint32_t levels;                      /* drawn ones, with the root's */
    uint64_t narrow_boxes, narrow_weight; /* left out */
    uint64_t deep_weight;                 /* of what is too deep to be drawn */
    uint64_t unwanted_weight;             /* of stacks that --symbol and --object leave out */
    const char *dsos[FLAME_COLORS];       /* paths, heaviest (self) first */
    uint64_t dso_weights[FLAME_COLORS];
    uint32_t dso_count;
};

/* Of the chosen entries of VIEW. */
void flame_init(struct flame *flame, struct view *view);
void flame_release(struct flame *flame);
/* Are what NODE has folded wide enough, together, for a box? */
bool flame_shows_folded(const struct flame *flame, uint32_t node);
void flame_svg(struct flame *flame, FILE *to);

#endif
