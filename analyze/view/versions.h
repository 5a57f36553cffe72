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

#include "analyze/model/profile.h"
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

/* Name normalization: removes what a build, directory or version adds to a name, so that two builds or runs match. */

/* Both results are owned by the caller. "/opt/b/libx.so.1.2.3" is "libx.so". */
char *normalize_dso(const char *path);
/* "parse.isra.0", "parse.part.3.cold" and "parse(int) [clone .cold]" become the function that they are parts of. */
char *normalize_symbol(const char *symbol);
/* The executable of TASK while its name was COMM; "" if unknown. */
const char *normalize_executable(const struct profile_task *task, const char *comm);

#endif
