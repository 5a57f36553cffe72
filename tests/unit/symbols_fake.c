/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "symbols_fake.h"

struct symbols_kernel symbols_fake_kernel;
uint32_t symbols_fake_pid;
static struct symbols_object *objects;
static size_t object_count;

struct symbols_object *__wrap_symbols_object(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                             size_t build_id_size);
struct symbols_object *__wrap_symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel);
struct symbols_object *__wrap_symbols_jit(struct symbols *symbols, uint32_t pid);
void __wrap_symbols_jit_dump(struct symbols_object *object, const char *path);
bool __wrap_symbols_find(struct symbols_object *object, uint64_t file_offset, struct symbol *ret);
bool __wrap_symbols_bounds(struct symbols_object *object, uint64_t file_offset, uint64_t *ret_start,
                           uint64_t *ret_size);
bool __wrap_symbols_address(struct symbols_object *object, uint64_t file_offset, uint64_t *ret_address);
const char *__wrap_symbols_path(const struct symbols_object *object);
const char *__wrap_symbols_file(struct symbols_object *object);
bool __wrap_symbols_has_code(struct symbols_object *object, uint64_t address);
bool __wrap_symbols_replaced(struct symbols_object *object);
unsigned __wrap_symbols_lacks(struct symbols_object *object);
const char *__wrap_symbols_why(struct symbols_object *object);
void __wrap_symbols_rows(struct symbols_object *object, uint64_t start, uint64_t end, symbols_each_row *each,
                         void *context);
size_t __wrap_symbols_lines(struct symbols_object *object, uint64_t file_offset, struct symbol_line *ret);
const char *__wrap_symbols_lines_why(struct symbols_object *object);

void symbols_fake_set(struct symbols_object *list, size_t count)
{
    objects = list;
    object_count = count;
}

struct symbols_object *__wrap_symbols_object(struct symbols *symbols, const char *path, const unsigned char *build_id,
                                             size_t build_id_size)
{
    (void)symbols;
    (void)build_id;
    (void)build_id_size;
    for (size_t i = 0; i < object_count; i++)
        if (strcmp(objects[i].path, path) == 0)
            return &objects[i];
    return NULL;
}

struct symbols_object *__wrap_symbols_kernel(struct symbols *symbols, const struct symbols_kernel *kernel)
{
    symbols_fake_kernel = *kernel;
    return __wrap_symbols_object(symbols, "[kernel]", NULL, 0);
}

struct symbols_object *__wrap_symbols_jit(struct symbols *symbols, uint32_t pid)
{
    symbols_fake_pid = pid;
    return __wrap_symbols_object(symbols, "[jit]", NULL, 0);
}

void __wrap_symbols_jit_dump(struct symbols_object *object, const char *path)
{
    object->jit_dump = path;
}

static const struct symbols_fake_function *function_at(const struct symbols_object *object, uint64_t address,
                                                       bool named)
{
    for (size_t i = 0; i < object->function_count; i++) {
        const struct symbols_fake_function *function = &object->functions[i];
        if (named == (function->name != NULL) && address >= function->start &&
            address - function->start < (function->size ? function->size : 16))
            return function;
    }
    return NULL;
}

bool __wrap_symbols_find(struct symbols_object *object, uint64_t file_offset, struct symbol *ret)
{
    uint64_t address = file_offset + object->shift;
    const struct symbols_fake_function *function = function_at(object, address, true);
    object->asked++;
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

bool __wrap_symbols_bounds(struct symbols_object *object, uint64_t file_offset, uint64_t *ret_start, uint64_t *ret_size)
{
    const struct symbols_fake_function *function = function_at(object, file_offset + object->shift, false);
    if (!function)
        return false;
    *ret_start = function->start;
    *ret_size = function->size;
    return true;
}

bool __wrap_symbols_address(struct symbols_object *object, uint64_t file_offset, uint64_t *ret_address)
{
    if (file_offset + object->shift >= object->end)
        return false;
    *ret_address = file_offset + object->shift;
    return true;
}

const char *__wrap_symbols_path(const struct symbols_object *object)
{
    return object->path;
}

const char *__wrap_symbols_file(struct symbols_object *object)
{
    return object->file;
}

bool __wrap_symbols_has_code(struct symbols_object *object, uint64_t address)
{
    (void)address;
    return !object->no_code;
}

bool __wrap_symbols_replaced(struct symbols_object *object)
{
    return object->replaced;
}

unsigned __wrap_symbols_lacks(struct symbols_object *object)
{
    return object->lacks;
}

const char *__wrap_symbols_why(struct symbols_object *object)
{
    return object->why;
}

void __wrap_symbols_rows(struct symbols_object *object, uint64_t start, uint64_t end, symbols_each_row *each,
                         void *context)
{
    for (size_t i = 0; i < object->row_count; i++)
        if (object->rows[i].address >= start && object->rows[i].address <= end)
            each(context, object->rows[i].address, "/src", object->rows[i].file, object->rows[i].line);
}

size_t __wrap_symbols_lines(struct symbols_object *object, uint64_t file_offset, struct symbol_line *ret)
{
    size_t count = 0;
    object->asked_lines++;
    for (size_t i = 0; i < object->line_count; i++)
        if (object->lines[i].address == file_offset + object->shift)
            for (; count < 4 && object->lines[i].list[count].line; count++)
                ret[count] = object->lines[i].list[count];
    return count;
}

const char *__wrap_symbols_lines_why(struct symbols_object *object)
{
    return object->lines_why;
}
