/* SPDX-License-Identifier: MIT */
#include "collector/stacks/dump_limits.h"

#include "collector/config/dump_event.h"
#include "collector/system/procfs.h"

#define LOWER_NS UINT64_C(500000000)   /* between two steps down */
#define RAISE_NS UINT64_C(30000000000) /* without loss, before a step up */

static uint64_t load(const struct dump_limits *limits, uint32_t index)
{
    return __atomic_load_n(&limits->entries[index], __ATOMIC_RELAXED);
}

static void store(struct dump_limits *limits, uint32_t index, uid_t user, uint32_t bytes, uint64_t now_ns)
{
    __atomic_store_n(&limits->entries[index], bytes ? (uint64_t)user << 32 | bytes : 0, __ATOMIC_RELAXED);
    limits->changed_ns[index] = now_ns;
}

/* The index of USER's entry, of COUNT; COUNT: there is none. */
static uint32_t find(const struct dump_limits *limits, uint32_t count, uid_t user)
{
    uint32_t i = 0;
    while (i < count && (!load(limits, i) || load(limits, i) >> 32 != user))
        i++;
    return i;
}

uint32_t dump_limits_find(const struct dump_limits *limits, pid_t pid)
{
    const uint32_t count = __atomic_load_n(&limits->count, __ATOMIC_RELAXED);
    if (!count)
        return 0; /* as nearly always: /proc is not read */
    const uint32_t index = find(limits, count, procfs_uid(pid));
    return index < count ? (uint32_t)load(limits, index) : 0;
}

uint32_t dump_limits_lower(struct dump_limits *limits, pid_t pid, uint32_t dump, uint64_t now_ns)
{
    const uid_t user = procfs_uid(pid);
    uint32_t index = find(limits, limits->count, user);
    const bool known = index < limits->count;
    if (user == (uid_t)-1 || (known && now_ns - limits->changed_ns[index] < LOWER_NS))
        return 0;
    if (known)
        dump = (uint32_t)load(limits, index);
    for (index = known ? index : 0; !known && index < limits->count && load(limits, index); index++)
        ;
    if (index == DUMP_LIMITS)
        return 0;
    const uint32_t less = dump / 2 < STACKS_DUMP_MIN ? STACKS_DUMP_MIN : dump / 2 / 8 * 8;
    store(limits, index, user, less, now_ns);
    if (index == limits->count)
        __atomic_store_n(&limits->count, index + 1, __ATOMIC_RELAXED);
    return less < dump ? less : 0;
}

void dump_limits_raise(struct dump_limits *limits, uint32_t dump, uint64_t now_ns)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < limits->count; i++) {
        const uint64_t entry = load(limits, i);
        const uint32_t bytes = (uint32_t)entry;
        if (entry && now_ns - limits->changed_ns[i] >= RAISE_NS)
            store(limits, i, (uid_t)(entry >> 32), bytes < dump / 2 ? bytes * 2 : 0, now_ns);
        if (load(limits, i))
            used = i + 1;
    }
    if (used != limits->count)
        __atomic_store_n(&limits->count, used, __ATOMIC_RELAXED);
}
