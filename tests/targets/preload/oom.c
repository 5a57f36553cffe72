/* SPDX-License-Identifier: MIT */
/* An allocator that fails, for pinject-run alone: from allocation OOM_FROM on, OOM_COUNT of them (default: all). */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

/* glibc's own, under the names that it has for replacements. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static unsigned long long from, count = ~0ull, done;
static int known; /* 0: the environment was not asked yet, 1: asked, 2: this program's fail */

static void ask(void)
{
    const char *first = getenv("OOM_FROM"), *how_many = getenv("OOM_COUNT");
    bool chosen = first && strcmp(program_invocation_short_name, "pinject-run") == 0;
    if (chosen)
        from = strtoull(first, NULL, 10);
    if (chosen && how_many)
        count = strtoull(how_many, NULL, 10);
    __atomic_store_n(&known, chosen ? 2 : 1, __ATOMIC_RELEASE);
}

static bool fails(void)
{
    if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE))
        ask();
    if (__atomic_load_n(&known, __ATOMIC_ACQUIRE) != 2)
        return false;
    unsigned long long number = __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    if (number < from || number - from >= count)
        return false;
    errno = ENOMEM;
    return true;
}

VISIBLE void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

VISIBLE void *calloc(size_t number, size_t size)
{
    return fails() ? NULL : __libc_calloc(number, size);
}

VISIBLE void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}
