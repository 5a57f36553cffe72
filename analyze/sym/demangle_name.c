/* SPDX-License-Identifier: MIT */
#include "analyze/sym/demangle_name.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

/* Every few bytes of substitutions double the output: 1 KiB of hostile name could print for hours. */
enum { DEMANGLE_LIMIT = 64 * 1024 };
/* A hostile symbol table may have a million such names: the bytes of all names together are bounded, too. */
enum { DEMANGLE_BUDGET = 512 * 1024 * 1024 };

struct output {
    char *bytes;
    size_t size, capacity;
    jmp_buf full;
};

/*
 * Leaves the demangler by longjmp, the only way to stop its callback interface. That is safe because the callback
 * variants allocate nothing ("allocation-less" in demangle.h): all their state is on the stack.
 */
static void append_text(const char *text, size_t size, void *opaque)
{
    struct output *output = opaque;

    if (size > DEMANGLE_LIMIT - output->size)
        longjmp(output->full, 1);
    if (output->capacity - output->size < size) {
        size_t capacity = 2 * (output->size + size) + 128;
        char *grown = realloc(output->bytes, capacity);

        if (!grown)
            longjmp(output->full, 1);
        output->bytes = grown;
        output->capacity = capacity;
    }
    if (size)
        memcpy(output->bytes + output->size, text, size);
    output->size += size;
}

/* Not inlined, and without locals that change: longjmp has nothing to clobber. */
static __attribute__((noinline)) bool demangle(const char *raw, struct output *output)
{
    if (setjmp(output->full))
        return false;
    if (rust_demangle_callback(raw, DMGL_NO_OPTS, append_text, output))
        return true;
    output->size = 0;
    return cplus_demangle_v3_callback(raw, DMGL_NO_OPTS, append_text, output) != 0;
}

const char *demangle_name(struct name_pool *pool, const char *raw)
{
    struct output output = {NULL, 0, 0};
    const char *name = NULL;

    if (strncmp(raw, "_Z", 2) && strncmp(raw, "_R", 2) && strncmp(raw, "_GLOBAL_", 8))
        return raw;
    if (pool->demangled > DEMANGLE_BUDGET)
        return raw;
    if (demangle(raw, &output) && output.size && !memchr(output.bytes, '\0', output.size))
        name = name_pool_string(pool, output.bytes, output.size);
    pool->demangled += output.size;
    free(output.bytes);
    return name ? name : raw;
}
