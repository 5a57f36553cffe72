/* SPDX-License-Identifier: MIT */
/* libFuzzer entry: files of JIT compilers, and lists of the kernel's symbols. The first byte chooses: 'k' is a list,
 * another odd number a jitdump, an even one a perf map. */
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

static struct text_names copy_of(const char *text, size_t size)
{
    struct text_names names = {.text = malloc(size + 1), .size = size};
    if (size)
        memcpy(names.text, text, size);
    names.text[size] = '\0';
    return names;
}

/* Checks that the part of the list TEXT for ENTRY gives ADDRESS the same name. */
static void check_part(const char *text, size_t size, const struct name_entry *entry, uint64_t address)
{
    const struct kallsyms_wanted wanted = {.addresses = &entry->start, .count = 1};
    struct text_names names = copy_of(text, size), part;
    struct kallsyms_facts facts;
    struct name_pool pool = {0};
    struct name_table table;
    char *cut;
    size_t cut_size;
    if (text_names_cut_kallsyms(&names, &wanted, &cut, &cut_size) != 0)
        abort();
    part = copy_of(cut, cut_size);
    name_table_init(&table, &pool, true);
    text_names_add_kallsyms(&part, &table, NULL, &facts);
    const struct name_entry *found = name_table_find(&table, address);
    if (*entry->raw && (!found || strcmp(found->raw, entry->raw) != 0))
        abort();
    name_table_release(&table);
    name_pool_release(&pool);
    text_names_release(&part);
    text_names_release(&names);
    free(cut);
}

static void read_list(const char *text, size_t size)
{
    struct text_names names = copy_of(text, size);
    struct kallsyms_facts facts;
    struct name_pool pool = {0};
    struct name_table table;
    name_table_init(&table, &pool, true);
    text_names_add_kallsyms(&names, &table, "_stext", &facts);
    for (size_t i = 0; i < table.finished && i < 8; i++) {
        const uint64_t address = table.entries[i].start;
        const struct name_entry *entry = name_table_find(&table, address);
        if (entry)
            check_part(text, size, entry, address);
    }
    name_table_release(&table);
    name_pool_release(&pool);
    text_names_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] == 'k') {
        read_list((const char *)data + 1, size - 1);
        return 0;
    }
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
