/* SPDX-License-Identifier: MIT */
/*
 * Where the kernel and its modules are, for files with samples of the kernel. Read once, when the first one needs it.
 */
#ifndef COLLECTOR_RECORDS_KERNELMAP_H
#define COLLECTOR_RECORDS_KERNELMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/records/records.h"

struct kernelmap_module {
    uint64_t start, size;
    char name[64]; /* "[ext4]" */
};

struct kernelmap {
    bool read;
    uint64_t text; /* address of _text; 0: the kernel hides it */
    struct kernelmap_module *modules;
    size_t count;
    uint64_t start, end; /* all modules are within */
};

void kernelmap_init(struct kernelmap *map);
void kernelmap_release(struct kernelmap *map);
/*
 * Appends the mappings as records: of the kernel itself (every file has it, see features.c), of its modules. Both may
 * append nothing.
 */
void kernelmap_make(struct kernelmap *map, const struct records_layout *layout, const struct records_stamp *stamp,
                    struct buffer *buffer);
void kernelmap_make_modules(struct kernelmap *map, const struct records_layout *layout,
                            const struct records_stamp *stamp, struct buffer *buffer);
/* Does a sample of the kernel have an address in a module? */
bool kernelmap_in_modules(struct kernelmap *map, const struct perf_event_header *sample);

#endif
