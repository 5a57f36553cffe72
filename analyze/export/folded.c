/* SPDX-License-Identifier: MIT */
/*
 * "COMM;OUTERMOST;...;LEAF WEIGHT": a line for each distinct stack, as stackcollapse-perf.pl writes it. With --inline,
 * inlined functions end in "_[i]", as there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/export/tree.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

struct folded {
    struct view *view;
    struct tree tree;
    struct map lines;  /* (comm, node) */
    uint64_t *weights; /* by line */
    size_t capacity;
};

static void put_clean(FILE *to, const char *text, size_t size)
{
    char *part = memory_print("%.*s", (int)size, text), *clean = text_clean(part, true);
    for (char *at = clean; (at = strchr(at, ';'));)
        *at = ':';
    fputs(clean, to);
    free(clean);
    free(part);
}

/* A semicolon would begin another frame. Control characters, invalid UTF-8 and backslashes become \ooo, so that names
 * that differ in them stay different. */
static void put_name(FILE *to, const char *name)
{
    if (!*name)
        fputs("[unknown]", to);
    for (size_t size; *name; name += size) {
        size = strcspn(name, "\\");
        put_clean(to, name, size);
        for (; name[size] == '\\'; size++)
            fputs("\\134", to);
    }
}

static void put_stack(FILE *to, struct folded *folded, uint32_t node)
{
    uint32_t depth = 0, *path = NULL;
    size_t capacity = 0;
    for (; node != TREE_ROOT; node = tree_parent(&folded->tree, node)) {
        path = memory_grow(path, &capacity, (size_t)depth + 1, sizeof(*path));
        path[depth++] = tree_label(&folded->tree, node);
    }
    while (depth-- > 0) {
        const struct tree_call *call = &folded->tree.calls[path[depth]];
        fputc(';', to);
        put_name(to, tree_function(&folded->tree, call->function).symbol);
        fputs(call->inlined ? "_[i]" : "", to);
    }
    free(path);
}

static void gather_lines(struct folded *folded)
{
    const struct profile *profile = folded->view->profile;
    const struct selection *selection = folded->view->selection;
    for (uint32_t i = 0; i < selection->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[selection->entries[i]];
        const struct profile_stack *stack = &profile->stacks[entry->stack];
        uint32_t node = tree_add(&folded->tree, stack->frames, stack->depth);
        size_t before = folded->lines.count;
        uint32_t line = map_add(&folded->lines, (uintptr_t)entry->comm, node);
        folded->weights = memory_grow(folded->weights, &folded->capacity, folded->lines.count, sizeof(uint64_t));
        folded->weights[line] = entry->weight + (line < before ? folded->weights[line] : 0);
    }
}

int folded_write(struct view *view, struct output_file *out)
{
    struct folded folded = {.view = view};
    tree_init(&folded.tree, view, true);
    folded.tree.inlined_apart = true;
    gather_lines(&folded);
    for (size_t i = 0; i < folded.lines.count && !output_file_is_over(out); i++) {
        put_name(out->to, (const char *)(uintptr_t)folded.lines.pairs[i].a);
        put_stack(out->to, &folded, (uint32_t)folded.lines.pairs[i].b);
        fprintf(out->to, " %" PRIu64 "\n", folded.weights[i]);
    }
    tree_release(&folded.tree);
    map_release(&folded.lines);
    free(folded.weights);
    return 0;
}
