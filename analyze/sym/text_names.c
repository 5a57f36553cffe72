/* SPDX-License-Identifier: MIT */
#include "analyze/sym/text_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/sym/elf_file.h"
#include "common/bound.h"

enum { TEXT_LIMIT = 512 * 1024 * 1024 };

static int read_all(struct text_names *names, int fd, size_t expected)
{
    size_t capacity = (expected < TEXT_LIMIT ? expected : 0) + 64 * 1024;

    for (;;) {
        ssize_t got;

        if (!names->text || names->size + 1 >= capacity) {
            char *grown;

            if (names->text)
                capacity *= 2;
            grown = capacity <= TEXT_LIMIT ? realloc(names->text, capacity) : NULL;
            if (!grown)
                return capacity <= TEXT_LIMIT ? -ENOMEM : -EFBIG;
            names->text = grown;
        }
        got = read(fd, names->text + names->size, capacity - 1 - names->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        names->text[names->size + (size_t)got] = '\0';
        if (got == 0)
            return 0;
        names->size += (size_t)got;
    }
}

int text_names_init(struct text_names *names, const char *path, int extra_flags, uint32_t *ret_owner)
{
    struct stat status;
    uint64_t size;
    int fd, error;

    memset(names, 0, sizeof(*names));
    fd = elf_file_open_regular(path, extra_flags, &size);
    if (fd < 0)
        return fd;
    error = fstat(fd, &status) < 0 ? -errno : read_all(names, fd, (size_t)size);
    close(fd);
    if (error)
        text_names_release(names);
    else if (ret_owner)
        *ret_owner = status.st_uid;
    return error;
}

void text_names_release(struct text_names *names)
{
    free(names->text);
    memset(names, 0, sizeof(*names));
}

/* Ends the line at *CURSOR with a NUL and moves on; NULL at the end. Bytes after a NUL in a line are ignored. */
static char *next_line(char **cursor, const char *end)
{
    char *line = *cursor, *newline;

    if (line >= end)
        return NULL;
    newline = memchr(line, '\n', (size_t)(end - line));
    if (newline)
        *newline = '\0';
    *cursor = newline ? newline + 1 : (char *)end;
    return line;
}

/* Takes a hexadecimal number with or without 0x, and the space after it. */
static bool take_hex(char **at, uint64_t *ret_number)
{
    uint64_t number = 0;
    char *digit = *at;

    if (digit[0] == '0' && (digit[1] == 'x' || digit[1] == 'X'))
        digit += 2;
    for (; isxdigit((unsigned char)*digit); digit++) {
        unsigned value = isdigit((unsigned char)*digit) ? (unsigned)(*digit - '0')
                                                        : (unsigned)(tolower((unsigned char)*digit) - 'a' + 10);

        if (number >> 60)
            return false;
        number = number << 4 | value;
    }
    if (digit == *at || *digit != ' ')
        return false;
    *ret_number = number;
    *at = digit + 1;
    return true;
}

/* Splits "name\t[module]" in place. Returns the module's name without brackets, or NULL. */
static const char *cut_module(char *name)
{
    char *tab = strchr(name, '\t'), *close;

    if (!tab)
        return NULL;
    *tab = '\0';
    if (tab[1] != '[' || !(close = strchr(tab + 2, ']')))
        return NULL;
    *close = '\0';
    return tab + 2;
}

/* kallsyms has no sizes: as in perf, the last symbol of a module ends at a page boundary. */
static void limit_to_module(struct name_table *table)
{
    for (size_t i = 0; i < table->finished; i++) {
        struct name_entry *entry = &table->entries[i];
        const char *next = i + 1 < table->finished ? table->entries[i + 1].module : NULL;
        bool last = i + 1 == table->finished;
        uint64_t page_end = ((entry->start + 4095) & ~UINT64_C(4095)) + 4096;

        if (!last && (entry->module == next || (entry->module && next && !strcmp(entry->module, next))))
            continue;
        if (page_end > entry->start && page_end < entry->end)
            entry->end = page_end;
    }
}

/* Parses "ADDRESS TYPE NAME"; the name is followed by its module. */
static bool take_kallsym(char *line, struct name_entry *ret, char *ret_type, char **ret_name)
{
    if (!take_hex(&line, &ret->start) || !line[0] || line[1] != ' ' || !line[2])
        return false;
    *ret_type = line[0];
    *ret_name = line + 2;
    return true;
}

/* Whether to take a symbol of TYPE: those that perf takes. */
static bool is_taken(char type)
{
    return strchr("tTwWdDbB", type) != NULL;
}

void text_names_add_kallsyms(struct text_names *names, struct name_table *table, const char *reference,
                             struct kallsyms_facts *ret_facts)
{
    char *cursor = names->text, *line;
    bool seen_address = false, seen_line = false;
    uint64_t reference_address = 0;

    while ((line = next_line(&cursor, names->text + names->size))) {
        struct name_entry entry = {.limit = UINT64_MAX};
        char type, *name;

        if (!take_kallsym(line, &entry, &type, &name))
            continue;
        seen_line = true;
        seen_address = seen_address || entry.start != 0;
        if (!is_taken(type) || entry.start == 0)
            continue;
        entry.raw = name;
        entry.module = cut_module(name);
        entry.end = entry.start;
        /* "w" counts as local, as in perf. */
        entry.flags = type == 'W' ? NAME_WEAK : isupper((unsigned char)type) ? NAME_GLOBAL : 0;
        name_table_add(table, &entry);
        if (reference && !entry.module && !strcmp(entry.raw, reference))
            reference_address = entry.start;
    }
    *ret_facts = (struct kallsyms_facts){.hidden = seen_line && !seen_address, .reference = reference_address};
    /* As in perf, where the last of several names wins as a side effect of how it computes sizes. */
    name_table_finish(table, NAME_LAST_WINS);
    limit_to_module(table);
}

struct kallsym {
    uint64_t address;
    const char *name, *module;
    size_t number; /* position in the list: decides which of several names counts */
    char type;
    bool wanted; /* set on the first symbol of an address: all of that address are wanted */
};

struct kallsyms {
    struct kallsym *list;
    size_t count, capacity;
};

static int by_address(const void *one, const void *other)
{
    const struct kallsym *a = one, *b = other;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int read_kallsyms(struct text_names *names, bool modules, struct kallsyms *ret)
{
    char *cursor = names->text, *line;

    while ((line = next_line(&cursor, names->text + names->size))) {
        struct name_entry entry = {0};
        struct kallsym symbol = {.number = ret->count};
        char *name;

        if (!take_kallsym(line, &entry, &symbol.type, &name) || !is_taken(symbol.type) || !entry.start)
            continue;
        symbol.address = entry.start;
        symbol.module = cut_module(name);
        symbol.name = name;
        if (symbol.module && !modules)
            continue;
        if (ret->count == ret->capacity) {
            size_t capacity = ret->capacity ? 2 * ret->capacity : 4096;
            struct kallsym *grown = realloc(ret->list, capacity * sizeof(*grown));

            if (!grown)
                return -ENOMEM;
            ret->list = grown;
            ret->capacity = capacity;
        }
        ret->list[ret->count++] = symbol;
    }
    if (ret->count)
        qsort(ret->list, ret->count, sizeof(*ret->list), by_address);
    return 0;
}

/* The first symbol at or after ADDRESS. */
static size_t first_from(const struct kallsyms *all, uint64_t address)
{
    return LOWER_BOUND(all->list, all->count, .address, address);
}

static void mark_kallsyms(struct kallsyms *all, const struct kallsyms_wanted *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        uint64_t address = wanted->addresses[i];
        size_t behind = address < UINT64_MAX ? first_from(all, address + 1) : all->count;

        if (behind)
            all->list[first_from(all, all->list[behind - 1].address)].wanted = true;
    }
    for (size_t i = 0; wanted->reference && i < all->count; i++)
        if (!all->list[i].module && !strcmp(all->list[i].name, wanted->reference))
            all->list[first_from(all, all->list[i].address)].wanted = true;
}

static void print_kallsym(FILE *to, const struct kallsym *symbol, const char *name, uint64_t shift)
{
    fprintf(to, "%016" PRIx64 " %c %s", symbol->address + shift, symbol->type, name);
    if (symbol->module)
        fprintf(to, "\t[%s]", symbol->module);
    fputc('\n', to);
}

int text_names_cut_kallsyms(struct text_names *names, const struct kallsyms_wanted *wanted, char **ret,
                            size_t *ret_size)
{
    struct kallsyms all = {0};
    int error = read_kallsyms(names, wanted->shift == 0, &all);
    FILE *to = error ? NULL : open_memstream(ret, ret_size);
    bool taking = false, took = false;

    mark_kallsyms(&all, wanted);
    for (size_t i = 0; to && i < all.count; i++) {
        const struct kallsym *symbol = &all.list[i];

        if (!i || symbol->address != all.list[i - 1].address) {
            took = taking;
            taking = symbol->wanted;
            if (took && !taking)
                print_kallsym(to, symbol, KALLSYMS_GAP, wanted->shift);
        }
        if (taking)
            print_kallsym(to, symbol, symbol->name, wanted->shift);
    }
    free(all.list);
    if (!to)
        return -ENOMEM;
    error = ferror(to) ? -ENOMEM : 0;
    if (fclose(to) != 0)
        error = -ENOMEM;
    if (error)
        free(*ret);
    return error;
}

void text_names_add_jit(struct text_names *names, struct name_table *table)
{
    char *cursor = names->text, *line;

    while ((line = next_line(&cursor, names->text + names->size))) {
        struct name_entry entry = {.limit = UINT64_MAX, .flags = NAME_GLOBAL};
        uint64_t size;

        if (!take_hex(&line, &entry.start) || !take_hex(&line, &size) || !size || size > UINT64_MAX - entry.start)
            continue;
        entry.raw = line;
        entry.end = entry.start + size;
        if (line[0])
            name_table_add(table, &entry);
    }
    name_table_finish(table, NAME_LAST_WINS);
}
