/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include "text.h"

enum { VERSION_HIDDEN = 0x8000 }; /* an old version of a name, for programs linked at that time */

/* glibc's. Weak: with another libc nothing is found. */
extern struct r_debug _r_debug __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The list of another namespace (dlmopen), since glibc 2.35: r_version is 2 then. */
struct debug_extended {
    struct r_debug base;
    struct debug_extended *next;
};

/* The parts of a DSO's dynamic section that we need. */
struct table {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
};

const struct link_map *pinject_symbols_self(void)
{
    const struct r_debug *debug = &_r_debug;
    while (debug && debug->r_version > 0) {
        for (const struct link_map *map = debug->r_map; map; map = map->l_next)
            if (map->l_ld == _DYNAMIC)
                return map;
        debug = debug->r_version > 1 ? (const struct r_debug *)((const struct debug_extended *)debug)->next : NULL;
    }
    return NULL;
}

/* glibc replaces the offsets by addresses, except where the section is read-only (vDSO, some architectures). */
static const void *relocate_address(const struct table *table, uintptr_t value)
{
    return (const void *)(value < table->base ? value + table->base : value);
}

static bool read_table(struct table *table, uintptr_t base, const ElfW(Dyn) * dynamic)
{
    *table = (struct table){.base = base};
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *at = relocate_address(table, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB: table->symbols = at; break;
        case DT_STRTAB: table->strings = at; break;
        case DT_VERSYM: table->versions = at; break;
        case DT_GNU_HASH: table->gnu_hash = at; break;
        case DT_HASH: table->hash = at; break;
        }
    }
    return table->symbols && table->strings && (table->gnu_hash || table->hash);
}

static void *address_of(const struct table *table, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &table->symbols[index];
    unsigned type = symbol->st_info & 0xf, binding = symbol->st_info >> 4;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || (type != STT_FUNC && type != STT_NOTYPE) ||
        (binding != STB_GLOBAL && binding != STB_WEAK) ||
        (table->versions && table->versions[index] & VERSION_HIDDEN) ||
        strcmp(table->strings + symbol->st_name, name) != 0)
        return NULL;
    return (void *)(table->base + symbol->st_value);
}

static void *find_by_gnu_hash(const struct table *table, const char *name)
{
    const uint32_t *words = table->gnu_hash;
    uint32_t buckets = words[0], first = words[1], bloom_size = words[2], bloom_shift = words[3], hash = 5381;
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(words + 4);
    const uint32_t *bucket = (const uint32_t *)(const void *)(bloom + bloom_size);
    const unsigned bits = 8 * sizeof(*bloom);
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    if (buckets == 0 || bloom_size == 0)
        return NULL;
    ElfW(Addr) word = bloom[hash / bits % bloom_size];
    if (!(word >> hash % bits & word >> (hash >> bloom_shift) % bits & 1))
        return NULL;
    const uint32_t *chain = bucket + buckets;
    uint32_t index = bucket[hash % buckets];
    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t other = chain[index - first];
        void *address = (other | 1) == (hash | 1) ? address_of(table, index, name) : NULL;
        if (address || other & 1)
            return address;
    }
}

static void *find_by_hash(const struct table *table, const char *name)
{
    const uint32_t *bucket = table->hash + 2, *chain = bucket + table->hash[0];
    uint32_t hash = 0;
    for (const char *at = name; *at; at++) {
        hash = (hash << 4) + (unsigned char)*at;
        hash = (hash ^ (hash & 0xf0000000u) >> 24) & 0x0fffffffu;
    }
    if (table->hash[0] == 0)
        return NULL;
    for (uint32_t index = bucket[hash % table->hash[0]]; index != STN_UNDEF; index = chain[index]) {
        void *address = address_of(table, index, name);
        if (address)
            return address;
    }
    return NULL;
}

static void *find_in_table(const struct table *table, const char *name)
{
    return table->gnu_hash ? find_by_gnu_hash(table, name) : find_by_hash(table, name);
}

size_t pinject_symbols_find(struct pinject_symbol *symbols, size_t count)
{
    const struct link_map *map = pinject_symbols_self();
    size_t missing = 0;
    for (size_t i = 0; i < count; i++)
        missing += !symbols[i].address;
    while (missing > 0 && map && (map = map->l_next)) {
        struct table table;
        if (!read_table(&table, map->l_addr, map->l_ld))
            continue;
        for (size_t i = 0; i < count; i++)
            if (!symbols[i].address && (symbols[i].address = find_in_table(&table, symbols[i].name)))
                missing--;
    }
    return missing;
}

struct search {
    const char *name;
    void *address;
    bool behind; /* after our own DSO */
};

static int search_dso(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct table table;
    const ElfW(Dyn) *dynamic = NULL;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (search->behind && read_table(&table, info->dlpi_addr, dynamic))
        search->address = find_in_table(&table, search->name);
    search->behind |= dynamic == _DYNAMIC;
    return search->address != NULL;
}

void *pinject_symbols_find_late(int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *),
                                const char *name)
{
    struct search search = {.name = name};
    iterate(search_dso, &search);
    return search.address;
}
