/* SPDX-License-Identifier: MIT */
/*
 * Compares this project's own hash tables with uthash, with the same contents: CPU time to find an entry and to add
 * one, and its memory. Prints a table for docs/ARCHITECTURE.md. tests/bench/tables builds and runs it.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/model/lookup.h"
#include "analyze/read/attr.h"
#include "analyze/view/map.h"
#include "common/table.h"

enum {
    RUNS = 9,
    STACKS = 300000,
    DEPTH = 24,
    PAIRS = 200000,
    NAMES = 20000,
    NAME_SIZE = 40,
    IDS = 10000,
    TASKS = 10000,
    BUCKETS = 16384
};

/* Of all entries together. */
struct cost {
    double find_s, add_s;
    size_t bytes;
};

static size_t sink; /* what was found, so that no compiler leaves out the search */

static void *need(void *memory)
{
    if (!memory) {
        fputs("tables: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static size_t used(void)
{
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

static uint64_t state = 88172645463325252u;

static uint64_t dice(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* The order in which entries are searched: each once, at random. */
static const uint32_t *order(uint32_t count)
{
    uint32_t *all = need(malloc(count * sizeof(*all)));
    for (uint32_t i = 0; i < count; i++)
        all[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t at = (uint32_t)(dice() % i), old = all[i - 1];
        all[i - 1] = all[at];
        all[at] = old;
    }
    return all;
}

/* ---- uthash, with COUNT keys of SIZE bytes each ---- */

struct item {
    UT_hash_handle hh;
    unsigned char key[];
};

static struct cost cost_of_uthash(const void *keys, size_t size, uint32_t count, const uint32_t *turns)
{
    const unsigned char *bytes = keys;
    struct item *table = NULL, *found, *next;
    size_t before = used();
    double start = now();
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = need(malloc(sizeof(*item) + size));
        memcpy(item->key, bytes + i * size, size);
        HASH_ADD_KEYPTR(hh, table, item->key, size, item);
    }
    struct cost cost = {.add_s = now() - start, .bytes = used() - before};
    start = now();
    for (uint32_t i = 0; i < count; i++) {
        HASH_FIND(hh, table, bytes + turns[i] * size, size, found);
        sink += found != NULL;
    }
    cost.find_s = now() - start;
    HASH_ITER(hh, table, found, next)
    {
        HASH_DEL(table, found);
        free(found);
    }
    return cost;
}

/* ---- Stacks of a report: analyze/model/store.c, once for each sample ---- */

static uint32_t (*stacks)[DEPTH];

static void find_stacks(const struct lookup *lookup, uint32_t (*kept)[DEPTH], const uint32_t *turns)
{
    for (uint32_t i = 0; i < STACKS; i++) {
        struct lookup_walk walk = lookup_start(lookup, lookup_hash_bytes(stacks[turns[i]], sizeof(*stacks)));
        for (uint32_t at; (at = lookup_next(&walk)) != LOOKUP_NONE;)
            if (memcmp(kept[at], stacks[turns[i]], sizeof(*kept)) == 0) {
                sink += at;
                break;
            }
    }
}

static struct cost stacks_of_ours(const uint32_t *turns)
{
    struct lookup lookup = {0};
    size_t before = used(), capacity = 64;
    double start = now();
    uint32_t(*kept)[DEPTH] = need(malloc(capacity * sizeof(*kept)));
    for (uint32_t i = 0; i < STACKS; i++) {
        if (i == capacity)
            kept = need(realloc(kept, (capacity *= 2) * sizeof(*kept)));
        memcpy(kept[i], stacks[i], sizeof(*kept));
        if (lookup_add(&lookup, lookup_hash_bytes(kept[i], sizeof(*kept)), i) < 0)
            need(NULL);
    }
    struct cost cost = {.add_s = now() - start, .bytes = used() - before};
    start = now();
    find_stacks(&lookup, kept, turns);
    cost.find_s = now() - start;
    lookup_release(&lookup);
    free(kept);
    return cost;
}

static struct cost stacks_of_uthash(const uint32_t *turns)
{
    return cost_of_uthash(stacks, sizeof(*stacks), STACKS, turns);
}

/* ---- Pairs of numbers of a view: analyze/view/map.c, once for each frame of each stack ---- */

static struct map_pair *pairs;

static struct cost pairs_of_ours(const uint32_t *turns)
{
    struct map map = {0};
    size_t before = used();
    double start = now();
    for (uint32_t i = 0; i < PAIRS; i++)
        map_add(&map, pairs[i].a, pairs[i].b);
    struct cost cost = {.add_s = now() - start, .bytes = used() - before};
    start = now();
    for (uint32_t i = 0; i < PAIRS; i++)
        sink += map_find(&map, pairs[turns[i]].a, pairs[turns[i]].b);
    cost.find_s = now() - start;
    map_release(&map);
    return cost;
}

static struct cost pairs_of_uthash(const uint32_t *turns)
{
    return cost_of_uthash(pairs, sizeof(*pairs), PAIRS, turns);
}

/* ---- Names of a view: analyze/view/map.c, for each function of each file ---- */

static char (*names)[NAME_SIZE];

static struct cost names_of_ours(const uint32_t *turns)
{
    struct map_strings strings = {0};
    size_t before = used();
    double start = now();
    for (uint32_t i = 0; i < NAMES; i++)
        map_strings_add(&strings, names[i]);
    struct cost cost = {.add_s = now() - start, .bytes = used() - before};
    start = now();
    for (uint32_t i = 0; i < NAMES; i++)
        sink += map_strings_add(&strings, names[turns[i]]);
    cost.find_s = now() - start;
    map_strings_release(&strings);
    return cost;
}

static struct cost names_of_uthash(const uint32_t *turns)
{
    return cost_of_uthash(names, sizeof(*names), NAMES, turns);
}

/* ---- Ids of events: analyze/read/attr.c, once for each record ---- */

static uint64_t *ids;

static struct cost ids_of_ours(const uint32_t *turns)
{
    struct attr attr = {0};
    struct attr_list list = {.items = &attr, .count = 1, .id_limit = IDS};
    struct problem problem;
    size_t before = used();
    double start = now();
    for (uint32_t i = 0; i < IDS; i++)
        if (attr_add_id(&list, ids[i], &problem) < 0)
            need(NULL);
    struct cost cost = {.add_s = now() - start, .bytes = used() - before};
    start = now();
    for (uint32_t i = 0; i < IDS; i++)
        sink += attr_with_id(&list, ids[turns[i]]) != NULL;
    cost.find_s = now() - start;
    free(list.ids);
    return cost;
}

static struct cost ids_of_uthash(const uint32_t *turns)
{
    return cost_of_uthash(ids, sizeof(*ids), IDS, turns);
}

/* ---- Live tasks by number: collector/tasks/task_table.c, attach_table.c and missed.c, once for each record ---- */

struct task {
    union {
        UT_hash_handle hh;
        struct task *next;
    };
    int tid;
};

static struct cost tasks_of_ours(const uint32_t *turns)
{
    static struct task *table[BUCKETS];
    struct task *all = need(calloc(TASKS, sizeof(*all)));
    memset(table, 0, sizeof(table));
    double start = now();
    for (uint32_t i = 0; i < TASKS; i++) {
        all[i] = (struct task){.next = table[(i + 1000) % BUCKETS], .tid = (int)i + 1000};
        table[(i + 1000) % BUCKETS] = &all[i];
    }
    struct cost cost = {.add_s = now() - start, .bytes = TASKS * sizeof(struct task *) + sizeof(table)};
    start = now();
    for (uint32_t i = 0; i < TASKS; i++) {
        const struct task *at = table[(turns[i] + 1000) % BUCKETS];
        while (at && at->tid != (int)turns[i] + 1000)
            at = at->next;
        sink += at != NULL;
    }
    cost.find_s = now() - start;
    free(all);
    return cost;
}

static struct cost tasks_of_uthash(const uint32_t *turns)
{
    struct task *table = NULL, *found, *all = need(calloc(TASKS, sizeof(*all)));
    size_t before = used();
    double start = now();
    for (uint32_t i = 0; i < TASKS; i++) {
        all[i].tid = (int)i + 1000;
        HASH_ADD_INT(table, tid, &all[i]);
    }
    struct cost cost = {.add_s = now() - start, .bytes = TASKS * sizeof(UT_hash_handle) + used() - before};
    start = now();
    for (uint32_t i = 0; i < TASKS; i++) {
        int tid = (int)turns[i] + 1000;
        HASH_FIND_INT(table, &tid, found);
        sink += found != NULL;
    }
    cost.find_s = now() - start;
    HASH_CLEAR(hh, table);
    free(all);
    return cost;
}

/* ---- */

static int compare(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

typedef struct cost way(const uint32_t *turns);

static void row(const char *name, uint32_t count, way *ours, way *theirs)
{
    const uint32_t *turns = order(count);
    double find[2][RUNS], add[2][RUNS];
    size_t bytes[2];
    for (unsigned run = 0; run < RUNS; run++)
        for (unsigned which = 0; which < 2; which++) {
            struct cost cost = (which ? theirs : ours)(turns);
            find[which][run] = cost.find_s * 1e9 / count;
            add[which][run] = cost.add_s * 1e9 / count;
            bytes[which] = cost.bytes / count;
        }
    for (unsigned which = 0; which < 2; which++) {
        qsort(find[which], RUNS, sizeof(find[0][0]), compare);
        qsort(add[which], RUNS, sizeof(add[0][0]), compare);
    }
    const unsigned middle = RUNS / 2;
    printf("| %s | %" PRIu32 " | %.0f ns | %.0f ns | %.0f ns | %.0f ns | %zu | %zu |\n", name, count, find[0][middle],
           find[1][middle], add[0][middle], add[1][middle], bytes[0], bytes[1]);
    free((void *)turns);
}

int main(void)
{
    stacks = need(malloc(STACKS * sizeof(*stacks)));
    pairs = need(malloc(PAIRS * sizeof(*pairs)));
    names = need(malloc(NAMES * sizeof(*names)));
    ids = need(malloc(IDS * sizeof(*ids)));
    for (uint32_t i = 0; i < STACKS; i++)
        for (unsigned j = 0; j < DEPTH; j++)
            stacks[i][j] = (uint32_t)(dice() % 20000);
    for (uint32_t i = 0; i < PAIRS; i++)
        pairs[i] = (struct map_pair){dice() % 1000, i};
    for (uint32_t i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(*names), "%016" PRIx64 "::a_function%011" PRIu32, dice(), i);
    for (uint32_t i = 0; i < IDS; i++)
        ids[i] = 100000 + i;
    puts("| table | entries | find | uthash | add | uthash | bytes for one | uthash |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- |");
    row("stacks (`analyze/model/lookup.h`)", STACKS, stacks_of_ours, stacks_of_uthash);
    row("pairs of numbers (`analyze/view/map.c`)", PAIRS, pairs_of_ours, pairs_of_uthash);
    row("names (`analyze/view/map.c`)", NAMES, names_of_ours, names_of_uthash);
    row("ids of events (`analyze/read/attr.c`)", IDS, ids_of_ours, ids_of_uthash);
    row("live tasks by number (`collector/tasks/task_table.c`)", TASKS, tasks_of_ours, tasks_of_uthash);
    return sink == 0;
}
