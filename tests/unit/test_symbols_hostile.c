/* SPDX-License-Identifier: MIT */
/* The symbol resolver on what is no file, no ELF file, or a damaged one. */
#include "test_symbols_tools.h"

#include <elf.h>
#include <errno.h>

#include "analyze/sym/elf_cut.h"

static void test_strange_paths(void **state)
{
    static const struct {
        const char *path;
        unsigned missing;
    } cases[] = {
        {"//anon", SYMBOLS_ANONYMOUS},
        {"[heap]", SYMBOLS_ANONYMOUS},
        {"[stack]", SYMBOLS_ANONYMOUS},
        {"[vsyscall]", SYMBOLS_ANONYMOUS},
        {"", SYMBOLS_ANONYMOUS},
        {"/memfd:jit (deleted)", SYMBOLS_ANONYMOUS},
        {"/dev/zero (deleted)", SYMBOLS_ANONYMOUS},
        {"/SYSV00000000 (deleted)", SYMBOLS_ANONYMOUS},
        {"anon_inode:[perf_event]", SYMBOLS_ANONYMOUS},
        {"//toolong", SYMBOLS_NO_FILE},
        {" (deleted)", SYMBOLS_NO_FILE},
        {"/", SYMBOLS_NO_FILE},
        {"/dev/null", SYMBOLS_NO_FILE},
        {"/does/not/exist", SYMBOLS_NO_FILE},
        {"/does/not/exist (deleted)", SYMBOLS_NO_FILE},
        {"/proc/self/status", SYMBOLS_BROKEN},
    };
    struct symbols *symbols = new_symbols(NULL);
    struct symbols_dso *dso;
    struct symbol symbol;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        dso = symbols_dso(symbols, cases[i].path, NULL, 0);
        assert_false(symbols_find(dso, 0x1000, &symbol));
        if (symbols_missing(dso) != cases[i].missing)
            fail_msg("%s: lacks %x", cases[i].path, symbols_missing(dso));
        assert_non_null(symbols_why(dso));
        assert_string_equal(symbols_path(dso), cases[i].path);
    }
    assert_int_equal(mkfifo(in_directory("fifo"), 0600), 0);
    dso = symbols_dso(symbols, in_directory("fifo"), NULL, 0);
    assert_int_equal(symbols_missing(dso), SYMBOLS_NO_FILE);
    write_file("empty", "", 0);
    dso = symbols_dso(symbols, in_directory("empty"), NULL, 0);
    assert_int_equal(symbols_missing(dso), SYMBOLS_BROKEN);
    dso = symbols_dso(symbols, in_directory("c.c"), NULL, 0);
    assert_int_equal(symbols_missing(dso), SYMBOLS_BROKEN);
    assert_int_equal(symlink("loop", in_directory("loop")), 0);
    dso = symbols_dso(symbols, in_directory("loop"), NULL, 0);
    assert_int_equal(symbols_missing(dso), SYMBOLS_NO_FILE);
    assert_string_equal(symbols_why(dso), "the file cannot be read");
    write_file("file", "", 0);
    dso = symbols_dso(symbols, in_directory("file/in it"), NULL, 0);
    assert_int_equal(symbols_missing(dso), SYMBOLS_NO_FILE);
    assert_string_equal(symbols_why(dso), "the file is gone");
    if (geteuid() != 0) {
        assert_int_equal(chmod(in_directory("file"), 0), 0);
        dso = symbols_dso(symbols, in_directory("file"), NULL, 0);
        assert_int_equal(symbols_missing(dso), SYMBOLS_NO_FILE);
        assert_string_equal(symbols_why(dso), "no permission to read the file");
    }
    symbols_free(symbols);
    symbols_free(NULL);
}

/* Of a build-id no more than 64 bytes count; each other one of these makes another DSO. */
static void test_long_build_ids(void **state)
{
    unsigned char id[100];
    struct symbols *symbols = new_symbols(NULL);
    size_t size;

    (void)state;
    memset(id, 7, sizeof(id));
    struct symbols_dso *dso = symbols_dso(symbols, "/x", id, 100);
    assert_memory_equal(symbols_build_id(dso, &size), id, 64);
    assert_int_equal(size, 64);
    assert_ptr_equal(symbols_dso(symbols, "/x", id, 64), dso);
    assert_ptr_not_equal(symbols_dso(symbols, "/x", id, 63), dso);
    id[64] = 1;
    assert_ptr_equal(symbols_dso(symbols, "/x", id, 65), dso);
    id[63] = 1;
    assert_ptr_not_equal(symbols_dso(symbols, "/x", id, 64), dso);
    assert_ptr_not_equal(symbols_dso(symbols, "/y", id, 64), symbols_dso(symbols, "/x", id, 64));
    symbols_free(symbols);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Looks at all that there is of a file that may be anything. */
static void poke(const char *name, uint64_t *seed)
{
    struct symbols *symbols = new_symbols(NULL);
    struct symbols_dso *dso = symbols_dso(symbols, in_directory(name), NULL, 0);
    struct symbol symbol;
    size_t length = 0, size;

    for (int i = 0; i < 32; i++) {
        if (symbols_find(dso, 0x1000 + next_random(seed) % 0x1000, &symbol))
            length += strlen(symbol.name) + strlen(symbol.raw_name);
    }
    symbols_find(dso, next_random(seed), &symbol);
    symbols_build_id(dso, &size);
    length += symbols_count(dso) + (symbols_why(dso) ? strlen(symbols_why(dso)) : 0);
    assert_true(length < SIZE_MAX / 2);
    symbols_free(symbols);
}

/* Half of the damage goes where the headers are. */
static void damage(unsigned char *bytes, size_t size, uint64_t *seed)
{
    Elf64_Ehdr header;
    size_t count = 1 + next_random(seed) % 8, at;

    memcpy(&header, bytes, sizeof(header));
    for (size_t i = 0; i < count; i++) {
        switch (next_random(seed) % 4) {
        case 0: at = next_random(seed) % 1024; break;
        case 1: at = header.e_shoff + next_random(seed) % 2048; break;
        default: at = next_random(seed);
        }
        bytes[at % size] = (unsigned char)(next_random(seed) % 3 ? next_random(seed) : 0xff);
    }
}

static unsigned char *read_file(const char *name, size_t *ret_size)
{
    FILE *file = fopen(in_directory(name), "r");
    unsigned char *bytes = malloc(1 << 20);

    assert_non_null(file);
    assert_non_null(bytes);
    *ret_size = fread(bytes, 1, 1 << 20, file);
    assert_true(*ret_size > 4096);
    fclose(file);
    return bytes;
}

static void test_mutations(void **state)
{
    static const char *const names[] = {"plain", "stripped", "plain.debug"};
    uint64_t seed = 0x9e3779b97f4a7c15;

    (void)state;
    if (!have_tools)
        skip();
    must("mkdir -p mutants && cp plain.debug mutants/ && objcopy --add-gnu-debuglink=plain.debug stripped "
         "mutants/linked");
    for (int file = 0; file < 3; file++) {
        size_t size;
        unsigned char *bytes = read_file(names[file], &size), *mutant = malloc(size);

        assert_non_null(mutant);
        for (int round = 0; round < 700; round++) {
            memcpy(mutant, bytes, size);
            damage(mutant, size, &seed);
            write_file(file == 2 ? "mutants/plain.debug" : "mutants/mutant", mutant,
                       round % 8 ? size : next_random(&seed) % size);
            poke(file == 2 ? "mutants/linked" : "mutants/mutant", &seed);
        }
        free(mutant);
        free(bytes);
    }
}

/* The linker leads the resolver's own allocations here (--wrap); libc and libelf go on as they are. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

static long allocations_left = -1; /* then all fail; -1: none does */

static bool may_allocate(void)
{
    if (allocations_left > 0)
        allocations_left--;
    return allocations_left != 0;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    return may_allocate() ? __real_realloc(old, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
    return may_allocate() ? __real_strdup(text) : NULL;
}

char *__wrap_strndup(const char *text, size_t size)
{
    return may_allocate() ? __real_strndup(text, size) : NULL;
}

/* All kinds of DSOs with memory for so many allocations. Whether any failed. */
static bool starve(long allocations, const char *path)
{
    static const char *const roots[] = {"/does/not/exist", "/neither"};
    struct symbols_dso *dsos[5];
    struct symbols *symbols = NULL;
    struct symbol symbol;
    bool failed;

    allocations_left = allocations;
    const struct symbols_options options = {.symfs = "/", .debug_paths = roots, .debug_path_count = 2};
    if (symbols_new(&options, &symbols) == 0) {
        dsos[0] = symbols_dso(symbols, path, NULL, 0);
        dsos[1] = symbols_dso(symbols, "/does/not/exist", (const unsigned char *)"12345678901234567890", 20);
        dsos[2] = symbols_dso(symbols, "[vdso]", NULL, 0);
        dsos[3] = symbols_kernel(symbols, &(struct symbols_kernel){.osrelease = "1", .reference_name = "_text"});
        dsos[4] = symbols_jit(symbols, (uint32_t)getpid());
        for (size_t i = 0; i < sizeof(dsos) / sizeof(*dsos); i++)
            for (uint64_t offset = 0x1000; dsos[i] && offset < 0x1400; offset += 16)
                if (symbols_find(dsos[i], offset, &symbol))
                    assert_non_null(symbol.name);
    }
    failed = allocations_left == 0;
    allocations_left = -1;
    if (symbols && failed)
        for (size_t i = 0; i < sizeof(dsos) / sizeof(*dsos); i++)
            if (dsos[i] && (symbols_missing(dsos[i]) & SYMBOLS_NO_MEMORY))
                assert_non_null(symbols_why(dsos[i]));
    symbols_free(symbols);
    return failed;
}

static void ignore_row(void *context, uint64_t address, const char *compiled_in, const char *file, uint32_t line)
{
    (void)context;
    (void)address;
    (void)compiled_in;
    (void)file;
    (void)line;
}

/* Lines, and what an archive keeps, of PATH with memory for so many allocations. Whether any failed. */
static bool starve_lines(long allocations, const char *path)
{
    struct symbol_line lines[SYMBOLS_LINES_MAX];
    unsigned char *bytes = NULL;
    struct symbols *symbols = NULL;
    unsigned fds = check_open_fds();
    size_t size, found = 0;
    bool failed;

    allocations_left = allocations;
    if (symbols_new(NULL, &symbols) == 0) {
        struct symbols_dso *dso = symbols_dso(symbols, path, NULL, 0);
        for (uint64_t offset = 0x1000; dso && offset < 0x1400; offset += 4)
            found += symbols_lines(dso, offset, lines);
        if (dso)
            symbols_rows(dso, 0, UINT64_MAX, ignore_row, NULL);
        assert_true(!dso || found || allocations_left == 0);
        assert_int_equal(check_open_fds(), fds);
    }
    int error = elf_cut(path, &bytes, &size);
    failed = allocations_left == 0;
    allocations_left = -1;
    assert_true(error == 0 || (failed && error == -ENOMEM));
    assert_int_equal(check_open_fds(), fds);
    if (error == 0)
        free(bytes);
    symbols_free(symbols);
    return failed;
}

static void test_no_memory(void **state)
{
    char path[512];
    long allocations = 0;

    (void)state;
    if (!have_tools)
        skip();
    must("objcopy --add-gnu-debuglink=plain.debug stripped memory");
    snprintf(path, sizeof(path), "%s", in_directory("memory"));
    while (starve(allocations, path))
        allocations++;
    assert_true(allocations > 20);
}

static void test_no_memory_for_lines(void **state)
{
    static const char *const kinds[] = {"-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gsplit-dwarf"};

    (void)state;
    if (!have_tools)
        skip();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char path[512];
        long allocations = 0;

        must("%s -O1 -g %s -fno-builtin -c -o lines.o c.c && %s -o lines lines.o -lm", TEST_CC, kinds[i], TEST_CC);
        snprintf(path, sizeof(path), "%s", in_directory("lines"));
        while (starve_lines(allocations, path))
            allocations++;
        assert_true(allocations > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strange_paths),       cmocka_unit_test(test_long_build_ids),
        cmocka_unit_test(test_mutations),           cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_lines),
    };

    return cmocka_run_group_tests_name("hostile symbol files", tests, tools_set_up, tools_tear_down);
}
