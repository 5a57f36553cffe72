/* SPDX-License-Identifier: MIT */
#include "analyze/export/tree.h"

#include <stdlib.h>

#include "analyze/view/lines.h"
#include "analyze/view/memory.h"

void tree_init(struct tree *tree, struct view *view, bool by_function)
{
    *tree = (struct tree){.view = view, .by_function = by_function};
}

void tree_release(struct tree *tree)
{
    map_release(&tree->nodes);
    map_release(&tree->labels);
    map_strings_release(&tree->files);
    free(tree->calls);
    tree->calls = NULL;
    tree->call_count = tree->call_capacity = 0;
}

uint32_t tree_calls_at(struct tree *tree, uint32_t frame, struct tree_call *ret)
{
    struct lines *lines = tree->view->lines;
    if (!lines) {
        ret[0] = (struct tree_call){.frame = frame, .function = names_frame(tree->view->names, frame)->function};
        return 1;
    }
    uint32_t count;
    const struct lines_part *parts = lines_frame(lines, frame, &count);
    count = count < TREE_MOST_CALLS ? count : TREE_MOST_CALLS;
    for (uint32_t i = 0; i < count; i++) {
        struct lines_line line = lines_line(lines, parts[i].line);
        ret[i] = (struct tree_call){.frame = frame, .inlined = count - 1 - i, .function = parts[i].function};
        if (line.file) {
            uint32_t file = map_strings_add(&tree->files, line.file);
            ret[i].file = tree->files.texts[file];
            ret[i].line = line.number;
        }
    }
    return count;
}

struct tree_function tree_function(const struct tree *tree, uint32_t function)
{
    if (tree->view->lines) {
        struct lines_function part = lines_function(tree->view->lines, function);
        return (struct tree_function){part.symbol, part.dso, part.linkage};
    }
    struct names_function named = names_function(tree->view->names, function);
    return (struct tree_function){named.symbol, named.dso, named.linkage};
}

static uint32_t label_of(struct tree *tree, const struct tree_call *call)
{
    uint32_t label = tree->by_function ? map_add(&tree->labels, call->function, tree->inlined_apart && call->inlined)
                                       : map_add(&tree->labels, call->frame, call->inlined);
    if (label == tree->call_count) {
        tree->calls = memory_grow(tree->calls, &tree->call_capacity, tree->call_count + 1, sizeof(*tree->calls));
        tree->calls[tree->call_count++] = *call;
    }
    return label;
}

uint32_t tree_add(struct tree *tree, const uint32_t *frames, uint32_t depth)
{
    struct tree_call calls[TREE_MOST_CALLS];
    uint32_t node = TREE_ROOT;
    for (uint32_t i = depth; i-- > 0;) {
        uint32_t count = tree_calls_at(tree, frames[i], calls);
        for (uint32_t j = count; j-- > 0;)
            node = map_add(&tree->nodes, node, label_of(tree, &calls[j])) + 1;
    }
    return node;
}
