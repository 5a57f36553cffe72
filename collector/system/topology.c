/* SPDX-License-Identifier: MIT */
#include "collector/system/topology.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TEXT_MAX = 256,      /* of a file of sysfs: lists of CPUs are longer only where no machine is */
    PADDING = 64,        /* perf's, of texts */
    INDEX_MAX = 16,      /* caches of a processor */
    NUMBERS_MAX = 65536, /* nodes, or memory blocks of a node */
};

/* The first line of a file below SYSFS. False: it cannot be read, or is longer. */
static bool read_line(char ret[TEXT_MAX], const char *sysfs, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool read_line(char ret[TEXT_MAX], const char *sysfs, const char *format, ...)
{
    char path[PATH_MAX];
    int start = snprintf(path, sizeof(path), "%s/", sysfs);
    va_list list;
    va_start(list, format);
    if (start > 0 && start < (int)sizeof(path))
        vsnprintf(path + start, sizeof(path) - (size_t)start, format, list);
    va_end(list);
    ret[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, ret, TEXT_MAX);
    close(fd);
    char *end = size > 0 ? memchr(ret, '\n', (size_t)size) : NULL;
    if (!end)
        end = size > 0 && size < TEXT_MAX ? ret + size : ret;
    *end = '\0';
    return ret[0] != '\0';
}

/* Whether TEXT begins with a number. */
static bool take_number(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return end != text && *text != '-' && errno == 0;
}

static uint32_t read_number(const char *sysfs, uint32_t cpu, const char *name)
{
    char text[TEXT_MAX];
    uint64_t number;
    bool known = read_line(text, sysfs, "devices/system/cpu/cpu%u/%s", cpu, name) && take_number(text, &number);
    return known ? (uint32_t)number : UINT32_MAX; /* perf's value for an unknown one */
}

static void append_text(struct buffer *to, const char *text)
{
    size_t size = strlen(text) + 1;
    buffer_u32(to, (uint32_t)size);
    buffer_append(to, text, size);
}

/* Padded: perf finds out by the size of what it has read whether ids follow the lists, and counts the padding. */
static void append_padded(struct buffer *to, const char *text)
{
    const size_t size = strlen(text) + 1, padded = (size + PADDING - 1) / PADDING * PADDING;
    buffer_u32(to, (uint32_t)padded);
    void *at = buffer_extend(to, padded);
    if (at)
        memcpy(at, text, size);
}

/* A count, which is not known yet; returns where it is. */
static size_t begin_count(struct buffer *to)
{
    size_t at = to->size;
    buffer_u32(to, 0);
    return at;
}

static void set_count(struct buffer *to, size_t at, uint32_t count)
{
    if (!buffer_failed(to))
        memcpy(to->data + at, &count, sizeof(count));
}

/* The different lists of CPUs that share what NAME or OTHER says: each is told by its first CPU. */
static uint32_t append_lists(const char *sysfs, uint32_t cpus, const char *name, const char *other, struct buffer *to)
{
    uint32_t count = 0;
    size_t at = begin_count(to);
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        char text[TEXT_MAX];
        uint64_t first;
        if (!read_line(text, sysfs, "devices/system/cpu/cpu%u/topology/%s", cpu, name) &&
            !read_line(text, sysfs, "devices/system/cpu/cpu%u/topology/%s", cpu, other))
            continue;
        if (!take_number(text, &first) || first != cpu)
            continue;
        append_padded(to, text);
        count++;
    }
    set_count(to, at, count);
    return count;
}

static void append_cpu_topology(const char *sysfs, uint32_t cpus, struct buffer *to)
{
    const size_t start = to->size;
    uint32_t lists = append_lists(sysfs, cpus, "package_cpus_list", "core_siblings_list", to);
    lists += append_lists(sysfs, cpus, "core_cpus_list", "thread_siblings_list", to);
    if (lists == 0) {
        to->size = start;
        return;
    }
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        buffer_u32(to, read_number(sysfs, cpu, "topology/core_id"));
        buffer_u32(to, read_number(sysfs, cpu, "topology/physical_package_id"));
    }
    const size_t dies = to->size;
    if (append_lists(sysfs, cpus, "die_cpus_list", "die_cpus_list", to) == 0) {
        to->size = dies;
        return;
    }
    for (uint32_t cpu = 0; cpu < cpus; cpu++)
        buffer_u32(to, read_number(sysfs, cpu, "topology/die_id"));
}

struct cache {
    uint32_t numbers[4]; /* level, line size, sets, ways */
    uint32_t order;      /* in which they were found */
    char type[TEXT_MAX], size[TEXT_MAX], cpus[TEXT_MAX];
};

/* 1; 0: another CPU tells it; -ENOENT: the CPU has no cache of that index. */
static int read_cache(const char *sysfs, uint32_t cpu, unsigned index, struct cache *ret)
{
    static const char *const names[] = {"level", "coherency_line_size", "number_of_sets", "ways_of_associativity"};
    char path[64];
    uint64_t first;
    snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/cache/index%u", cpu, index);
    if (!read_line(ret->cpus, sysfs, "%s/shared_cpu_list", path))
        return -ENOENT;
    if (!take_number(ret->cpus, &first) || first != cpu)
        return 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[TEXT_MAX];
        uint64_t number = 0;
        if (read_line(text, sysfs, "%s/%s", path, names[i]))
            take_number(text, &number);
        ret->numbers[i] = (uint32_t)number;
    }
    return read_line(ret->type, sysfs, "%s/type", path) && read_line(ret->size, sysfs, "%s/size", path);
}

static int compare_caches(const void *left, const void *right)
{
    const struct cache *a = left, *b = right;
    if (a->numbers[0] != b->numbers[0])
        return a->numbers[0] < b->numbers[0] ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Level by level, as perf has them. */
static void append_caches(const char *sysfs, uint32_t cpus, struct buffer *to)
{
    struct buffer found = BUFFER_INIT;
    struct cache cache = {.order = 0};
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        for (unsigned index = 0; index < INDEX_MAX; index++) {
            int status = read_cache(sysfs, cpu, index, &cache);
            if (status < 0)
                break;
            if (status > 0) {
                buffer_append(&found, &cache, sizeof(cache));
                cache.order++;
            }
        }
    }
    if (!buffer_failed(&found) && cache.order) {
        const struct cache *caches = (const struct cache *)found.data;
        qsort(found.data, cache.order, sizeof(cache), compare_caches);
        buffer_u32(to, 1); /* version of this section */
        buffer_u32(to, cache.order);
        for (uint32_t i = 0; i < cache.order; i++) {
            buffer_append(to, caches[i].numbers, sizeof(caches[i].numbers));
            append_text(to, caches[i].type);
            append_text(to, caches[i].size);
            append_text(to, caches[i].cpus);
        }
    }
    buffer_release(&found);
}

static int compare_numbers(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* The numbers N of the entries "PREFIXN" of a directory, sorted, into RET as uint32_t. */
static uint32_t list_numbers(const char *path, const char *prefix, struct buffer *ret)
{
    uint32_t count = 0;
    const size_t length = strlen(prefix);
    DIR *directory = opendir(path);
    if (!directory)
        return 0;
    for (const struct dirent *entry; count < NUMBERS_MAX && (entry = readdir(directory));) {
        uint64_t number;
        if (strncmp(entry->d_name, prefix, length) != 0 || !take_number(entry->d_name + length, &number) ||
            number >= NUMBERS_MAX)
            continue;
        buffer_u32(ret, (uint32_t)number);
        count++;
    }
    closedir(directory);
    if (buffer_failed(ret))
        return 0;
    if (count)
        qsort(ret->data, count, sizeof(uint32_t), compare_numbers);
    return count;
}

static uint32_t list_nodes(const char *sysfs, struct buffer *ret)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/devices/system/node", sysfs);
    return list_numbers(path, "node", ret);
}

static uint32_t number_in(const struct buffer *numbers, uint32_t at)
{
    uint32_t number;
    memcpy(&number, numbers->data + at * sizeof(number), sizeof(number));
    return number;
}

/* "Node 0 MemTotal:  5334816 kB" of a node's meminfo. */
static uint64_t memory_of(const char *text, const char *key)
{
    uint64_t number = 0;
    const char *found = strstr(text, key);
    if (found)
        take_number(found + strlen(key) + strspn(found + strlen(key), " \t"), &number);
    return number;
}

static void append_nodes(const char *sysfs, struct buffer *to)
{
    struct buffer nodes = BUFFER_INIT, text = BUFFER_INIT;
    const uint32_t count = list_nodes(sysfs, &nodes);
    if (count)
        buffer_u32(to, count);
    for (uint32_t i = 0; i < count; i++) {
        char path[PATH_MAX], cpus[TEXT_MAX];
        const uint32_t node = number_in(&nodes, i);
        snprintf(path, sizeof(path), "%s/devices/system/node/node%u/meminfo", sysfs, node);
        buffer_clear(&text);
        bool known = buffer_read_file(&text, path, 1 << 16) == 0;
        buffer_append(&text, "", 1);
        known = known && !buffer_failed(&text);
        buffer_u32(to, node);
        buffer_u64(to, known ? memory_of((const char *)text.data, "MemTotal:") : 0);
        buffer_u64(to, known ? memory_of((const char *)text.data, "MemFree:") : 0);
        read_line(cpus, sysfs, "devices/system/node/node%u/cpulist", node);
        append_text(to, cpus);
    }
    buffer_release(&nodes);
    buffer_release(&text);
}

/* The blocks of memory of a node as a bit set, with its size in bits before it, twice. */
static void append_blocks(const struct buffer *blocks, uint32_t count, struct buffer *to)
{
    const uint64_t bits = count ? number_in(blocks, count - 1) + 1ull : 0;
    buffer_u64(to, bits);
    buffer_u64(to, bits);
    for (uint64_t from = 0, i = 0; from < bits; from += 64) {
        uint64_t word = 0;
        for (; i < count && number_in(blocks, (uint32_t)i) < from + 64; i++)
            word |= 1ull << (number_in(blocks, (uint32_t)i) - from);
        buffer_u64(to, word);
    }
}

static void append_memory(const char *sysfs, struct buffer *to)
{
    char text[TEXT_MAX];
    struct buffer nodes = BUFFER_INIT, blocks = BUFFER_INIT;
    uint64_t size = read_line(text, sysfs, "devices/system/memory/block_size_bytes") ? strtoull(text, NULL, 16) : 0;
    const uint32_t count = size ? list_nodes(sysfs, &nodes) : 0;
    if (count) {
        buffer_u64(to, 1); /* version of this section */
        buffer_u64(to, size);
        buffer_u64(to, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/devices/system/node/node%u", sysfs, number_in(&nodes, i));
        buffer_clear(&blocks);
        uint32_t found = list_numbers(path, "memory", &blocks);
        buffer_u64(to, number_in(&nodes, i));
        append_blocks(&blocks, found, to);
    }
    buffer_release(&nodes);
    buffer_release(&blocks);
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void append_pmus(const char *sysfs, struct buffer *to)
{
    char path[PATH_MAX];
    struct dirent **entries = NULL;
    snprintf(path, sizeof(path), "%s/bus/event_source/devices", sysfs);
    int entry_count = scandir(path, &entries, is_name, alphasort);
    uint32_t count = 0;
    const size_t start = to->size, at = begin_count(to);
    for (int i = 0; i < entry_count; i++) {
        char text[TEXT_MAX];
        uint64_t type;
        if (read_line(text, sysfs, "bus/event_source/devices/%s/type", entries[i]->d_name) &&
            take_number(text, &type)) {
            buffer_u32(to, (uint32_t)type);
            append_text(to, entries[i]->d_name);
            count++;
        }
        free(entries[i]);
    }
    free(entries);
    set_count(to, at, count);
    if (count == 0)
        to->size = start;
}

void topology_append(enum perfdata_feature bit, const char *sysfs, uint32_t cpus, struct buffer *to)
{
    switch (bit) {
    case PERFDATA_CPU_TOPOLOGY: append_cpu_topology(sysfs, cpus, to); break;
    case PERFDATA_NUMA_TOPOLOGY: append_nodes(sysfs, to); break;
    case PERFDATA_PMU_MAPPINGS: append_pmus(sysfs, to); break;
    case PERFDATA_CACHE: append_caches(sysfs, cpus, to); break;
    case PERFDATA_MEM_TOPOLOGY: append_memory(sysfs, to); break;
    default: break;
    }
}
