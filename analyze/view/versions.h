/* SPDX-License-Identifier: MIT */
/*
 * Programs that one side of a comparison alone has. Where each side has exactly one of them, the two are taken for two
 * versions of one program, whatever their names: what belongs to them is compared under one name, "old -> new". So are
 * the commands of two scripts that one interpreter runs.
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
    bool ran[2];         /* on that side, whether it was sampled or not */
    uint32_t executable; /* of a script: number of its interpreter */
};

struct versions_set {
    struct map_strings names;
    struct versions_program *list; /* by number of the name */
    size_t capacity;
    char *pair; /* the name of the pair; NULL: there is none */
    uint32_t of_pair[2];
};

struct versions {
    struct versions_set programs; /* by executable, as normalize_dso() has its name */
    struct versions_set scripts;  /* by command, where that is not the executable's name; of our own files only */
    uint64_t all[2];
};

void versions_release(struct versions *versions);
/* What VIEW has chosen, a run of side 0 or 1. */
void versions_add(struct versions *versions, struct view *view, int side);
/* After all runs, before names are asked for. */
void versions_finish(struct versions *versions);

/* Names of a DSO and of a command, as they are compared: NAME, or the pair's. */
const char *versions_dso(const struct versions *versions, int side, const char *name);
const char *versions_command(const struct versions *versions, int side, const char *name);

/* The member of the pair on SIDE; NULL: there is no pair. */
const char *versions_of_pair(const struct versions_set *set, int side);
/* Whether SIDE alone has program NUMBER of the names, and enough of it to matter. */
bool versions_alone(const struct versions *versions, const struct versions_set *set, uint32_t number, int side);
/* Both sides have such programs, and which belong together is not known. */
bool versions_unclear(const struct versions *versions);

#endif
