/* SPDX-License-Identifier: MIT */
/*
 * Source lines of a range of addresses, from the DWARF line table. objdump -l is not used: it names the wrong files
 * where gcc writes DWARF 5 (binutils 2.40).
 */
#ifndef ANALYZE_SYM_CODE_LINES_H
#define ANALYZE_SYM_CODE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/sym/symbols.h"

struct code_lines_row {
    uint64_t address; /* from here to the next row */
    uint32_t file;    /* index into files; CODE_LINES_NONE: no line */
    uint32_t line;
};

#define CODE_LINES_NONE UINT32_MAX

struct code_lines {
    struct code_lines_row *rows; /* by address */
    size_t count, capacity;
    char **files;
    char **directories; /* by file: compilation directory of the first unit that names it; NULL: unknown */
    size_t file_count, file_capacity;
};

/* Reads the rows of the virtual addresses from START up to END of DSO; there may be none. 0 or -ENOMEM. */
int code_lines_init(struct code_lines *lines, struct symbols_dso *dso, uint64_t start, uint64_t end);
void code_lines_release(struct code_lines *lines);
/* NULL: no line is known for ADDRESS. */
const struct code_lines_row *code_lines_at(const struct code_lines *lines, uint64_t address);

#endif
