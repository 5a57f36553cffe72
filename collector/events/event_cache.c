/* SPDX-License-Identifier: MIT */
#include "collector/events/event_cache.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ALIASES = 6, READ = 1, WRITE = 2, PREFETCH = 4 };

static const struct {
    const char *names[ALIASES]; /* the first is shown */
    unsigned operations;
} caches[] = {
    [PERF_COUNT_HW_CACHE_L1D] = {{"L1-dcache", "l1-d", "l1d", "L1-data"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_L1I] = {{"L1-icache", "l1-i", "l1i", "L1-instruction"}, READ | PREFETCH},
    [PERF_COUNT_HW_CACHE_LL] = {{"LLC", "L2"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_DTLB] = {{"dTLB", "d-tlb", "Data-TLB"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_ITLB] = {{"iTLB", "i-tlb", "Instruction-TLB"}, READ},
    [PERF_COUNT_HW_CACHE_BPU] = {{"branch", "branches", "bpu", "btb", "bpc"}, READ},
    [PERF_COUNT_HW_CACHE_NODE] = {{"node"}, READ | WRITE | PREFETCH},
};
static const char *const operations[][ALIASES] = {
    [PERF_COUNT_HW_CACHE_OP_READ] = {"load", "loads", "read"},
    [PERF_COUNT_HW_CACHE_OP_WRITE] = {"store", "stores", "write"},
    [PERF_COUNT_HW_CACHE_OP_PREFETCH] = {"prefetch", "prefetches", "speculative-read", "speculative-load"},
};
static const char *const results[][ALIASES] = {
    [PERF_COUNT_HW_CACHE_RESULT_ACCESS] = {"refs", "Reference", "ops", "access"},
    [PERF_COUNT_HW_CACHE_RESULT_MISS] = {"misses", "miss"},
};
enum {
    CACHES = sizeof(caches) / sizeof(caches[0]),
    OPERATIONS = sizeof(operations) / sizeof(operations[0]),
    RESULTS = sizeof(results) / sizeof(results[0]),
};

/* The length of the longest of NAMES that *TEXT begins with, up to a '-' or the end; 0: none. */
static size_t begins(const char *text, const char *const names[ALIASES])
{
    size_t longest = 0;
    for (unsigned i = 0; i < ALIASES && names[i]; i++) {
        const size_t size = strlen(names[i]);
        if (size > longest && strncasecmp(text, names[i], size) == 0 && (!text[size] || text[size] == '-'))
            longest = size;
    }
    return longest;
}

/* Takes "-WORD" from *TEXT if it is in TABLE[COUNT]: its index; -1: it is not. */
static int take(const char **text, const char *const table[][ALIASES], int count)
{
    for (int i = 0; **text == '-' && i < count; i++) {
        const size_t size = begins(*text + 1, table[i]);
        if (size) {
            *text += 1 + size;
            return i;
        }
    }
    return -1;
}

int event_cache_parse(const char *text, uint64_t *ret_config)
{
    for (unsigned cache = 0; cache < CACHES; cache++) {
        const size_t size = begins(text, caches[cache].names);
        const char *at = text + size;
        if (!size)
            continue;
        int result = take(&at, results, RESULTS); /* either order */
        int operation = take(&at, operations, OPERATIONS);
        if (result < 0)
            result = take(&at, results, RESULTS);
        if (*at)
            continue;
        operation = operation < 0 ? PERF_COUNT_HW_CACHE_OP_READ : operation;
        result = result < 0 ? PERF_COUNT_HW_CACHE_RESULT_ACCESS : result;
        if (!(caches[cache].operations & 1u << operation))
            return -EINVAL;
        *ret_config = cache | (uint64_t)operation << 8 | (uint64_t)result << 16;
        return 0;
    }
    return -ENOENT;
}

bool event_cache_name(size_t index, char *ret, size_t size)
{
    static const char *const shown[] = {"loads", "stores", "prefetches"};
    for (unsigned cache = 0; cache < CACHES; cache++)
        for (unsigned operation = 0; operation < OPERATIONS; operation++)
            for (unsigned miss = 0; miss < RESULTS; miss++) {
                if (!(caches[cache].operations & 1u << operation) || index--)
                    continue;
                const char *word = miss ? operations[operation][0] : shown[operation];
                snprintf(ret, size, "%s-%s%s", caches[cache].names[0], word, miss ? "-misses" : "");
                return true;
            }
    return false;
}
