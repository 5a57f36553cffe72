/* SPDX-License-Identifier: MIT */
/*
 * Programs that one side of a comparison alone has. Where each side has exactly one of them, the two are taken for two
 * versions of one program, whatever their names: what belongs to them is compared under one name, "old -> new".
 */
#ifndef ANALYZE_VIEW_VERSIONS_H
#define ANALYZE_VIEW_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/map.h"
#include "analyze/view/view.h"

struct versions_program {
    uint64_t weights[2];
    bool ran[2]; /* on that side, whether it was sampled or not */
};

struct versions {
    struct map_strings names;      /* of executables, as identity_object() has them */
    struct versions_program *list; /* by number of the name */
    size_t capacity;
    uint64_t all[2];
    char *pair; /* the name of the pair; NULL: there is none */
    uint32_t of_pair[2];
};

void versions_release(struct versions *versions);
/* What VIEW has chosen, a run of side 0 or 1. */
void versions_add(struct versions *versions, struct view *view, int side);
/* After all runs, before names are asked for. */
void versions_finish(struct versions *versions);

/* Names of an object and of a command, as they are compared: NAME, or the pair's. */
const char *versions_object(const struct versions *versions, int side, const char *name);
const char *versions_command(const struct versions *versions, int side, const char *name);

/* Whether SIDE alone has program NUMBER of the names, and enough of it to matter. */
bool versions_alone(const struct versions *versions, uint32_t number, int side);
/* Both sides have such programs, and which belong together is not known. */
bool versions_unclear(const struct versions *versions);

#endif
