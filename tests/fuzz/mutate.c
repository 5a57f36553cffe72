/* SPDX-License-Identifier: MIT */
/*
 * A harness without libFuzzer: mutates its argument files, always in the same way: mutate_NAME ROUNDS FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "tests/fuzz/fuzz.h"

static uint64_t state = 0x2545f4914f6cdd1dull;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Sets one to eight bytes to a typical number, copies a piece over another, or cuts off the end. */
static size_t mutate(unsigned char *bytes, size_t size)
{
    static const uint64_t values[] = {0,          1,          7,          8,          0xff,   0xffff,
                                      0x7fffffff, 0xffffffff, UINT64_MAX, 1ull << 63, 0x1000, 250};
    for (uint64_t i = next() % 6 + 1; i > 0; i--) {
        size_t at = next() % size, width = 1u << next() % 4;
        uint64_t value = next() % 4 ? values[next() % (sizeof(values) / sizeof(values[0]))] : next();
        if (width > size - at)
            width = size - at;
        if (next() % 8)
            memcpy(bytes + at, &value, width);
        else
            memmove(bytes + at, bytes + next() % (size - width + 1), width);
    }
    return next() % 16 ? size : next() % size + 1;
}

static void run(const char *path, unsigned long rounds)
{
    struct buffer file = BUFFER_INIT;
    if (buffer_read_file(&file, path, 1u << 20) < 0 || file.size == 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    for (unsigned long i = 0; i < rounds; i++) {
        unsigned char *copy = malloc(file.size);
        memcpy(copy, file.data, file.size);
        size_t size = mutate(copy, file.size);
        /* Exactly sized, so that sanitizers find reads past its end: */
        unsigned char *exact = realloc(copy, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    buffer_release(&file);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    /* Messages about thousands of damaged files are of no interest here. */
    if (!freopen("/dev/null", "w", stderr))
        return 1;
    for (int i = 2; i < argc; i++)
        run(argv[i], rounds);
    printf("%lu rounds of %d files\n", rounds, argc - 2);
    return 0;
}
