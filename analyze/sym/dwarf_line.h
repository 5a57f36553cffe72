/* SPDX-License-Identifier: MIT */
/* The line table of one unit (.debug_line, versions 2 to 5). */
#ifndef ANALYZE_SYM_DWARF_LINE_H
#define ANALYZE_SYM_DWARF_LINE_H

#include "analyze/sym/dwarf_unit.h"
#include "analyze/sym/name_pool.h"

struct dwarf_row {
    uint64_t address;
    uint32_t file, line, column;
    bool end; /* the first address after a sequence */
};

/* Rows of ascending addresses; the last row has `end`. */
struct dwarf_sequence {
    uint64_t low, high;
    size_t first, count;
};

struct dwarf_line_file {
    const char *name;
    uint64_t directory;
    const char *path; /* the full path, in the pool; NULL until it is asked for */
};

struct dwarf_lines {
    struct dwarf_row *rows;
    size_t row_count, row_capacity;
    struct dwarf_sequence *sequences; /* by address */
    size_t sequence_count, sequence_capacity;
    struct dwarf_line_file *files; /* numbered as in the table: from 1 before version 5 */
    size_t file_count, file_capacity;
    const char **directories;
    size_t directory_count, directory_capacity;
    const char *unit_directory, *unit_name;
    uint16_t version;
};

/*
 * Reads the table at OFFSET of FILE's .debug_line, for UNIT. ROWS false: only its files. 0, -ENOEXEC (damaged, with
 * nothing usable), -ENOMEM.
 */
int dwarf_lines_new(struct dwarf_file *file, const struct dwarf_unit *unit, uint64_t offset, bool rows,
                    struct dwarf_lines **ret);
void dwarf_lines_free(struct dwarf_lines *lines);

/* The row that covers ADDRESS, or NULL. */
const struct dwarf_row *dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address);
/* The path of file NUMBER as the compiler was given it, absolute where the table has the directory; NULL: unknown. */
const char *dwarf_lines_path(struct dwarf_lines *lines, uint64_t number, struct name_pool *pool);

#endif
