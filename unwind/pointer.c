/* SPDX-License-Identifier: MIT */
#include "unwind/pointer.h"

#include <dwarf.h>

#include "common/leb.h"

static uint64_t fail_cursor(struct cursor *cursor)
{
    cursor->failed = true;
    cursor->at = cursor->end;
    return 0;
}

static uint64_t read_value(struct cursor *cursor, uint8_t format)
{
    switch (format) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: return cursor_u64(cursor);
    case DW_EH_PE_uleb128: return leb_unsigned(cursor);
    case DW_EH_PE_udata2: return cursor_u16(cursor);
    case DW_EH_PE_udata4: return cursor_u32(cursor);
    case DW_EH_PE_sleb128: return (uint64_t)leb_signed(cursor);
    case DW_EH_PE_sdata2: return (uint64_t)(int64_t)(int16_t)cursor_u16(cursor);
    case DW_EH_PE_sdata4: return (uint64_t)(int64_t)(int32_t)cursor_u32(cursor);
    default: return fail_cursor(cursor);
    }
}

uint64_t pointer_read(struct cursor *cursor, uint8_t encoding, uint64_t here)
{
    if (encoding == POINTER_OMIT)
        return 0;
    uint64_t value = read_value(cursor, encoding & 0x0f);
    switch (encoding & 0x70) {
    case 0: return value;
    case POINTER_PCREL: return here + value;
    default: /* relative to text, data or a function: not used on x86-64 */ return fail_cursor(cursor);
    }
}
