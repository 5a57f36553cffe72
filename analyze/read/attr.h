/* SPDX-License-Identifier: MIT */
/* The events of one file: their attributes and ids, and where a record has the id of its event. */
#ifndef ANALYZE_READ_ATTR_H
#define ANALYZE_READ_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/arena.h"
#include "analyze/read/problem.h"
#include "common/cursor.h"

struct attr {
    struct perf_event_attr perf; /* in this machine's byte order; fields that the file does not have are 0 */
    const char *name;            /* as the recorder named it, or NULL */
    uint64_t first_id;
    uint32_t ids; /* how many */
    uint32_t index;
};

struct attr_id {
    uint64_t id;
    uint32_t attr; /* index + 1; 0: empty slot */
};

struct attr_list {
    struct attr *items;
    uint32_t count, capacity;
    struct attr_id *ids; /* hash table by id, ids_mask + 1 slots */
    uint32_t ids_mask, ids_used;
    uint32_t id_limit; /* most ids that fit into the file; more are refused */
    int sample_id_at;  /* samples: bytes from the header's end to the id; -1: no id */
    int other_id_back; /* other records: bytes from the id to the record's end; -1: no id */
};

void attr_list_release(struct attr_list *list);

/* Parses a struct perf_event_attr of SIZE bytes and appends it. The ids follow with attr_add_id(). 0 or -errno. */
int attr_add(struct attr_list *list, struct cursor *bytes, size_t size, struct problem *problem);
/* Adds an id to the event that was added last. 0 or -errno. */
int attr_add_id(struct attr_list *list, uint64_t id, struct problem *problem);

/* The event of ID; the only one when there is just one; the first for id 0 (synthesized records). NULL: unknown. */
const struct attr *attr_of_id(const struct attr_list *list, uint64_t id);
/* The event that has exactly this id, or NULL. */
struct attr *attr_with_id(const struct attr_list *list, uint64_t id);

/* The event of the record of SIZE bytes whose header is at RAW; NULL: its id is unknown or cut off. */
const struct attr *attr_of_record(const struct attr_list *list, const unsigned char *raw, size_t size, uint32_t type,
                                  bool swap);

#endif
