/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry for the unwinder. The first byte chooses what the rest is: an ELF file (0), .eh_frame (1),
 * .debug_frame (else). Its last bytes are also the stack. Walks begin at each function found, at the entry point, and
 * at an address without code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "unwind/unwind_file.h"

#define STACK UINT64_C(0x7ffc00000000)
enum { FRAMES = 256, WALKS = 24, DUMP = 2048 };

static bool find(void *context, uint64_t address, struct unwind_map *ret)
{
    *ret = (struct unwind_map){0, 0, context};
    return address < UINT64_C(1) << 40;
}

/* Checks what holds for every walk. */
static void check(const uint64_t *ips, unsigned count, uint64_t start, enum unwind_end end)
{
    if (count == 0 || count > FRAMES || ips[0] != start || (unsigned)end >= UNWIND_ENDS ||
        (end == UNWIND_TOO_DEEP) != (count == FRAMES))
        abort();
}

/* A second walk, with cached rows, must give the same result, unless the first one ran out of its work limit. */
static void check_again(const struct unwind_target *target, const struct unwind_regs *regs,
                        const struct unwind_dump *dump, const uint64_t *ips, unsigned count, enum unwind_end end)
{
    static uint64_t again[FRAMES];
    struct unwind_outcome outcome;
    unsigned again_count = unwind_stack(target, regs, dump, again, FRAMES, &outcome);
    bool same = again_count == count && outcome.end == end;
    if ((!same && end != UNWIND_NO_TABLE) || again_count < count || memcmp(ips, again, count * sizeof(*ips)) != 0)
        abort();
}

static void walk(struct unwind_file *file, uint64_t start, const uint8_t *data, size_t size)
{
    static uint64_t ips[FRAMES];
    size_t length = size < DUMP ? size : DUMP;
    struct unwind_dump dump = {.bytes = data + size - length, .start = STACK, .size = length, .full = start & 1};
    struct unwind_target target = {find, file};
    struct unwind_regs regs;
    struct unwind_outcome outcome;
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        regs.value[i] = i % 3 ? STACK + i * 16 : start + i;
    regs.value[UNWIND_SP] = STACK;
    regs.value[UNWIND_IP] = start;
    unsigned count = unwind_stack(&target, &regs, &dump, ips, FRAMES, &outcome);
    check(ips, count, start, outcome.end);
    check_again(&target, &regs, &dump, ips, count, outcome.end);
    unwind_frames(&regs, &dump, ips, FRAMES);
}

static void walk_functions(struct unwind_file *file, const struct cfi *cfi, const uint8_t *data, size_t size)
{
    size_t step = cfi->count / WALKS + 1;
    for (size_t i = 0; i < cfi->count; i += step) {
        const uint64_t start = cfi->fdes[i].start;
        uint64_t found, length = 1; /* with a header, the length is only read when it is asked for */
        cfi_find_function(cfi, start, &found, &length);
        walk(file, start, data, size);
        walk(file, start + length / 2, data, size);
        walk(file, start + length - 1, data, size);
    }
}

static bool fill(struct unwind_file *file, uint8_t kind, const uint8_t *data, size_t size)
{
    if (kind == 0)
        return unwind_file_read(file, &(struct elf_bytes){.bytes = data, .fd = -1, .size = size});
    struct cfi *cfi = kind == 1 ? &file->frames : &file->debug;
    *cfi = (struct cfi){.bytes = malloc(size), .size = size, .address = 0x1000, .debug = kind != 1};
    if (cfi->bytes)
        memcpy(cfi->bytes, data, size);
    return cfi->bytes && cfi_index(cfi) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    uint8_t kind = *data++ & 3;
    struct unwind_file *file = calloc(1, sizeof(*file));
    if (file && fill(file, kind, data, --size)) {
        /* The walk uses addresses of the file. */
        file->segments[0] = (struct unwind_file_segment){0, 0, UINT64_C(1) << 40};
        file->segment_count = 1;
        walk_functions(file, &file->frames, data, size);
        walk_functions(file, &file->debug, data, size);
        walk(file, file->entry, data, size);
        walk(file, UINT64_C(1) << 50, data, size);
    }
    unwind_file_free(file);
    return 0;
}
