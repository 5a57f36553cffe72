/* SPDX-License-Identifier: MIT */
#include "analyze/view/flame.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

#define LEAST_PERCENT 0.02 /* without --min: a quarter of a pixel */
#define DEEPEST 300        /* levels that are drawn */

static void lay_out(struct flame *flame)
{
    const struct calls_node *nodes = flame->calls.nodes;
    uint64_t whole = nodes[0].weight;
    flame->starts = memory_new(flame->calls.count, sizeof(*flame->starts));
    flame->drawn = memory_new(flame->calls.count, sizeof(*flame->drawn));
    flame->drawn[0] = true;
    flame->levels = 1;
    bool below = true;
    for (uint32_t at = calls_after(&flame->calls, 0, true); at; at = calls_after(&flame->calls, at, below)) {
        const struct calls_node *node = &nodes[at];
        uint32_t parent = node->parent;
        /* The first child begins where its parent does; what the parent has to itself is on the right. */
        if (nodes[parent].first == at)
            flame->starts[at] = flame->starts[parent];
        if (node->next)
            flame->starts[node->next] = flame->starts[at] + node->weight;
        bool deep = node->level >= DEEPEST;
        below = !deep && text_share(node->weight, whole) >= flame->least;
        flame->drawn[at] = below;
        if (below && node->level + 1 > flame->levels)
            flame->levels = node->level + 1;
        if (deep) {
            flame->deep_weight += node->weight;
        } else if (!below) {
            flame->narrow_boxes++;
            flame->narrow_weight += node->weight;
        }
    }
}

static void take_entries(struct flame *flame)
{
    struct hits hits;
    struct view *view = flame->view;
    hits_init(&hits, view->profile, view->names, BY_OBJECT);
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        if (!select_stack(view->settings, view->profile, view->names, entry->stack)) {
            flame->unwanted_weight += entry->weight;
            continue;
        }
        calls_add(&flame->calls, entry);
        hits_add(&hits, entry);
    }
    hits_sort(&hits, SORT_SELF);
    for (size_t i = 0; i < hits.count && i < FLAME_COLORS; i++) {
        flame->objects[i] = names_object(view->names, (uint32_t)hits.rows[i].key);
        flame->object_weights[i] = hits.rows[i].self_weight;
        flame->object_count++;
    }
    hits_release(&hits);
}

void flame_init(struct flame *flame, struct view *view)
{
    const struct settings *settings = view->settings;
    int by = settings->by_given ? settings->by : settings->aggregate ? BY_FUNCTION : BY_COMM;
    *flame = (struct flame){.view = view, .hanging = settings->icicle || settings->reverse};
    flame->least = settings->min_given ? settings->min : LEAST_PERCENT;
    calls_init(&flame->calls, view->profile, view->names, by, settings->reverse);
    take_entries(flame);
    calls_sort(&flame->calls);
    lay_out(flame);
}

void flame_release(struct flame *flame)
{
    calls_release(&flame->calls);
    free(flame->starts);
    free(flame->drawn);
    *flame = (struct flame){0};
}
