/* SPDX-License-Identifier: MIT */
/* The process tree: threads below their process, processes below the task that created them. */
#ifndef ANALYZE_VIEW_PROCESS_TREE_H
#define ANALYZE_VIEW_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"

#define PROCESS_TREE_NONE UINT32_MAX

struct process_tree {
    uint32_t *parent, *first, *next; /* by task index; PROCESS_TREE_NONE: none */
    uint32_t root;                   /* first task without a parent; the others are its siblings */
};

/* Makes the tree of the tasks with WANTED[index]. A task whose parent is not wanted goes below its nearest wanted
 * ancestor. */
void process_tree_init(struct process_tree *tree, const struct profile *profile, const bool *wanted);
void process_tree_release(struct process_tree *tree);
/* The next task in the order of a printed tree; PROCESS_TREE_NONE at the end. */
uint32_t process_tree_next(const struct process_tree *tree, uint32_t task);

#endif
