/* SPDX-License-Identifier: MIT */
#include "collector/records/kernelmap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* _text is near the top of /proc/kallsyms; the whole file has ten megabytes. */
enum { KALLSYMS_LINES = 20000 };

void kernelmap_init(struct kernelmap *map)
{
    *map = (struct kernelmap){0};
}

void kernelmap_release(struct kernelmap *map)
{
    free(map->modules);
    kernelmap_init(map);
}

static uint64_t find_text(void)
{
    FILE *file = fopen("/proc/kallsyms", "re");
    char line[512], name[128];
    uint64_t text = 0, address;
    for (int i = 0; file && i < KALLSYMS_LINES && fgets(line, sizeof(line), file); i++) {
        if (sscanf(line, "%" SCNx64 " %*c %127s", &address, name) != 2)
            continue;
        if (strcmp(name, "_text") == 0 || strcmp(name, "_stext") == 0) {
            text = address;
            break;
        }
    }
    if (file)
        fclose(file);
    return text;
}

static void add_module(struct kernelmap *map, const struct kernelmap_module *module)
{
    struct kernelmap_module *modules = realloc(map->modules, (map->count + 1) * sizeof(*modules));
    if (!modules)
        return;
    map->modules = modules;
    modules[map->count++] = *module;
    if (map->count == 1 || module->start < map->start)
        map->start = module->start;
    if (module->start + module->size > map->end)
        map->end = module->start + module->size;
}

/* "ext4 1048576 1 - Live 0xffffffffc0000000": the addresses are 0 for users who may not see them. */
static void read_modules(struct kernelmap *map)
{
    FILE *file = fopen("/proc/modules", "re");
    char line[1024], name[60];
    while (file && fgets(line, sizeof(line), file)) {
        struct kernelmap_module module;
        const char *address = strstr(line, " 0x");
        if (!address || sscanf(line, "%59s %" SCNu64, name, &module.size) != 2)
            continue;
        module.start = strtoull(address + 1, NULL, 16);
        snprintf(module.name, sizeof(module.name), "[%s]", name);
        if (module.start && module.size)
            add_module(map, &module);
    }
    if (file)
        fclose(file);
}

static void read_once(struct kernelmap *map)
{
    if (map->read)
        return;
    map->read = true;
    map->text = find_text();
    if (map->text)
        read_modules(map);
}

void kernelmap_make(struct kernelmap *map, const struct records_layout *layout, const struct records_stamp *stamp,
                    struct buffer *buffer)
{
    read_once(map);
    if (map->text)
        records_make_kernel(layout, stamp, map->text, UINT64_MAX - map->text, map->text, "[kernel.kallsyms]_text",
                            buffer);
}

void kernelmap_make_modules(struct kernelmap *map, const struct records_layout *layout,
                            const struct records_stamp *stamp, struct buffer *buffer)
{
    for (size_t i = 0; i < map->count; i++)
        records_make_kernel(layout, stamp, map->modules[i].start, map->modules[i].size, 0, map->modules[i].name,
                            buffer);
}

bool kernelmap_in_modules(struct kernelmap *map, const struct perf_event_header *sample)
{
    read_once(map);
    return map->count && records_mentions(sample, map->start, map->end);
}
