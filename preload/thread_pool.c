/* SPDX-License-Identifier: MIT */
#include "thread_pool.h"
#include "sys.h"

#include "text.h"

enum { RECORDS = 256 };

/* A record is held from pthread_create() until its thread runs: as many as threads start at one time. */
static struct pinject_thread_record records[RECORDS];
static uint32_t hint;

static bool is_pooled(const struct pinject_thread_record *record)
{
    return record >= records && record < records + RECORDS;
}

struct pinject_thread_record *pinject_thread_pool_take(void)
{
    uint32_t first = __atomic_fetch_add(&hint, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < RECORDS; i++) {
        struct pinject_thread_record *record = &records[(first + i) % RECORDS];
        uint32_t expected = 0;
        /* Acquire: pairs with the release of whoever gave it back. */
        if (__atomic_load_n(&record->used, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&record->used, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return record;
    }
    struct pinject_thread_record *page =
        sys_map(sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    return sys_failed(page) ? NULL : page;
}

void pinject_thread_pool_give(struct pinject_thread_record *record)
{
    if (is_pooled(record))
        __atomic_store_n(&record->used, 0, __ATOMIC_RELEASE);
    else
        sys_unmap(record, sizeof(*record));
}

void pinject_thread_pool_reset(void)
{
    memset(records, 0, sizeof(records));
}
