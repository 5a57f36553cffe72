/* SPDX-License-Identifier: MIT */
#include "analyze/sym/name_table.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/sym/demangle_name.h"
#include "common/bound.h"

/* Functions nest a few deep; a hostile table may nest a million of them, which would make every search slow. */
enum { NAME_TABLE_HOPS = 10000 };

void name_table_init(struct name_table *table, struct name_pool *pool, bool no_demangle)
{
    *table = (struct name_table){.pool = pool, .no_demangle = no_demangle};
}

void name_table_release(struct name_table *table)
{
    free(table->entries);
    name_table_init(table, table->pool, table->no_demangle);
}

void name_table_add(struct name_table *table, const struct name_entry *entry)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 256;
        struct name_entry *grown = NULL;

        if (capacity < UINT32_MAX)
            grown = realloc(table->entries, capacity * sizeof(*grown));
        if (!grown) {
            table->failed = true;
            return;
        }
        table->entries = grown;
        table->capacity = capacity;
    }
    table->entries[table->count++] = *entry;
}

const char *name_table_name(struct name_table *table, struct name_entry *entry)
{
    const char *name = entry->name;

    if (name)
        return name;
    name = table->no_demangle ? entry->raw : demangle_name(table->pool, entry->raw);
    if (entry->flags & NAME_PLT) {
        name = name_pool_join(table->pool, name, "@plt");
        if (!name)
            name = entry->raw;
    }
    entry->name = name;
    return name;
}

static int by_start(const void *one, const void *other)
{
    const struct name_entry *a = one, *b = other;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    /* While sorting, "enclosing" is the order of addition: among equals perf keeps the first. */
    return a->enclosing < b->enclosing ? -1 : 1;
}

static bool is_sorted(const struct name_table *table)
{
    for (size_t i = 1; i < table->count; i++)
        if (table->entries[i - 1].start > table->entries[i].start)
            return false;
    return true;
}

static size_t count_underscores(const char *name)
{
    return strspn(name, "_");
}

/*
 * perf's choose_best_symbol(), so that both tools print the same of several names. Preferred, in this order: sized, not
 * weak, global, fewer leading underscores, longer, not a SyS alias, first.
 */
static bool is_better(struct name_table *table, struct name_entry *a, struct name_entry *b)
{
    const char *name_a, *name_b;
    size_t size_a, size_b;

    if ((a->end == a->start) != (b->end == b->start))
        return a->end != a->start;
    if ((a->flags ^ b->flags) & NAME_WEAK)
        return b->flags & NAME_WEAK;
    if ((a->flags ^ b->flags) & NAME_GLOBAL)
        return a->flags & NAME_GLOBAL;
    if (a->raw == b->raw || !strcmp(a->raw, b->raw))
        return true;
    name_a = name_table_name(table, a);
    name_b = name_table_name(table, b);
    size_a = count_underscores(name_a);
    size_b = count_underscores(name_b);
    if (size_a != size_b)
        return size_a < size_b;
    size_a = strlen(name_a);
    size_b = strlen(name_b);
    if (size_a != size_b)
        return size_a > size_b;
    return strncmp(name_a, "SyS", 3) && strncmp(name_a, "compat_SyS", 10);
}

/* A heap of the pieces of code that cover an address, with the one added last on top. */
struct piece {
    uint64_t end;
    uint32_t order;
};

static void heap_pop(struct piece *heap, size_t count)
{
    struct piece moved = heap[count];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].order > heap[child].order)
            child++;
        if (heap[child].order < moved.order)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void heap_push(struct piece *heap, size_t count, struct piece piece)
{
    size_t at = count;

    for (size_t up; at && heap[up = (at - 1) / 2].order < piece.order; at = up)
        heap[at] = heap[up];
    heap[at] = piece;
}

/* Drops code whose start was overwritten by later code. Code that starts before later code keeps its beginning. */
static void drop_overwritten(struct name_table *table)
{
    struct piece *heap = malloc((table->count + 1) * sizeof(*heap));
    size_t open = 0, kept = 0;

    for (size_t i = 0; heap && i < table->count; i++) {
        const struct name_entry entry = table->entries[i];

        while (open && heap[0].end <= entry.start)
            heap_pop(heap, --open);
        if (!open || heap[0].order < entry.enclosing)
            table->entries[kept++] = entry;
        if (entry.end > entry.start)
            heap_push(heap, open++, (struct piece){entry.end, entry.enclosing});
    }
    if (heap)
        table->count = kept;
    free(heap);
}

static void drop_aliases(struct name_table *table, enum name_rule rule)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        struct name_entry *next = &table->entries[i];
        struct name_entry *last = kept ? &table->entries[kept - 1] : NULL;

        if (!last || last->start != next->start)
            table->entries[kept++] = *next;
        else if (rule == NAME_LAST_WINS || !is_better(table, last, next))
            *last = *next;
    }
    table->count = kept;
}

/* Labels inside a function of known size are places in it, not functions. */
static void drop_labels(struct name_table *table)
{
    uint64_t covered = 0;
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct name_entry *entry = &table->entries[i];

        if (entry->end > entry->start && entry->end > covered)
            covered = entry->end;
        if ((entry->flags & NAME_LABEL) && entry->end == entry->start && entry->start < covered)
            continue;
        table->entries[kept++] = *entry;
    }
    table->count = kept;
}

static void set_ends(struct name_table *table)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        struct name_entry *entry = &table->entries[i];

        if (entry->end == entry->start) {
            entry->end = entry->limit;
            if (i + 1 < table->count && table->entries[i + 1].start < entry->end)
                entry->end = table->entries[i + 1].start;
        }
        if (entry->end > entry->limit)
            entry->end = entry->limit;
        if (entry->end > entry->start)
            table->entries[kept++] = *entry;
    }
    table->count = kept;
}

/* Links each entry to the nearest earlier one that reaches further: the one to try for an address past its end. */
static void link_enclosing(struct name_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        uint32_t outer = (uint32_t)i;

        while (outer && table->entries[outer - 1].end <= table->entries[i].end)
            outer = table->entries[outer - 1].enclosing;
        table->entries[i].enclosing = outer;
    }
}

void name_table_finish(struct name_table *table, enum name_rule rule)
{
    for (size_t i = 0; i < table->count; i++)
        table->entries[i].enclosing = (uint32_t)i;
    if (!is_sorted(table))
        qsort(table->entries, table->count, sizeof(*table->entries), by_start);
    if (rule == NAME_LAST_WINS)
        drop_overwritten(table);
    drop_aliases(table, rule);
    drop_labels(table);
    set_ends(table);
    link_enclosing(table);
    table->finished = table->count;
}

struct name_entry *name_table_find(struct name_table *table, uint64_t address)
{
    /* Index + 1 of the last entry that starts at or before the address. */
    size_t at = UPPER_BOUND(table->entries, table->finished, .start, address);

    for (int hops = 0; at && table->entries[at - 1].end <= address; hops++)
        at = hops < NAME_TABLE_HOPS ? table->entries[at - 1].enclosing : 0;
    return at ? &table->entries[at - 1] : NULL;
}
