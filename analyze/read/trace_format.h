/* SPDX-License-Identifier: MIT */
/*
 * The section TRACING_DATA: the fields of tracepoints, as tracefs described them to the recorder, and the payloads
 * (PERF_SAMPLE_RAW) that they describe. Neither is trusted.
 */
#ifndef ANALYZE_READ_TRACE_FORMAT_H
#define ANALYZE_READ_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/arena.h"
#include "common/buffer.h"
#include "common/cursor.h"

enum trace_place {
    TRACE_FIXED,    /* at offset */
    TRACE_DYNAMIC,  /* __data_loc: a word at offset has the place in the payload (low half) and the size */
    TRACE_RELATIVE, /* __rel_loc: the place is counted from the end of that word */
};

struct trace_field {
    const char *name, *type; /* "prev_comm", "char" */
    uint32_t offset, size;   /* in bytes, from the start of the payload */
    bool is_signed, is_array, is_string;
    bool hexadecimal; /* a pointer or a long: may be an address */
    enum trace_place place;
    uint32_t element; /* bytes of an element of an array */
};

struct trace_event {
    uint32_t id; /* the attr's config */
    const char *system, *name;
    const struct trace_field *fields; /* without the common ones, in the order of tracefs */
    uint32_t field_count;
};

struct trace_formats {
    const char *version; /* of the section: "0.6" */
    bool swap;           /* numbers of payloads are of the other byte order */
    uint32_t long_bytes, page_bytes;
    struct trace_event *events; /* sorted by id */
    uint32_t event_count;
    bool damaged; /* the section ends early; what was before is there */
};

/*
 * Reads SECTION, all memory from ARENA. 0, -EBADMSG: it is no such section, or -ENOMEM. A format without a name, an id
 * or fields that make sense is left out.
 */
int trace_formats_read(struct cursor section, struct arena *arena, struct trace_formats *ret);
/* NULL: it is not described. */
const struct trace_event *trace_formats_find(const struct trace_formats *formats, uint64_t id);
/* Reads one format TEXT of tracefs. 0, -EBADMSG or -ENOMEM. */
int trace_event_parse(const char *text, size_t size, const char *system, struct arena *arena, struct trace_event *ret);
/*
 * Appends "NAME=VALUE NAME=VALUE" of the payload RAW[SIZE]; "NAME=?" where it has no bytes for the field. A text may
 * have any bytes but NUL.
 */
void trace_event_print(const struct trace_formats *formats, const struct trace_event *event, const unsigned char *raw,
                       size_t size, struct buffer *to);
/* The same for one field, without its name. */
void trace_field_print(const struct trace_formats *formats, const struct trace_field *field, const unsigned char *raw,
                       size_t size, struct buffer *to);

#endif
