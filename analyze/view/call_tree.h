/* SPDX-License-Identifier: MIT */
/* All stacks as one call tree, from the outermost frames inwards; with --reverse, from the leaf frames outwards. */
#ifndef ANALYZE_VIEW_CALL_TREE_H
#define ANALYZE_VIEW_CALL_TREE_H

#include <stdint.h>

#include "common/json.h"
#include "analyze/view/view.h"

/* Prints the tree of ENTRIES[COUNT], at most LIMIT lines. */
void call_tree_print(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit);
/* The member "call_tree". */
void call_tree_json(struct json *json, struct view *view, const uint32_t *entries, uint32_t count);

#endif
