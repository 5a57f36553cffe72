/* SPDX-License-Identifier: MIT */
/* Who started whom: threads below their process, processes below the task that made them. */
#ifndef ANALYZE_VIEW_PROCESS_TREE_H
#define ANALYZE_VIEW_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"

#define PROCESS_TREE_NONE UINT32_MAX

struct process_tree {
    uint32_t *parent, *first, *next; /* by task index; PROCESS_TREE_NONE: there is none */
    uint32_t root;                   /* first task without a parent; its siblings are the others */
};

/* Of the tasks with WANTED[index]; a task whose parent is not wanted stands below the next one above that is. */
void process_tree_init(struct process_tree *tree, const struct profile *profile, const bool *wanted);
void process_tree_release(struct process_tree *tree);
/* The next one in the order of a printed tree, PROCESS_TREE_NONE at the end. */
uint32_t process_tree_next(const struct process_tree *tree, uint32_t task);

#endif
