/* SPDX-License-Identifier: MIT */
/* Which separate debug file belongs to a program, and the packed symbol table that a stripped one may have inside. */
#include "check.h"

#include <errno.h>
#include <sys/stat.h>

#ifdef TEST_LZMA
#include <lzma.h>
#endif

#include "analyze/sym/debug_file.h"
#include "analyze/sym/mini_debug.h"
#include "analyze/sym/symbols.h"
#include "elf_kit.h"

static char directory[] = "/tmp/pinject-debug-file-XXXXXX";

/* ---- a pread() that the test leads */

static ssize_t pread_result; /* -1: it fails */

ssize_t __real_pread(int fd, void *ret, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *ret, size_t size, off_t offset);

ssize_t __wrap_pread(int fd, void *ret, size_t size, off_t offset)
{
    errno = EIO;
    return pread_result < 0 ? pread_result : __real_pread(fd, ret, size, offset);
}

static const char *path_of(const char *name)
{
    static char paths[4][300];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) && mkdir(path_of(".debug"), 0700) == 0 && mkdir(path_of("root"), 0700) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

/* ---- .gnu_debuglink */

/* Bit by bit, as zlib's and binutils' tables do it by bytes. */
static uint32_t crc_of(const char *path)
{
    uint32_t crc = UINT32_MAX;
    FILE *file = fopen(path, "r");
    int byte;
    assert_non_null(file);
    while ((byte = getc(file)) != EOF) {
        crc ^= (uint32_t)byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    fclose(file);
    return ~crc;
}

/* A debug file of a bit more than SIZE bytes. */
static void write_debug(const char *path, const struct elf_kit_file *file, size_t size)
{
    const struct elf_kit_section sections[] = {{".symtab", SHT_SYMTAB, .size = 48},
                                               {".filler", SHT_PROGBITS, .size = size}};
    elf_kit_write(path, file, sections, 2);
}

/* The link of a program: NAME, then zeros up to the multiple of 4, then CRC in ORDER; CUT bytes fewer. */
static void write_program(const char *path, const struct elf_kit_file *file, const char *name, uint32_t crc, size_t cut)
{
    unsigned char link[600] = {0};
    size_t size = (strlen(name) + 4) / 4 * 4;
    bool big = file && file->order == ELFDATA2MSB;
    memcpy(link, name, strlen(name));
    for (unsigned i = 0; i < 4; i++)
        link[size + i] = (unsigned char)(crc >> 8 * (big ? 3 - i : i));
    const struct elf_kit_section sections[] = {{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, .size = 16},
                                               {".gnu_debuglink", SHT_PROGBITS, .bytes = link, .size = size + 4 - cut}};
    elf_kit_write(path, file, sections, 2);
}

/* What is found for the program at RECORDED below SYMFS: the path, or NULL; valid until the next call. */
static const char *found_for(const char *recorded, const char *symfs, const char *root)
{
    static char result[600];
    struct debug_roots roots = {&root, root ? 1 : 0, symfs};
    struct elf_file elf, debug;
    char *path = NULL, whole[600];
    unsigned fds = check_open_fds();
    snprintf(whole, sizeof(whole), "%s%s", symfs, recorded);
    assert_int_equal(elf_file_init(&elf, whole), 0);
    int error = debug_file_init(&debug, &path, &elf, recorded, &roots);
    assert_true(error == 0 || error == -ENOENT);
    if (error == 0) {
        assert_non_null(elf_file_section_by_type(&debug, SHT_SYMTAB));
        snprintf(result, sizeof(result), "%s", path);
        elf_file_release(&debug);
        free(path);
    } else {
        assert_null(path);
    }
    elf_file_release(&elf);
    assert_int_equal(check_open_fds(), fds);
    return error ? NULL : result;
}

/* The whole file counts, however many times it is read; either byte order. */
static void test_crc(void **state)
{
    static const size_t sizes[] = {100, 255 * 1024, 256 * 1024, 600 * 1024};
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int order = ELFDATA2LSB; order <= ELFDATA2MSB; order++) {
            const struct elf_kit_file file = {.order = order};
            write_debug(path_of("it.debug"), &file, sizes[i]);
            uint32_t crc = crc_of(path_of("it.debug"));
            write_program(path_of("it"), &file, "it.debug", crc, 0);
            assert_string_equal(found_for(path_of("it"), "", NULL), path_of("it.debug"));
            for (int byte = 0; byte < 4; byte++) {
                write_program(path_of("it"), &file, "it.debug", crc ^ 1u << 8 * byte, 0);
                assert_null(found_for(path_of("it"), "", NULL));
            }
        }
    }
    write_program(path_of("it"), NULL, "it.debug", 0, 0);
    pread_result = -1;
    assert_null(found_for(path_of("it"), "", NULL));
    pread_result = 0;
    assert_int_equal(unlink(path_of("it.debug")), 0);
}

/* The names that a link may have, and what of it must be there. */
static void test_links(void **state)
{
    char longest[257];
    (void)state;
    memset(longest, 'x', 256);
    longest[256] = '\0';
    static const char *const names[] = {"a", "ab", "abc", "abcd", "abcde"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        write_debug(path_of(names[i]), NULL, 10);
        uint32_t crc = crc_of(path_of(names[i]));
        for (size_t cut = 0; cut < 3; cut++) {
            write_program(path_of("it"), NULL, names[i], crc, cut);
            const char *found = found_for(path_of("it"), "", NULL);
            if (cut)
                assert_null(found);
            else
                assert_string_equal(found, path_of(names[i]));
        }
    }
    for (size_t length = 255; length <= 256; length++) {
        longest[length] = '\0';
        write_debug(path_of("a"), NULL, 10);
        uint32_t crc = crc_of(path_of("a"));
        if (length == 255)
            assert_int_equal(rename(path_of("a"), path_of(longest)), 0);
        write_program(path_of("it"), NULL, longest, crc, 0);
        assert_int_equal(found_for(path_of("it"), "", NULL) != NULL, length == 255);
        longest[length] = 'x';
    }
    /* Nothing leads elsewhere. */
    write_debug(path_of("root/a"), NULL, 10);
    write_program(path_of("it"), NULL, "root/a", crc_of(path_of("root/a")), 0);
    assert_null(found_for(path_of("it"), "", NULL));
    write_program(path_of("it"), NULL, "..", 0, 0);
    assert_null(found_for(path_of("it"), "", NULL));
    write_program(path_of("it"), NULL, "", 0, 0);
    assert_null(found_for(path_of("it"), "", NULL));
}

/* Beside the program, in .debug there, below a root; in front of the first two stands symfs. */
static void test_places(void **state)
{
    char recorded[300], directories[600], copy[300];
    (void)state;
    write_debug(path_of("p.debug"), NULL, 10);
    write_program(path_of("p"), NULL, "p.debug", crc_of(path_of("p.debug")), 0);
    assert_string_equal(found_for(path_of("p"), "", path_of("root")), path_of("p.debug"));
    assert_string_equal(found_for("/p", directory, NULL), path_of("p.debug"));
    assert_int_equal(rename(path_of("p.debug"), path_of(".debug/p.debug")), 0);
    assert_string_equal(found_for(path_of("p"), "", path_of("root")), path_of(".debug/p.debug"));
    assert_string_equal(found_for("/p", directory, NULL), path_of(".debug/p.debug"));
    /* Below the root lies the recorded directory. */
    snprintf(directories, sizeof(directories), "mkdir -p %s/root%s && mv %s/.debug/p.debug %s/root%s/", directory,
             directory, directory, directory, directory);
    assert_int_equal(system(directories), 0);
    snprintf(copy, sizeof(copy), "%s/root%s/p.debug", directory, directory);
    assert_string_equal(found_for(path_of("p"), "", path_of("root")), copy);
    assert_null(found_for(path_of("p"), "", NULL));
    assert_int_equal(rename(copy, path_of("root/p.debug")), 0);
    assert_string_equal(found_for("/p", directory, path_of("root")), path_of("root/p.debug"));
    /* A path without a directory says nothing. */
    assert_int_equal(chdir(directory), 0);
    snprintf(recorded, sizeof(recorded), "p");
    assert_null(found_for(recorded, "", path_of("root")));
    assert_int_equal(chdir("/"), 0);
}

/* Of the same machine, class and byte order, and with a table of symbols. */
static void test_other_machines(void **state)
{
    static const struct elf_kit_file own = {ELFCLASS64, ELFDATA2LSB, EM_PPC64, NULL, 0};
    static const struct elf_kit_file others[] = {{ELFCLASS64, ELFDATA2LSB, EM_PPC64, NULL, 0},
                                                 {ELFCLASS32, ELFDATA2LSB, EM_PPC64, NULL, 0},
                                                 {ELFCLASS64, ELFDATA2MSB, EM_PPC64, NULL, 0},
                                                 {ELFCLASS64, ELFDATA2LSB, EM_RISCV, NULL, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        write_debug(path_of("m.debug"), &others[i], 10);
        write_program(path_of("m"), &own, "m.debug", crc_of(path_of("m.debug")), 0);
        assert_int_equal(found_for(path_of("m"), "", NULL) != NULL, i == 0);
    }
    const struct elf_kit_section no_symbols[] = {{".text", SHT_PROGBITS, .size = 10}};
    elf_kit_write(path_of("m.debug"), &own, no_symbols, 1);
    write_program(path_of("m"), &own, "m.debug", crc_of(path_of("m.debug")), 0);
    assert_null(found_for(path_of("m"), "", NULL));
}

/* ---- build-ids */

static void write_with_id(const char *path, const unsigned char *id, uint32_t size, bool symbols)
{
    uint32_t note[3 + 1 + 16] = {4, size, NT_GNU_BUILD_ID};
    memcpy(&note[3], "GNU", 4);
    memcpy(&note[4], id, size);
    const struct elf_kit_section sections[] = {
        {".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, .bytes = note, .size = 16 + (size + 3) / 4 * 4},
        {symbols ? ".symtab" : ".other", symbols ? SHT_SYMTAB : SHT_PROGBITS, .size = 48}};
    elf_kit_write(path, NULL, sections, 2);
}

static void test_build_ids(void **state)
{
    unsigned char id[ELF_FILE_BUILD_ID_MAX + 1], other[ELF_FILE_BUILD_ID_MAX];
    char roots[2][300], file[300], command[700];
    const char *const paths[] = {roots[0], roots[1]};
    const struct debug_roots all = {paths, 2, ""};
    struct elf_file elf;
    (void)state;
    snprintf(roots[0], sizeof(roots[0]), "%s/first", directory);
    snprintf(roots[1], sizeof(roots[1]), "%s/second", directory);
    snprintf(command, sizeof(command), "mkdir -p %s/.build-id/0a %s/.build-id/0a", roots[0], roots[1]);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof(id); i++)
        id[i] = (unsigned char)(10 + i);
    static const struct {
        uint32_t size;
        int error;
    } sizes[] = {{0, -ENOENT}, {1, -ENOENT}, {2, 0}, {20, 0}, {64, 0}, {65, -ENOENT}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t size = sizes[i].size;
        int used = snprintf(file, sizeof(file), "%s/.build-id/0a/", roots[1]);
        for (size_t j = 1; j < size; j++)
            used += snprintf(file + used, sizeof(file) - (size_t)used, "%02x", id[j]);
        snprintf(file + used, sizeof(file) - (size_t)used, ".x");
        if (size && size < 65)
            write_with_id(file, id, size, true);
        char *path = NULL;
        assert_int_equal(debug_file_by_build_id(&elf, &path, id, size, ".x", &all), sizes[i].error);
        if (sizes[i].error) {
            assert_null(path);
            continue;
        }
        assert_string_equal(path, file);
        elf_file_release(&elf);
        free(path);
        path = NULL;
        /* Another one's file there. */
        memcpy(other, id, sizeof(other));
        other[size - 1] ^= 1;
        write_with_id(file, other, size, true);
        assert_int_equal(debug_file_by_build_id(&elf, &path, id, size, ".x", &all), -ENOENT);
        write_with_id(file, id, size - 1, true);
        assert_int_equal(debug_file_by_build_id(&elf, &path, id, size, ".x", &all), -ENOENT);
        assert_null(path);
    }
}

/* By build-id first, where both have one; a program that was not stripped may lie there as a whole. */
static void test_ids_and_links(void **state)
{
    static const unsigned char id[] = {0xab, 0xcd, 0xef};
    char command[300];
    (void)state;
    snprintf(command, sizeof(command), "mkdir -p %s/root/.build-id/ab", directory);
    assert_int_equal(system(command), 0);
    write_with_id(path_of("i"), id, 3, false);
    assert_null(found_for(path_of("i"), "", path_of("root")));
    write_with_id(path_of("root/.build-id/ab/cdef"), id, 3, true);
    assert_string_equal(found_for(path_of("i"), "", path_of("root")), path_of("root/.build-id/ab/cdef"));
    write_with_id(path_of("root/.build-id/ab/cdef.debug"), id, 3, false); /* without names */
    assert_string_equal(found_for(path_of("i"), "", path_of("root")), path_of("root/.build-id/ab/cdef"));
    write_with_id(path_of("root/.build-id/ab/cdef.debug"), id, 3, true);
    assert_string_equal(found_for(path_of("i"), "", path_of("root")), path_of("root/.build-id/ab/cdef.debug"));
    /* One that has names needs no other program. */
    assert_int_equal(unlink(path_of("root/.build-id/ab/cdef.debug")), 0);
    write_with_id(path_of("i"), id, 3, true);
    assert_null(found_for(path_of("i"), "", path_of("root")));
}

/* The names in perf's cache of build-ids, which archives have; those that debuggers know are taken first. */
static void test_names_of_perf(void **state)
{
    static const unsigned char id[] = {0xcd, 0x01, 0x02};
    char root[300];
    const char *const paths[] = {root};
    const struct debug_roots roots = {paths, 1, ""};
    struct elf_file elf;
    char command[400], *path;
    (void)state;
    snprintf(root, sizeof(root), "%s/perf", directory);
    snprintf(command, sizeof(command), "mkdir -p %s/.build-id/cd/0102", root);
    assert_int_equal(system(command), 0);
    write_with_id(path_of("i"), id, 3, false);
    assert_null(found_for(path_of("i"), "", root));
    write_with_id(path_of("perf/.build-id/cd/0102/elf"), id, 3, true);
    assert_string_equal(found_for(path_of("i"), "", root), path_of("perf/.build-id/cd/0102/elf"));
    write_with_id(path_of("perf/.build-id/cd/0102/debug"), id, 3, true);
    assert_string_equal(found_for(path_of("i"), "", root), path_of("perf/.build-id/cd/0102/debug"));
    assert_int_equal(debug_file_by_build_id(&elf, &path, id, 3, "", &roots), 0);
    assert_string_equal(path, path_of("perf/.build-id/cd/0102/elf"));
    elf_file_release(&elf);
    free(path);
    assert_int_equal(debug_file_by_build_id(&elf, &path, id, 3, ".dwp", &roots), -ENOENT);
    write_with_id(path_of("perf/.build-id/cd/0102.debug"), id, 3, true);
    assert_string_equal(found_for(path_of("i"), "", root), path_of("perf/.build-id/cd/0102.debug"));
}

/* ---- descriptors */

/* However many files have given their names, none stays open. */
static void test_files_are_closed(void **state)
{
    static const unsigned char id[] = {0x12, 0x34};
    const char *root = path_of("root");
    const struct symbols_options options = {.debug_paths = &root, .debug_path_count = 1};
    struct symbols *symbols;
    char command[300];
    (void)state;
    snprintf(command, sizeof(command), "mkdir -p %s/root/.build-id/12", directory);
    assert_int_equal(system(command), 0);
    write_with_id(path_of("c"), id, 2, false);
    write_with_id(path_of("root/.build-id/12/34.debug"), id, 2, true);
    assert_int_equal(symbols_new(&options, &symbols), 0);
    unsigned fds = check_open_fds();
    struct symbols_dso *dso = symbols_dso(symbols, path_of("c"), NULL, 0);
    assert_string_equal(symbols_debug_file(dso), path_of("root/.build-id/12/34.debug"));
    assert_int_equal(check_open_fds(), fds);
    symbols_free(symbols);
}

/* ---- .gnu_debugdata */

#ifdef TEST_LZMA

static unsigned char packed[1 << 20];
static size_t packed_size;

/* The mini debug file of SIZE bytes more into `packed`. */
static void pack(size_t size, lzma_check check)
{
    static unsigned char plain[4 << 20];
    write_debug(path_of("mini"), NULL, size);
    FILE *file = fopen(path_of("mini"), "r");
    assert_non_null(file);
    size_t plain_size = fread(plain, 1, sizeof(plain), file);
    fclose(file);
    packed_size = 0;
    assert_int_equal(lzma_easy_buffer_encode(6, check, NULL, plain, plain_size, packed, &packed_size, sizeof(packed)),
                     LZMA_OK);
}

/* What becomes of `packed` as the section of a program; the size of the file in it. */
static int unpacked(size_t *ret_size)
{
    const struct elf_kit_section sections[] = {{".gnu_debugdata", SHT_PROGBITS, .bytes = packed, .size = packed_size}};
    struct elf_file elf, mini;
    elf_kit_write(path_of("packed"), NULL, sections, 1);
    assert_int_equal(elf_file_init(&elf, path_of("packed")), 0);
    int error = mini_debug_init(&mini, &elf);
    if (error == 0) {
        assert_non_null(elf_file_section_by_type(&mini, SHT_SYMTAB));
        *ret_size = mini.file_size;
        elf_file_release(&mini);
    }
    elf_file_release(&elf);
    return error;
}

static void test_mini_debug(void **state)
{
    size_t size = 0;
    struct stat status;
    (void)state;
    for (size_t more = 0; more < 3 << 20; more = more ? 2 * more : 30000) {
        pack(more, LZMA_CHECK_CRC32);
        assert_int_equal(unpacked(&size), 0);
        assert_int_equal(stat(path_of("mini"), &status), 0);
        assert_int_equal(size, status.st_size);
    }
    pack(100000, LZMA_CHECK_CRC64);
    packed[packed_size / 2] ^= 1;
    assert_int_equal(unpacked(&size), -ENOEXEC);
    pack(100000, LZMA_CHECK_CRC64);
    packed_size -= 4;
    assert_int_equal(unpacked(&size), -ENOEXEC);
    memset(packed, 'x', 100);
    packed_size = 100;
    assert_int_equal(unpacked(&size), -ENOEXEC);
    /* No ELF file is in it. */
    packed_size = 0;
    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, (const unsigned char *)"text", 4, packed,
                                             &packed_size, sizeof(packed)),
                     LZMA_OK);
    assert_int_equal(unpacked(&size), -ENOEXEC);
}

/* It is for programs that have no names else. */
static void test_own_names(void **state)
{
    static const char strings[] = "\0own\0mini";
    (void)state;
    for (int own = 0; own < 2; own++) {
        const Elf64_Sym symbols[2][2] = {
            {{0}, {.st_name = 5, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x1010, .st_size = 8}},
            {{0}, {.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x1000, .st_size = 8}}};
        struct elf_kit_section sections[] = {
            {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, .size = 0x100},
            {".symtab", SHT_SYMTAB, 0, 0, sizeof(Elf64_Sym), 3, symbols[0], sizeof(symbols[0]), ELF_T_SYM},
            {".strtab", SHT_STRTAB, .bytes = strings, .size = sizeof(strings)},
            {".gnu_debugdata", SHT_PROGBITS, .bytes = packed}};
        static unsigned char plain[65536];
        struct symbols *symbols_all;
        elf_kit_write(path_of("mini"), NULL, sections, 3);
        FILE *file = fopen(path_of("mini"), "r");
        assert_non_null(file);
        size_t plain_size = fread(plain, 1, sizeof(plain), file);
        fclose(file);
        packed_size = 0;
        assert_int_equal(
            lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, plain, plain_size, packed, &packed_size, sizeof(packed)),
            LZMA_OK);
        sections[1].bytes = symbols[own];
        sections[1].type = own ? SHT_SYMTAB : SHT_PROGBITS;
        sections[3].size = packed_size;
        elf_kit_write(path_of("both"), NULL, sections, 4);
        assert_int_equal(symbols_new(NULL, &symbols_all), 0);
        struct symbols_dso *dso = symbols_dso(symbols_all, path_of("both"), NULL, 0);
        assert_int_equal(symbols_count(dso), 1);
        assert_int_equal(symbols_missing(dso), 0);
        symbols_free(symbols_all);
    }
}

/* Few bytes that become more than 256 MiB are refused. */
static void test_large_mini_debug(void **state)
{
    enum { ALL = 300 << 20, PART = 1 << 20 };
    static const unsigned char zeros[PART];
    lzma_stream stream = LZMA_STREAM_INIT;
    size_t size = 0;
    (void)state;
    assert_int_equal(lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE), LZMA_OK);
    stream.next_out = packed;
    stream.avail_out = sizeof(packed);
    for (size_t i = 0; i < ALL / PART; i++) {
        stream.next_in = zeros;
        stream.avail_in = PART;
        assert_int_equal(lzma_code(&stream, LZMA_RUN), LZMA_OK);
    }
    assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
    packed_size = stream.total_out;
    lzma_end(&stream);
    assert_int_equal(unpacked(&size), -ENOEXEC);
}

#endif

static void test_no_mini_debug(void **state)
{
    const struct elf_kit_section sections[] = {{".gnu_debugdat", SHT_PROGBITS, .size = 10}};
    struct elf_file elf, mini;
    (void)state;
    elf_kit_write(path_of("none"), NULL, sections, 1);
    assert_int_equal(elf_file_init(&elf, path_of("none")), 0);
    assert_int_equal(mini_debug_init(&mini, &elf), -ENOENT);
    elf_file_release(&elf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_other_machines),
        cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_ids_and_links),
        cmocka_unit_test(test_names_of_perf),
        cmocka_unit_test(test_files_are_closed),
#ifdef TEST_LZMA
        cmocka_unit_test(test_mini_debug),
        cmocka_unit_test(test_own_names),
        cmocka_unit_test(test_large_mini_debug),
#endif
        cmocka_unit_test(test_no_mini_debug),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
