/* SPDX-License-Identifier: MIT */
#include "unwind/row_cache.h"

#include <stdlib.h>
#include <string.h>

/* A large program needs 1 MiB (for each line of a set), a small one 16 KiB. */
enum { BITS_MIN = 8, BITS_MAX = 14 };

#if defined(__aarch64__)
const uint8_t row_cache_registers[ROW_KEPT] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, UNWIND_FP, UNWIND_RETURN};
#else
const uint8_t row_cache_registers[ROW_KEPT] = {3, UNWIND_FP, 12, 13, 14, 15, UNWIND_RETURN};
#endif

_Static_assert(sizeof(struct row_set) == 64 * ROW_LINES, "lines of the cache");

static struct row_set *find_set(const struct row_cache *cache, uint64_t address)
{
    return &cache->sets[address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - cache->bits)];
}

void row_cache_release(struct row_cache *cache)
{
    free(cache->sets);
    *cache = (struct row_cache){0};
}

size_t row_cache_size(const struct row_cache *cache)
{
    return cache->sets ? sizeof(*cache->sets) << cache->bits : 0;
}

const struct row_known *row_cache_find(struct row_cache *cache, uint64_t address)
{
    if (!cache->sets || !address)
        return NULL;
    struct row_set *set = find_set(cache, address);
    if (set->ways[0].address == address)
        return &set->ways[0];
    if (set->ways[1].address != address)
        return NULL;
    struct row_known found = set->ways[1];
    set->ways[1] = set->ways[0];
    set->ways[0] = found;
    return &set->ways[0];
}

/* ---- What fits ---- */

static bool pack_rule(const struct cfi_rule *rule, int16_t *ret)
{
    *ret = 0;
    if (rule->how == CFI_SAME_VALUE || rule->how == CFI_UNDEFINED)
        return true;
    if (rule->how != CFI_OFFSET || rule->number == 0 || rule->number < INT16_MIN || rule->number > INT16_MAX)
        return false;
    *ret = (int16_t)rule->number;
    return true;
}

static bool is_kept(unsigned reg)
{
    return memchr(row_cache_registers, (int)reg, ROW_KEPT) != NULL;
}

/* Whether the other registers are not saved, and the caller's stack pointer is the CFA. */
static bool are_others_plain(const struct cfi_row *row)
{
    const struct cfi_rule *stack = &row->rules[UNWIND_SP];
    for (unsigned reg = 0; reg < UNWIND_REGS; reg++)
        if (!is_kept(reg) && reg != UNWIND_SP && row->rules[reg].how != CFI_SAME_VALUE &&
            row->rules[reg].how != CFI_UNDEFINED)
            return false;
    return stack->how == CFI_VAL_OFFSET && stack->number == 0;
}

static bool pack_row(uint64_t address, const struct cfi_row *row, struct row_known *ret)
{
    *ret = (struct row_known){.address = address, .cfa = row->cfa.number, .cfa_reg = row->cfa.reg};
    ret->bottom = row->rules[row->return_reg].how == CFI_UNDEFINED;
    if (ret->bottom)
        return true;
    if (row->signal || row->return_reg != UNWIND_RETURN || row->cfa.how != CFI_REGISTER || !are_others_plain(row))
        return false;
    for (unsigned i = 0; i < ROW_KEPT; i++)
        if (!pack_rule(&row->rules[row_cache_registers[i]], &ret->at[i]))
            return false;
    return ret->at[ROW_KEPT - 1] != 0 || UNWIND_RETURN != UNWIND_IP;
}

/* ---- Room ---- */

static void put_row(struct row_cache *cache, const struct row_known *row)
{
    struct row_set *set = find_set(cache, row->address);
    cache->displaced += set->ways[1].address != 0;
    set->ways[1] = set->ways[0];
    set->ways[0] = *row;
}

static bool resize_cache(struct row_cache *cache, unsigned bits)
{
    struct row_set *sets = aligned_alloc(sizeof(*sets), sizeof(*sets) << bits);
    if (!sets)
        return false;
    memset(sets, 0, sizeof(*sets) << bits);
    struct row_cache larger = {.sets = sets, .bits = bits};
    for (size_t i = 0; cache->sets && i < (size_t)1 << cache->bits; i++)
        for (unsigned way = ROW_WAYS; way-- > 0;)
            if (cache->sets[i].ways[way].address)
                put_row(&larger, &cache->sets[i].ways[way]);
    free(cache->sets);
    larger.displaced = 0;
    *cache = larger;
    return true;
}

void row_cache_add(struct row_cache *cache, uint64_t address, const struct cfi_row *row)
{
    struct row_known packed;
    if (!address || !pack_row(address, row, &packed))
        return;
    if (!cache->sets && !resize_cache(cache, BITS_MIN))
        return;
    if (cache->bits < BITS_MAX && cache->displaced >= (size_t)1 << cache->bits && !resize_cache(cache, cache->bits + 1))
        cache->displaced = 0; /* out of memory: do not retry at each address */
    put_row(cache, &packed);
}
