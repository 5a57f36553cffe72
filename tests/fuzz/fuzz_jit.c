/* SPDX-License-Identifier: MIT */
/* libFuzzer entry: what just-in-time compilers leave. The first byte says which: a map (even) or a dump (odd). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sym/jit_dump.h"
#include "analyze/sym/text_names.h"
#include "tests/fuzz/fuzz.h"

static char path[] = "/tmp/pinject-fuzz-jit-XXXXXX";

static void clean_up(void)
{
    unlink(path);
}

static void read_dump(struct name_table *table, const uint8_t *data, size_t size)
{
    static bool made;
    int fd = made ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : mkostemp(path, O_CLOEXEC);
    if (!made)
        atexit(clean_up);
    made = true;
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        exit(1);
    close(fd);
    jit_dump_read(path, table);
    name_table_finish(table, NAME_LAST_WINS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct text_names names = {.text = malloc(size), .size = size - 1};
    struct name_pool pool = {0};
    struct name_table table;
    name_table_init(&table, &pool, false);
    memcpy(names.text, data + 1, size - 1);
    names.text[size - 1] = '\0';
    if (data[0] & 1)
        read_dump(&table, data + 1, size - 1);
    else
        text_names_add_jit(&names, &table);
    size_t length = 0;
    for (uint64_t address = 0; address < 4096; address += 61) {
        struct name_entry *entry = name_table_find(&table, address);
        length += entry ? strlen(name_table_name(&table, entry)) : 0;
    }
    name_table_release(&table);
    name_pool_release(&pool);
    text_names_release(&names);
    return length == SIZE_MAX;
}
