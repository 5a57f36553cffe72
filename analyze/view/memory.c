/* SPDX-License-Identifier: MIT */
#include "analyze/view/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report.h"

void memory_exhausted(void)
{
    report_error("out of memory; give fewer files, or select tasks (--pid, --comm)");
    exit(1);
}

static void *require_memory(void *memory)
{
    if (!memory)
        memory_exhausted();
    return memory;
}

void *memory_new(size_t count, size_t size)
{
    return require_memory(calloc(count ? count : 1, size ? size : 1));
}

void *memory_grow(void *array, size_t *capacity, size_t wanted, size_t size)
{
    if (array && wanted <= *capacity)
        return array;
    size_t more = *capacity ? *capacity : 16;
    while (more < wanted)
        more = more > SIZE_MAX / 2 ? wanted : more * 2;
    array = require_memory(reallocarray(array, more, size));
    *capacity = more;
    return array;
}

char *memory_text(const char *text)
{
    return require_memory(strdup(text));
}

char *memory_print(const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    int size = vasprintf(&text, format, list);
    va_end(list);
    return require_memory(size < 0 ? NULL : text);
}
