/* SPDX-License-Identifier: MIT */
/* How much of a stack comes with a sample, and what that means for a ring. Thread-safe. */
#ifndef COLLECTOR_STACKS_DUMP_SIZE_H
#define COLLECTOR_STACKS_DUMP_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/stacks/dump_limits.h"
#include "collector/stacks/stack_predictor.h"

struct event_config;

struct dump_sizes {
    uint32_t now;                      /* atomic: bytes of stack with each sample of those who come; 0: none come */
    struct dump_limits limits;         /* who gets less */
    struct stack_predictor *predictor; /* what the programs that come need of them; NULL: all get the same */
};

/*
 * For a task of a program that SIZES is of (NULL: not known): bytes of stack where its ring has SIZE bytes, such that
 * enough samples fit; 0: none. LIMIT: dump_limits_find().
 */
uint32_t dump_size(const struct event_config *config, const struct dump_sizes *dumps, uint32_t limit,
                   const struct stack_sizes *sizes, size_t size);
/*
 * From now on all tasks get the same, for good: as many bytes as programs with deep stacks get, unless the user has
 * chosen. That takes ring memory, but the kernel copies only as much as there is of a stack. Returns how many they got
 * before, for dump_sizes_restore() if the events of all tasks could not be opened. Event loop, or before it runs.
 */
uint32_t dump_sizes_unite(const struct event_config *config, struct dump_sizes *dumps);
void dump_sizes_restore(struct dump_sizes *dumps, uint32_t before);
/* Pages of its ring where with the event configuration's dumps there would be PAGES. */
size_t dump_size_pages(const struct event_config *config, const struct dump_sizes *dumps, uint32_t limit,
                       const struct stack_sizes *sizes, size_t pages);

#endif
