/* SPDX-License-Identifier: MIT */
#include "counts/count_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/leb.h"
#include "common/table.h"

/* What of a cell is stored: most events counted all the time, and are not scaled. */
enum { PRESENT = 1, ESTIMATE = 2, SCALED = 4, PART = 8 };

struct count_comm {
    UT_hash_handle hh;
    struct count_row row;
    struct count_cell cells[];
};

/* A row: tasks [first, first + count) of the order, or one command. */
struct count_order {
    uint64_t weight; /* of the row, in the first task's entry */
    uint64_t start_ns;
    size_t offset; /* of the packed task */
    const struct count_comm *comm;
    uint32_t count;
    int32_t pid, tid;
};

int count_store_init(struct count_store *store, enum count_by by, size_t events, size_t clock)
{
    *store = (struct count_store){.by = by, .events = events, .clock = clock};
    store->total = calloc(events + 1, sizeof(*store->total));
    store->cells = calloc(events + 1, sizeof(*store->cells));
    store->part = calloc(events + 1, sizeof(*store->part));
    return store->total && store->cells && store->part ? 0 : -ENOMEM;
}

void count_store_release(struct count_store *store)
{
    struct count_comm *comm, *next;
    HASH_ITER(hh, store->comms, comm, next)
    {
        HASH_DEL(store->comms, comm);
        free(comm);
    }
    buffer_release(&store->tasks);
    free(store->order);
    free(store->parts);
    free(store->part);
    free(store->total);
    free(store->cells);
    *store = (struct count_store){0};
}

/* ---- Packed tasks ---- */

static size_t put(unsigned char *to, uint64_t value)
{
    size_t size = 0;
    do {
        to[size] = (unsigned char)(value & 0x7f);
        value >>= 7;
        to[size++] |= value ? 0x80 : 0;
    } while (value);
    return size;
}

static void append(struct buffer *to, uint64_t value)
{
    unsigned char bytes[10];
    buffer_append(to, bytes, put(bytes, value));
}

static void pack_cell(struct buffer *to, const struct count_cell *cell)
{
    const bool part = cell->running_ns != cell->enabled_ns, scaled = cell->scaled != cell->value;
    append(to,
           (cell->present ? PRESENT : 0) | (cell->estimate ? ESTIMATE : 0) | (scaled ? SCALED : 0) | (part ? PART : 0));
    if (!cell->present)
        return;
    append(to, cell->value);
    append(to, cell->enabled_ns);
    if (scaled)
        append(to, cell->scaled);
    if (part)
        append(to, cell->running_ns);
}

static void pack_task(struct buffer *to, const struct count_row *row, size_t events)
{
    const size_t size = strnlen(row->comm, sizeof(row->comm) - 1);
    append(to, size);
    buffer_append(to, row->comm, size);
    append(to, (uint32_t)row->pid);
    append(to, (uint32_t)row->tid);
    append(to, row->start_ns);
    append(to, row->exec);
    for (size_t i = 0; i < events; i++)
        pack_cell(to, &row->cells[i]);
}

static void unpack_cell(struct cursor *from, struct count_cell *ret)
{
    const uint64_t flags = leb_unsigned(from);
    *ret = (struct count_cell){.present = flags & PRESENT, .estimate = flags & ESTIMATE};
    if (!ret->present)
        return;
    ret->value = leb_unsigned(from);
    ret->enabled_ns = leb_unsigned(from);
    ret->scaled = flags & SCALED ? leb_unsigned(from) : ret->value;
    ret->running_ns = flags & PART ? leb_unsigned(from) : ret->enabled_ns;
}

static void unpack_task(struct cursor *from, struct count_row *ret, struct count_cell *cells, size_t events)
{
    *ret = (struct count_row){.tasks = 1, .cells = cells};
    const size_t size = leb_unsigned(from);
    const void *comm = cursor_bytes(from, size);
    if (comm && size < sizeof(ret->comm))
        memcpy(ret->comm, comm, size);
    ret->pid = (int32_t)(uint32_t)leb_unsigned(from);
    ret->tid = (int32_t)(uint32_t)leb_unsigned(from);
    ret->start_ns = leb_unsigned(from);
    ret->exec = (uint32_t)leb_unsigned(from);
    for (size_t i = 0; i < events; i++)
        unpack_cell(from, &cells[i]);
}

/* ---- Adding ---- */

static struct count_comm *find_comm(struct count_store *store, const char *name)
{
    struct count_comm *comm;
    HASH_FIND(hh, store->comms, name, strlen(name), comm);
    if (comm)
        return comm;
    if (HASH_COUNT(store->comms) >= COUNT_COMMS && strcmp(name, "(others)") != 0)
        return find_comm(store, "(others)");
    comm = calloc(1, sizeof(*comm) + store->events * sizeof(comm->cells[0]));
    if (!comm)
        return NULL;
    strcpy(comm->row.comm, name);
    comm->row.cells = comm->cells;
    comm->row.pid = comm->row.tid = -1;
    HASH_ADD_KEYPTR(hh, store->comms, comm->row.comm, strlen(comm->row.comm), comm);
    if (TABLE_HAS(comm))
        return comm;
    free(comm);
    return NULL;
}

static void add_to_comm(struct count_store *store, const struct count_row *row)
{
    char name[sizeof(row->comm)] = "";
    memcpy(name, row->comm, strnlen(row->comm, sizeof(name) - 1));
    struct count_comm *comm = find_comm(store, name);
    if (!comm) {
        store->lost++;
        return;
    }
    if (!comm->row.tasks || row->start_ns < comm->row.start_ns)
        comm->row.start_ns = row->start_ns;
    comm->row.tasks++;
    count_add(comm->cells, row->cells, store->events);
}

void count_store_add(struct count_store *store, const struct count_row *row)
{
    if (!store->total || !store->cells || !store->part)
        return;
    count_add(store->total, row->cells, store->events);
    store->task_count++;
    if (store->by == COUNT_BY_COMM) {
        add_to_comm(store, row);
    } else if (store->by != COUNT_ALL) {
        const size_t before = store->tasks.size;
        pack_task(&store->tasks, row, store->events);
        if (!buffer_failed(&store->tasks))
            return;
        store->tasks.size = before; /* the tasks so far stay */
        store->lost++;
    }
}

/* ---- Rows ---- */

static int by_process(const void *left, const void *right)
{
    const struct count_order *one = left, *other = right;
    if (one->pid != other->pid)
        return one->pid < other->pid ? -1 : 1;
    if (one->start_ns != other->start_ns)
        return one->start_ns < other->start_ns ? -1 : 1;
    return (one->tid > other->tid) - (one->tid < other->tid);
}

/* Largest first; then in order of start, so that the order is always the same. */
static int by_weight(const void *left, const void *right)
{
    const struct count_order *one = left, *other = right;
    if (one->weight != other->weight)
        return one->weight > other->weight ? -1 : 1;
    if (one->start_ns != other->start_ns)
        return one->start_ns < other->start_ns ? -1 : 1;
    return by_process(left, right);
}

static uint64_t weight_of(const struct count_store *store, const struct count_cell *cells)
{
    return store->clock < store->events ? cells[store->clock].scaled : 0;
}

static size_t index_comms(struct count_store *store)
{
    size_t count = 0;
    struct count_comm *comm, *next;
    HASH_ITER(hh, store->comms, comm, next)
    store->order[count++] = (struct count_order){.weight = weight_of(store, comm->cells),
                                                 .start_ns = comm->row.start_ns,
                                                 .comm = comm,
                                                 .count = 1,
                                                 .pid = -1,
                                                 .tid = -1};
    return count;
}

static size_t index_tasks(struct count_store *store)
{
    struct cursor from = cursor_of(store->tasks.data, store->tasks.size);
    size_t count = 0;
    while (cursor_left(&from) > 0) {
        const size_t offset = store->tasks.size - cursor_left(&from);
        struct count_row row;
        unpack_task(&from, &row, store->cells, store->events);
        store->order[count++] = (struct count_order){.weight = weight_of(store, store->cells),
                                                     .start_ns = row.start_ns,
                                                     .offset = offset,
                                                     .count = 1,
                                                     .pid = row.pid,
                                                     .tid = row.tid};
    }
    return count;
}

/*
 * The tasks of a process are next to each other, its first thread at their head: after that a first thread of the same
 * number is of a later process. They stay where they are, as PARTS; the head of each is moved to the front.
 */
static size_t join_processes(struct count_order *order, size_t count, size_t *parts)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        struct count_order *head = rows ? &order[rows - 1] : NULL;
        parts[i] = order[i].offset;
        if (head && order[i].pid == head->pid && order[i].tid != order[i].pid) {
            head->weight += order[i].weight;
            head->count++;
            continue;
        }
        order[rows] = order[i];
        order[rows++].offset = i;
    }
    return rows;
}

int count_store_sort(struct count_store *store)
{
    const size_t most = store->by == COUNT_BY_COMM ? HASH_COUNT(store->comms)
                        : store->by == COUNT_ALL   ? 0
                                                   : store->task_count - store->lost;
    if (!most)
        return 0;
    store->order = malloc(most * sizeof(*store->order));
    if (!store->order)
        return -ENOMEM;
    store->rows = store->by == COUNT_BY_COMM ? index_comms(store) : index_tasks(store);
    if (store->by == COUNT_BY_PROCESS) {
        qsort(store->order, store->rows, sizeof(*store->order), by_process);
        size_t *parts = realloc(store->parts, store->rows * sizeof(*parts));
        if (!parts) {
            store->rows = 0;
            return -ENOMEM;
        }
        store->parts = parts;
        store->rows = join_processes(store->order, store->rows, parts);
    }
    qsort(store->order, store->rows, sizeof(*store->order), by_weight);
    return 0;
}

static void unpack_at(struct count_store *store, size_t offset, struct count_row *ret, struct count_cell *cells)
{
    struct cursor from = cursor_of(store->tasks.data + offset, store->tasks.size - offset);
    unpack_task(&from, ret, cells, store->events);
}

void count_store_row(struct count_store *store, size_t index, struct count_row *ret)
{
    const struct count_order *order = &store->order[index];
    if (order->comm) {
        *ret = order->comm->row;
        return;
    }
    if (store->by != COUNT_BY_PROCESS) {
        unpack_at(store, order->offset, ret, store->cells);
        return;
    }
    unpack_at(store, store->parts[order->offset], ret, store->cells);
    count_begin(store->cells, store->events);
    for (uint32_t i = 1; i < order->count; i++) {
        struct count_row part;
        unpack_at(store, store->parts[order->offset + i], &part, store->part);
        count_add(store->cells, store->part, store->events);
        ret->tasks++;
    }
    ret->tid = -1;
}
