/* SPDX-License-Identifier: MIT */
#include "collector/space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Static, since numbers are compared between all spaces. Context: the event loop's thread. */
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
    memcpy(mapping->path, path, size);
    return mapping;
}

struct mapping *mapping_get(struct mapping *mapping)
{
    mapping->references++;
    return mapping;
}

void mapping_put(struct mapping *mapping)
{
    if (mapping && --mapping->references == 0)
        free(mapping);
}

bool mapping_same_object(const struct mapping *a, const struct mapping *b)
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
    free(list);
}

/* A list of its own with references to the items that are not younger than TIME_NS. */
static struct mapping_list *list_copy(const struct mapping_list *list, uint64_t time_ns)
{
    struct mapping_list *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return NULL;
    copy->references = 1;
    copy->capacity = (list ? list->count : 0) + 16;
    copy->items = malloc(copy->capacity * sizeof(*copy->items));
    if (!copy->items) {
        free(copy);
        return NULL;
    }
    for (size_t i = 0; list && i < list->count; i++)
        if (list->items[i]->time_ns <= time_ns)
            copy->items[copy->count++] = mapping_get(list->items[i]);
    return copy;
}

void space_init(struct space *space)
{
    space->list = NULL;
    space->version = 0;
}

void space_release(struct space *space)
{
    list_put(space->list);
    space_init(space);
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
    list->capacity *= 2;
    return 0;
}

static bool covers(const struct mapping *newer, const struct mapping *older)
{
    return older->start >= newer->start && older->start - newer->start <= newer->size &&
           older->size <= newer->size - (older->start - newer->start);
}

int space_add(struct space *space, struct mapping *mapping)
{
    int error = make_writable(space);
    if (error)
        return error;
    struct mapping_list *list = space->list;
    size_t kept = 0, first = list->count >= SPACE_MAPPINGS ? list->count / 8 : 0;
    for (size_t i = 0; i < list->count; i++) {
        if (i < first || (covers(mapping, list->items[i]) && list->items[i]->time_ns <= mapping->time_ns))
            mapping_put(list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->items[kept++] = mapping_get(mapping);
    list->count = kept;
    space->version = next_version();
    return 0;
}

int space_fork(const struct space *space, uint64_t time_ns, struct space *copy)
{
    bool shared = true;
    space_init(copy);
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

/* LINE is modified. True when it is an executable mapping. */
static bool parse_line(char *line, struct mapping *values, const char **ret_path)
{
    char access[5];
    uint64_t end;
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n", &values->start,
               &end, access, &values->offset, &values->maj, &values->min, &values->ino, &at) < 7 ||
        strlen(access) != 4 || end <= values->start || access[2] != 'x')
        return false;
    values->size = end - values->start;
    values->prot = PROT_EXEC | (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0);
    values->flags = access[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    char *path = line + at + strspn(line + at, " \t");
    /* In none of the kernel's records, and no code any more: the kernel does what is called there. */
    if (strcmp(path, "[vsyscall]") == 0)
        return false;
    unescape(path);
    *ret_path = *path ? path : "//anon";
    return true;
}

int space_add_maps(struct space *space, const char *maps, uint64_t time_ns)
{
    int error = 0;
    while (*maps && !error) {
        char line[8192];
        size_t size = strcspn(maps, "\n");
        struct mapping values = {.time_ns = time_ns};
        const char *path;
        if (size < sizeof(line)) {
            memcpy(line, maps, size);
            line[size] = '\0';
            if (parse_line(line, &values, &path)) {
                struct mapping *mapping = mapping_new(&values, path);
                error = mapping ? space_add(space, mapping) : -ENOMEM;
                mapping_put(mapping);
            }
        }
        maps += size + (maps[size] == '\n');
    }
    return error;
}

static bool overlap(const struct mapping *a, const struct mapping *b)
{
    return a->start - b->start < b->size || b->start - a->start < a->size;
}

bool space_knows(const struct space *space, const struct mapping *mapping)
{
    for (size_t i = space_count(space); i-- > 0;) {
        const struct mapping *known = space_at(space, i);
        if (overlap(known, mapping)) /* /proc tells no generation */
            return known->start == mapping->start && known->size == mapping->size && known->offset == mapping->offset &&
                   known->time_ns <= mapping->time_ns && mapping_same_object(known, mapping) &&
                   (known->ino_generation == mapping->ino_generation || !known->ino_generation);
    }
    return false;
}

size_t space_count(const struct space *space)
{
    return space->list ? space->list->count : 0;
}

struct mapping *space_at(const struct space *space, size_t index)
{
    return space->list->items[index];
}
