/* SPDX-License-Identifier: MIT */
/* Turns the addresses of a sample into frames and a stack. */
#ifndef ANALYZE_MODEL_CHAIN_H
#define ANALYZE_MODEL_CHAIN_H

#include "analyze/model/space.h"
#include "analyze/model/store.h"
#include "analyze/read/record.h"

/* Shared by all files of one store. Most samples repeat earlier ones: the hash of their bytes finds the stack, and no
 * frame is resolved. */
struct chain {
    struct store *store;
    const struct profile_module *const *modules; /* that mappings refer to; NULL: those of the store */
    struct chain_known *known;                   /* stacks by hash; each slot has the last one */
    uint32_t kernel_module;                      /* "[kernel.kallsyms]" */
    uint32_t hypervisor_module, guest_module;
    uint32_t none;              /* the stack of samples whose chain is not wanted */
    struct chain_frame *wanted; /* frames of the stacks being resolved, */
    uint32_t *frames;           /* and their indices in the store */
    uint32_t count, capacity;
    bool truncated; /* the last of these stacks */
};

struct chain_frame {
    struct profile_frame frame;
    uint64_t hash;
};

int chain_init(struct chain *chain, struct store *store);
void chain_release(struct chain *chain);
/* Makes room for COUNT frames. 0 or -ENOMEM. */
int chain_room(struct chain *chain, uint32_t count);

enum chain_machine { CHAIN_OTHER, CHAIN_X86, CHAIN_ARM64 };

struct chain_place {
    const struct space *user, *kernel;
    enum chain_machine machine; /* of the sample's registers */
    const struct space *data;   /* code and data of the user; NULL: not kept */
};

/* The frames of SAMPLE in chain->frames[0, count), their addresses in chain->wanted. 0 or -ENOMEM. */
int chain_resolve(struct chain *chain, const struct chain_place *place, const struct record *sample);

/* Whether SAMPLE hit a guest. Its addresses are those of the guest. */
bool chain_is_guest(const struct record *sample);
/* Sets the module and the offset of FRAME, whose offset is an address of code that SAMPLE has. */
void chain_place_code(struct chain *chain, const struct chain_place *place, const struct record *sample,
                      struct profile_frame *frame);

/*
 * The stacks of many samples. Their data is rarely in the CPU's caches, so each step is done for a whole group before
 * the next step: several cache misses overlap.
 */
enum { CHAIN_GROUP = 64 };

struct chain_sample {
    struct profile_entry entry; /* without its stack */
    struct chain_place place;
    struct record sample;
};

/* Adds SAMPLES[COUNT], in this order, to ENTRIES of the chain's store. 0 or -ENOMEM. */
int chain_add(struct chain *chain, struct chain_sample *samples, uint32_t count);

#endif
