/* SPDX-License-Identifier: MIT */
/* Addresses of DIEs: .debug_addr, .debug_ranges (up to version 4), .debug_rnglists (since version 5). */
#include "analyze/sym/dwarf_unit.h"

#include <dwarf.h>

static bool indexed_address(const struct dwarf_file *file, const struct dwarf_unit *unit, uint64_t index,
                            uint64_t *ret_address)
{
    const struct dwarf_file *of = file->skeleton_file ? file->skeleton_file : file;
    uint64_t base = file->skeleton ? file->skeleton->addr_base : unit->addr_base;
    struct cursor cursor;

    if (index > of->sections.part[DWARF_ADDR].size || base > of->sections.part[DWARF_ADDR].size)
        return false;
    cursor = dwarf_cursor(&of->sections, DWARF_ADDR, base + index * unit->encoding.address_size);
    *ret_address = dwarf_uint(&cursor, unit->encoding.address_size);
    return !cursor.failed;
}

bool dwarf_value_address(const struct dwarf_file *file, const struct dwarf_unit *unit, const struct dwarf_value *value,
                         uint64_t *ret_address)
{
    if (value->class == DWARF_ADDRESS) {
        *ret_address = value->number;
        return true;
    }
    return value->class == DWARF_ADDRESS_INDEX && indexed_address(file, unit, value->number, ret_address);
}

struct walk {
    struct dwarf_file *file;
    const struct dwarf_unit *unit;
    uint64_t base;
    dwarf_each_range *each;
    void *context;
};

/* Pairs of offsets from a base; a pair of zeros ends them. */
static void walk_ranges(struct walk *walk, const struct dwarf_file *of, uint64_t offset)
{
    struct cursor cursor = dwarf_cursor(&of->sections, DWARF_RANGES, offset);
    unsigned size = walk->unit->encoding.address_size;
    uint64_t highest = size == 8 ? UINT64_MAX : UINT32_MAX;

    while (walk->file->work) {
        uint64_t low = dwarf_uint(&cursor, size), high = dwarf_uint(&cursor, size);

        walk->file->work--;
        if (cursor.failed || (!low && !high))
            return;
        if (low == highest)
            walk->base = high;
        else if (!walk->each(walk->context, walk->base + low, walk->base + high))
            return;
    }
}

/* One entry of a list of version 5. False: the end. */
static bool list_entry(struct walk *walk, struct cursor *cursor, uint64_t *ret_low, uint64_t *ret_high)
{
    const struct dwarf_file *file = walk->file;
    unsigned size = walk->unit->encoding.address_size;

    *ret_low = *ret_high = 0;
    switch (dwarf_u8(cursor)) {
    case DW_RLE_base_addressx: return indexed_address(file, walk->unit, leb_unsigned(cursor), &walk->base);
    case DW_RLE_startx_endx:
        return indexed_address(file, walk->unit, leb_unsigned(cursor), ret_low) &&
               indexed_address(file, walk->unit, leb_unsigned(cursor), ret_high);
    case DW_RLE_startx_length:
        if (!indexed_address(file, walk->unit, leb_unsigned(cursor), ret_low))
            return false;
        *ret_high = *ret_low + leb_unsigned(cursor);
        return true;
    case DW_RLE_offset_pair:
        *ret_low = walk->base + leb_unsigned(cursor);
        *ret_high = walk->base + leb_unsigned(cursor);
        return true;
    case DW_RLE_base_address: walk->base = dwarf_uint(cursor, size); return true;
    case DW_RLE_start_end:
        *ret_low = dwarf_uint(cursor, size);
        *ret_high = dwarf_uint(cursor, size);
        return true;
    case DW_RLE_start_length:
        *ret_low = dwarf_uint(cursor, size);
        *ret_high = *ret_low + leb_unsigned(cursor);
        return true;
    default: return false;
    }
}

static void walk_list(struct walk *walk, uint64_t offset)
{
    struct cursor cursor = dwarf_cursor(&walk->file->sections, DWARF_RNGLISTS, offset);
    uint64_t low, high;

    while (walk->file->work && list_entry(walk, &cursor, &low, &high) && !cursor.failed) {
        walk->file->work--;
        if (low < high && !walk->each(walk->context, low, high))
            return;
    }
}

/* Where the list with INDEX begins. */
static bool list_offset(const struct dwarf_file *file, const struct dwarf_unit *unit, uint64_t index,
                        uint64_t *ret_offset)
{
    uint64_t base = unit->rnglists_base, size = file->sections.part[DWARF_RNGLISTS].size;
    struct cursor cursor;

    if (!unit->has_rnglists_base)
        base = unit->encoding.offset_size == 8 ? 20 : 12; /* after the header of the only table */
    if (index > size || base > size)
        return false;
    cursor = dwarf_cursor(&file->sections, DWARF_RNGLISTS, base + index * unit->encoding.offset_size);
    *ret_offset = base + dwarf_uint(&cursor, unit->encoding.offset_size);
    return !cursor.failed;
}

void dwarf_unit_ranges(struct dwarf_file *file, const struct dwarf_unit *unit, const struct dwarf_extent *extent,
                       dwarf_each_range *each, void *context)
{
    const struct dwarf_value *ranges = &extent->ranges, *high = &extent->high;
    const struct dwarf_unit *skeleton = file->skeleton;
    struct walk walk = {file, unit, skeleton ? skeleton->base : unit->base, each, context};
    uint64_t offset, start, end;

    if (ranges->class == DWARF_LIST_INDEX) {
        if (list_offset(file, unit, ranges->number, &offset))
            walk_list(&walk, offset);
    } else if (ranges->class == DWARF_OFFSET || ranges->class == DWARF_CONSTANT) {
        if (unit->encoding.version >= 5)
            walk_list(&walk, ranges->number);
        else /* a split unit has its ranges in the file of its skeleton */
            walk_ranges(&walk, file->skeleton_file ? file->skeleton_file : file,
                        ranges->number + (skeleton ? skeleton->gnu_ranges_base : 0));
    } else if (dwarf_value_address(file, unit, &extent->low, &start) && high->class != DWARF_NONE) {
        if (high->class == DWARF_CONSTANT)
            end = start + high->number;
        else if (!dwarf_value_address(file, unit, high, &end))
            return;
        if (start < end)
            each(context, start, end);
    }
}
