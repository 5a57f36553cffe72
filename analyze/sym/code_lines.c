/* SPDX-License-Identifier: MIT */
#include "analyze/sym/code_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sym/elf_image.h"

static int file_number(struct code_lines *lines, const char *name, uint32_t *ret)
{
    for (size_t i = lines->file_count; i-- > 0;)
        if (strcmp(lines->files[i], name) == 0) {
            *ret = (uint32_t)i;
            return 0;
        }
    if (lines->file_count == lines->file_capacity) {
        size_t capacity = lines->file_capacity ? lines->file_capacity * 2 : 16;
        char **files = realloc(lines->files, capacity * sizeof(*files));
        if (!files)
            return -ENOMEM;
        lines->files = files;
        lines->file_capacity = capacity;
    }
    lines->files[lines->file_count] = strdup(name);
    if (!lines->files[lines->file_count])
        return -ENOMEM;
    *ret = (uint32_t)lines->file_count++;
    return 0;
}

static int add_row(struct code_lines *lines, const struct code_lines_row *row)
{
    if (lines->count == lines->capacity) {
        size_t capacity = lines->capacity ? lines->capacity * 2 : 256;
        struct code_lines_row *rows = realloc(lines->rows, capacity * sizeof(*rows));
        if (!rows)
            return -ENOMEM;
        lines->rows = rows;
        lines->capacity = capacity;
    }
    lines->rows[lines->count++] = *row;
    return 0;
}

static int add_line(struct code_lines *lines, Dwarf_Line *line, uint64_t start, uint64_t end)
{
    struct code_lines_row row = {.file = CODE_LINES_NONE};
    Dwarf_Addr address;
    bool over = false;
    int number = 0;
    if (dwarf_lineaddr(line, &address) != 0 || address < start || address >= end)
        return 0;
    row.address = address;
    dwarf_lineendsequence(line, &over);
    const char *name = over ? NULL : dwarf_linesrc(line, NULL, NULL);
    if (name && dwarf_lineno(line, &number) == 0 && number > 0) {
        row.line = (uint32_t)number;
        int status = file_number(lines, name, &row.file);
        if (status < 0)
            return status;
    }
    return add_row(lines, &row);
}

static int add_unit(struct code_lines *lines, Dwarf_Die *unit, uint64_t start, uint64_t end)
{
    Dwarf_Lines *table;
    size_t count = 0;
    int status = 0;
    if (dwarf_getsrclines(unit, &table, &count) != 0)
        return 0;
    for (size_t i = 0; status == 0 && i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(table, i);
        if (line)
            status = add_line(lines, line, start, end);
    }
    return status;
}

static int read_dwarf(struct code_lines *lines, Dwarf *dwarf, uint64_t start, uint64_t end)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t kind;
    int status = 0;
    /* Not by .debug_aranges: clang writes none. */
    while (status == 0 && dwarf_get_units(dwarf, unit, &unit, NULL, &kind, &die, NULL) == 0)
        if ((kind == DW_UT_compile || kind == DW_UT_skeleton) && dwarf_haspc(&die, start) == 1)
            status = add_unit(lines, &die, start, end);
    return status;
}

static int read_file(struct code_lines *lines, const char *path, uint64_t start, uint64_t end)
{
    uint64_t size;
    int fd = elf_image_open_regular(path, 0, &size), status = 0;
    if (fd < 0)
        return 0;
    elf_version(EV_CURRENT);
    /* Not mapped: a file that shrinks meanwhile must be an error, not a SIGBUS. */
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    if (dwarf)
        status = read_dwarf(lines, dwarf, start, end);
    if (dwarf)
        dwarf_end(dwarf);
    if (elf)
        elf_end(elf);
    close(fd);
    return status;
}

struct order {
    struct code_lines_row row;
    size_t index;
};

static int compare(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->row.address != b->row.address)
        return a->row.address < b->row.address ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* By address; of several rows at one address the last holds, but an end of a sequence only where no other begins. */
static int settle(struct code_lines *lines)
{
    struct order *order = calloc(lines->count + 1, sizeof(*order));
    size_t count = 0;
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < lines->count; i++)
        order[i] = (struct order){lines->rows[i], i};
    qsort(order, lines->count, sizeof(*order), compare);
    for (size_t i = 0; i < lines->count; i++) {
        struct code_lines_row *last = count ? &lines->rows[count - 1] : NULL;
        if (!last || last->address != order[i].row.address)
            lines->rows[count++] = order[i].row;
        else if (order[i].row.file != CODE_LINES_NONE)
            *last = order[i].row;
    }
    lines->count = count;
    free(order);
    return 0;
}

int code_lines_init(struct code_lines *lines, const char *file, const char *debug_file, uint64_t start, uint64_t end)
{
    *lines = (struct code_lines){0};
    int status = debug_file ? read_file(lines, debug_file, start, end) : 0;
    if (status == 0 && !lines->count)
        status = read_file(lines, file, start, end);
    if (status == 0)
        status = settle(lines);
    if (status < 0)
        code_lines_release(lines);
    return status;
}

void code_lines_release(struct code_lines *lines)
{
    for (size_t i = 0; i < lines->file_count; i++)
        free(lines->files[i]);
    free(lines->files);
    free(lines->rows);
    *lines = (struct code_lines){0};
}

const struct code_lines_row *code_lines_at(const struct code_lines *lines, uint64_t address)
{
    size_t low = 0, high = lines->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && lines->rows[low - 1].file != CODE_LINES_NONE ? &lines->rows[low - 1] : NULL;
}
