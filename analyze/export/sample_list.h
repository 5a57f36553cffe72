/* SPDX-License-Identifier: MIT */
/* A list of the selected samples of the shown event, for formats with a time axis. 24 bytes of memory each. */
#ifndef ANALYZE_EXPORT_SAMPLE_LIST_H
#define ANALYZE_EXPORT_SAMPLE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/export/tree.h"
#include "analyze/view/output_file.h"
#include "analyze/view/view.h"

struct samples_item {
    uint64_t time_ns, weight;
    uint32_t node; /* of the tree */
    uint32_t task; /* index of the task */
};

struct samples {
    struct samples_item *items; /* by task, then by time */
    size_t count, capacity;
};

/* Reads the files again; stacks go to TREE. 0, or an exit status after a message. */
int samples_collect(struct samples *samples, struct view *view, struct output_file *out, struct tree *tree);
void samples_release(struct samples *samples);
/* The end of the samples of the task whose samples start at FROM. */
size_t samples_end(const struct samples *samples, size_t from);

#endif
