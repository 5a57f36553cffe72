/* SPDX-License-Identifier: MIT */
/*
 * What the feature sections say that no record needs: topology, caches, PMUs, groups. Each section becomes a list of
 * items (a NUMA node, a cache), each item a list of named facts.
 */
#ifndef ANALYZE_READ_FEATURE_FACTS_H
#define ANALYZE_READ_FEATURE_FACTS_H

#include <stdint.h>

#include "analyze/read/arena.h"
#include "analyze/read/feature.h"

struct feature_fact {
    uint32_t feature; /* number of the section; facts are in the order of sections */
    uint32_t item;    /* of the section, from 0; facts of an item are neighbours */
    const char *name; /* units are in it: "total_kb" */
    const char *text; /* NULL: a number */
    uint64_t number;
};

struct feature_facts {
    struct feature_fact *items; /* plain memory */
    uint32_t count, capacity;
};

/*
 * Adds the facts of all sections to RET, which the caller has zeroed and releases; texts go to ARENA. Of a section that
 * ends early, what can be read, and a fact "problem". 0 or -ENOMEM.
 */
int feature_facts_read(const struct features *features, struct arena *arena, struct feature_facts *ret);
void feature_facts_release(struct feature_facts *facts);

#endif
