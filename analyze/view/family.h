/* SPDX-License-Identifier: MIT */
/* Who started whom: threads below their process, processes below the task that made them. */
#ifndef ANALYZE_VIEW_FAMILY_H
#define ANALYZE_VIEW_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"

#define FAMILY_NONE UINT32_MAX

struct family {
    uint32_t *parent, *first, *next; /* by task index; FAMILY_NONE: there is none */
    uint32_t root;                   /* first task without a parent; its siblings are the others */
};

/* Of the tasks with WANTED[index]; a task whose parent is not wanted stands below the next one above that is. */
void family_init(struct family *family, const struct profile *profile, const bool *wanted);
void family_release(struct family *family);
/* The next one in the order of a printed tree, FAMILY_NONE at the end. */
uint32_t family_next(const struct family *family, uint32_t task);

#endif
