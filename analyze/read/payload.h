/* SPDX-License-Identifier: MIT */
/* The fields of every record that is no sample, by name, in their order. Nothing is copied. */
#ifndef ANALYZE_READ_PAYLOAD_H
#define ANALYZE_READ_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/record.h"

enum payload_kind {
    PAYLOAD_NUMBER, /* number */
    PAYLOAD_SIGNED, /* (int64_t)number */
    PAYLOAD_HEX,    /* number: an address, a size or bits */
    PAYLOAD_REAL,   /* number: the bits of a double */
    PAYLOAD_TEXT,   /* bytes[size], without a NUL at the end */
    PAYLOAD_BYTES,  /* bytes[size] */
    PAYLOAD_LIST,   /* an array begins: number items, each with the fields that follow, until PAYLOAD_LIST_END */
    PAYLOAD_ITEM,   /* an item of the array begins */
    PAYLOAD_LIST_END,
};

struct payload_field {
    const char *name; /* static; "" for PAYLOAD_ITEM and PAYLOAD_LIST_END */
    enum payload_kind kind;
    uint64_t number;
    const unsigned char *bytes;
    size_t size;
};

typedef void payload_each(void *context, const struct payload_field *field);

/* "MMAP2", as in PERF_RECORD_MMAP2; NULL: no such type is known. */
const char *payload_type_name(uint32_t type);
/* Names of the bits of RECORD->misc that its type gives a meaning: "exec", "out", ... Calls EACH for each. */
void payload_flags(const struct record *record, void (*each)(void *context, const char *name), void *context);
/*
 * Calls EACH for each field of RECORD; of a type that is not known, for one field "bytes". False: the record is too
 * short, and the fields that it does not have were left out.
 */
bool payload_fields(const struct record *record, payload_each *each, void *context);

#endif
