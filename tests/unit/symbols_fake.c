/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "symbols_fake.h"

struct symbols_kernel symbols_fake_kernel;
uint32_t symbols_fake_pid;
static struct symbols_dso *dsos;
static size_t dso_count;

struct symbols_dso *__wrap_symbols_dso(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                       size_t build_id_size);
struct symbols_dso *__wrap_symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel);
struct symbols_dso *__wrap_symbols_jit(struct symbols *symbols, uint32_t pid);
void __wrap_symbols_jit_dump(struct symbols_dso *dso, const char *path);
bool __wrap_symbols_find(struct symbols_dso *dso, uint64_t file_offset, struct symbol *ret);
bool __wrap_symbols_bounds(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_start, uint64_t *ret_size);
bool __wrap_symbols_address(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_address);
const char *__wrap_symbols_path(const struct symbols_dso *dso);
const char *__wrap_symbols_file(struct symbols_dso *dso);
bool __wrap_symbols_has_code(struct symbols_dso *dso, uint64_t address);
bool __wrap_symbols_replaced(struct symbols_dso *dso);
unsigned __wrap_symbols_missing(struct symbols_dso *dso);
const char *__wrap_symbols_why(struct symbols_dso *dso);
void __wrap_symbols_rows(struct symbols_dso *dso, uint64_t start, uint64_t end, symbols_each_row *each, void *context);
size_t __wrap_symbols_lines(struct symbols_dso *dso, uint64_t file_offset, struct symbol_line *ret);
const char *__wrap_symbols_lines_why(struct symbols_dso *dso);

void symbols_fake_set(struct symbols_dso *list, size_t count)
{
    dsos = list;
    dso_count = count;
}

struct symbols_dso *__wrap_symbols_dso(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                       size_t build_id_size)
{
    (void)symbols;
    (void)build_id;
    (void)build_id_size;
    for (size_t i = 0; i < dso_count; i++)
        if (strcmp(dsos[i].path, path) == 0)
            return &dsos[i];
    return NULL;
}

struct symbols_dso *__wrap_symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel)
{
    symbols_fake_kernel = *kernel;
    return __wrap_symbols_dso(symbols, "[kernel]", NULL, 0);
}

struct symbols_dso *__wrap_symbols_jit(struct symbols *symbols, uint32_t pid)
{
    symbols_fake_pid = pid;
    return __wrap_symbols_dso(symbols, "[jit]", NULL, 0);
}

void __wrap_symbols_jit_dump(struct symbols_dso *dso, const char *path)
{
    dso->jit_dump = path;
}

static const struct symbols_fake_function *function_at(const struct symbols_dso *dso, uint64_t address, bool named)
{
    for (size_t i = 0; i < dso->function_count; i++) {
        const struct symbols_fake_function *function = &dso->functions[i];
        if (named == (function->name != NULL) && address >= function->start &&
            address - function->start < (function->size ? function->size : 16))
            return function;
    }
    return NULL;
}

bool __wrap_symbols_find(struct symbols_dso *dso, uint64_t file_offset, struct symbol *ret)
{
    uint64_t address = file_offset + dso->shift;
    const struct symbols_fake_function *function = function_at(dso, address, true);
    dso->asked++;
    if (!function)
        return false;
    *ret = (struct symbol){.name = function->name,
                           .raw_name = function->name,
                           .module = function->module,
                           .start = function->start,
                           .size = function->size,
                           .address = address};
    return true;
}

bool __wrap_symbols_bounds(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_start, uint64_t *ret_size)
{
    const struct symbols_fake_function *function = function_at(dso, file_offset + dso->shift, false);
    if (!function)
        return false;
    *ret_start = function->start;
    *ret_size = function->size;
    return true;
}

bool __wrap_symbols_address(struct symbols_dso *dso, uint64_t file_offset, uint64_t *ret_address)
{
    if (file_offset + dso->shift >= dso->end)
        return false;
    *ret_address = file_offset + dso->shift;
    return true;
}

const char *__wrap_symbols_path(const struct symbols_dso *dso)
{
    return dso->path;
}

const char *__wrap_symbols_file(struct symbols_dso *dso)
{
    return dso->file;
}

bool __wrap_symbols_has_code(struct symbols_dso *dso, uint64_t address)
{
    (void)address;
    return !dso->no_code;
}

bool __wrap_symbols_replaced(struct symbols_dso *dso)
{
    return dso->replaced;
}

unsigned __wrap_symbols_missing(struct symbols_dso *dso)
{
    return dso->missing;
}

const char *__wrap_symbols_why(struct symbols_dso *dso)
{
    return dso->why;
}

void __wrap_symbols_rows(struct symbols_dso *dso, uint64_t start, uint64_t end, symbols_each_row *each, void *context)
{
    for (size_t i = 0; i < dso->row_count; i++)
        if (dso->rows[i].address >= start && dso->rows[i].address <= end)
            each(context, dso->rows[i].address, "/src", dso->rows[i].file, dso->rows[i].line);
}

size_t __wrap_symbols_lines(struct symbols_dso *dso, uint64_t file_offset, struct symbol_line *ret)
{
    size_t count = 0;
    dso->asked_lines++;
    for (size_t i = 0; i < dso->line_count; i++)
        if (dso->lines[i].address == file_offset + dso->shift)
            for (; count < 4 && dso->lines[i].list[count].line; count++)
                ret[count] = dso->lines[i].list[count];
    return count;
}

const char *__wrap_symbols_lines_why(struct symbols_dso *dso)
{
    return dso->lines_why;
}
