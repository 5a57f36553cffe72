/* SPDX-License-Identifier: MIT */
/* Stacks merged into one tree: from the outermost frame inwards, or reversed from where the samples hit outwards. */
#ifndef ANALYZE_VIEW_CALLS_H
#define ANALYZE_VIEW_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/histogram.h"

#define CALLS_GROUP UINT32_MAX /* in the place of a frame: the node is a task, process or command */

struct calls_node {
    uint32_t parent, first, next; /* numbers; 0 is the root, which is nobody's child */
    uint32_t frame;               /* one of it */
    uint32_t task;                /* one that was here */
    uint32_t level;               /* of the root 0 */
    uint64_t key;                 /* as in histogram.h */
    uint64_t samples, weight;     /* with everything below */
    uint64_t self_samples, self_weight;
    uint32_t repeats;             /* calls in a row of the function, in the deepest stack; of a group 0 */
};

struct calls {
    struct calls_node *nodes;
    size_t count, capacity;
    struct map children;   /* (parent, key) to the number of the child - 1 */
    struct histogram keys; /* knows the key of a frame */
    int group;             /* BY_TASK, BY_PROCESS or BY_COMM: the first level; else there is none */
    bool reverse;
    bool fold_recursion; /* calls of a function by itself are one node; the caller's to set after calls_init() */
};

/* BY: enum settings_by, what a node stands for; where that is no part of a stack, it is the first level, above
 * functions. */
void calls_init(struct calls *calls, const struct profile *profile, struct names *names, int by, bool reverse);
void calls_release(struct calls *calls);
void calls_add(struct calls *calls, const struct profile_entry *entry);
/* Puts the children of each node in order, heaviest first. */
void calls_sort(struct calls *calls);
/* The one after NODE in the order of a printed tree (which begins with 0), without what is below NODE unless BELOW; 0
 * at the end. */
uint32_t calls_after(const struct calls *calls, uint32_t node, bool below);
/* Whether NODE is its parent's only child and all of the parent's weight went on to it. */
bool calls_goes_on(const struct calls *calls, uint32_t node);
/* What a reader knows NODE by; owned by the caller, as is the same of a frame where KEYS tells frames apart. */
char *calls_label(struct calls *calls, uint32_t node);
char *calls_frame_label(const struct histogram *keys, uint32_t frame);
bool calls_is_inlined(const struct calls *calls, uint32_t node);
/* Path of the DSO that NODE is in; "" of a group. */
const char *calls_dso(struct calls *calls, uint32_t node);

#endif
