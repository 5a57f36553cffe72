/* SPDX-License-Identifier: MIT */
#include "analyze/sym/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/dwarf_line.h"
#include "analyze/sym/dwarf_scope.h"
#include "common/bound.h"

/* Reading valid debug information needs fewer steps per byte. */
#define WORK_PER_BYTE 64
#define WORK_AT_LEAST 1000000

void dwarf_file_allow(struct dwarf_file *file)
{
    uint64_t bytes = 0;

    for (int part = 0; part < DWARF_PARTS; part++)
        bytes += file->sections.part[part].size;
    file->work = bytes * WORK_PER_BYTE + WORK_AT_LEAST;
}

const struct dwarf_abbrevs *dwarf_unit_abbrevs(struct dwarf_file *file, const struct dwarf_unit *unit)
{
    struct dwarf_abbrevs *slot = &file->abbrevs[(unit->abbrev ^ unit->abbrev >> 6) % DWARF_ABBREV_SLOTS];

    if (slot->list && slot->offset == unit->abbrev && !memcmp(&slot->encoding, &unit->encoding, sizeof(unit->encoding)))
        return slot;
    dwarf_abbrevs_release(slot);
    if (dwarf_abbrevs_init(slot, &file->sections, unit->abbrev, &unit->encoding, &file->work) != 0)
        return NULL;
    return slot->list ? slot : NULL;
}

struct dwarf_unit *dwarf_unit_at(const struct dwarf_file *file, uint64_t offset)
{
    size_t after = UPPER_BOUND(file->units, file->unit_count, .offset, offset);

    return after && offset < file->units[after - 1].end ? &file->units[after - 1] : NULL;
}

bool dwarf_die(const struct dwarf_abbrevs *abbrevs, struct cursor *cursor, const struct dwarf_abbrev **ret_abbrev)
{
    uint64_t code = leb_unsigned(cursor);

    if (cursor->failed || !code)
        return false;
    *ret_abbrev = dwarf_abbrevs_find(abbrevs, code);
    if (!*ret_abbrev)
        cursor->failed = true;
    return *ret_abbrev != NULL;
}

/* Reads a unit header and moves CURSOR past the unit. False: the next unit cannot be found. */
static bool read_head(const struct dwarf_file *file, struct cursor *cursor, struct dwarf_unit *unit)
{
    const unsigned char *start = file->sections.part[DWARF_INFO].at;
    uint64_t length = cursor_u32(cursor);
    struct cursor head;

    *unit = (struct dwarf_unit){.offset = (uint64_t)(cursor->at - start) - 4};
    unit->encoding.offset_size = 4;
    if (length == UINT32_MAX) {
        unit->encoding.offset_size = 8;
        length = cursor_u64(cursor);
    }
    if (cursor->failed || length > cursor_left(cursor))
        return false;
    head = cursor_part(cursor, length);
    unit->end = (uint64_t)(head.end - start);
    unit->encoding.version = cursor_u16(&head);
    unit->type = DW_UT_compile;
    if (unit->encoding.version >= 5) {
        unit->type = dwarf_u8(&head);
        unit->encoding.address_size = dwarf_u8(&head);
    }
    unit->abbrev = dwarf_uint(&head, unit->encoding.offset_size);
    if (unit->encoding.version < 5)
        unit->encoding.address_size = dwarf_u8(&head);
    if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
        unit->dwo_id = cursor_u64(&head);
    if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
        cursor_skip(&head, 8 + unit->encoding.offset_size);
    unit->die = (uint64_t)(head.at - start);
    if (head.failed || unit->encoding.version < 2 || unit->encoding.version > 5 ||
        (unit->encoding.address_size != 4 && unit->encoding.address_size != 8))
        unit->type = DW_UT_type; /* a type that is skipped */
    return true;
}

struct texts {
    struct dwarf_value name, directory, dwo_name;
};

static void take_base(struct dwarf_unit *unit, uint16_t attribute, const struct dwarf_value *value)
{
    switch (attribute) {
    case DW_AT_str_offsets_base:
        unit->str_offsets_base = value->number;
        unit->has_str_offsets_base = true;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base: unit->addr_base = value->number; break;
    case DW_AT_rnglists_base:
        unit->rnglists_base = value->number;
        unit->has_rnglists_base = true;
        break;
    case DW_AT_GNU_ranges_base: unit->gnu_ranges_base = value->number; break;
    case DW_AT_GNU_dwo_id: unit->dwo_id = value->number; break;
    default: break;
    }
}

static void take_attribute(struct dwarf_unit *unit, uint16_t attribute, const struct dwarf_value *value,
                           struct texts *texts)
{
    if (dwarf_extent_take(&unit->extent, attribute, value))
        return;
    switch (attribute) {
    case DW_AT_stmt_list:
        unit->lines_offset = value->number;
        unit->has_lines = true;
        break;
    case DW_AT_name: texts->name = *value; break;
    case DW_AT_comp_dir: texts->directory = *value; break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name: texts->dwo_name = *value; break;
    default: take_base(unit, attribute, value);
    }
}

/* Reads the unit DIE. Its values depend on the base attributes, which may come after them. */
static void read_unit_die(struct dwarf_file *file, struct dwarf_unit *unit)
{
    const struct dwarf_abbrevs *abbrevs = dwarf_unit_abbrevs(file, unit);
    struct cursor cursor = dwarf_cursor(&file->sections, DWARF_INFO, unit->die);
    const struct dwarf_abbrev *abbrev;
    struct texts texts = {{DWARF_NONE}, {DWARF_NONE}, {DWARF_NONE}};

    cursor.end = file->sections.part[DWARF_INFO].at + unit->end;
    if (!abbrevs || cursor.failed || !dwarf_die(abbrevs, &cursor, &abbrev))
        return;
    for (uint32_t i = 0; i < abbrev->count && !cursor.failed; i++) {
        const struct dwarf_attribute *attribute = &abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value = dwarf_form_read(&cursor, &unit->encoding, attribute->form, attribute->constant);

        if (!cursor.failed)
            take_attribute(unit, attribute->name, &value, &texts);
    }
    unit->tag = abbrev->tag;
    unit->name = dwarf_value_text(file, unit, &texts.name);
    unit->directory = dwarf_value_text(file, unit, &texts.directory);
    unit->dwo_name = dwarf_value_text(file, unit, &texts.dwo_name);
    if (!dwarf_value_address(file, unit, &unit->extent.low, &unit->base))
        unit->base = 0;
}

int dwarf_units_init(struct dwarf_file *file)
{
    struct cursor cursor = dwarf_cursor(&file->sections, DWARF_INFO, 0);
    size_t capacity = 0;
    struct dwarf_unit unit;

    while (cursor_left(&cursor) >= 11 && file->work && read_head(file, &cursor, &unit)) {
        file->work--;
        if (file->unit_count == capacity) {
            struct dwarf_unit *grown = realloc(file->units, (2 * capacity + 16) * sizeof(*grown));

            if (!grown)
                return -ENOMEM;
            capacity = 2 * capacity + 16;
            file->units = grown;
        }
        if (unit.type != DW_UT_type && unit.type != DW_UT_split_type)
            read_unit_die(file, &unit);
        file->units[file->unit_count++] = unit;
    }
    return file->unit_count ? 0 : -ENOEXEC;
}

void dwarf_file_free(struct dwarf_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->unit_count; i++) {
        dwarf_lines_free(file->units[i].lines);
        dwarf_scopes_free(file->units[i].scopes);
        dwarf_file_free(file->units[i].split);
    }
    for (int i = 0; i < DWARF_ABBREV_SLOTS; i++)
        dwarf_abbrevs_release(&file->abbrevs[i]);
    free(file->units);
    dwarf_sections_release(&file->sections);
    if (file->has_elf)
        elf_file_release(&file->elf);
    free(file);
}

/* The string with INDEX in .debug_str_offsets. */
static const char *indexed_text(const struct dwarf_file *file, const struct dwarf_unit *unit, uint64_t index)
{
    uint64_t base = unit->str_offsets_base;
    struct cursor cursor;
    uint64_t offset;

    /* The file of a split unit has only one table; since version 5 it has a header. */
    if (!unit->has_str_offsets_base && file->dwo && unit->encoding.version >= 5)
        base = unit->encoding.offset_size == 8 ? 16 : 8;
    if (index > file->sections.part[DWARF_STR_OFFSETS].size)
        return NULL;
    cursor = dwarf_cursor(&file->sections, DWARF_STR_OFFSETS, base + index * unit->encoding.offset_size);
    offset = dwarf_uint(&cursor, unit->encoding.offset_size);
    return cursor.failed ? NULL : dwarf_text(&file->sections, DWARF_STR, offset);
}

const char *dwarf_value_text(const struct dwarf_file *file, const struct dwarf_unit *unit,
                             const struct dwarf_value *value)
{
    switch (value->class) {
    case DWARF_TEXT: return value->text;
    case DWARF_TEXT_STR: return dwarf_text(&file->sections, DWARF_STR, value->number);
    case DWARF_TEXT_LINE_STR: return dwarf_text(&file->sections, DWARF_LINE_STR, value->number);
    case DWARF_TEXT_INDEX: return indexed_text(file, unit, value->number);
    case DWARF_TEXT_SUP: return file->sup ? dwarf_text(&file->sup->sections, DWARF_STR, value->number) : NULL;
    default: return NULL;
    }
}
