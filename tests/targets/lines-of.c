/* SPDX-License-Identifier: MIT */
/*
 * What panalyze knows of addresses, as addr2line -a -i -f prints it:
 *     lines-of [-d DEBUG-PATH] [-s SYMFS] [-D SECONDS] FILE
 * with virtual addresses in hex on stdin; -D asks debuginfod servers. On stderr, at the end: why lines are missing, if
 * any are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/sym/elf_image.h"
#include "analyze/sym/symbols.h"

/* The reverse of elf_image_address(). */
static uint64_t offset_of(const struct elf_image *image, uint64_t address)
{
    for (size_t i = 0; i < image->load_count; i++)
        if (address - image->loads[i].p_vaddr < image->loads[i].p_filesz)
            return address - image->loads[i].p_vaddr + image->loads[i].p_offset;
    return UINT64_MAX;
}

static void print(struct symbols_object *object, uint64_t address, uint64_t offset)
{
    static struct symbol_line lines[SYMBOLS_LINES_MAX];
    size_t count = symbols_lines(object, offset, lines);

    printf("0x%016" PRIx64 "\n", address);
    if (!count)
        puts("??\n??:0");
    for (size_t i = 0; i < count; i++)
        printf("%s\n%s:%" PRIu32 "\n", lines[i].raw_function ? lines[i].raw_function : "??",
               lines[i].file ? lines[i].file : "??", lines[i].line);
}

int main(int argc, char **argv)
{
    struct symbols_options options = {0};
    const char *path;
    struct symbols_object *object;
    struct symbols *symbols;
    struct elf_image image;
    uint64_t address;

    for (int option; (option = getopt(argc, argv, "d:s:D:")) != -1;) {
        if (option == 'd') {
            static const char *paths[1];

            paths[0] = optarg;
            options.debug_paths = paths;
            options.debug_path_count = 1;
        } else if (option == 'D') {
            options.debuginfod_seconds = (unsigned)atoi(optarg);
        } else if (option == 's') {
            options.symfs = optarg;
        } else {
            return 2;
        }
    }
    path = argv[optind];
    if (!path || elf_image_init(&image, path) != 0 || symbols_new(&options, &symbols) != 0)
        return 1;
    object = symbols_object(symbols, path, image.build_id, image.build_id_size);
    while (scanf("%" SCNx64, &address) == 1)
        print(object, address, offset_of(&image, address));
    if (symbols_lines_why(object))
        fprintf(stderr, "%s\n", symbols_lines_why(object));
    symbols_free(symbols);
    elf_image_release(&image);
    return fflush(stdout) != 0;
}
