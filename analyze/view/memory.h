/* SPDX-License-Identifier: MIT */
/*
 * Memory of the views. A view cannot show half an answer, so these never return NULL: when memory is used up the
 * program says so and ends with status 1. Nothing below analyze/view uses them.
 */
#ifndef ANALYZE_VIEW_MEMORY_H
#define ANALYZE_VIEW_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Says so and ends the program: for memory that was wanted below the views. */
_Noreturn void memory_exhausted(void);
/* Zeroed; COUNT 0 gives a valid pointer too. */
void *memory_new(size_t count, size_t size);
/* ARRAY with room for WANTED entries of SIZE; *CAPACITY is raised. New entries are not initialised. */
void *memory_grow(void *array, size_t *capacity, size_t wanted, size_t size);
char *memory_text(const char *text);
char *memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
