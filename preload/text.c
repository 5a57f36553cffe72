/* SPDX-License-Identifier: MIT */
/* Built with -fno-builtin, so that no loop here becomes a call of itself. */
#include "text.h"

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
#if defined(__x86_64__)
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
    return result;
#else
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
#endif
}

void *memmove(void *to, const void *from, size_t size)
{
    if ((uintptr_t)to <= (uintptr_t)from || (uintptr_t)to >= (uintptr_t)from + size) {
        for (size_t i = 0; i < size; i++)
            ((char *)to)[i] = ((const char *)from)[i];
    } else {
        for (size_t i = size; i-- > 0;)
            ((char *)to)[i] = ((const char *)from)[i];
    }
    return to;
}

void *memset(void *to, int byte, size_t size)
{
#if defined(__x86_64__)
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
    return result;
#else
    for (size_t i = 0; i < size; i++)
        ((volatile char *)to)[i] = (char)byte;
    return to;
#endif
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; i++)
        if (x[i] != y[i])
            return x[i] - y[i];
    return 0;
}

void *memchr(const void *bytes, int byte, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        if (at[i] == (unsigned char)byte)
            return (void *)(uintptr_t)(at + i);
    return NULL;
}

size_t strlen(const char *text)
{
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}

size_t strnlen(const char *text, size_t limit)
{
    size_t size = 0;
    while (size < limit && text[size])
        size++;
    return size;
}

int strncmp(const char *a, const char *b, size_t limit)
{
    for (size_t i = 0; i < limit; i++)
        if (a[i] != b[i] || a[i] == 0)
            return (unsigned char)a[i] - (unsigned char)b[i];
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int byte)
{
    for (;; text++) {
        if (*text == (char)byte)
            return (char *)(uintptr_t)text;
        if (*text == 0)
            return NULL;
    }
}

char *strrchr(const char *text, int byte)
{
    const char *found = NULL;
    for (;; text++) {
        if (*text == (char)byte)
            found = text;
        if (*text == 0)
            return (char *)(uintptr_t)found;
    }
}
