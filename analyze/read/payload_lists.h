/* SPDX-License-Identifier: MIT */
/* For payload.c: the parts of records that are lists, or that depend on a number before them. */
#ifndef ANALYZE_READ_PAYLOAD_LISTS_H
#define ANALYZE_READ_PAYLOAD_LISTS_H

#include "analyze/read/payload.h"

struct payload_walk {
    const struct record *record;
    struct cursor cursor;
    payload_each *each;
    void *context;
};

/* These pass a field on, unless the record is too short for it. */
void payload_put(struct payload_walk *walk, const char *name, enum payload_kind kind, uint64_t number);
/* Text in the next SIZE bytes, up to a NUL. */
void payload_put_text(struct payload_walk *walk, const char *name, size_t size);
void payload_put_bytes(struct payload_walk *walk, const char *name, size_t size);

void payload_read(struct payload_walk *walk);
void payload_mmap2(struct payload_walk *walk);
void payload_namespaces(struct payload_walk *walk);
void payload_text_poke(struct payload_walk *walk);
void payload_attr(struct payload_walk *walk);
void payload_build_id(struct payload_walk *walk);
void payload_id_index(struct payload_walk *walk);
void payload_numbers(struct payload_walk *walk);
void payload_error_guest(struct payload_walk *walk);
void payload_thread_map(struct payload_walk *walk);
void payload_cpu_map(struct payload_walk *walk);
void payload_stat_config(struct payload_walk *walk);
void payload_event_update(struct payload_walk *walk);
void payload_time_conv(struct payload_walk *walk);

#endif
