/* SPDX-License-Identifier: MIT */
/*
 * Our own functions of string.h. libc's may be interceptors of a sanitizer that is not initialized yet, or the
 * program's. Calls that the compiler generates (memcpy of a struct) come here too. Compared to what the hooks do, their
 * speed does not matter.
 */
#ifndef PINJECT_PRELOAD_TEXT_H
#define PINJECT_PRELOAD_TEXT_H

#include <stdint.h>
#include <string.h> /* hidden by the version script: every reference binds within the preload object */

/* Joins FIRST and SECOND; 0 if they do not fit. */
static inline int pinject_text_join(char *out, size_t size, const char *first, const char *second)
{
    size_t a = strlen(first), b = strlen(second);
    if (a + b >= size)
        return 0;
    memcpy(out, first, a);
    memcpy(out + a, second, b + 1);
    return 1;
}

/* Writes a dot and VALUE before END: 21 bytes at most. Returns the start. */
static inline char *pinject_text_number(char *end, uint64_t value)
{
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    *--end = '.';
    return end;
}

#endif
