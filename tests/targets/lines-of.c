/* SPDX-License-Identifier: MIT */
/*
 * Prints panalyze's lines of addresses, in the format of addr2line -a -i -f:
 *     lines-of [-d DEBUG-PATH] [-s SYMFS] [-D SECONDS] FILE
 * with virtual addresses in hex on stdin; -D asks debuginfod servers. On stderr, at the end: why lines are missing, if
 * any are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/sym/elf_file.h"
#include "analyze/sym/symbols.h"

/* The reverse of elf_file_address(). */
static uint64_t offset_of(const struct elf_file *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->load_count; i++)
        if (address - elf->loads[i].p_vaddr < elf->loads[i].p_filesz)
            return address - elf->loads[i].p_vaddr + elf->loads[i].p_offset;
    return UINT64_MAX;
}

static void print(struct symbols_dso *dso, uint64_t address, uint64_t offset)
{
    static struct symbol_line lines[SYMBOLS_LINES_MAX];
    size_t count = symbols_lines(dso, offset, lines);

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
    struct symbols_dso *dso;
    struct symbols *symbols;
    struct elf_file elf;
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
    if (!path || elf_file_init(&elf, path) != 0 || symbols_new(&options, &symbols) != 0)
        return 1;
    dso = symbols_dso(symbols, path, elf.build_id, elf.build_id_size);
    while (scanf("%" SCNx64, &address) == 1)
        print(dso, address, offset_of(&elf, address));
    if (symbols_lines_why(dso))
        fprintf(stderr, "%s\n", symbols_lines_why(dso));
    symbols_free(symbols);
    elf_file_release(&elf);
    return fflush(stdout) != 0;
}
