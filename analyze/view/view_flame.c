/* SPDX-License-Identifier: MIT */
#include "analyze/view/flame.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/missing.h"
#include "analyze/view/names.h"
#include "analyze/view/output_file.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/report.h"

/* ---- The graph ---- */

#define MOST_BOXES 10000 /* without --min: as many as a browser can handle smoothly */
#define DEEPEST    300   /* levels that are drawn */

struct place {
    uint32_t node, at; /* at: position in the tree, from the top and from the left */
};

/* Heavier ones first; among equal ones, the outer: so every box comes after its parent's. */
static int by_rank(const void *left, const void *right, void *context)
{
    const struct place *a = left, *b = right;
    const struct calls_node *nodes = context;
    int order = order_larger(nodes[a->node].weight, nodes[b->node].weight);
    if (!order)
        order = order_smaller(nodes[a->node].level, nodes[b->node].level);
    return order ? order : order_smaller(a->at, b->at);
}

static void choose_heaviest(struct flame *flame)
{
    size_t count = flame->calls.count;
    struct place *order = memory_new(count, sizeof(*order));
    uint32_t at = 0;
    for (uint32_t i = 1; (at = calls_after(&flame->calls, at, true)); i++)
        order[i] = (struct place){at, i};
    qsort_r(order, count, sizeof(*order), by_rank, flame->calls.nodes);
    for (size_t i = 0; i < count && i < MOST_BOXES; i++)
        flame->drawn[order[i].node] = true;
    flame->least = count > MOST_BOXES ? flame->calls.nodes[order[MOST_BOXES].node].weight : 0;
    free(order);
}

static void choose_by_share(struct flame *flame, double percent)
{
    const struct calls_node *nodes = flame->calls.nodes;
    for (size_t i = 0; i < flame->calls.count; i++)
        flame->drawn[i] = text_share(nodes[i].weight, nodes[0].weight) >= percent;
    flame->drawn[0] = true;
}

/* Children are sorted by weight, so those that are not drawn are the last ones. */
static void fold_node(struct flame *flame, uint32_t node)
{
    const struct calls_node *narrow = &flame->calls.nodes[node];
    struct flame_folded *folded = &flame->folded[narrow->parent];
    if (!folded->count)
        folded->start = flame->starts[node];
    folded->count++;
    folded->weight += narrow->weight;
    folded->samples += narrow->samples;
}

static void lay_out(struct flame *flame)
{
    const struct calls_node *nodes = flame->calls.nodes;
    flame->starts = memory_new(flame->calls.count, sizeof(*flame->starts));
    flame->folded = memory_new(flame->calls.count, sizeof(*flame->folded));
    flame->levels = 1;
    bool below = true;
    for (uint32_t at = calls_after(&flame->calls, 0, true); at; at = calls_after(&flame->calls, at, below)) {
        const struct calls_node *node = &nodes[at];
        uint32_t parent = node->parent;
        /* The first child starts where its parent starts; the parent's self weight is on the right. */
        if (nodes[parent].first == at)
            flame->starts[at] = flame->starts[parent];
        if (node->next)
            flame->starts[node->next] = flame->starts[at] + node->weight;
        bool deep = node->level >= DEEPEST;
        flame->drawn[at] &= !deep;
        below = flame->drawn[at];
        if (below && node->level + 1 > flame->levels)
            flame->levels = node->level + 1;
        if (deep) {
            flame->deep_weight += node->weight;
        } else if (!below) {
            flame->narrow_boxes++;
            flame->narrow_weight += node->weight;
            fold_node(flame, at);
        }
    }
    for (uint32_t i = 0; i < flame->calls.count; i++)
        if (flame->drawn[i] && flame_shows_folded(flame, i) && nodes[i].level + 2 > flame->levels)
            flame->levels = nodes[i].level + 2;
}

bool flame_shows_folded(const struct flame *flame, uint32_t node)
{
    const struct settings *settings = flame->view->settings;
    const struct flame_folded *folded = &flame->folded[node];
    if (!folded->count)
        return false;
    return settings->min_given ? text_share(folded->weight, flame->calls.nodes[0].weight) >= settings->min
                               : folded->weight >= flame->least;
}

static void take_entries(struct flame *flame)
{
    struct histogram histogram;
    struct view *view = flame->view;
    histogram_init(&histogram, view->profile, view->names, BY_DSO);
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        if (!select_stack(view->settings, view->names, entry->stack)) {
            flame->unwanted_weight += entry->weight;
            continue;
        }
        calls_add(&flame->calls, entry);
        histogram_add(&histogram, entry);
    }
    histogram_sort(&histogram, SORT_SELF);
    for (size_t i = 0; i < histogram.count && i < FLAME_COLORS; i++) {
        flame->dsos[i] = names_dso(view->names, (uint32_t)histogram.rows[i].key);
        flame->dso_weights[i] = histogram.rows[i].self_weight;
        flame->dso_count++;
    }
    histogram_release(&histogram);
}

void flame_init(struct flame *flame, struct view *view)
{
    const struct settings *settings = view->settings;
    int by = settings->by_given ? settings->by : settings->aggregate ? BY_FUNCTION : BY_COMM;
    *flame = (struct flame){.view = view, .hanging = settings->layout == LAYOUT_HANGING || settings->reverse};
    if (by != BY_DSO)
        view_symbolize(view);
    calls_init(&flame->calls, view->profile, view->names, by, settings->reverse);
    flame->calls.fold_recursion = !settings->no_fold;
    take_entries(flame);
    calls_sort(&flame->calls);
    flame->drawn = memory_new(flame->calls.count, sizeof(*flame->drawn));
    if (settings->min_given)
        choose_by_share(flame, settings->min);
    else
        choose_heaviest(flame);
    lay_out(flame);
}

void flame_release(struct flame *flame)
{
    calls_release(&flame->calls);
    free(flame->starts);
    free(flame->drawn);
    free(flame->folded);
    *flame = (struct flame){0};
}

/* ---- The view ---- */

#define USUAL_FILE "flame.svg"

static int write_file(struct flame *flame, const char *path, uint64_t *ret_bytes)
{
    struct output_file out;
    if (output_file_holds_samples(path)) {
        report_error("'%s' holds samples and is not overwritten; give another file name after -o", path);
        return 1;
    }
    if (output_file_open(&out, path, 0, OUTPUT_FILE_SHARED) < 0)
        return 1;
    flame_svg(flame, out.to);
    fflush(out.to);
    *ret_bytes = out.bytes;
    return output_file_close(&out, true);
}

static void print_summary(const struct flame *flame, uint64_t bytes)
{
    const struct profile *profile = flame->view->profile;
    const struct calls_node *whole = &flame->calls.nodes[0];
    char size[TEXT_AMOUNT], total[TEXT_AMOUNT], samples[TEXT_AMOUNT];
    fprintf(flame->view->output->to, "%s: %s in %s, %s; open it in a browser\n", USUAL_FILE,
            text_weight(total, whole->weight, profile->events[profile->event].nanoseconds),
            text_plural(samples, whole->samples, "sample", "samples"), text_bytes(size, bytes));
}

int view_flame(struct view *view)
{
    struct flame flame;
    const char *path = view->settings->file;
    uint64_t bytes = 0;
    int status = 0;
    if (!view->selection->total_samples) {
        report_error(
            "no samples to draw; 'panalyze counts' shows what was counted, and 'panalyze tree' shows what ran");
        return 1;
    }
    const bool out = path && strcmp(path, "-") == 0;
    if (out && view->output->terminal) {
        report_error("refusing to write SVG to a terminal; use -o FILE");
        return 1;
    }
    flame_init(&flame, view);
    if (!flame.calls.nodes[0].samples) {
        report_error("no sampled stack passes through the functions and DSOs of --symbol and --dso; 'panalyze report' "
                     "lists the names");
        status = 1;
    } else if (out) {
        flame_svg(&flame, view->output->to);
    } else {
        status = write_file(&flame, path ? path : USUAL_FILE, &bytes);
        if (!path && status == 0)
            print_summary(&flame, bytes);
    }
    if (status == 0 && view->settings->by != BY_DSO)
        missing_tell(view);
    flame_release(&flame);
    return status;
}
