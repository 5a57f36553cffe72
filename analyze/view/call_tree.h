/* SPDX-License-Identifier: MIT */
/* Stacks merged into one tree: from the outermost frame inwards, or reversed, from the leaf frame outwards. */
#ifndef ANALYZE_VIEW_CALL_TREE_H
#define ANALYZE_VIEW_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/histogram.h"
#include "analyze/view/view.h"
#include "common/json.h"

#define CALLS_GROUP UINT32_MAX /* instead of a frame: the node is a task, process or command */

struct calls_node {
    uint32_t parent, first, next; /* node numbers; 0 is the root, and as first or next: none */
    uint32_t frame;               /* one of its frames */
    uint32_t task;                /* one of its tasks */
    uint32_t level;               /* the root has 0 */
    uint64_t key;                 /* as in histogram.h */
    uint64_t samples, weight;     /* with everything below */
    uint64_t self_samples, self_weight;
    uint32_t repeats; /* consecutive calls of the function, in the deepest stack; 0: a group */
};

struct calls {
    struct calls_node *nodes;
    size_t count, capacity;
    struct map children;   /* from (parent, key) to the child's number - 1 */
    struct histogram keys; /* gives the key of a frame */
    int group;             /* first level: BY_TASK, BY_PROCESS or BY_COMM; other values: no groups */
    bool reverse;
    bool fold_recursion; /* direct recursion becomes one node; the caller may set it after calls_init() */
};

/* BY: enum settings_by, what a node stands for. If that is no part of a stack (task, process, comm), it is the first
 * level, above functions. */
void calls_init(struct calls *calls, const struct profile *profile, struct names *names, int by, bool reverse);
void calls_release(struct calls *calls);
void calls_add(struct calls *calls, const struct profile_entry *entry);
/* Sorts the children of each node, heaviest first. */
void calls_sort(struct calls *calls);
/* The node after NODE in the order of a printed tree, which begins with 0. BELOW false: skips what is below NODE. 0 at
 * the end. */
uint32_t calls_after(const struct calls *calls, uint32_t node, bool below);
/* Whether NODE is its parent's only child and has all of the parent's weight. */
bool calls_goes_on(const struct calls *calls, uint32_t node);
/* The name to show for NODE, and for a frame as KEYS distinguishes frames. Both are owned by the caller. */
char *calls_label(struct calls *calls, uint32_t node);
char *calls_frame_label(const struct histogram *keys, uint32_t frame);
bool calls_is_inlined(const struct calls *calls, uint32_t node);
/* The path of the DSO that NODE is in; "" for a group. */
const char *calls_dso(struct calls *calls, uint32_t node);

/* Prints the tree of ENTRIES[COUNT], at most LIMIT lines. */
void call_tree_print(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit);
/* The member "call_tree". */
void call_tree_json(struct json *json, struct view *view, const uint32_t *entries, uint32_t count);

#endif
