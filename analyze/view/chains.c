/* SPDX-License-Identifier: MIT */
#include "analyze/view/chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"

#define CUT_PERCENT 0.5
#define DEEPEST 200 /* levels that are shown */

struct node {
    uint32_t first, next; /* numbers of first child and next sibling; 0: none */
    uint32_t function;
    uint64_t key; /* as in histogram.h */
    uint64_t weight, self;
};

struct tree {
    struct node *nodes;
    size_t count, capacity;
    struct map children; /* from (parent, key) to the child's number - 1 */
    struct names *names;
    const struct profile *profile;
    struct text_table *table;
    bool utf8;
    uint64_t whole;
    int by;
};

static uint32_t child_of(struct tree *tree, uint32_t parent, uint64_t key, uint32_t function)
{
    uint32_t index = map_add(&tree->children, parent, key) + 1;
    if (index == tree->count) {
        tree->nodes = memory_grow(tree->nodes, &tree->capacity, tree->count + 1, sizeof(*tree->nodes));
        tree->nodes[tree->count++] = (struct node){.function = function, .key = key, .next = tree->nodes[parent].first};
        tree->nodes[parent].first = index;
    }
    return index;
}

/* Walks one stack from the function: for callers outwards from its innermost call, for callees inwards from its
 * outermost call. */
static void add_stack(struct tree *tree, struct histogram *histogram, uint64_t key, const struct profile_entry *entry,
                      enum chains_direction direction)
{
    uint32_t depth, found = UINT32_MAX;
    const uint32_t *frames = histogram_stack(histogram, entry->stack, &depth);
    bool outwards = direction == CHAINS_CALLERS;
    for (uint32_t i = 0; i < depth && found == UINT32_MAX; i++) {
        uint32_t at = outwards ? i : depth - 1 - i;
        if (histogram_frame_key(histogram, frames[at]) == key)
            found = at;
    }
    if (found == UINT32_MAX)
        return;
    uint32_t node = 0, steps = outwards ? depth - 1 - found : found;
    tree->nodes[0].weight += entry->weight;
    for (uint32_t i = 1; i <= steps && i <= DEEPEST; i++) {
        uint32_t frame = frames[outwards ? found + i : found - i];
        node = child_of(tree, node, histogram_frame_key(histogram, frame), names_function_of(tree->names, frame));
        tree->nodes[node].weight += entry->weight;
    }
    tree->nodes[node].self += entry->weight;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct tree *tree = context;
    const struct node *a = &tree->nodes[*(const uint32_t *)left], *b = &tree->nodes[*(const uint32_t *)right];
    int order = order_larger(a->weight, b->weight);
    return order ? order : order_keys(tree->names, tree->profile, tree->by, a->key, b->key);
}

static void line(struct tree *tree, const char *prefix, const char *branch, const char *share, const char *name)
{
    char *text = memory_print("%s%s%s%s%s", prefix, branch, share, *share ? "  " : "", name);
    text_table_line(tree->table, text);
    free(text);
}

static void show_children(struct tree *tree, uint32_t parent, const char *prefix, int level, bool with_self);

/* A line with SHARE (or nothing) and the node's name. */
static void node_line(struct tree *tree, const char *prefix, const char *branch, const char *share, uint32_t node)
{
    struct names_function function = names_function(tree->names, tree->nodes[node].function);
    const char *name = tree->by == BY_DSO ? text_base(function.dso) : function.symbol;
    char *inlined = function.inlined ? memory_print("%s (inlined)", name) : NULL;
    line(tree, prefix, branch, share, inlined ? inlined : name);
    free(inlined);
}

/* One branch: its share and name, then a chain of single callers or callees, one per line, then the forks. */
static void show_branch(struct tree *tree, uint32_t node, const char *prefix, bool last, int level, bool with_self)
{
    char share[TEXT_AMOUNT];
    text_percent(share, tree->nodes[node].weight, tree->whole);
    const char *fork = tree->utf8 ? last ? "└─ " : "├─ " : last ? "`- " : "|- ";
    node_line(tree, prefix, fork, share, node);
    char *inner = memory_print("%s%s", prefix, last ? "   " : tree->utf8 ? "│  " : "|  ");
    char *pad = memory_print("%s%*s", inner, (int)strlen(share) + 2, "");
    for (uint32_t only = tree->nodes[node].first;
         only && !tree->nodes[only].next && tree->nodes[only].weight == tree->nodes[node].weight && level < DEEPEST;
         only = tree->nodes[node].first) {
        node = only;
        node_line(tree, pad, "", "", node);
        level++;
    }
    if (level < DEEPEST)
        show_children(tree, node, inner, level + 1, with_self);
    free(pad);
    free(inner);
}

static void show_cut(struct tree *tree, const char *prefix, uint64_t weight, uint32_t count)
{
    char share[TEXT_AMOUNT], number[TEXT_AMOUNT];
    char *text = memory_print("in %s below %.1f %%", text_plural(number, count, "branch", "branches"), CUT_PERCENT);
    line(tree, prefix, tree->utf8 ? "└─ " : "`- ", text_percent(share, weight, tree->whole), text);
    free(text);
}

static void show_children(struct tree *tree, uint32_t parent, const char *prefix, int level, bool with_self)
{
    uint32_t count = 0, shown = 0;
    uint64_t cut = 0;
    for (uint32_t at = tree->nodes[parent].first; at; at = tree->nodes[at].next)
        count++;
    uint32_t *list = memory_new(count, sizeof(*list));
    count = 0;
    for (uint32_t at = tree->nodes[parent].first; at; at = tree->nodes[at].next)
        list[count++] = at;
    if (count)
        qsort_r(list, count, sizeof(*list), compare, tree);
    while (shown < count && text_share(tree->nodes[list[shown]].weight, tree->whole) >= CUT_PERCENT)
        shown++;
    for (uint32_t i = shown; i < count; i++)
        cut += tree->nodes[list[i]].weight;
    uint64_t self = with_self && count ? tree->nodes[parent].self : 0;
    bool own = text_share(self, tree->whole) >= CUT_PERCENT;
    for (uint32_t i = 0; i < shown; i++)
        show_branch(tree, list[i], prefix, i + 1 == shown && shown == count && !own, level, with_self);
    if (own) {
        char share[TEXT_AMOUNT];
        bool last = shown == count;
        line(tree, prefix,
             tree->utf8 ? last ? "└─ " : "├─ "
             : last     ? "`- "
                        : "|- ",
             text_percent(share, self, tree->whole), "[self]");
    }
    if (shown < count)
        show_cut(tree, prefix, cut, count - shown);
    free(list);
}

void chains_show(struct histogram *histogram, uint64_t key, const struct chains_part *part,
                 enum chains_direction direction, uint64_t whole, struct text_table *table, bool utf8)
{
    struct tree tree = {.names = histogram->names, .profile = histogram->profile, .table = table, .utf8 = utf8};
    tree.whole = whole;
    tree.by = histogram->by;
    tree.nodes = memory_grow(NULL, &tree.capacity, 1, sizeof(*tree.nodes));
    tree.nodes[tree.count++] = (struct node){0};
    for (uint32_t i = 0; i < part->count; i++) {
        const struct profile_entry *entry = &histogram->profile->entries[part->entries[i]];
        if (!part->marks || part->marks[entry->stack] >> part->bit & 1)
            add_stack(&tree, histogram, key, entry, direction);
    }
    text_table_line(table, direction == CHAINS_CALLERS ? "      callers:" : "      callees:");
    if (tree.nodes[0].first)
        show_children(&tree, 0, "        ", 1, direction == CHAINS_CALLEES);
    else
        text_table_line(table, direction == CHAINS_CALLERS ? "        none recorded"
                                                           : "        none: it called nothing that was hit");
    text_table_line(table, "");
    map_release(&tree.children);
    free(tree.nodes);
}
