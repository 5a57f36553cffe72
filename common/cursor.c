/* SPDX-License-Identifier: MIT */
#include "common/cursor.h"

#include <byteswap.h>
#include <string.h>

struct cursor cursor_of(const void *data, size_t size)
{
    /* Never a NULL pointer: arithmetic on it would be undefined even for no bytes. */
    const unsigned char *at = data ? data : (const unsigned char *)"";
    return (struct cursor){.at = at, .end = at + (data ? size : 0), .failed = !data && size > 0};
}

size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

const void *cursor_bytes(struct cursor *cursor, size_t size)
{
    if (cursor->failed || size > cursor_left(cursor)) {
        cursor->failed = true;
        cursor->at = cursor->end;
        return NULL;
    }
    const void *bytes = cursor->at;
    cursor->at += size;
    return bytes;
}

uint8_t cursor_u8(struct cursor *cursor)
{
    const uint8_t *bytes = cursor_bytes(cursor, sizeof(*bytes));
    return bytes ? *bytes : 0;
}

uint16_t cursor_u16(struct cursor *cursor)
{
    uint16_t value = 0;
    const void *bytes = cursor_bytes(cursor, sizeof(value));
    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return cursor->swap ? bswap_16(value) : value;
}

uint32_t cursor_u32(struct cursor *cursor)
{
    uint32_t value = 0;
    const void *bytes = cursor_bytes(cursor, sizeof(value));
    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return cursor->swap ? bswap_32(value) : value;
}

uint64_t cursor_u64(struct cursor *cursor)
{
    uint64_t value = 0;
    const void *bytes = cursor_bytes(cursor, sizeof(value));
    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return cursor->swap ? bswap_64(value) : value;
}

void cursor_skip(struct cursor *cursor, size_t size)
{
    cursor_bytes(cursor, size);
}

const char *cursor_string(struct cursor *cursor)
{
    const void *nul = cursor->failed ? NULL : memchr(cursor->at, '\0', cursor_left(cursor));
    size_t size = nul ? (size_t)((const unsigned char *)nul - cursor->at) + 1 : SIZE_MAX;
    return cursor_bytes(cursor, size);
}

struct cursor cursor_part(struct cursor *cursor, size_t size)
{
    const void *bytes = cursor_bytes(cursor, size);
    struct cursor part = cursor_of(bytes, bytes ? size : 0);
    part.swap = cursor->swap;
    part.failed = !bytes;
    return part;
}
