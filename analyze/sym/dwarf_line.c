/* SPDX-License-Identifier: MIT */
#include "analyze/sym/dwarf_line.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bound.h"

/* The state of reading one table. */
struct reader {
    struct dwarf_file *file;
    const struct dwarf_unit *unit;
    struct dwarf_lines *lines;
    struct dwarf_encoding encoding;
    struct cursor cursor;
    uint8_t min_length, line_range, opcode_base;
    int8_t line_base;
    uint8_t lengths[256]; /* number of operands of standard opcodes */
    size_t first;         /* first row of the open sequence */
    bool unsorted;        /* its addresses went backwards: not usable */
    int error;
};

static bool grow_array(struct reader *reader, void **array, size_t *capacity, size_t count, size_t size)
{
    void *grown;

    if (count < *capacity)
        return true;
    grown = realloc(*array, (2 * count + 16) * size);
    if (!grown) {
        reader->error = -ENOMEM;
        return false;
    }
    *array = grown;
    *capacity = 2 * count + 16;
    return true;
}

static void add_directory(struct reader *reader, const char *name)
{
    struct dwarf_lines *lines = reader->lines;

    if (grow_array(reader, (void **)&lines->directories, &lines->directory_capacity, lines->directory_count,
                   sizeof(*lines->directories)))
        lines->directories[lines->directory_count++] = name;
}

static void add_file(struct reader *reader, const char *name, uint64_t directory)
{
    struct dwarf_lines *lines = reader->lines;

    if (grow_array(reader, (void **)&lines->files, &lines->file_capacity, lines->file_count, sizeof(*lines->files)))
        lines->files[lines->file_count++] = (struct dwarf_line_file){name, directory, NULL};
}

/* Names up to version 4: lists that end with an empty name. Number 0 is the directory and file of the unit. */
static void read_old_names(struct reader *reader)
{
    const char *name;

    add_directory(reader, reader->unit->directory);
    while (!reader->error && (name = cursor_string(&reader->cursor)) && *name)
        add_directory(reader, name);
    add_file(reader, reader->unit->name, 0);
    while (!reader->error && (name = cursor_string(&reader->cursor)) && *name) {
        uint64_t directory = leb_unsigned(&reader->cursor);

        leb_unsigned(&reader->cursor); /* time and size */
        leb_unsigned(&reader->cursor);
        add_file(reader, name, directory);
    }
}

struct format {
    uint64_t content, form;
};

/* One of the two lists of names of version 5. Each begins with the format of its entries. */
static void read_names(struct reader *reader, bool files)
{
    struct format format[256];
    unsigned parts = dwarf_u8(&reader->cursor);
    uint64_t count;

    for (unsigned i = 0; i < parts; i++) {
        format[i].content = leb_unsigned(&reader->cursor);
        format[i].form = leb_unsigned(&reader->cursor);
    }
    count = leb_unsigned(&reader->cursor);
    if (!parts)
        return;
    for (uint64_t i = 0; i < count && !reader->cursor.failed && !reader->error && reader->file->work; i++) {
        const char *name = NULL;
        uint64_t directory = 0;

        for (unsigned j = 0; j < parts; j++) {
            struct dwarf_value value = dwarf_form_read(&reader->cursor, &reader->encoding, format[j].form, 0);

            if (format[j].content == DW_LNCT_path)
                name = dwarf_value_text(reader->file, reader->unit, &value);
            else if (format[j].content == DW_LNCT_directory_index)
                directory = value.number;
        }
        reader->file->work--;
        if (files)
            add_file(reader, name, directory);
        else
            add_directory(reader, name);
    }
}

static void read_all_names(struct reader *reader)
{
    if (reader->encoding.version < 5) {
        read_old_names(reader);
        return;
    }
    read_names(reader, false);
    read_names(reader, true);
}

/* Reads the header, up to the first opcode. False: the table cannot be read. */
static bool read_head(struct reader *reader, uint64_t offset)
{
    struct cursor whole = dwarf_cursor(&reader->file->sections, DWARF_LINE, offset), *cursor = &reader->cursor;
    uint64_t length = cursor_u32(&whole), head_size;
    const unsigned char *program;

    reader->encoding = reader->unit->encoding;
    reader->encoding.offset_size = 4;
    if (length == UINT32_MAX) {
        reader->encoding.offset_size = 8;
        length = cursor_u64(&whole);
    }
    if (whole.failed || length > cursor_left(&whole))
        return false;
    *cursor = cursor_part(&whole, length);
    reader->encoding.version = reader->lines->version = cursor_u16(cursor);
    if (reader->encoding.version < 2 || reader->encoding.version > 5)
        return false;
    if (reader->encoding.version >= 5)
        cursor_skip(cursor, 2); /* address_size, which the unit has too, and segment_selector_size */
    head_size = dwarf_uint(cursor, reader->encoding.offset_size);
    if (cursor->failed || head_size > cursor_left(cursor))
        return false;
    program = cursor->at + head_size;
    reader->min_length = dwarf_u8(cursor);
    if (reader->encoding.version >= 4)
        dwarf_u8(cursor); /* maximum_operations_per_instruction */
    dwarf_u8(cursor);     /* default_is_stmt: every row counts here */
    reader->line_base = (int8_t)dwarf_u8(cursor);
    reader->line_range = dwarf_u8(cursor);
    reader->opcode_base = dwarf_u8(cursor);
    for (unsigned i = 1; i < reader->opcode_base; i++)
        reader->lengths[i] = dwarf_u8(cursor);
    read_all_names(reader);
    if (cursor->failed)
        return false;
    cursor->at = program;
    return !reader->error;
}

static void add_row(struct reader *reader, const struct dwarf_row *row)
{
    struct dwarf_lines *lines = reader->lines;
    struct dwarf_row *last = lines->row_count > reader->first ? &lines->rows[lines->row_count - 1] : NULL;

    if (last && row->address < last->address)
        reader->unsorted = true;
    if (last && row->address == last->address) {
        *last = *row; /* the last row of an address counts */
        return;
    }
    if (grow_array(reader, (void **)&lines->rows, &lines->row_capacity, lines->row_count, sizeof(*lines->rows)))
        lines->rows[lines->row_count++] = *row;
}

/* Keeps the sequence that ROW ends, unless it is unusable or its code is not in the file. */
static void end_sequence(struct reader *reader, struct dwarf_row *row)
{
    struct dwarf_lines *lines = reader->lines;
    size_t first = reader->first;

    row->end = true;
    add_row(reader, row);
    if (lines->row_count - first < 2 || reader->unsorted || reader->error ||
        !reader->file->is_code(reader->file->code, lines->rows[first].address)) {
        lines->row_count = first;
    } else if (grow_array(reader, (void **)&lines->sequences, &lines->sequence_capacity, lines->sequence_count,
                          sizeof(*lines->sequences))) {
        lines->sequences[lines->sequence_count++] = (struct dwarf_sequence){lines->rows[first].address, row->address,
                                                                            first, lines->row_count - first};
    }
    reader->first = lines->row_count;
    reader->unsorted = false;
    *row = (struct dwarf_row){.file = 1, .line = 1};
}

static void run_extended_opcode(struct reader *reader, struct dwarf_row *row)
{
    uint64_t size = leb_unsigned(&reader->cursor);
    struct cursor part = cursor_part(&reader->cursor, size);

    switch (dwarf_u8(&part)) {
    case DW_LNE_end_sequence: end_sequence(reader, row); break;
    case DW_LNE_set_address:
        row->address = dwarf_uint(&part, (unsigned)cursor_left(&part));
        if (part.failed)
            reader->unsorted = true;
        break;
    default: /* DWARF 5 has no define_file; discriminators are not needed here */ break;
    }
}

static void run_standard_opcode(struct reader *reader, uint8_t opcode, struct dwarf_row *row)
{
    struct cursor *cursor = &reader->cursor;

    switch (opcode) {
    case DW_LNS_copy: add_row(reader, row); break;
    case DW_LNS_advance_pc: row->address += leb_unsigned(cursor) * reader->min_length; break;
    case DW_LNS_advance_line: row->line = (uint32_t)(row->line + (uint64_t)leb_signed(cursor)); break;
    case DW_LNS_set_file: row->file = (uint32_t)leb_unsigned(cursor); break;
    case DW_LNS_set_column: row->column = (uint32_t)leb_unsigned(cursor); break;
    case DW_LNS_const_add_pc:
        if (reader->line_range)
            row->address += (uint64_t)((255 - reader->opcode_base) / reader->line_range) * reader->min_length;
        break;
    case DW_LNS_fixed_advance_pc: row->address += cursor_u16(cursor); break;
    default:
        for (unsigned i = 0; i < reader->lengths[opcode]; i++)
            leb_unsigned(cursor);
    }
}

static void run_program(struct reader *reader)
{
    struct dwarf_row row = {.file = 1, .line = 1};
    struct cursor *cursor = &reader->cursor;

    while (cursor->at < cursor->end && !cursor->failed && !reader->error && reader->file->work) {
        uint8_t opcode = dwarf_u8(cursor);

        reader->file->work--;
        if (opcode >= reader->opcode_base) {
            unsigned step = opcode - reader->opcode_base;

            if (!reader->line_range)
                return;
            row.address += (uint64_t)(step / reader->line_range) * reader->min_length;
            row.line += (uint32_t)(reader->line_base + (int)(step % reader->line_range));
            add_row(reader, &row);
        } else if (opcode) {
            run_standard_opcode(reader, opcode, &row);
        } else {
            run_extended_opcode(reader, &row);
        }
    }
    reader->lines->row_count = reader->first; /* a sequence without an end */
}

static int by_low(const void *left, const void *right)
{
    const struct dwarf_sequence *a = left, *b = right;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

int dwarf_lines_new(struct dwarf_file *file, const struct dwarf_unit *unit, uint64_t offset, bool rows,
                    struct dwarf_lines **ret)
{
    struct reader reader = {.file = file, .unit = unit};
    struct dwarf_lines *lines = calloc(1, sizeof(*lines));

    if (!lines)
        return -ENOMEM;
    lines->unit_directory = unit->directory;
    lines->unit_name = unit->name;
    reader.lines = lines;
    if (!read_head(&reader, offset) && !reader.error)
        reader.error = -ENOEXEC;
    if (!reader.error && rows) {
        run_program(&reader);
        if (lines->sequence_count)
            qsort(lines->sequences, lines->sequence_count, sizeof(*lines->sequences), by_low);
    }
    if (reader.error) {
        dwarf_lines_free(lines);
        return reader.error;
    }
    *ret = lines;
    return 0;
}

void dwarf_lines_free(struct dwarf_lines *lines)
{
    if (!lines)
        return;
    free(lines->rows);
    free(lines->sequences);
    free(lines->files);
    free(lines->directories);
    free(lines);
}

static const struct dwarf_row *find_row(const struct dwarf_lines *lines, const struct dwarf_sequence *sequence,
                                        uint64_t address)
{
    const struct dwarf_row *rows = &lines->rows[sequence->first];
    size_t after = UPPER_BOUND(rows, sequence->count, .address, address);

    return after && !rows[after - 1].end ? &rows[after - 1] : NULL;
}

const struct dwarf_row *dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address)
{
    size_t after = UPPER_BOUND(lines->sequences, lines->sequence_count, .low, address);

    /* Sequences do not overlap in valid files; in others a few are tried. */
    for (size_t i = after; i > 0 && after - i < 8; i--)
        if (address < lines->sequences[i - 1].high)
            return find_row(lines, &lines->sequences[i - 1], address);
    return NULL;
}

/* DIRECTORY/NAME in the pool; NAME alone if it is absolute or there is no directory. NULL: out of memory. */
static const char *join_path(struct name_pool *pool, const char *directory, const char *name)
{
    const char *slashed;

    if (!name || name[0] == '/' || !directory || !directory[0])
        return name;
    slashed = directory[strlen(directory) - 1] == '/' ? directory : name_pool_join(pool, directory, "/");
    return slashed ? name_pool_join(pool, slashed, name) : name;
}

const char *dwarf_lines_path(struct dwarf_lines *lines, uint64_t number, struct name_pool *pool)
{
    struct dwarf_line_file *file;
    const char *directory;

    if (number >= lines->file_count)
        return NULL;
    file = &lines->files[number];
    if (file->path || !file->name)
        return file->path;
    directory = file->directory < lines->directory_count ? lines->directories[file->directory] : NULL;
    file->path = join_path(pool, join_path(pool, lines->unit_directory, directory), file->name);
    return file->path;
}
