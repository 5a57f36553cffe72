/* SPDX-License-Identifier: MIT */
/* From the addresses of a sample to frames and stacks. */
#ifndef ANALYZE_MODEL_CHAIN_H
#define ANALYZE_MODEL_CHAIN_H

#include "analyze/model/space.h"
#include "analyze/model/store.h"
#include "analyze/read/record.h"

/* For all files of one store. Most samples were seen before: they are found by the hash of their bytes, without
 * resolving a frame. */
struct chain {
    struct store *store;
    struct chain_known *known;   /* stacks by hash: the last one at each place */
    uint32_t kernel_module;      /* "[kernel.kallsyms]" */
    uint32_t hypervisor_module, guest_module;
    uint32_t none;               /* the stack of samples whose chain is not wanted */
    uint32_t *frames;            /* the last resolved stack */
    uint64_t *ips;
    uint32_t count, capacity;
    bool truncated;
};

int chain_init(struct chain *chain, struct store *store);
void chain_release(struct chain *chain);

enum chain_machine { CHAIN_OTHER, CHAIN_X86, CHAIN_ARM64 };

struct chain_place {
    const struct space *user, *kernel;
    enum chain_machine machine;  /* whose registers a sample has */
};

/* The stack of SAMPLE, or LOOKUP_NONE without memory. */
uint32_t chain_stack(struct chain *chain, const struct chain_place *place, const struct record *sample);
/* The same, and chain->frames, ips and count are those of this sample. 0 or -ENOMEM. */
int chain_resolve(struct chain *chain, const struct chain_place *place, const struct record *sample);

#endif
