/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry: debug information, read as by symbols_lines(). An input is a byte of flags, the sizes of sections
 * of a program and of its .dwp (enum dwarf_part, 20 numbers of four bytes), and their contents, from which ELF files
 * are made; with the flag RAW it is an ELF file itself. Built without libFuzzer (DWARF_MAIN) it mutates its argument
 * files, always in the same way: mutate_dwarf ROUNDS FILE...; "mutate_dwarf make ELF [DWP]" writes an input to stdout.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sym/dwarf_info.h"
#include "analyze/sym/mini_debug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BIG = 1, RAW = 2, HEAD = 1 + 2 * DWARF_PARTS * 4, TEXT_SIZE = 1 << 20, STEP = 13, LOOK_UPS = 400 };

struct text {
    unsigned char bytes[1 << 20];
    size_t size;
};

static void put(struct text *text, const void *bytes, size_t size)
{
    if (size > sizeof(text->bytes) - text->size)
        size = sizeof(text->bytes) - text->size;
    if (size)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

/* A number in the file's byte order. */
static void number(struct text *text, uint64_t value, unsigned size, bool big)
{
    for (unsigned i = 0; i < size; i++)
        put(text, &(unsigned char){(unsigned char)(value >> 8 * (big ? size - 1 - i : i))}, 1);
}

static void section(struct text *text, uint32_t name, uint32_t type, uint64_t flags, uint64_t offset, uint64_t size,
                    bool big)
{
    number(text, name, 4, big);
    number(text, type, 4, big);
    number(text, flags, 8, big);
    number(text, 0, 8, big);
    number(text, offset, 8, big);
    number(text, size, 8, big);
    number(text, 0, 8, big);
    number(text, 1, 8, big);
    number(text, 0, 8, big);
}

/* An ELF file with these sections, code at every address below TEXT_SIZE, and a build-id. */
static void make_elf(struct text *elf, const struct dwarf_slice *parts, bool dwo, bool big)
{
    char names[1024] = "";
    size_t named = 1, places[DWARF_PARTS], offsets[DWARF_PARTS], contents = 0;
    elf->size = 0;
    for (int i = 0; i < DWARF_PARTS; i++) {
        places[i] = named;
        named += (size_t)sprintf(names + named, ".debug_%s%s", dwarf_sections_name((enum dwarf_part)i),
                                 dwo && i != DWARF_CU_INDEX ? ".dwo" : "") +
                 1;
        offsets[i] = 64 + contents;
        contents += parts[i].size;
    }
    put(elf, (unsigned char[16]){0x7f, 'E', 'L', 'F', ELFCLASS64, big ? ELFDATA2MSB : ELFDATA2LSB, 1}, 16);
    number(elf, ET_DYN, 2, big);
    number(elf, EM_X86_64, 2, big);
    number(elf, 1, 4, big);
    number(elf, 0, 8, big);
    number(elf, 0, 8, big);
    number(elf, 64 + contents + named, 8, big);
    number(elf, 0, 4, big);
    number(elf, 64, 2, big);
    number(elf, 56, 2, big);
    number(elf, 0, 2, big);
    number(elf, 64, 2, big);
    number(elf, DWARF_PARTS + 3, 2, big);
    number(elf, DWARF_PARTS + 2, 2, big);
    for (int i = 0; i < DWARF_PARTS; i++)
        put(elf, parts[i].at, parts[i].size);
    put(elf, names, named);
    section(elf, 0, SHT_NULL, 0, 0, 0, big);
    section(elf, 0, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0, TEXT_SIZE, big);
    for (int i = 0; i < DWARF_PARTS; i++)
        section(elf, (uint32_t)places[i], SHT_PROGBITS, 0, offsets[i], parts[i].size, big);
    section(elf, 0, SHT_STRTAB, 0, 64 + contents, named, big);
}

static char directory[] = "/tmp/fuzz-dwarf-XXXXXX";
static char program[64], package[64];

static void remove_directory(void)
{
    unlink(package);
    rmdir(directory);
}

static void write_package(const struct text *elf)
{
    int fd;
    if (!program[0]) {
        if (!mkdtemp(directory))
            abort();
        atexit(remove_directory);
        snprintf(program, sizeof(program), "%s/x", directory);
        snprintf(package, sizeof(package), "%s/x.dwp", directory);
    }
    fd = open(package, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, elf->bytes, elf->size) != (ssize_t)elf->size)
        abort();
    close(fd);
}

static void look_up(const void *bytes, size_t size)
{
    static const char *const none[1];
    static const struct debug_roots roots = {none, 0, "/nonexistent"};
    struct dwarf_places places = {program[0] ? program : "/nonexistent/x", "/nonexistent/x", &roots};
    struct dwarf_frame frames[DWARF_FRAMES_MAX];
    struct elf_file elf, debug, mini;
    struct name_pool pool = {0};
    struct dwarf *dwarf;
    uint64_t sum = 0;
    if (elf_file_init_memory(&elf, bytes, size) != 0)
        return;
    if (mini_debug_init(&mini, &elf) == 0)
        elf_file_release(&mini);
    if (elf_file_init_memory(&debug, bytes, size) == 0 && dwarf_new(&debug, &elf, &places, &pool, &dwarf) == 0) {
        uint64_t start = elf.text_count ? elf.texts[0]->header.sh_addr : 0x1000;
        start = start ? start : 0x1000;
        for (uint64_t i = 0; i < LOOK_UPS; i++) {
            size_t count = dwarf_find(dwarf, start + i * STEP, frames);
            for (size_t j = 0; j < count; j++)
                sum += frames[j].line + (frames[j].path ? strlen(frames[j].path) : 0) +
                       (frames[j].name ? strlen(frames[j].name) : 0) +
                       (frames[j].linkage ? strlen(frames[j].linkage) : 0);
        }
        sum += dwarf_missing(dwarf);
        dwarf_free(dwarf);
    }
    if (sum == UINT64_MAX)
        puts("an unlikely program"); /* keeps the compiler from removing unused results */
    name_pool_release(&pool);
    elf_file_release(&elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text elf;
    struct dwarf_slice parts[2 * DWARF_PARTS];
    size_t at = HEAD;
    if (size && (data[0] & RAW)) {
        look_up(data + 1, size - 1);
        return 0;
    }
    if (size < HEAD)
        return 0;
    for (int i = 0; i < 2 * DWARF_PARTS; i++) {
        const uint8_t *bytes = data + 1 + 4 * i;
        size_t part = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
        part = part < size - at ? part : size - at;
        parts[i] = (struct dwarf_slice){data + at, part};
        at += part;
    }
    make_elf(&elf, parts + DWARF_PARTS, true, data[0] & BIG);
    write_package(&elf);
    make_elf(&elf, parts, false, data[0] & BIG);
    look_up(elf.bytes, elf.size);
    return 0;
}

#ifdef DWARF_MAIN
static uint8_t *read_file(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);
    if (!file || !bytes)
        exit(1);
    *ret_size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static int make(int count, char **paths)
{
    struct dwarf_sections sections[2] = {0};
    struct elf_file elfs[2];
    fputc(0, stdout);
    for (int i = 0; i < count && i < 2; i++) {
        if (elf_file_init(&elfs[i], paths[i]) != 0)
            return 1;
        dwarf_sections_init(&sections[i], &elfs[i], i == 1);
    }
    for (int i = 0; i < 2 * DWARF_PARTS; i++) {
        uint32_t size = (uint32_t)sections[i / DWARF_PARTS].part[i % DWARF_PARTS].size;
        fwrite(&size, 4, 1, stdout);
    }
    for (int i = 0; i < 2 * DWARF_PARTS; i++) {
        const struct dwarf_slice *part = &sections[i / DWARF_PARTS].part[i % DWARF_PARTS];
        if (part->size)
            fwrite(part->at, 1, part->size, stdout);
    }
    return fflush(stdout) != 0;
}

static uint64_t dice(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Changes a few bytes: to near values, extremes, or a copy of other bytes of the file. */
static void mutate(uint8_t *bytes, size_t size, uint64_t *state)
{
    static const uint8_t extremes[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe};
    unsigned times = 1 + (unsigned)(dice(state) % 6);
    while (times--) {
        size_t at = dice(state) % size, from = dice(state) % size, length = 1 + dice(state) % 8;
        switch (dice(state) % 4) {
        case 0: bytes[at] ^= (uint8_t)(1 << dice(state) % 8); break;
        case 1: bytes[at] = extremes[dice(state) % sizeof(extremes)]; break;
        case 2: bytes[at] = (uint8_t)(bytes[at] + 1 - 2 * (dice(state) & 1)); break;
        default: memmove(bytes + at, bytes + from, length < size - (at > from ? at : from) ? length : 1);
        }
    }
}

int main(int argc, char **argv)
{
    uint64_t state = 88172645463325252u, inputs = 0;
    if (argc > 2 && strcmp(argv[1], "make") == 0)
        return make(argc - 2, argv + 2);
    if (argc < 3)
        return 2;
    for (int i = 2; i < argc; i++) {
        size_t size;
        uint8_t *bytes = read_file(argv[i], &size), *copy = malloc(size + 1);
        LLVMFuzzerTestOneInput(bytes, size);
        for (int round = 0; copy && size && round < atoi(argv[1]); round++, inputs++) {
            memcpy(copy, bytes, size);
            mutate(copy, size, &state);
            /* Some are also cut off at a random size. */
            LLVMFuzzerTestOneInput(copy, round % 16 ? size : dice(&state) % size);
        }
        free(copy);
        free(bytes);
    }
    printf("%llu inputs\n", (unsigned long long)inputs);
    return 0;
}
#endif
