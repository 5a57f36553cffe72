/* SPDX-License-Identifier: MIT */
/*
 * Rows of counts. A session may have 100,000 tasks, so a task takes some tens of bytes: numbers are stored in as few
 * bytes as they need, and become rows one at a time. Rows per command are added up at once.
 */
#ifndef COUNTS_COUNT_STORE_H
#define COUNTS_COUNT_STORE_H

#include "common/buffer.h"
#include "counts/count.h"

/* Further commands are one row, "(others)". */
enum { COUNT_COMMS = 4096 };

struct count_comm;
struct count_order;

struct count_store {
    enum count_by by;
    size_t events, clock;     /* index of the event that orders the rows */
    struct count_cell *total; /* one for each event; NULL: out of memory */
    struct count_cell *cells; /* of the row that count_store_row() made */
    struct count_cell *part;  /* of a task that is added to it */
    struct buffer tasks;      /* packed */
    uint64_t task_count;
    uint64_t lost;            /* tasks that are in the total, but in no row: out of memory */
    struct count_comm *comms; /* table by name */
    struct count_order *order;
    size_t *parts; /* of processes: offsets of their packed tasks */
    size_t rows;
};

/* CLOCK: rows with the largest counts of this event come first. 0 or -ENOMEM; release it in either case. */
int count_store_init(struct count_store *store, enum count_by by, size_t events, size_t clock);
void count_store_release(struct count_store *store);
/* Adds the task of ROW (its cells: one for each event) to the total and to its row. */
void count_store_add(struct count_store *store, const struct count_row *row);
/* Puts the rows in order. Nothing is added afterwards. 0 or -ENOMEM: then there are no rows. */
int count_store_sort(struct count_store *store);
/* Row INDEX of store->rows; its cells are valid until the next call. */
void count_store_row(struct count_store *store, size_t index, struct count_row *ret);

#endif
