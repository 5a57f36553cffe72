/* SPDX-License-Identifier: MIT */
#include "unwind/leb.h"

/* Longer ones, padded with zeros, nobody writes. */
enum { LEB_MAX = 16 };

static bool is_longer(struct cursor *cursor, const unsigned char *start)
{
    if (cursor->at - start <= LEB_MAX)
        return false;
    cursor->failed = true;
    cursor->at = cursor->end;
    return true;
}

uint64_t leb_unsigned(struct cursor *cursor)
{
    const unsigned char *start = cursor->at;
    uint64_t value = 0;
    uint8_t byte = 0x80;
    for (unsigned shift = 0; byte & 0x80 && !cursor->failed && !is_longer(cursor, start); shift += 7) {
        byte = cursor_u8(cursor);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
    }
    return value;
}

int64_t leb_signed(struct cursor *cursor)
{
    const unsigned char *start = cursor->at;
    uint64_t value = 0;
    uint8_t byte = 0x80;
    unsigned shift = 0;
    for (; byte & 0x80 && !cursor->failed && !is_longer(cursor, start); shift += 7) {
        byte = cursor_u8(cursor);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
    }
    if (shift < 64 && byte & 0x40)
        value |= UINT64_MAX << shift;
    return (int64_t)value;
}

static uint64_t fail(struct cursor *cursor)
{
    cursor->failed = true;
    cursor->at = cursor->end;
    return 0;
}

static uint64_t read_value(struct cursor *cursor, uint8_t format)
{
    switch (format) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        return cursor_u64(cursor);
    case 0x01:
        return leb_unsigned(cursor);
    case 0x02:
        return cursor_u16(cursor);
    case 0x03:
        return cursor_u32(cursor);
    case 0x09:
        return (uint64_t)leb_signed(cursor);
    case 0x0a:
        return (uint64_t)(int64_t)(int16_t)cursor_u16(cursor);
    case 0x0b:
        return (uint64_t)(int64_t)(int32_t)cursor_u32(cursor);
    default:
        return fail(cursor);
    }
}

uint64_t leb_pointer(struct cursor *cursor, uint8_t encoding, uint64_t here)
{
    if (encoding == LEB_OMIT)
        return 0;
    uint64_t value = read_value(cursor, encoding & 0x0f);
    switch (encoding & 0x70) {
    case 0:
        return value;
    case LEB_PCREL:
        return here + value;
    default: /* relative to text, data, a function: nobody writes them for x86-64 */
        return fail(cursor);
    }
}
