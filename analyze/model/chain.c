/* SPDX-License-Identifier: MIT */
#include "analyze/model/chain.h"

#include "analyze/read/bytes.h"

#define KNOWN_BITS 16
#define DEFAULT_DEPTH 127           /* /proc/sys/kernel/perf_event_max_stack */
#define USER_DEFERRED ((uint64_t)-640) /* Linux 6.18: a cookie follows instead of the user's part */

struct chain_known {
    uint64_t hash;
    uint32_t stack;
};

enum mode { MODE_USER, MODE_KERNEL, MODE_HYPERVISOR, MODE_GUEST };

static uint32_t add_module(struct store *store, const char *path, bool kernel)
{
    struct profile_module module = {.path = store_string(store, path), .kernel = kernel};
    return module.path ? store_module(store, &module) : LOOKUP_NONE;
}

int chain_init(struct chain *chain, struct store *store)
{
    *chain = (struct chain){.store = store};
    chain->known = calloc(1u << KNOWN_BITS, sizeof(*chain->known));
    chain->kernel_module = add_module(store, "[kernel.kallsyms]", true);
    chain->hypervisor_module = chain->guest_module = LOOKUP_NONE;
    struct profile_frame frame = {0};
    uint32_t unknown = store_frame(store, &frame);
    chain->none = unknown == LOOKUP_NONE ? unknown : store_stack(store, &unknown, 1, false);
    return chain->known && chain->kernel_module != LOOKUP_NONE && chain->none != LOOKUP_NONE ? 0 : -ENOMEM;
}

void chain_release(struct chain *chain)
{
    free(chain->known);
    free(chain->frames);
    free(chain->ips);
    *chain = (struct chain){0};
}

/* Rare modules are made when they are met. Without memory the frame has none. */
static const struct profile_module *rare_module(struct chain *chain, uint32_t *index, const char *path)
{
    if (*index == LOOKUP_NONE)
        *index = add_module(chain->store, path, false);
    return *index == LOOKUP_NONE ? NULL : store_module_at(chain->store, *index);
}

static void place_frame(struct chain *chain, const struct chain_place *place, enum mode mode,
                        struct profile_frame *frame)
{
    const struct mapping *mapping = NULL;
    switch (mode) {
    case MODE_USER:
        mapping = space_find(place->user, frame->offset);
        if (!mapping)
            return;
        frame->module = store_module_at(chain->store, mapping->module);
        if (frame->module->pid == 0)
            frame->offset = frame->offset - mapping->start + mapping->pgoff;
        return;
    case MODE_KERNEL:
        mapping = space_find(place->kernel, frame->offset);
        frame->kernel = true;
        frame->module = store_module_at(chain->store, mapping ? mapping->module : chain->kernel_module);
        return;
    case MODE_HYPERVISOR: frame->module = rare_module(chain, &chain->hypervisor_module, "[hypervisor]"); return;
    case MODE_GUEST: frame->module = rare_module(chain, &chain->guest_module, "[guest]"); return;
    }
}

static int add_frame(struct chain *chain, const struct chain_place *place, enum mode mode, uint64_t ip, bool caller)
{
    if (chain->count == chain->capacity) {
        uint32_t capacity = chain->capacity;
        if (arena_room(&chain->frames, &capacity, chain->count, sizeof(*chain->frames)) < 0)
            return -ENOMEM;
        capacity = chain->capacity;
        if (arena_room(&chain->ips, &capacity, chain->count, sizeof(*chain->ips)) < 0)
            return -ENOMEM;
        chain->capacity = capacity;
    }
    struct profile_frame frame = {.offset = ip - caller, .ip = ip, .caller = caller};
    place_frame(chain, place, mode, &frame);
    uint32_t index = store_frame(chain->store, &frame);
    chain->ips[chain->count] = ip;
    chain->frames[chain->count++] = index;
    return index == LOOKUP_NONE ? -ENOMEM : 0;
}

static enum mode mode_of_sample(const struct record *sample)
{
    switch (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL: return MODE_KERNEL;
    case PERF_RECORD_MISC_USER: return MODE_USER;
    case PERF_RECORD_MISC_HYPERVISOR: return MODE_HYPERVISOR;
    case PERF_RECORD_MISC_GUEST_KERNEL:
    case PERF_RECORD_MISC_GUEST_USER: return MODE_GUEST;
    /* Not said: the kernel has the upper half on every machine with addresses of 64 bits. */
    default: return sample->ip >> 63 ? MODE_KERNEL : MODE_USER;
    }
}

/* What a marker among the addresses says of those behind it. False: it is not known, and says nothing. */
static bool take_marker(uint64_t marker, enum mode *mode)
{
    switch (marker) {
    case PERF_CONTEXT_HV: *mode = MODE_HYPERVISOR; return true;
    case PERF_CONTEXT_KERNEL: *mode = MODE_KERNEL; return true;
    case PERF_CONTEXT_USER: *mode = MODE_USER; return true;
    case PERF_CONTEXT_GUEST:
    case PERF_CONTEXT_GUEST_KERNEL:
    case PERF_CONTEXT_GUEST_USER: *mode = MODE_GUEST; return true;
    default: return false;
    }
}

static bool is_marker(uint64_t ip)
{
    return ip >= (uint64_t)PERF_CONTEXT_MAX;
}

/* How many addresses of one sample the recorder may write; beyond these it cuts. */
static uint64_t depth_limit(const struct record *sample)
{
    return sample->attr->perf.sample_max_stack ? sample->attr->perf.sample_max_stack : DEFAULT_DEPTH;
}

/*
 * The first address behind a marker is where that part of the chain was left (by an interrupt or a system call): exact,
 * no return address. A frame pointer that was used for something else ends in 0: no address at all.
 */
static int add_chain(struct chain *chain, const struct chain_place *place, const struct record *sample, bool leaf,
                     bool *ret_user)
{
    enum mode mode = mode_of_sample(sample);
    bool exact = true;
    uint64_t addresses = 0;
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < sample->chain_count; i++) {
        uint64_t ip = bytes_u64(sample->chain + 8 * i, sample->swap);
        if (ip == USER_DEFERRED)
            break;
        if (is_marker(ip)) {
            exact |= take_marker(ip, &mode);
            continue;
        }
        /* The sample's own address is the better one where they differ: hardware that samples precisely has the skid in
         * the chain. */
        if (addresses++ == 0 && leaf && sample->ip != 0)
            ip = sample->ip;
        if (ip != 0)
            status = add_frame(chain, place, mode, ip, !exact);
        *ret_user |= mode == MODE_USER && ip != 0;
        exact = false;
    }
    chain->truncated = sample->unwound ? sample->cut : addresses >= depth_limit(sample);
    return status;
}

/* perf record --call-graph dwarf records no user part. Where the dump could not be unwound (dumps.h) the registers tell at
 * least where it begins. */
static int add_user_register(struct chain *chain, const struct chain_place *place, const struct record *sample)
{
    static const unsigned program_counter[] = {[CHAIN_OTHER] = 64, [CHAIN_X86] = 8, [CHAIN_ARM64] = 32};
    uint64_t ip;
    if (!record_user_register(sample, program_counter[place->machine], &ip) || ip == 0)
        return 0;
    return add_frame(chain, place, MODE_USER, ip, false);
}

/* Whether the chain begins where the sample is; else (nothing recorded, or only of another part) the sample comes in
 * front. */
static bool chain_has_leaf(const struct record *sample)
{
    enum mode mode = mode_of_sample(sample), own = mode;
    for (uint64_t i = 0; i < sample->chain_count; i++) {
        uint64_t ip = bytes_u64(sample->chain + 8 * i, sample->swap);
        if (!is_marker(ip))
            return mode == own || sample->ip == 0;
        take_marker(ip, &mode);
    }
    return false;
}

int chain_resolve(struct chain *chain, const struct chain_place *place, const struct record *sample)
{
    bool user = mode_of_sample(sample) == MODE_USER, leaf = chain_has_leaf(sample);
    int status = 0;
    chain->count = 0;
    chain->truncated = false;
    if (!leaf)
        status = add_frame(chain, place, mode_of_sample(sample), sample->ip, false);
    if (status == 0)
        status = add_chain(chain, place, sample, leaf, &user);
    if (status == 0 && chain->count == 0)
        status = add_frame(chain, place, mode_of_sample(sample), sample->ip, false);
    if (status == 0 && !user && sample->user_regs)
        status = add_user_register(chain, place, sample);
    return status;
}

static uint64_t hash_of(const struct chain_place *place, const struct record *sample)
{
    uint64_t hash = lookup_mix(place->user->state, place->kernel->state);
    hash = lookup_mix(hash, sample->ip);
    hash = lookup_mix(hash, (uint64_t)sample->cut << 32 | (uint64_t)sample->misc << 16 |
                               sample->attr->perf.sample_max_stack);
    if (sample->user_regs)
        hash =
            lookup_mix(hash, lookup_hash_bytes(sample->user_regs,
                                               8 * (size_t)__builtin_popcountll(sample->attr->perf.sample_regs_user)));
    return sample->chain ? lookup_mix(hash, lookup_hash_bytes(sample->chain, 8 * sample->chain_count)) : hash;
}

uint32_t chain_stack(struct chain *chain, const struct chain_place *place, const struct record *sample)
{
    uint64_t hash = hash_of(place, sample);
    struct chain_known *known = &chain->known[hash >> (64 - KNOWN_BITS)];
    if (known->hash == hash && hash != 0)
        return known->stack;
    if (chain_resolve(chain, place, sample) < 0)
        return LOOKUP_NONE;
    uint32_t stack = store_stack(chain->store, chain->frames, chain->count, chain->truncated);
    if (stack != LOOKUP_NONE)
        *known = (struct chain_known){hash, stack};
    return stack;
}
