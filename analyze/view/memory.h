/* SPDX-License-Identifier: MIT */
/*
 * Memory of the views. A view cannot show half a result, so these functions never return NULL: out of memory, the
 * program reports it and exits with status 1. Only analyze/view and layers above it use them.
 */
#ifndef ANALYZE_VIEW_MEMORY_H
#define ANALYZE_VIEW_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Reports that there is no memory and exits: for -ENOMEM from layers below the views. */
_Noreturn void memory_exhausted(void);
/* Zeroed. COUNT 0 also gives a valid pointer. */
void *memory_new(size_t count, size_t size);
/* ARRAY, perhaps moved, with room for WANTED entries of SIZE bytes; raises *CAPACITY. New entries are not
 * initialised. */
void *memory_grow(void *array, size_t *capacity, size_t wanted, size_t size);
char *memory_text(const char *text);
char *memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
