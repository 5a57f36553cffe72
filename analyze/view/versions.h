/* SPDX-License-Identifier: MIT */
/*
 * Programs that only one side of a comparison has. If each side has exactly one, the two count as versions of one
 * program, whatever their names: they are compared under the name "old -> new". The same goes for the commands of two
 * scripts of the same interpreter.
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
    bool ran[2];         /* it ran on that side, with or without samples */
    uint32_t executable; /* of a script: number of its interpreter */
};

struct versions_set {
    struct map_strings names;
    struct versions_program *list; /* by number of the name */
    size_t capacity;
    char *pair; /* the name of the pair; NULL: no pair */
    uint32_t of_pair[2];
};

struct versions {
    struct versions_set programs; /* by executable, with the name of normalize_dso() */
    struct versions_set scripts;  /* by command, if that is not the executable's name; only for our files */
    uint64_t all[2];
};

void versions_release(struct versions *versions);
/* Adds the selected samples of VIEW, a run of side 0 or 1. */
void versions_add(struct versions *versions, struct view *view, int side);
/* To be called after all runs, before the functions below. */
void versions_finish(struct versions *versions);

/* The name under which a DSO or a command is compared: NAME, or the pair's. */
const char *versions_dso(const struct versions *versions, int side, const char *name);
const char *versions_command(const struct versions *versions, int side, const char *name);

/* The member of the pair on SIDE; NULL: no pair. */
const char *versions_of_pair(const struct versions_set *set, int side);
/* Whether only SIDE has program NUMBER of the names, and enough of it to matter. */
bool versions_alone(const struct versions *versions, const struct versions_set *set, uint32_t number, int side);
/* Whether both sides have such programs, and it is not known which belong together. */
bool versions_unclear(const struct versions *versions);

#endif
