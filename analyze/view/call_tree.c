/* SPDX-License-Identifier: MIT */
#include "analyze/view/call_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"

/* ---- Stacks merged into a tree ---- */

void calls_init(struct calls *calls, const struct profile *profile, struct names *names, int by, bool reverse)
{
    *calls = (struct calls){.group = by, .reverse = reverse};
    histogram_init(&calls->keys, profile, names, histogram_has_stacks(by) ? by : BY_FUNCTION);
    calls->nodes = memory_grow(NULL, &calls->capacity, 1, sizeof(*calls->nodes));
    calls->nodes[calls->count++] = (struct calls_node){.frame = CALLS_GROUP};
}

void calls_release(struct calls *calls)
{
    histogram_release(&calls->keys);
    map_release(&calls->children);
    free(calls->nodes);
    *calls = (struct calls){0};
}

static uint32_t child_of(struct calls *calls, uint32_t parent, uint64_t key, uint32_t frame, uint32_t task)
{
    uint32_t index = map_add(&calls->children, parent, key) + 1;
    if (index == calls->count) {
        calls->nodes = memory_grow(calls->nodes, &calls->capacity, calls->count + 1, sizeof(*calls->nodes));
        struct calls_node *above = &calls->nodes[parent];
        calls->nodes[calls->count++] = (struct calls_node){.parent = parent,
                                                           .next = above->first,
                                                           .frame = frame,
                                                           .task = task,
                                                           .level = above->level + 1,
                                                           .key = key};
        above->first = index;
    }
    return index;
}

static uint32_t add_to_node(struct calls *calls, uint32_t node, const struct profile_entry *entry)
{
    calls->nodes[node].samples += entry->samples;
    calls->nodes[node].weight += entry->weight;
    return node;
}

static uint64_t group_key(const struct calls *calls, const struct profile_entry *entry)
{
    if (calls->group == BY_COMM)
        return (uintptr_t)entry->comm;
    return calls->group == BY_PROCESS ? (uint32_t)calls->keys.profile->tasks[entry->task].pid : entry->task;
}

void calls_add(struct calls *calls, const struct profile_entry *entry)
{
    uint32_t depth, repeats = 0, node = add_to_node(calls, 0, entry);
    const uint32_t *frames = histogram_stack(&calls->keys, entry->stack, &depth);
    if (!histogram_has_stacks(calls->group))
        node = add_to_node(calls, child_of(calls, node, group_key(calls, entry), CALLS_GROUP, entry->task), entry);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t frame = frames[calls->reverse ? i : depth - 1 - i];
        uint64_t key = histogram_frame_key(&calls->keys, frame);
        const bool same = node && calls->nodes[node].frame != CALLS_GROUP && calls->nodes[node].key == key;
        /* Calls within a DSO are no calls of the DSO. */
        if (same && calls->keys.by == BY_DSO)
            continue;
        repeats = same ? repeats + 1 : 1;
        if (!same || !calls->fold_recursion)
            node = add_to_node(calls, child_of(calls, node, key, frame, entry->task), entry);
        if (calls->nodes[node].repeats < repeats)
            calls->nodes[node].repeats = repeats;
    }
    calls->nodes[node].self_samples += entry->samples;
    calls->nodes[node].self_weight += entry->weight;
}

static int compare_nodes(const void *left, const void *right, void *context)
{
    const struct calls *calls = context;
    const struct calls_node *a = &calls->nodes[*(const uint32_t *)left], *b = &calls->nodes[*(const uint32_t *)right];
    int order = order_larger(a->weight, b->weight), by = a->frame == CALLS_GROUP ? calls->group : calls->keys.by;
    return order ? order : order_keys(calls->keys.names, calls->keys.profile, by, a->key, b->key);
}

void calls_sort(struct calls *calls)
{
    uint32_t *list = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < calls->count; i++) {
        size_t count = 0;
        for (uint32_t at = calls->nodes[i].first; at; at = calls->nodes[at].next) {
            list = memory_grow(list, &capacity, count + 1, sizeof(*list));
            list[count++] = at;
        }
        if (count < 2)
            continue;
        qsort_r(list, count, sizeof(*list), compare_nodes, calls);
        calls->nodes[i].first = list[0];
        for (size_t j = 0; j < count; j++)
            calls->nodes[list[j]].next = j + 1 < count ? list[j + 1] : 0;
    }
    free(list);
}

uint32_t calls_after(const struct calls *calls, uint32_t node, bool below)
{
    if (below && calls->nodes[node].first)
        return calls->nodes[node].first;
    while (node && !calls->nodes[node].next)
        node = calls->nodes[node].parent;
    return node ? calls->nodes[node].next : 0;
}

bool calls_goes_on(const struct calls *calls, uint32_t node)
{
    const struct calls_node *parent = &calls->nodes[calls->nodes[node].parent];
    return parent->first == node && !calls->nodes[node].next && parent->weight == calls->nodes[node].weight;
}

static char *group_label(const struct calls *calls, const struct calls_node *node)
{
    const struct profile_task *task = &calls->keys.profile->tasks[node->task];
    if (calls->group == BY_COMM)
        return memory_text((const char *)(uintptr_t)node->key);
    if (calls->group == BY_TASK)
        return memory_print("%s %" PRId32 ".%" PRId32, task->comm, task->pid, task->tid);
    const char *name = *task->exec ? text_base(task->exec) : task->comm;
    return memory_print("%s %" PRId32, name, task->pid);
}

char *calls_frame_label(const struct histogram *keys, uint32_t frame)
{
    const struct names_place *place = names_frame(keys->names, frame);
    if (keys->by == BY_DSO)
        return memory_text(text_base(place->dso));
    if (keys->by == BY_ADDRESS)
        return names_address_label(place);
    return place->inlined ? memory_print("%s (inlined)", place->symbol) : memory_text(place->symbol);
}

char *calls_label(struct calls *calls, uint32_t index)
{
    const struct calls_node *node = &calls->nodes[index];
    if (index == 0)
        return memory_text("all");
    if (node->frame == CALLS_GROUP)
        return group_label(calls, node);
    return calls_frame_label(&calls->keys, node->frame);
}

bool calls_is_inlined(const struct calls *calls, uint32_t node)
{
    uint32_t frame = calls->nodes[node].frame;
    return frame != CALLS_GROUP && names_is_inlined(calls->keys.names, frame);
}

const char *calls_dso(struct calls *calls, uint32_t node)
{
    uint32_t frame = calls->nodes[node].frame;
    return frame == CALLS_GROUP ? "" : names_frame(calls->keys.names, frame)->dso;
}

/* ---- The tree as text and as JSON ---- */

#define CUT_PERCENT  0.5 /* without --min */
#define DEEPEST      100 /* forks above a line */
#define DEEPEST_JSON 400

struct tree {
    struct view *view;
    struct calls calls;
    struct text_table *table;
    uint64_t limit, lines, left; /* left: lines beyond the limit */
    double least;                /* percent */
};

/* Builds the tree. Returns the weight of all ENTRIES, with those that --symbol leaves out; shares are of that. */
static uint64_t build_tree(struct calls *calls, struct view *view, const uint32_t *entries, uint32_t count)
{
    uint64_t whole = 0;
    calls_init(calls, view->profile, view->names, view->settings->by, view->settings->reverse);
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_entry *entry = &view->profile->entries[entries[i]];
        whole += entry->weight;
        if (select_stack(view->settings, view->names, entry->stack))
            calls_add(calls, entry);
    }
    calls_sort(calls);
    return whole;
}

static void add_line(struct tree *tree, uint64_t whole, uint32_t index, const char *prefix, const char *fork)
{
    if (tree->lines >= tree->limit) {
        tree->left++;
        return;
    }
    tree->lines++;
    char text[TEXT_AMOUNT];
    const struct calls_node *node = &tree->calls.nodes[index];
    bool nanoseconds = tree->view->profile->events[tree->view->profile->event].nanoseconds;
    double percent = text_share(node->weight, whole);
    text_table_cell(tree->table, output_heat(percent), text_percent(text, node->weight, whole));
    text_table_cell(tree->table, OUTPUT_PLAIN, text_weight(text, node->weight, nanoseconds));
    text_table_cell(tree->table, OUTPUT_PLAIN, text_percent(text, node->self_weight, whole));
    text_table_cell(tree->table, OUTPUT_DIM, text_base(calls_dso(&tree->calls, index)));
    char *label = calls_label(&tree->calls, index), *whole_label = memory_print("%s%s%s", prefix, fork, label);
    text_table_cell(tree->table, OUTPUT_PLAIN, whole_label);
    free(whole_label);
    free(label);
}

static void add_cut_line(struct tree *tree, uint64_t whole, uint32_t first, const char *prefix, bool deep)
{
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT], time[TEXT_AMOUNT];
    uint64_t count = 0, weight = 0;
    for (uint32_t at = first; at; at = tree->calls.nodes[at].next, count++)
        weight += tree->calls.nodes[at].weight;
    bool nanoseconds = tree->view->profile->events[tree->view->profile->event].nanoseconds;
    const char *fork = tree->view->output->utf8 ? "└─ " : "`- ";
    char *text = deep ? memory_print("%s%s... deeper", prefix, fork)
                      : memory_print("%s%s... in %s below %g %%", prefix, fork,
                                     text_plural(number, count, "branch", "branches"), tree->least);
    if (tree->lines >= tree->limit) {
        tree->left++;
    } else {
        tree->lines++;
        text_table_cell(tree->table, OUTPUT_DIM, text_percent(share, weight, whole));
        text_table_cell(tree->table, OUTPUT_DIM, text_weight(time, weight, nanoseconds));
        text_table_cell(tree->table, OUTPUT_PLAIN, "");
        text_table_cell(tree->table, OUTPUT_PLAIN, "");
        text_table_cell(tree->table, OUTPUT_DIM, text);
    }
    free(text);
}

static void show_children(struct tree *tree, uint64_t whole, uint32_t parent, const char *prefix, int level);

/* One branch: a chain of single callees is printed without indentation, then come the forks. */
static void show_branch(struct tree *tree, uint64_t whole, uint32_t node, const char *prefix, bool last, int level)
{
    bool utf8 = tree->view->output->utf8;
    const char *fork = utf8 ? last ? "└─ " : "├─ " : last ? "`- " : "|- ";
    const char *pass = last ? "   " : utf8 ? "│  " : "|  ";
    char *inner = memory_print("%s%s", prefix, pass);
    add_line(tree, whole, node, prefix, fork);
    for (uint32_t only = tree->calls.nodes[node].first; only && calls_goes_on(&tree->calls, only);
         only = tree->calls.nodes[node].first) {
        node = only;
        add_line(tree, whole, node, inner, "");
    }
    show_children(tree, whole, node, inner, level + 1);
    free(inner);
}

static void show_children(struct tree *tree, uint64_t whole, uint32_t parent, const char *prefix, int level)
{
    const struct calls_node *nodes = tree->calls.nodes;
    uint32_t at = nodes[parent].first;
    if (at && level > DEEPEST) {
        add_cut_line(tree, whole, at, prefix, true);
        return;
    }
    while (at && text_share(nodes[at].weight, whole) >= tree->least) {
        uint32_t next = nodes[at].next;
        show_branch(tree, whole, at, prefix, !next, level);
        at = next;
    }
    if (at)
        add_cut_line(tree, whole, at, prefix, false);
}

void call_tree_print(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit)
{
    struct text_table_column columns[] = {{"Total", true, false},
                                          {"Time", true, false},
                                          {"Self", true, false},
                                          {"DSO", false, true},
                                          {"Function", false, true}};
    struct tree tree = {.view = view, .limit = limit};
    uint64_t whole = build_tree(&tree.calls, view, entries, count);
    tree.least = view->settings->min_given ? view->settings->min : CUT_PERCENT;
    if (!view->profile->events[view->profile->event].nanoseconds)
        columns[1].head = "Weight";
    tree.table = text_table_new(columns, sizeof(columns) / sizeof(columns[0]), view->output->utf8);
    show_children(&tree, whole, 0, "", 0);
    if (tree.calls.nodes[0].samples)
        text_table_print(tree.table, view->output, true);
    else
        fputs("nothing in this section matches the filters\n", view->output->to);
    if (tree.left) {
        char number[TEXT_AMOUNT];
        fprintf(view->output->to, "and %s more; --top all shows all\n",
                text_plural(number, tree.left, "line", "lines"));
    }
    text_table_free(tree.table);
    calls_release(&tree.calls);
}

static void begin_node(struct json *json, struct calls *calls, uint32_t index)
{
    const struct calls_node *node = &calls->nodes[index];
    bool inlined = calls_is_inlined(calls, index);
    char *label = inlined ? memory_text(names_frame(calls->keys.names, node->frame)->symbol)
                          : calls_label(calls, index);
    json_object(json, NULL);
    json_string(json, "symbol", label);
    json_string(json, "dso", node->frame == CALLS_GROUP ? NULL : calls_dso(calls, index));
    json_unsigned(json, "total_samples", node->samples);
    json_unsigned(json, "total_weight", node->weight);
    json_unsigned(json, "self_samples", node->self_samples);
    json_unsigned(json, "self_weight", node->self_weight);
    json_bool(json, "inlined", inlined);
    json_list(json, "children");
    free(label);
}

static void end_node(struct json *json)
{
    json_end_list(json);
    json_end_object(json);
}

void call_tree_json(struct json *json, struct view *view, const uint32_t *entries, uint32_t count)
{
    struct calls calls;
    uint64_t whole = build_tree(&calls, view, entries, count);
    double least = view->settings->min_given ? view->settings->min : 0;
    uint32_t open = 0; /* levels that are */
    json_list(json, "call_tree");
    for (uint32_t at = calls_after(&calls, 0, true); at;) {
        const struct calls_node *node = &calls.nodes[at];
        bool shown = node->level <= DEEPEST_JSON && text_share(node->weight, whole) >= least;
        for (; open >= node->level; open--)
            end_node(json);
        if (shown) {
            begin_node(json, &calls, at);
            open = node->level;
        }
        at = calls_after(&calls, at, shown);
    }
    for (; open; open--)
        end_node(json);
    json_end_list(json);
    calls_release(&calls);
}
