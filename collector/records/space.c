/* SPDX-License-Identifier: MIT */
#include "collector/records/space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Static, since versions of all spaces are compared. Context: the event loop's thread. */
static uint64_t next_version(void)
{
    static uint64_t last;
    return ++last;
}

struct mapping *mapping_new(const struct mapping *values, const char *path)
{
    size_t size = strlen(path) + 1;
    struct mapping *mapping = malloc(sizeof(*mapping) + size);
    if (!mapping)
        return NULL;
    *mapping = *values;
    mapping->references = 1;
    mapping->quota = NULL;
    memcpy(mapping->path, path, size);
    return mapping;
}

struct mapping *mapping_get(struct mapping *mapping)
{
    mapping->references++;
    return mapping;
}

static size_t size_of(const struct mapping *mapping)
{
    return sizeof(*mapping) + strlen(mapping->path) + 1;
}

void mapping_put(struct mapping *mapping)
{
    if (!mapping || --mapping->references)
        return;
    if (mapping->quota)
        mapping->quota->bytes -= size_of(mapping);
    if (mapping->quota && mapping->data)
        mapping->quota->data -= size_of(mapping);
    free(mapping);
}

static bool take_room(struct space *space, struct mapping *mapping)
{
    struct space_quota *quota = space->quota;
    if (!quota || mapping->quota)
        return true;
    if (quota->bytes + size_of(mapping) > SPACE_BYTES ||
        (mapping->data && quota->data + size_of(mapping) > SPACE_DATA_BYTES)) {
        quota->refused += !mapping->data;
        return false;
    }
    quota->bytes += size_of(mapping);
    quota->data += mapping->data ? size_of(mapping) : 0;
    mapping->quota = quota;
    return true;
}

bool mapping_same_dso(const struct mapping *a, const struct mapping *b)
{
    if (a == b)
        return true;
    return a->ino == b->ino && a->maj == b->maj && a->min == b->min && strcmp(a->path, b->path) == 0;
}

static void list_put(struct mapping_list *list)
{
    if (!list || --list->references)
        return;
    for (size_t i = 0; i < list->count; i++)
        mapping_put(list->items[i]);
    free(list->items);
    free(list->ranges);
    free(list);
}

static void put_item(struct mapping_list *list, struct mapping *mapping)
{
    list->data += mapping->data;
    list->items[list->count] = mapping;
    list->ranges[list->count++] = (struct mapping_range){mapping->start, mapping->size};
}

/* A new list with references to the items that are not younger than TIME_NS. */
static struct mapping_list *list_copy(const struct mapping_list *list, uint64_t time_ns)
{
    struct mapping_list *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return NULL;
    copy->references = 1;
    copy->capacity = (list ? list->count : 0) + 16;
    copy->items = malloc(copy->capacity * sizeof(*copy->items));
    copy->ranges = malloc(copy->capacity * sizeof(*copy->ranges));
    if (!copy->items || !copy->ranges) {
        list_put(copy);
        return NULL;
    }
    for (size_t i = 0; list && i < list->count; i++)
        if (list->items[i]->time_ns <= time_ns)
            put_item(copy, mapping_get(list->items[i]));
    return copy;
}

void space_init(struct space *space)
{
    *space = (struct space){.list = NULL};
}

void space_release(struct space *space)
{
    list_put(space->list);
    space->list = NULL;
    space->version = 0;
}

void space_move(struct space *space, struct space *to)
{
    space_release(to);
    *to = *space;
    space->list = NULL;
    space->version = 0;
}

/* Makes the list ours alone, with room for one more. */
static int make_writable(struct space *space)
{
    struct mapping_list *list = space->list;
    if (!list || list->references > 1) {
        struct mapping_list *copy = list_copy(list, UINT64_MAX);
        if (!copy)
            return -ENOMEM;
        list_put(list);
        space->list = copy;
        return 0;
    }
    if (list->count < list->capacity)
        return 0;
    struct mapping **items = realloc(list->items, 2 * list->capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    list->items = items;
    struct mapping_range *ranges = realloc(list->ranges, 2 * list->capacity * sizeof(*ranges));
    if (!ranges)
        return -ENOMEM;
    list->ranges = ranges;
    list->capacity *= 2;
    return 0;
}

static bool covers_range(const struct mapping *newer, const struct mapping_range *older)
{
    return older->start >= newer->start && older->start - newer->start <= newer->size &&
           older->size <= newer->size - (older->start - newer->start);
}

/* Removes those that CHOSEN selects, from FIRST on, at most MOST. Returns how many. */
static size_t take_out(struct mapping_list *list, size_t first, size_t most,
                       bool chosen(const struct mapping_list *, size_t, const struct mapping *),
                       const struct mapping *mapping)
{
    size_t kept = first, out = 0;
    for (size_t i = first; i < list->count; i++) {
        if (out < most && chosen(list, i, mapping)) {
            list->data -= list->items[i]->data;
            mapping_put(list->items[i]);
            out++;
            continue;
        }
        list->items[kept] = list->items[i];
        list->ranges[kept++] = list->ranges[i];
    }
    list->count = kept;
    return out;
}

static bool is_covered(const struct mapping_list *list, size_t index, const struct mapping *mapping)
{
    return covers_range(mapping, &list->ranges[index]) && list->items[index]->time_ns <= mapping->time_ns;
}

static bool is_data(const struct mapping_list *list, size_t index, const struct mapping *mapping)
{
    (void)mapping;
    return list->items[index]->data;
}

static bool is_nameless(const struct mapping_list *list, size_t index, const struct mapping *mapping)
{
    (void)mapping;
    const char *path = list->items[index]->path;
    return !list->items[index]->data && path[0] == '/' && path[1] == '/';
}

static bool is_code(const struct mapping_list *list, size_t index, const struct mapping *mapping)
{
    (void)mapping;
    return !list->items[index]->data;
}

int space_add(struct space *space, struct mapping *mapping)
{
    int error = make_writable(space);
    if (error)
        return error;
    struct mapping_list *list = space->list;
    size_t first = 0, most = SPACE_MAPPINGS / 8;
    while (first < list->count && !covers_range(mapping, &list->ranges[first]))
        first++;
    take_out(list, first, SIZE_MAX, is_covered, mapping);
    if (!mapping->data && list->count - list->data >= SPACE_MAPPINGS) {
        size_t out = take_out(list, 0, most, is_nameless, NULL);
        space->forgotten += out + take_out(list, 0, most - out, is_code, NULL);
    }
    if (mapping->data && list->data >= SPACE_DATA)
        take_out(list, 0, SPACE_DATA / 8, is_data, NULL);
    const bool has_room = take_room(space, mapping);
    if (has_room)
        put_item(list, mapping_get(mapping));
    space->version = next_version();
    return has_room ? 0 : -ENOSPC;
}

int space_fork(const struct space *space, uint64_t time_ns, struct space *copy)
{
    bool shared = true;
    *copy = (struct space){.quota = space->quota, .data = space->data};
    if (!space->list)
        return 0;
    for (size_t i = space->list->count; shared && i-- > 0;)
        shared = space->list->items[i]->time_ns <= time_ns;
    copy->list = shared ? space->list : list_copy(space->list, time_ns);
    if (!copy->list)
        return -ENOMEM;
    copy->version = shared ? space->version : next_version();
    if (shared)
        copy->list->references++;
    return 0;
}

/* The kernel writes a newline in a name as \012. */
static void unescape(char *path)
{
    char *to = path;
    for (const char *at = path; *at; to++) {
        bool newline = strncmp(at, "\\012", 4) == 0;
        *to = newline ? '\n' : *at;
        at += newline ? 4 : 1;
    }
    *to = '\0';
}

/* Most lines are not: they need not be parsed in full. */
static bool looks_executable(const char *line, size_t size)
{
    const char *access = memchr(line, ' ', size);
    return access && (size_t)(line + size - access) > 4 && access[3] == 'x';
}

/* LINE is modified. True when it is an executable mapping, or, with DATA, any. */
static bool parse_line(char *line, bool data, struct mapping *values, const char **ret_path)
{
    char access[5];
    uint64_t end;
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n", &values->start,
               &end, access, &values->offset, &values->maj, &values->min, &values->ino, &at) < 7 ||
        strlen(access) != 4 || end <= values->start || (access[2] != 'x' && !data))
        return false;
    values->size = end - values->start;
    values->data = access[2] != 'x';
    values->prot = (values->data ? 0 : PROT_EXEC) | (access[0] == 'r' ? PROT_READ : 0) |
                   (access[1] == 'w' ? PROT_WRITE : 0);
    values->flags = access[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    char *path = line + at + strspn(line + at, " \t");
    /* No record of the kernel has it, and it is no code any more: the kernel does what is called there. */
    if (strcmp(path, "[vsyscall]") == 0)
        return false;
    unescape(path);
    *ret_path = *path ? path : "//anon";
    return true;
}

/* The lines of /proc come in order, one after the other: the first of them need not be compared with each other. */
static int add_line(struct space *space, const struct mapping *values, const char *path, uint64_t *end)
{
    struct mapping *mapping = mapping_new(values, path);
    int error = mapping ? 0 : -ENOMEM;
    if (mapping && *end <= values->start && !(error = make_writable(space))) {
        if (take_room(space, mapping))
            put_item(space->list, mapping_get(mapping));
        space->version = next_version();
        *end = values->start + values->size;
    } else if (mapping && !error) {
        *end = UINT64_MAX;
        error = space_add(space, mapping);
    }
    mapping_put(mapping);
    return error == -ENOSPC ? 0 : error;
}

int space_add_maps(struct space *space, const char *maps, uint64_t time_ns)
{
    int error = 0;
    uint64_t end = space->list ? UINT64_MAX : 0;
    size_t added[2] = {0}; /* code, data */
    while (*maps && !error) {
        char line[8192];
        const char *newline = strchr(maps, '\n'), *path;
        size_t size = newline ? (size_t)(newline - maps) : strlen(maps);
        struct mapping values = {.time_ns = time_ns};
        const bool code = looks_executable(maps, size);
        const bool wanted = size < sizeof(line) && (space->data || code);
        if (wanted && added[!code] == (code ? (size_t)SPACE_MAPPINGS : (size_t)SPACE_DATA)) {
            space->forgotten += code;
        } else if (wanted) {
            memcpy(line, maps, size);
            line[size] = '\0';
            if (parse_line(line, space->data, &values, &path) && ++added[!code])
                error = add_line(space, &values, path, &end);
        }
        maps += size + (newline != NULL);
    }
    return error;
}

static bool do_overlap(const struct mapping_range *a, const struct mapping *b)
{
    return a->start - b->start < b->size || b->start - a->start < a->size;
}

bool space_knows(const struct space *space, const struct mapping *mapping)
{
    size_t i = space_count(space);
    while (i-- > 0)
        if (do_overlap(&space->list->ranges[i], mapping)) {
            const struct mapping *known = space_at(space, i);
            /* /proc tells no generation */
            return known->start == mapping->start && known->size == mapping->size && known->offset == mapping->offset &&
                   known->time_ns <= mapping->time_ns && known->data == mapping->data &&
                   mapping_same_dso(known, mapping) &&
                   (known->ino_generation == mapping->ino_generation || !known->ino_generation);
        }
    return false;
}

bool space_has(const struct space *space, const struct mapping *mapping, bool dso)
{
    for (size_t i = space_count(space); i-- > 0;) {
        const struct mapping_range *range = &space->list->ranges[i];
        if (range->start == mapping->start && range->size == mapping->size &&
            space_at(space, i)->data == mapping->data && space_at(space, i)->offset == mapping->offset &&
            (!dso || mapping_same_dso(space_at(space, i), mapping)))
            return true;
    }
    return false;
}

/* For a mapping without ADDRESS: what is at ADDRESS ends where that begins, or begins where that ends. */
static void narrow_gap(uint64_t address, uint64_t start, uint64_t end, uint64_t *low, uint64_t *high)
{
    if (start > address)
        *high = start < *high ? start : *high;
    else
        *low = end > *low ? end : *low;
}

const struct mapping *space_find(const struct space *space, uint64_t address, uint64_t *low, uint64_t *high)
{
    uint64_t unused_low, unused_high;
    low = low ? low : &unused_low;
    high = high ? high : &unused_high;
    *low = 0;
    *high = UINT64_MAX;
    for (size_t i = space_count(space); i-- > 0;) {
        const uint64_t start = space->list->ranges[i].start, size = space->list->ranges[i].size;
        if (space->data && space_at(space, i)->data)
            continue;
        if (address < start || address - start >= size) {
            narrow_gap(address, start, start + size, low, high);
            continue;
        }
        *low = start > *low ? start : *low;
        *high = start + size < *high ? start + size : *high;
        return space_at(space, i);
    }
    return NULL;
}

const struct mapping *space_find_data(const struct space *space, uint64_t address)
{
    size_t i = space_count(space);
    while (i-- > 0) {
        const struct mapping_range *range = &space->list->ranges[i];
        if (address >= range->start && address - range->start < range->size)
            return space_at(space, i)->data ? space_at(space, i) : NULL;
    }
    return NULL;
}

size_t space_count(const struct space *space)
{
    return space->list ? space->list->count : 0;
}

struct mapping *space_at(const struct space *space, size_t index)
{
    return space->list->items[index];
}
