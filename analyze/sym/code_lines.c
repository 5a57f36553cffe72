/* SPDX-License-Identifier: MIT */
#include "analyze/sym/code_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bound.h"

static int grow_files(struct code_lines *lines)
{
    size_t capacity = lines->file_capacity ? lines->file_capacity * 2 : 16;
    char **files = realloc(lines->files, capacity * sizeof(*files));
    if (!files)
        return -ENOMEM;
    lines->files = files;
    char **directories = realloc(lines->directories, capacity * sizeof(*directories));
    if (!directories)
        return -ENOMEM;
    lines->directories = directories;
    lines->file_capacity = capacity;
    return 0;
}

static int file_number(struct code_lines *lines, const char *directory, const char *name, uint32_t *ret)
{
    for (size_t i = lines->file_count; i-- > 0;)
        if (strcmp(lines->files[i], name) == 0) {
            *ret = (uint32_t)i;
            return 0;
        }
    if (lines->file_count == lines->file_capacity && grow_files(lines) < 0)
        return -ENOMEM;
    char *copy = strdup(name), *from = directory ? strdup(directory) : NULL;
    if (!copy || (directory && !from)) {
        free(copy);
        free(from);
        return -ENOMEM;
    }
    lines->files[lines->file_count] = copy;
    lines->directories[lines->file_count] = from;
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

struct reading {
    struct code_lines *lines;
    int status;
};

static void take_row(void *context, uint64_t address, const char *directory, const char *file, uint32_t line)
{
    struct reading *reading = context;
    struct code_lines_row row = {.address = address, .file = CODE_LINES_NONE};
    if (file) {
        row.line = line;
        reading->status = reading->status ? reading->status : file_number(reading->lines, directory, file, &row.file);
    }
    if (!reading->status)
        reading->status = add_row(reading->lines, &row);
}

struct order {
    struct code_lines_row row;
    size_t index;
};

static int compare_rows(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->row.address != b->row.address)
        return a->row.address < b->row.address ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* By address. Of several rows at one address the last counts, but an end of sequence yields to any other row. */
static int sort_lines(struct code_lines *lines)
{
    struct order *order = calloc(lines->count + 1, sizeof(*order));
    size_t count = 0;
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < lines->count; i++)
        order[i] = (struct order){lines->rows[i], i};
    qsort(order, lines->count, sizeof(*order), compare_rows);
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

int code_lines_init(struct code_lines *lines, struct symbols_dso *dso, uint64_t start, uint64_t end)
{
    *lines = (struct code_lines){0};
    struct reading reading = {lines, 0};
    symbols_rows(dso, start, end, take_row, &reading);
    if (reading.status == 0)
        reading.status = sort_lines(lines);
    if (reading.status < 0)
        code_lines_release(lines);
    return reading.status;
}

void code_lines_release(struct code_lines *lines)
{
    for (size_t i = 0; i < lines->file_count; i++)
        free(lines->files[i]);
    for (size_t i = 0; i < lines->file_count; i++)
        free(lines->directories[i]);
    free(lines->directories);
    free(lines->files);
    free(lines->rows);
    *lines = (struct code_lines){0};
}

const struct code_lines_row *code_lines_at(const struct code_lines *lines, uint64_t address)
{
    size_t after = UPPER_BOUND(lines->rows, lines->count, .address, address);
    return after && lines->rows[after - 1].file != CODE_LINES_NONE ? &lines->rows[after - 1] : NULL;
}
