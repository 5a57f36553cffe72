/* SPDX-License-Identifier: MIT */
/* Turns samples with registers and stack into samples with a call chain. */
#define _GNU_SOURCE
#include "collector/stacks/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/config/sample_cost.h"
#include "collector/records/records.h"
#include "collector/records/space.h"
#include "collector/records/values.h"
#include "collector/stacks/dump_size.h"
#include "collector/stacks/stack_files.h"
#include "collector/stacks/stack_predictor.h"
#include "collector/system/monotonic.h"
#include "common/cursor.h"

enum {
    CHAIN_MAX = 2048,    /* entries that the kernel may write */
    PAYLOAD_MAX = 16384, /* bytes: twice as many as the kernel's limit */
    BRANCHES_MAX = 256,  /* more than any CPU records */
    REGS_MAX = 64,
    AUTO_TRIES = 64,   /* auto: so many chains are compared before frame pointers are trusted */
    AUTO_AGAIN = 16,   /* and then one of so many */
    AUTO_WRONG = 50,   /* at most one wrong chain in so many */
    RAISE_AFTER = 128, /* chains between two looks at how many were cut */
};

/* The parts of a raw sample. */
struct raw {
    size_t prefix;         /* bytes before the chain, header included */
    const uint64_t *chain; /* the kernel's */
    size_t chain_count;
    size_t kernel_count; /* entries before the user-space part */
    const void *payload; /* of a tracepoint, with its size before it */
    size_t payload_size;
    const void *branches; /* with their number before them */
    size_t branches_size;
    bool user;   /* there are registers of user space */
    bool native; /* a 64-bit program */
    struct unwind_regs regs;
    uint64_t kept[1 + REGS_MAX]; /* the ABI and the registers of --user-regs */
    size_t kept_count;           /* 0: that was not given */
    struct unwind_dump dump;
    const void *after; /* the fields after the dump */
    size_t after_size;
};

int stacks_new(const struct event_config *config, const struct records_layout *layout, struct dump_sizes *dumps,
               struct stacks **ret)
{
    *ret = NULL;
    if (!config->dump)
        return 0;
    struct stacks *stacks = calloc(1, sizeof(*stacks));
    if (stacks)
        stacks->files = unwind_files_new();
    if (stacks)
        stacks->engine = unwind_engine_new(config->unwinder);
    if (!stacks || !stacks->files || !stacks->engine) {
        stacks_free(stacks);
        return -ENOMEM;
    }
    stacks->config = config;
    stacks->layout = layout;
    stacks->dumps = dumps;
    *ret = stacks;
    return 0;
}

void stacks_free(struct stacks *stacks)
{
    if (stacks) {
        stack_files_release(stacks);
        unwind_files_free(stacks->files);
        unwind_engine_free(stacks->engine);
    }
    free(stacks);
}

uint64_t stacks_sum(const struct stack_counts *counts)
{
    uint64_t sum = counts->chosen + counts->behind + counts->foreign;
    for (unsigned i = 0; i < UNWIND_ENDS; i++)
        sum += counts->ends[i];
    return sum;
}

/* ---- Description ---- */

#define TRUNCATED_TEXT 128

static size_t describe_part(char *text, size_t used, uint64_t count, const char *what)
{
    int more = count ? snprintf(text + used, STACKS_TEXT - used, ", %" PRIu64 " %s", count, what) : 0;
    return used + (size_t)more < STACKS_TEXT ? used + (size_t)more : STACKS_TEXT - 1;
}

/* How much was copied at most, and which option copies more. */
static void describe_truncated(char ret[TRUNCATED_TEXT], const struct stacks *stacks, uint32_t dump, bool automatic)
{
    snprintf(ret, TRUNCATED_TEXT,
             stacks->raised ? "truncated at %" PRIu32 " bytes or less (pinject raised this size during the run; "
                              "raise -g %s,BYTES)"
                            : "truncated at %" PRIu32 " bytes (raise -g %s,BYTES)",
             dump, automatic ? "auto" : "dwarf");
}

static size_t describe_loss(char *text, size_t used, uint64_t count, const char *what)
{
    int more = count ? snprintf(text + used, STACKS_TEXT - used, "; %s: %" PRIu64 " file%s", what, count,
                                count == 1 ? "" : "s")
                     : 0;
    return used + (size_t)more < STACKS_TEXT ? used + (size_t)more : STACKS_TEXT - 1;
}

void stacks_describe(const struct stacks *stacks, char ret[STACKS_TEXT])
{
    ret[0] = '\0';
    if (!stacks || !stacks_sum(&stacks->counts))
        return;
    const struct stack_counts *counts = &stacks->counts;
    uint64_t unwound = stacks_sum(counts) - counts->chosen - counts->behind - counts->foreign;
    size_t used = (size_t)snprintf(ret, STACKS_TEXT, "%" PRIu64 " call stack%s unwound%s", unwound,
                                   unwound == 1 ? "" : "s",
                                   stacks->config->unwinder == UNWIND_ENGINE_LIBUNWIND ? " by libunwind" : "");
    if (unwound)
        /* Rounded down, as in reports: only 100.0 % is all. */
        used += (size_t)snprintf(ret + used, STACKS_TEXT - used, ", %" PRIu64 ".%" PRIu64 " %% complete",
                                 counts->ends[UNWIND_BOTTOM] * 100 / unwound,
                                 counts->ends[UNWIND_BOTTOM] * 1000 / unwound % 10);
    const uint32_t dump = __atomic_load_n(&stacks->dumps->now, __ATOMIC_RELAXED);
    bool raise_said = false;
    for (unsigned end = UNWIND_BOTTOM + 1; end < UNWIND_ENDS; end++) {
        const bool larger = end == UNWIND_TRUNCATED && dump < STACKS_DUMP_MAX && !stacks->lowered;
        char truncated[TRUNCATED_TEXT];
        describe_truncated(truncated, stacks, dump, stacks->config->dump_auto);
        used = describe_part(ret, used, counts->ends[end], larger ? truncated : unwind_end_name(end));
        raise_said |= larger && counts->ends[end];
    }
    used = describe_part(ret, used, counts->chosen, "by frame pointer (the process has frame pointers)");
    used = describe_part(ret, used, counts->behind, "by frame pointer (the collector fell behind)");
    used = describe_part(ret, used, counts->foreign, "by frame pointer (32-bit code)");
    used = describe_loss(ret, used, stacks->time.put_off, "unwind tables not read in time");
    used = describe_loss(ret, used, stacks->no_room, "no memory left for unwind tables");
    if (stacks->lowered || (stacks->raised && !raise_said))
        snprintf(ret + used, STACKS_TEXT - used, "; the size of stack dumps was %s to %" PRIu32 " bytes",
                 stacks->lowered ? "lowered" : "raised", stacks->lowered ? stacks->lowest : dump);
}

/* ---- The raw sample ---- */

static bool parse_chain(struct cursor *cursor, struct raw *raw)
{
    uint64_t count = cursor_u64(cursor);
    if (count > CHAIN_MAX)
        return false;
    raw->chain = cursor_bytes(cursor, (size_t)count * sizeof(uint64_t));
    if (!raw->chain)
        return false;
    raw->chain_count = (size_t)count;
    while (raw->kernel_count < raw->chain_count && raw->chain[raw->kernel_count] != PERF_CONTEXT_USER)
        raw->kernel_count++;
    return true;
}

/* Its size is so that the next field is aligned. */
static bool parse_payload(struct cursor *cursor, struct raw *raw)
{
    struct cursor start = *cursor;
    const uint32_t size = cursor_u32(cursor);
    cursor_skip(cursor, size);
    raw->payload_size = sizeof(size) + size;
    raw->payload = cursor_bytes(&start, raw->payload_size);
    return !cursor->failed && raw->payload_size <= PAYLOAD_MAX && raw->payload_size % sizeof(uint64_t) == 0;
}

static bool parse_branches(struct cursor *cursor, const struct perf_event_attr *attr, struct raw *raw)
{
    struct cursor start = *cursor;
    const uint64_t count = cursor_u64(cursor);
    if (count > BRANCHES_MAX)
        return false;
    raw->branches_size = sample_fields_branches_size(attr, (size_t)count);
    raw->branches = cursor_bytes(&start, raw->branches_size);
    *cursor = start;
    return !cursor->failed;
}

/* Those of WORDS, which MASK selected, that WANTED has, too. */
static void keep_regs(struct raw *raw, uint64_t wanted, uint64_t mask, const uint64_t *words)
{
    for (; mask; mask &= mask - 1, words++)
        if (wanted & mask & -mask)
            raw->kept[raw->kept_count++] = *words;
}

/* In the order of their numbers: those that unwinding needs, and those of --user-regs, which EVENT's samples keep. */
static bool parse_regs(struct cursor *cursor, const struct config_event *event, struct raw *raw)
{
    const bool keeps = event->attr.sample_type & PERF_SAMPLE_REGS_USER;
    const uint64_t wanted = keeps ? event->attr.sample_regs_user : 0, mask = wanted | UNWIND_PERF_REGS;
    const size_t count = (size_t)__builtin_popcountll(mask);
    uint64_t abi = cursor_u64(cursor);
    raw->user = abi != PERF_SAMPLE_REGS_ABI_NONE;
    raw->native = abi == PERF_SAMPLE_REGS_ABI_64;
    if (keeps)
        raw->kept[raw->kept_count++] = abi;
    const uint64_t *words = raw->user ? cursor_bytes(cursor, count * sizeof(uint64_t)) : NULL;
    if (raw->user && (!words || !unwind_regs_of_perf(mask, words, count, &raw->regs)))
        return false;
    if (keeps && raw->user)
        keep_regs(raw, wanted, mask, words);
    return true;
}

static bool parse_dump(struct cursor *cursor, struct raw *raw)
{
    uint64_t size = cursor_u64(cursor);
    if (size == 0)
        return !cursor->failed;
    const void *bytes = cursor_bytes(cursor, (size_t)size);
    uint64_t used = cursor_u64(cursor);
    if (cursor->failed || used > size)
        return false;
    raw->dump = (struct unwind_dump){
        .bytes = bytes, .start = raw->regs.value[UNWIND_SP], .size = (size_t)used, .full = used == size};
    return true;
}

static bool parse_sample(const struct stacks *stacks, unsigned event, const struct perf_event_header *record,
                         struct raw *raw)
{
    const struct records_layout *layout = stacks->layout;
    const struct config_event *configured = &stacks->config->events[event];
    const uint64_t before = RECORDS_FIELDS_TO_PERIOD | PERF_SAMPLE_PERIOD;
    struct cursor cursor = cursor_of(record, record->size);
    *raw = (struct raw){0};
    raw->prefix = sizeof(*record) + records_fields_size(layout->sample_type[event] & before);
    const size_t values = values_size(layout, event, record);
    if (layout->sample_type[event] & PERF_SAMPLE_READ && !values)
        return false;
    raw->prefix += values;
    cursor_skip(&cursor, raw->prefix);
    if (!parse_chain(&cursor, raw))
        return false;
    if (layout->sample_type[event] & PERF_SAMPLE_RAW && !parse_payload(&cursor, raw))
        return false;
    if (layout->sample_type[event] & PERF_SAMPLE_BRANCH_STACK && !parse_branches(&cursor, &configured->attr, raw))
        return false;
    if (!parse_regs(&cursor, configured, raw) || !parse_dump(&cursor, raw))
        return false;
    if (cursor.failed)
        return false;
    raw->after_size = cursor_left(&cursor);
    raw->after = cursor_bytes(&cursor, raw->after_size);
    return sample_fields_after_size(&configured->attr, raw->after, raw->after_size) == raw->after_size;
}

/* ---- The call chain ---- */

/* The user-space part by frame pointers, as the kernel followed them. */
static size_t count_frames(const struct raw *raw)
{
    return raw->chain_count > raw->kernel_count ? raw->chain_count - raw->kernel_count - 1 : 0;
}

static const uint64_t *frames_of(const struct raw *raw)
{
    return raw->chain + raw->kernel_count + 1;
}

/* Has the process shown that the kernel's chains by frame pointers are right? */
static bool has_frame_pointers(const struct stack_trust *trust)
{
    return trust && trust->compared >= AUTO_TRIES && trust->wrong * AUTO_WRONG <= trust->compared;
}

/*
 * The dump ended too early. If the kernel's chain has our last frame too, it has the frames after that. It may lack
 * frames, but has no others: with recursion an address occurs many times, and our last frame is at no later place.
 * Every kernel's chain has the sampled address: after a frame that is larger than the dump, only a process that has
 * frame pointers gets the rest.
 */
static unsigned extend_chain(const struct raw *raw, const struct stack_trust *trust, uint64_t *ips, unsigned count)
{
    if (count < 2 && !has_frame_pointers(trust))
        return 0;
    const uint64_t *frames = frames_of(raw);
    size_t frame_count = count_frames(raw), at = frame_count < count ? frame_count : count;
    while (at > 0 && frames[at - 1] != ips[count - 1])
        at--;
    unsigned more = 0;
    for (; at > 0 && at < frame_count && count + more < STACKS_FRAMES; at++)
        ips[count + more++] = frames[at];
    return more;
}

/* auto: is this sample to be unwound? If not, the process has shown that it has frame pointers. */
static bool is_wanted(const struct event_config *config, struct stack_trust *trust)
{
    if (!config->dump_auto || !has_frame_pointers(trust))
        return true;
    return ++trust->taken % AUTO_AGAIN == 0;
}

/*
 * How many of the COUNT frames follow those that frame pointers found: STACKS_TAIL at most, otherwise they are wrong.
 */
static bool chains_agree(const struct raw *raw, const uint64_t *ips, unsigned count, unsigned *ret_missing)
{
    size_t found = count_frames(raw);
    if (!found || found > count || count - found > STACKS_TAIL)
        return false;
    *ret_missing = count - (unsigned)found;
    return memcmp(frames_of(raw), ips, found * sizeof(*ips)) == 0;
}

static struct stack_tail *find_tail(struct stack_trust *trust, uint64_t after)
{
    for (unsigned i = 0; i < 2; i++)
        if (trust->tails[i].after == after)
            return &trust->tails[i];
    return NULL;
}

static void remember_tail(struct stack_trust *trust, const uint64_t *ips, unsigned count, unsigned missing)
{
    uint64_t after = ips[count - missing - 1];
    if (!missing || find_tail(trust, after))
        return;
    struct stack_tail *tail = &trust->tails[trust->tails[0].after != 0];
    *tail = (struct stack_tail){.after = after, .count = missing};
    memcpy(tail->ips, ips + count - missing, missing * sizeof(*ips));
}

static void compare_chains(const struct stack_owner *owner, const struct raw *raw, const uint64_t *ips, unsigned count)
{
    unsigned missing = 0;
    if (!*owner->trust)
        *owner->trust = calloc(1, sizeof(**owner->trust));
    struct stack_trust *trust = *owner->trust;
    if (!trust)
        return;
    trust->compared++;
    if (chains_agree(raw, ips, count, &missing))
        remember_tail(trust, ips, count, missing);
    else
        trust->wrong++;
    /* Old results count less: a program may load a DSO without frame pointers. */
    if (trust->compared >= 16 * AUTO_TRIES) {
        trust->compared /= 2;
        trust->wrong /= 2;
    }
}

/* If stacks are often too deep, new tasks get larger dumps. Tasks with a lowered dump do not count. */
static void raise_dump(struct stacks *stacks, const struct stack_owner *owner, bool cut)
{
    if (owner->dump_limit)
        return;
    stacks->seen++;
    stacks->cut += cut;
    if (stacks->seen < RAISE_AFTER)
        return;
    uint32_t dump = __atomic_load_n(&stacks->dumps->now, __ATOMIC_RELAXED);
    bool wanted = stacks->cut * 100 > stacks->seen && !stacks->config->dump_fixed;
    if (wanted && dump < STACKS_DUMP_RAISED) {
        __atomic_store_n(&stacks->dumps->now, 2 * dump, __ATOMIC_RELAXED);
        stacks->raised++;
    }
    stacks->seen = stacks->cut = 0;
}

/* A chain that went to another stack, or ended in another way, does not show how deep this one is. */
static void tell_need(const struct stack_owner *owner, const struct raw *raw, const struct unwind_outcome *outcome)
{
    const uint64_t bytes = outcome->top - raw->dump.start;
    if (outcome->end == UNWIND_TRUNCATED)
        stack_sizes_add_stack(owner->sizes, raw->dump.size, true);
    else if (outcome->end == UNWIND_BOTTOM && bytes <= raw->dump.size)
        stack_sizes_add_stack(owner->sizes, bytes, false);
}

static unsigned unwind_sample(struct stacks *stacks, const struct stack_owner *owner, const struct raw *raw)
{
    struct stack_search search = {.stacks = stacks, .owner = owner};
    struct unwind_target target = {stack_files_find, &search};
    struct unwind_outcome outcome;
    const uint64_t begin_ns = owner->at_once_ns ? monotonic_ns() : 0;
    stack_files_make_room(stacks);
    unsigned count = unwind_engine_stack(stacks->engine, owner->space->version, &target, &raw->regs, &raw->dump,
                                         stacks->ips, STACKS_FRAMES, &outcome);
    const enum unwind_end end = outcome.end;
    if (owner->at_once_ns)
        *owner->at_once_ns += monotonic_ns() - begin_ns;
    /* An incomplete chain proves nothing. */
    if (stacks->config->dump_auto && end == UNWIND_BOTTOM)
        compare_chains(owner, raw, stacks->ips, count);
    unsigned more = end == UNWIND_TRUNCATED ? extend_chain(raw, *owner->trust, stacks->ips, count) : 0;
    raise_dump(stacks, owner, end == UNWIND_TRUNCATED);
    tell_need(owner, raw, &outcome);
    stacks->counts.ends[end]++;
    owner->counts->ends[end]++;
    stacks->counts.extended += more > 0;
    owner->counts->extended += more > 0;
    return count + more;
}

/* Takes the chain by frame pointers, and counts why. */
static unsigned take_frames(struct stacks *stacks, const struct stack_owner *owner, const struct raw *raw,
                            uint64_t *ours, uint64_t *its)
{
    uint64_t *ips = stacks->ips;
    size_t count = count_frames(raw);
    if (count > STACKS_FRAMES - STACKS_TAIL)
        count = STACKS_FRAMES - STACKS_TAIL;
    memcpy(ips, frames_of(raw), count * sizeof(*ips));
    const struct stack_tail *tail = NULL;
    if (count && *owner->trust)
        tail = find_tail(*owner->trust, ips[count - 1]);
    for (unsigned i = 0; tail && i < tail->count; i++)
        ips[count++] = tail->ips[i];
    ++*ours;
    ++*its;
    return (unsigned)count;
}

/* Rings that are read at once are read to their end: the stacks of one user must not hold up the loop without bound. */
static bool has_time(const struct stack_owner *owner)
{
    return !owner->at_once_ns || *owner->at_once_ns < STACKS_AT_ONCE_NS;
}

static unsigned choose_chain(struct stacks *stacks, const struct stack_owner *owner, const struct raw *raw)
{
    struct stack_counts *ours = &stacks->counts, *its = owner->counts;
    if (!raw->native)
        return raw->user || count_frames(raw) ? take_frames(stacks, owner, raw, &ours->foreign, &its->foreign) : 0;
    if (owner->fill->behind)
        return take_frames(stacks, owner, raw, &ours->behind, &its->behind);
    if (!is_wanted(stacks->config, *owner->trust))
        return take_frames(stacks, owner, raw, &ours->chosen, &its->chosen);
    if (!has_time(owner))
        return take_frames(stacks, owner, raw, &ours->behind, &its->behind);
    return unwind_sample(stacks, owner, raw);
}

static size_t append_bytes(unsigned char *to, size_t at, const void *from, size_t size)
{
    memcpy(to + at, from, size);
    return at + size;
}

/* All parts fit into a record: each has its limit. */
static const struct perf_event_header *make_sample(struct stacks *stacks, const struct perf_event_header *record,
                                                   const struct raw *raw, unsigned count)
{
    const uint64_t context = PERF_CONTEXT_USER, total = raw->kernel_count + (count ? count + 1 : 0);
    size_t size = append_bytes(stacks->record, 0, record, raw->prefix);
    size = append_bytes(stacks->record, size, &total, sizeof(total));
    size = append_bytes(stacks->record, size, raw->chain, raw->kernel_count * sizeof(uint64_t));
    if (count) {
        size = append_bytes(stacks->record, size, &context, sizeof(context));
        size = append_bytes(stacks->record, size, stacks->ips, count * sizeof(uint64_t));
    }
    if (raw->payload_size)
        size = append_bytes(stacks->record, size, raw->payload, raw->payload_size);
    if (raw->branches_size)
        size = append_bytes(stacks->record, size, raw->branches, raw->branches_size);
    size = append_bytes(stacks->record, size, raw->kept, raw->kept_count * sizeof(uint64_t));
    if (raw->after_size)
        size = append_bytes(stacks->record, size, raw->after, raw->after_size);
    struct perf_event_header header = *record;
    header.size = (uint16_t)size;
    append_bytes(stacks->record, 0, &header, sizeof(header));
    return (const struct perf_event_header *)(const void *)stacks->record;
}

const struct perf_event_header *stacks_take(struct stacks *stacks, const struct stack_owner *owner, unsigned event,
                                            const struct perf_event_header *record)
{
    struct raw raw;
    if (!stacks_has(stacks->config, &stacks->config->events[event]))
        return record;
    if (!parse_sample(stacks, event, record, &raw))
        return NULL;
    const uint64_t begin_ns = monotonic_ns();
    const struct perf_event_header *made = make_sample(stacks, record, &raw, choose_chain(stacks, owner, &raw));
    if (stacks->cost)
        sample_cost_unwound(stacks->cost, monotonic_ns() - begin_ns);
    return made;
}

/* ---- Falling behind ---- */

/* Smaller dumps for new tasks of its user, unless the user chose the size. */
static void lower_dump(struct stacks *stacks, const struct stack_owner *owner)
{
    if (stacks->config->dump_fixed)
        return;
    const uint32_t dump = __atomic_load_n(&stacks->dumps->now, __ATOMIC_RELAXED);
    const uint32_t less = dump_limits_lower(&stacks->dumps->limits, owner->pid, dump, owner->now_ns);
    if (less && (!stacks->lowered++ || less < stacks->lowest))
        stacks->lowest = less;
}

void stacks_round(struct stacks *stacks, const struct stack_owner *owner, uint64_t lost, uint64_t filled, uint64_t size)
{
    struct stack_fill *fill = owner->fill;
    /* Once may be a busy machine; a ring that is nearly full twice in a row fills faster than it is read. */
    bool full = filled > size / 4 * 3;
    fill->behind = full && fill->was_full;
    if (fill->behind && lost > fill->lost_seen)
        lower_dump(stacks, owner);
    dump_limits_raise(&stacks->dumps->limits, stacks->dumps->now, owner->now_ns);
    fill->was_full = full;
    fill->lost_seen = lost;
}
