/* SPDX-License-Identifier: MIT */
/*
 * Stacks as a tree of calls, outermost first; stacks with the same outer calls share a path. A call is the function of
 * a frame, or one that is inlined there.
 */
#ifndef ANALYZE_EXPORT_TREE_H
#define ANALYZE_EXPORT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/view/map.h"
#include "analyze/view/view.h"

struct tree_call {
    uint32_t frame;    /* of the profile */
    uint32_t inlined;  /* 0: the frame's own symbol; else the depth of inlining into that */
    uint32_t function; /* see tree_function() */
    const char *file;  /* NULL: unknown, or view->lines is NULL */
    uint32_t line;     /* 0: unknown */
};

struct tree_function {
    const char *symbol, *dso;
    const char *linkage; /* its mangled name, or `symbol` */
};

struct tree {
    struct view *view;
    bool by_function;         /* all calls of a function get one label, whatever their frame */
    bool inlined_apart;       /* except for its inlined calls, which get another label */
    struct map nodes;         /* (node of the caller, label) */
    struct map labels;        /* by call: (frame, inlined) */
    struct map_strings files; /* of lines */
    struct tree_call *calls;  /* by label; with by_function the first call of each function */
    size_t call_count, call_capacity;
};

#define TREE_ROOT 0u

void tree_init(struct tree *tree, struct view *view, bool by_function);
void tree_release(struct tree *tree);

/* The node of the stack FRAMES[DEPTH], leaf first. Nodes are numbered from 1 on; callers have smaller numbers. */
uint32_t tree_add(struct tree *tree, const uint32_t *frames, uint32_t depth);
static inline uint32_t tree_node_count(const struct tree *tree)
{
    return (uint32_t)tree->nodes.count;
}
/* The caller and the label of a node that is not the root. */
static inline uint32_t tree_parent(const struct tree *tree, uint32_t node)
{
    return (uint32_t)tree->nodes.pairs[node - 1].a;
}
static inline uint32_t tree_label(const struct tree *tree, uint32_t node)
{
    return (uint32_t)tree->nodes.pairs[node - 1].b;
}
/* Labels are numbered from 0 on. */
static inline uint32_t tree_label_count(const struct tree *tree)
{
    return (uint32_t)tree->call_count;
}

/*
 * The calls at FRAME, innermost first; the last one is the frame's own symbol. Returns their number, at most
 * TREE_MOST_CALLS: more than one if view->lines is set and functions are inlined there.
 */
uint32_t tree_calls_at(struct tree *tree, uint32_t frame, struct tree_call *ret);
/* Valid until the next tree_calls_at(). */
struct tree_function tree_function(const struct tree *tree, uint32_t function);

#define TREE_MOST_CALLS 128u

#endif
