/* SPDX-License-Identifier: MIT */
#include "analyze/view/callers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/call_tree.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"

/* ---- Call trees of one function ---- */

#define CUT_PERCENT 0.5
#define DEEPEST     200 /* levels that are shown */

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

static int compare_nodes(const void *left, const void *right, void *context)
{
    const struct tree *tree = context;
    const struct node *a = &tree->nodes[*(const uint32_t *)left], *b = &tree->nodes[*(const uint32_t *)right];
    int order = order_larger(a->weight, b->weight);
    return order ? order : order_keys(tree->names, tree->profile, tree->by, a->key, b->key);
}

static void add_line(struct tree *tree, const char *prefix, const char *branch, const char *share, const char *name)
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
    add_line(tree, prefix, branch, share, inlined ? inlined : name);
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
    add_line(tree, prefix, tree->utf8 ? "└─ " : "`- ", text_percent(share, weight, tree->whole), text);
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
        qsort_r(list, count, sizeof(*list), compare_nodes, tree);
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
        add_line(tree, prefix,
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
        text_table_line(table, direction == CHAINS_CALLERS
                                   ? "        none recorded"
                                   : "        none: no sample is in a function that this function called");
    text_table_line(table, "");
    map_release(&tree.children);
    free(tree.nodes);
}

/* ---- One function with its callers and its callees ---- */

#define MOST_LINES 25

/* One caller or callee, or the end of the stack. */
struct wing {
    uint32_t frame; /* one of its frames; NO_FRAME: no caller, or no callee */
    uint64_t samples, weight;
};

#define NO_FRAME UINT32_MAX

struct wings {
    struct map keys; /* (key, whether there is one) */
    struct wing *list;
    size_t count, capacity;
};

static void add_to_wing(struct wings *wings, uint64_t key, uint32_t frame, const struct profile_entry *entry)
{
    uint32_t index = map_add(&wings->keys, frame == NO_FRAME ? 0 : key, frame != NO_FRAME);
    if (index == wings->count) {
        wings->list = memory_grow(wings->list, &wings->capacity, wings->count + 1, sizeof(*wings->list));
        wings->list[wings->count++] = (struct wing){.frame = frame};
    }
    wings->list[index].samples += entry->samples;
    wings->list[index].weight += entry->weight;
}

static void add_entry(struct wings *wings, struct histogram *histogram, uint64_t key, const struct profile_entry *entry,
                      enum chains_direction direction)
{
    uint32_t depth;
    const uint32_t *frames = histogram_stack(histogram, entry->stack, &depth);
    bool outwards = direction == CHAINS_CALLERS;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t at = outwards ? i : depth - 1 - i;
        if (histogram_frame_key(histogram, frames[at]) != key)
            continue;
        bool end = outwards ? at + 1 == depth : at == 0;
        uint32_t frame = end ? NO_FRAME : frames[outwards ? at + 1 : at - 1];
        add_to_wing(wings, end ? 0 : histogram_frame_key(histogram, frame), frame, entry);
        return;
    }
}

static int compare_wings(const void *left, const void *right, void *context)
{
    const struct wing *a = left, *b = right;
    struct histogram *histogram = context;
    int order = order_larger(a->weight, b->weight);
    if (!order && (a->frame == NO_FRAME || b->frame == NO_FRAME))
        return order_larger(a->frame, b->frame);
    return order ? order
                 : order_keys(histogram->names, histogram->profile, histogram->by,
                              histogram_frame_key(histogram, a->frame), histogram_frame_key(histogram, b->frame));
}

static void find_wings(struct wings *wings, struct histogram *histogram, uint64_t key, const uint32_t *entries,
                       uint32_t count, enum chains_direction direction)
{
    *wings = (struct wings){0};
    for (uint32_t i = 0; i < count; i++)
        add_entry(wings, histogram, key, &histogram->profile->entries[entries[i]], direction);
    if (wings->count)
        qsort_r(wings->list, wings->count, sizeof(*wings->list), compare_wings, histogram);
}

static void release_wings(struct wings *wings)
{
    map_release(&wings->keys);
    free(wings->list);
}

static void add_wing(struct text_table *table, struct view *view, struct histogram *histogram,
                     const struct histogram_row *row, const struct wing *wing, enum chains_direction direction)
{
    bool end = wing->frame == NO_FRAME, nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    char text[TEXT_AMOUNT];
    text_table_cell(table, output_heat(text_share(wing->weight, histogram->weight)),
                    text_percent(text, wing->weight, row->total_weight));
    text_table_cell(table, OUTPUT_PLAIN, text_weight(text, wing->weight, nanoseconds));
    text_table_cell(table, OUTPUT_PLAIN, text_percent(text, wing->weight, histogram->weight));
    text_table_cell(table, OUTPUT_DIM, end ? "" : text_base(names_frame(histogram->names, wing->frame)->dso));
    char *label = end ? memory_text(direction == CHAINS_CALLERS ? "[no caller recorded]" : "[self]")
                      : calls_frame_label(histogram, wing->frame);
    text_table_cell(table, OUTPUT_PLAIN, label);
    free(label);
}

static void print_wings(struct view *view, struct histogram *histogram, const struct histogram_row *row,
                        const struct wings *wings, enum chains_direction direction)
{
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    uint64_t limit = view->settings->top ? view->settings->top : MOST_LINES, more = 0;
    const struct text_table_column columns[] = {{"Of it", true, false},
                                                {nanoseconds ? "Time" : "Weight", true, false},
                                                {"Of all", true, false},
                                                {"DSO", false, true},
                                                {direction == CHAINS_CALLERS ? "Called by" : "Calls", false, true}};
    struct text_table *table = text_table_new(columns, sizeof(columns) / sizeof(columns[0]), view->output->utf8);
    for (size_t i = 0; i < wings->count; i++) {
        if (i < limit)
            add_wing(table, view, histogram, row, &wings->list[i], direction);
        else
            more += wings->list[i].weight;
    }
    fputc('\n', view->output->to);
    text_table_print(table, view->output, true);
    text_table_free(table);
    char share[TEXT_AMOUNT];
    if (more)
        fprintf(view->output->to,
                "and other functions, which add up to %s in the column 'Of it'; --top all shows all\n",
                text_percent(share, more, row->total_weight));
}

static void print_side(struct view *view, struct histogram *histogram, const struct histogram_row *row,
                       const uint32_t *entries, uint32_t count, enum chains_direction direction)
{
    struct wings wings;
    find_wings(&wings, histogram, row->key, entries, count, direction);
    print_wings(view, histogram, row, &wings, direction);
    release_wings(&wings);
    static const struct text_table_column column[] = {{"", false, true}};
    struct text_table *table = text_table_new(column, 1, view->output->utf8);
    const struct chains_part part = {.entries = entries, .count = count};
    chains_show(histogram, row->key, &part, direction, histogram->weight, table, view->output->utf8);
    text_table_print(table, view->output, false);
    text_table_free(table);
}

void butterfly_print(struct view *view, struct histogram *histogram, const struct histogram_row *row,
                     const uint32_t *entries, uint32_t count)
{
    char total[TEXT_AMOUNT], total_share[TEXT_AMOUNT], self[TEXT_AMOUNT], self_share[TEXT_AMOUNT], samples[TEXT_AMOUNT],
        own[TEXT_AMOUNT], own_share[TEXT_AMOUNT];
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    char *label = calls_frame_label(histogram, row->frame);
    fputc('\n', view->output->to);
    output_color(view->output, OUTPUT_BOLD);
    output_text(view->output, label);
    output_color(view->output, OUTPUT_PLAIN);
    if (histogram->by != BY_DSO) {
        fputs(" (", view->output->to);
        output_text(view->output, text_base(names_frame(histogram->names, row->frame)->dso));
        fputc(')', view->output->to);
    }
    fprintf(view->output->to, ": total %s (%s), self %s (%s)", text_weight(total, row->total_weight, nanoseconds),
            text_percent(total_share, row->total_weight, histogram->weight),
            text_weight(self, row->self_weight, nanoseconds),
            text_percent(self_share, row->self_weight, histogram->weight));
    if (row->own_weight < row->self_weight)
        fprintf(view->output->to, ", self without inlined functions %s (%s)",
                text_weight(own, row->own_weight, nanoseconds),
                text_percent(own_share, row->own_weight, histogram->weight));
    fprintf(view->output->to, ", in %s\n", text_plural(samples, row->total_samples, "sample", "samples"));
    free(label);
    if (view->settings->callers)
        print_side(view, histogram, row, entries, count, CHAINS_CALLERS);
    if (view->settings->callees)
        print_side(view, histogram, row, entries, count, CHAINS_CALLEES);
}

static void side_json(struct json *json, struct histogram *histogram, const struct histogram_row *row,
                      const uint32_t *entries, uint32_t count, enum chains_direction direction)
{
    struct wings wings;
    find_wings(&wings, histogram, row->key, entries, count, direction);
    json_list(json, direction == CHAINS_CALLERS ? "callers" : "callees");
    for (size_t i = 0; i < wings.count; i++) {
        const struct wing *wing = &wings.list[i];
        const struct names_place *place = wing->frame == NO_FRAME ? NULL : names_frame(histogram->names, wing->frame);
        json_object(json, NULL);
        json_string(json, "symbol", place ? place->symbol : NULL);
        json_string(json, "dso", place ? place->dso : NULL);
        json_unsigned(json, "samples", wing->samples);
        json_unsigned(json, "weight", wing->weight);
        json_number(json, "percent", text_share(wing->weight, row->total_weight));
        json_bool(json, "inlined", place && place->inlined);
        json_end_object(json);
    }
    json_end_list(json);
    release_wings(&wings);
}

void butterfly_json(struct json *json, struct view *view, struct histogram *histogram, const struct histogram_row *row,
                    const uint32_t *entries, uint32_t count)
{
    if (view->settings->callers)
        side_json(json, histogram, row, entries, count, CHAINS_CALLERS);
    if (view->settings->callees)
        side_json(json, histogram, row, entries, count, CHAINS_CALLEES);
}
