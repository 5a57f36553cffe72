/* SPDX-License-Identifier: MIT */
#include "unwind/pointer.h"

#include "common/leb.h"

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

uint64_t pointer_read(struct cursor *cursor, uint8_t encoding, uint64_t here)
{
    if (encoding == POINTER_OMIT)
        return 0;
    uint64_t value = read_value(cursor, encoding & 0x0f);
    switch (encoding & 0x70) {
    case 0:
        return value;
    case POINTER_PCREL:
        return here + value;
    default: /* relative to text, data, a function: nobody writes them for x86-64 */
        return fail(cursor);
    }
}
