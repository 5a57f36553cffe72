/* SPDX-License-Identifier: MIT */
/*
 * Variable-length numbers (LEB128), as in DWARF. Bits above 64 are dropped. A number that continues past the cursor's
 * end, or is longer than LEB_MAX bytes, fails as in cursor.h, and is 0.
 */
#ifndef COMMON_LEB_H
#define COMMON_LEB_H

#include "common/cursor.h"

/* No writer pads numbers to more bytes. */
enum { LEB_MAX = 16 };

static inline uint64_t leb_read(struct cursor *cursor, bool sign)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        if (cursor->at >= cursor->end || shift == 7 * LEB_MAX) {
            cursor->failed = true;
            cursor->at = cursor->end;
            return 0;
        }
        byte = *cursor->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (sign && shift < 64 && byte & 0x40)
        value |= UINT64_MAX << shift;
    return value;
}

static inline uint64_t leb_unsigned(struct cursor *cursor)
{
    return leb_read(cursor, false);
}

static inline int64_t leb_signed(struct cursor *cursor)
{
    return (int64_t)leb_read(cursor, true);
}

#endif
