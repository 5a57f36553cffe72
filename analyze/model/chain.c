/* SPDX-License-Identifier: MIT */
#include "analyze/model/chain.h"

#include "analyze/read/bytes.h"

#define KNOWN_BITS    16
#define DEFAULT_DEPTH 127              /* /proc/sys/kernel/perf_event_max_stack */
#define USER_DEFERRED ((uint64_t)-640) /* Linux 6.18: a cookie follows instead of the user part */

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
    uint32_t unknown = store_frame(store, store_frame_hash(&frame), &frame);
    chain->none = unknown == LOOKUP_NONE ? unknown
                                         : store_stack(store, store_stack_hash(&unknown, 1, false), &unknown, 1, false);
    return chain->known && chain->kernel_module != LOOKUP_NONE && chain->none != LOOKUP_NONE ? 0 : -ENOMEM;
}

void chain_release(struct chain *chain)
{
    free(chain->known);
    free(chain->frames);
    free(chain->wanted);
    *chain = (struct chain){0};
}

/* Rare modules are made on first use. Out of memory: the frame gets no module. */
static const struct profile_module *rare_module(struct chain *chain, uint32_t *index, const char *path)
{
    if (*index == LOOKUP_NONE)
        *index = add_module(chain->store, path, false);
    return *index == LOOKUP_NONE ? NULL : store_module_at(chain->store, *index);
}

static const struct profile_module *module_at(const struct chain *chain, uint32_t index)
{
    return chain->modules ? chain->modules[index] : store_module_at(chain->store, index);
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
        frame->module = module_at(chain, mapping->module);
        if (frame->module->pid == 0)
            frame->offset = frame->offset - mapping->start + mapping->pgoff;
        return;
    case MODE_KERNEL:
        mapping = space_find(place->kernel, frame->offset);
        frame->kernel = true;
        frame->module = module_at(chain, mapping ? mapping->module : chain->kernel_module);
        return;
    case MODE_HYPERVISOR: frame->module = rare_module(chain, &chain->hypervisor_module, "[hypervisor]"); return;
    case MODE_GUEST: frame->module = rare_module(chain, &chain->guest_module, "[guest]"); return;
    }
}

int chain_room(struct chain *chain, uint32_t count)
{
    while (count > chain->capacity) {
        uint32_t capacity = chain->capacity;
        if (arena_room(&chain->frames, &capacity, chain->capacity, sizeof(*chain->frames)) < 0)
            return -ENOMEM;
        capacity = chain->capacity;
        if (arena_room(&chain->wanted, &capacity, chain->capacity, sizeof(*chain->wanted)) < 0)
            return -ENOMEM;
        chain->capacity = capacity;
    }
    return 0;
}

static int add_frame(struct chain *chain, const struct chain_place *place, enum mode mode, uint64_t ip, bool caller)
{
    if (chain_room(chain, chain->count + 1) < 0)
        return -ENOMEM;
    struct chain_frame *wanted = &chain->wanted[chain->count++];
    wanted->frame = (struct profile_frame){.offset = ip - caller, .ip = ip, .caller = caller};
    place_frame(chain, place, mode, &wanted->frame);
    wanted->hash = store_frame_hash(&wanted->frame);
    lookup_prefetch(&chain->store->frames.lookup, wanted->hash);
    return 0;
}

/* Sets chain->frames: finds the wanted frames in the store, or adds them. */
static int intern_stack(struct chain *chain)
{
    const uint32_t ahead = 8;
    for (uint32_t i = 0; i < chain->count; i++) {
        if (i + ahead < chain->count)
            store_frame_fetch(chain->store, chain->wanted[i + ahead].hash);
        chain->frames[i] = store_frame(chain->store, chain->wanted[i].hash, &chain->wanted[i].frame);
        if (chain->frames[i] == LOOKUP_NONE)
            return -ENOMEM;
    }
    return 0;
}

static enum mode mode_of_sample(const struct record *sample)
{
    switch (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL: return MODE_KERNEL;
    case PERF_RECORD_MISC_USER: return MODE_USER;
    case PERF_RECORD_MISC_HYPERVISOR: return MODE_HYPERVISOR;
    case PERF_RECORD_MISC_GUEST_KERNEL:
    case PERF_RECORD_MISC_GUEST_USER: return MODE_GUEST;
    /* Unknown mode: on every 64-bit machine the kernel has the upper half of the addresses. */
    default: return profile_is_kernel(sample->ip) ? MODE_KERNEL : MODE_USER;
    }
}

bool chain_is_guest(const struct record *sample)
{
    return mode_of_sample(sample) == MODE_GUEST;
}

void chain_place_code(struct chain *chain, const struct chain_place *place, const struct record *sample,
                      struct profile_frame *frame)
{
    const enum mode mode = profile_is_kernel(frame->offset) ? MODE_KERNEL : MODE_USER;
    place_frame(chain, place, chain_is_guest(sample) ? MODE_GUEST : mode, frame);
}

/* Sets *MODE by a marker in the chain, for the addresses after it. False: the marker is unknown. */
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

/* The most addresses that the recorder writes for a sample; it cuts the rest. */
static uint64_t depth_limit(const struct record *sample)
{
    return sample->attr->perf.sample_max_stack ? sample->attr->perf.sample_max_stack : DEFAULT_DEPTH;
}

/*
 * The first address after a marker is where an interrupt or a system call left that part of the chain: it is exact, no
 * return address. A frame pointer register that holds something else may give 0, which is no address.
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
        /* Where the two differ, the sample's own address is better: with precise hardware sampling the chain still has
         * the skid. */
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

/*
 * perf record --call-graph dwarf records no user part. If the dump cannot be unwound (dumps.h), the registers still
 * give its first address.
 */
static int add_user_register(struct chain *chain, const struct chain_place *place, const struct record *sample)
{
    static const unsigned program_counter[] = {[CHAIN_OTHER] = 64, [CHAIN_X86] = 8, [CHAIN_ARM64] = 32};
    uint64_t ip;
    if (!record_user_register(sample, program_counter[place->machine], &ip) || ip == 0)
        return 0;
    return add_frame(chain, place, MODE_USER, ip, false);
}

/* Whether the chain begins at the sample's address. If not (no chain, or only of another part), that address is put
 * before it. */
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

/* Appends the frames of SAMPLE to chain->wanted. */
static int append_frames(struct chain *chain, const struct chain_place *place, const struct record *sample)
{
    bool user = mode_of_sample(sample) == MODE_USER, leaf = chain_has_leaf(sample);
    uint32_t before = chain->count;
    int status = 0;
    chain->truncated = false;
    if (!leaf)
        status = add_frame(chain, place, mode_of_sample(sample), sample->ip, false);
    if (status == 0)
        status = add_chain(chain, place, sample, leaf, &user);
    if (status == 0 && chain->count == before)
        status = add_frame(chain, place, mode_of_sample(sample), sample->ip, false);
    if (status == 0 && !user && sample->user_regs)
        status = add_user_register(chain, place, sample);
    return status;
}

int chain_resolve(struct chain *chain, const struct chain_place *place, const struct record *sample)
{
    chain->count = 0;
    int status = append_frames(chain, place, sample);
    return status < 0 ? status : intern_stack(chain);
}

static uint64_t hash_of(const struct chain_place *place, const struct record *sample)
{
    /* Mixed in one by one: two small counters that are mixed only with each other soon collide. */
    uint64_t hash = lookup_mix(lookup_mix(8, place->user->state), place->kernel->state);
    hash = lookup_mix(hash, sample->ip);
    hash = lookup_mix(hash,
                      (uint64_t)sample->cut << 32 | (uint64_t)sample->misc << 16 | sample->attr->perf.sample_max_stack);
    if (sample->user_regs)
        hash = lookup_mix(hash, lookup_hash_bytes(sample->user_regs, 8 * (size_t)__builtin_popcountll(
                                                                             sample->attr->perf.sample_regs_user)));
    return sample->chain ? lookup_mix(hash, lookup_hash_bytes(sample->chain, 8 * sample->chain_count)) : hash;
}

struct group {
    struct chain_sample *samples;
    uint32_t count;
    uint64_t hashes[CHAIN_GROUP];    /* of the bytes of each sample, later of its entry */
    uint64_t stacks[CHAIN_GROUP];    /* hashes of stacks */
    uint32_t first[CHAIN_GROUP + 1]; /* start of its frames in chain->wanted; it has none if its stack is known */
    bool truncated[CHAIN_GROUP];
};

static struct chain_known *known_at(const struct chain *chain, uint64_t hash)
{
    return &chain->known[hash >> (64 - KNOWN_BITS)];
}

static int append_group_frames(struct chain *chain, struct group *group)
{
    chain->count = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        group->hashes[i] = hash_of(&group->samples[i].place, &group->samples[i].sample);
        __builtin_prefetch(known_at(chain, group->hashes[i]));
    }
    for (uint32_t i = 0; i < group->count; i++) {
        struct chain_sample *sample = &group->samples[i];
        const struct chain_known *known = known_at(chain, group->hashes[i]);
        group->first[i] = chain->count;
        sample->entry.stack = known->hash == group->hashes[i] && known->hash ? known->stack : LOOKUP_NONE;
        if (sample->entry.stack == LOOKUP_NONE && append_frames(chain, &sample->place, &sample->sample) < 0)
            return -ENOMEM;
        group->truncated[i] = chain->truncated;
    }
    group->first[group->count] = chain->count;
    return intern_stack(chain);
}

static int store_stacks(struct chain *chain, struct group *group)
{
    struct store *store = chain->store;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t first = group->first[i], depth = group->first[i + 1] - first;
        group->stacks[i] = store_stack_hash(chain->frames + first, depth, group->truncated[i]);
        lookup_prefetch(&store->stacks.lookup, group->stacks[i]);
    }
    for (uint32_t i = 0; i < group->count; i++)
        store_stack_fetch(store, group->stacks[i]);
    for (uint32_t i = 0; i < group->count; i++) {
        struct profile_entry *entry = &group->samples[i].entry;
        uint32_t first = group->first[i], depth = group->first[i + 1] - first;
        if (entry->stack != LOOKUP_NONE)
            continue;
        entry->stack = store_stack(store, group->stacks[i], chain->frames + first, depth, group->truncated[i]);
        if (entry->stack == LOOKUP_NONE)
            return -ENOMEM;
        *known_at(chain, group->hashes[i]) = (struct chain_known){group->hashes[i], entry->stack};
    }
    return 0;
}

static int store_entries(struct chain *chain, struct group *group)
{
    struct store_list *entries = &chain->store->entries;
    for (uint32_t i = 0; i < group->count; i++) {
        group->hashes[i] = store_sample_hash(&group->samples[i].entry);
        lookup_prefetch(&entries->lookup, group->hashes[i]);
    }
    for (uint32_t i = 0; i < group->count; i++)
        store_sample_fetch(entries, group->hashes[i]);
    for (uint32_t i = 0; i < group->count; i++)
        if (store_sample(entries, group->hashes[i], &group->samples[i].entry) < 0)
            return -ENOMEM;
    return 0;
}

int chain_add(struct chain *chain, struct chain_sample *samples, uint32_t count)
{
    int status = 0;
    for (uint32_t at = 0; status == 0 && at < count; at += CHAIN_GROUP) {
        struct group group = {.samples = samples + at, .count = count - at < CHAIN_GROUP ? count - at : CHAIN_GROUP};
        status = append_group_frames(chain, &group);
        if (status == 0)
            status = store_stacks(chain, &group);
        if (status == 0)
            status = store_entries(chain, &group);
    }
    return status;
}
