/* SPDX-License-Identifier: MIT */
/* Which file gives the source lines of a DSO, also where files change between two looks, and why there are none. */
#include "test_symbols_tools.h"

#include <errno.h>

#include "analyze/sym/debuginfod.h"

static const char one_source[] = "#line 100 \"/src/one.c\"\nint volatile v;\n"
                                 "__attribute__((noinline)) int shown(int a) { return a * v; }\n"
                                 "int main(int c, char **w) { (void)w; return shown(c); }\n";
static const char two_source[] = "#line 200 \"/src/two.c\"\nint volatile v;\n"
                                 "__attribute__((noinline)) int shown(int a) { return a * v; }\n"
                                 "int main(int c, char **w) { (void)w; return shown(c); }\n";

/* ---- a server of debug files */

static struct {
    const char *path; /* NULL: it has none */
    const char *why;
    unsigned asked;
    unsigned char id[8];
} server;

int __wrap_debuginfod_new(unsigned seconds, struct debuginfod **ret);
void __wrap_debuginfod_free(struct debuginfod *debuginfod);
int __wrap_debuginfod_find(struct debuginfod *debuginfod, const unsigned char *build_id, size_t build_id_size,
                           char **ret_path, const char **ret_why);

int __wrap_debuginfod_new(unsigned seconds, struct debuginfod **ret)
{
    assert_int_equal(seconds, 7);
    *ret = (struct debuginfod *)&server;
    return 0;
}

void __wrap_debuginfod_free(struct debuginfod *debuginfod)
{
    assert_true(!debuginfod || debuginfod == (struct debuginfod *)&server);
}

int __wrap_debuginfod_find(struct debuginfod *debuginfod, const unsigned char *build_id, size_t build_id_size,
                           char **ret_path, const char **ret_why)
{
    assert_ptr_equal(debuginfod, &server);
    assert_true(build_id_size <= 8);
    memcpy(server.id, build_id, build_id_size);
    server.asked++;
    if (!server.path) {
        *ret_why = server.why;
        return -ENOENT;
    }
    *ret_path = strdup(server.path);
    return *ret_path ? 0 : -ENOMEM;
}

static int lines_set_up(void **state)
{
    if (tools_set_up(state) < 0)
        return -1;
    write_file("one.c", one_source, sizeof(one_source) - 1);
    write_file("two.c", two_source, sizeof(two_source) - 1);
    if (!have_tools)
        return 0;
    must("%s -g -O1 -Wl,--build-id=0x0123456789abcdef -o one one.c", TEST_CC);
    must("%s -g -O1 -Wl,--build-id=0x0123456789abcdee -o two two.c", TEST_CC);
    must("%s -g -O1 -Wl,--build-id=0x0123456789abcd -o short two.c", TEST_CC);
    must("%s -g -O1 -Wl,--build-id=none -o without two.c", TEST_CC);
    must("strip -g -o bare one && objcopy --only-keep-debug one one.debug && objcopy --only-keep-debug two two.debug");
    must("strip -o stripped one && objcopy --add-gnu-debuglink=one.debug stripped linked");
    return 0;
}

/* The offset of the function shown() in the file of DSO. */
static uint64_t offset_of_shown(struct symbols_dso *dso)
{
    struct symbol symbol;
    for (uint64_t offset = 0; offset < 1 << 16; offset++)
        if (symbols_find(dso, offset, &symbol) && strcmp(symbol.name, "shown") == 0 && symbol.address == symbol.start)
            return offset;
    fail_msg("%s has no function 'shown'", symbols_path(dso));
    return 0;
}

static void count_row(void *context, uint64_t address, const char *compiled_in, const char *file, uint32_t line)
{
    (void)address;
    (void)compiled_in;
    if (file && line)
        ++*(unsigned *)context;
}

static void count_file(void *context, const char *path, const char *place)
{
    (void)path;
    (void)place;
    ++*(unsigned *)context;
}

/* DSO has no lines, for WHY. */
static void has_no_lines(struct symbols_dso *dso, uint64_t offset, const char *why)
{
    struct symbol_line lines[SYMBOLS_LINES_MAX];
    unsigned rows = 0;
    assert_int_equal(symbols_lines(dso, offset, lines), 0);
    assert_string_equal(symbols_lines_why(dso), why);
    assert_null(symbols_lines_file(dso));
    symbols_rows(dso, 0, UINT64_MAX, count_row, &rows);
    symbols_lines_files(dso, count_file, &rows);
    assert_int_equal(rows, 0);
}

/* Lines of shown() are those of FILE from LINE on, out of DEBUG. */
static void has_lines(struct symbols_dso *dso, uint64_t offset, const char *file, uint32_t line, const char *debug)
{
    struct symbol_line lines[SYMBOLS_LINES_MAX];
    unsigned rows = 0;
    assert_int_equal(symbols_lines(dso, offset, lines), 1);
    assert_string_equal(lines[0].function, "shown");
    assert_string_equal(lines[0].raw_function, "shown");
    assert_string_equal(lines[0].file, file);
    assert_int_equal(lines[0].line, line + 1);
    assert_in_range(lines[0].column, 1, 60);
    assert_string_equal(symbols_lines_file(dso), debug);
    symbols_rows(dso, 0, UINT64_MAX, count_row, &rows);
    assert_true(rows >= 3);
    rows = 0;
    symbols_lines_files(dso, count_file, &rows);
    assert_int_equal(rows, 0);
    /* No code is there. */
    assert_int_equal(symbols_lines(dso, 1 << 30, lines), 0);
    assert_string_equal(symbols_lines_why(dso), "the file's debug information does not cover these addresses");
}

static void test_own_lines(void **state)
{
    struct symbols *symbols;
    struct symbols_dso *dso;
    (void)state;
    if (!have_tools)
        skip();
    symbols = new_symbols(NULL);
    dso = symbols_dso(symbols, in_directory("one"), NULL, 0);
    assert_null(symbols_lines_file(dso));
    uint64_t offset = offset_of_shown(dso);
    assert_null(symbols_lines_why(dso)); /* nobody asked */
    has_lines(dso, offset, "/src/one.c", 100, in_directory("one"));
    /* Rows alone load all that they need. */
    unsigned rows = 0;
    symbols_rows(symbols_dso(symbols, in_directory("two"), NULL, 0), 0, UINT64_MAX, count_row, &rows);
    assert_true(rows >= 3);
    dso = symbols_dso(symbols, in_directory("linked"), NULL, 0);
    has_lines(dso, offset_of_shown(dso), "/src/one.c", 100, in_directory("one.debug"));
    symbols_free(symbols);
}

/* Between the names and the lines the file is replaced: only the one that gave the names may give the lines. */
static void test_replaced_files(void **state)
{
    static const struct {
        const char *first, *then; /* then NULL: it is gone */
        const char *changed;      /* which one of the directory */
        bool same;
    } cases[] = {
        {"one", "one", "it", true},
        {"one", "two", "it", false},
        {"one", "short", "it", false},
        {"one", "without", "it", false},
        {"without", "one", "it", false},
        {"without", "without", "it", true},
        {"one", "bare", "it", false},
        {"one", "c.c", "it", false},
        {"one", NULL, "it", false},
        {"linked", "one.debug", "one.debug", true},
        {"linked", "two.debug", "one.debug", false},
        {"linked", "stripped", "one.debug", false},
        {"linked", NULL, "one.debug", false},
    };
    (void)state;
    if (!have_tools)
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        must("rm -rf case && mkdir case && cp %s case/it && cp one.debug case/", cases[i].first);
        struct symbols *symbols = new_symbols(NULL);
        struct symbols_dso *dso = symbols_dso(symbols, in_directory("case/it"), NULL, 0);
        char changed[32];
        uint64_t offset = offset_of_shown(dso);
        snprintf(changed, sizeof(changed), "case/%s", cases[i].changed);
        must("rm %s", changed);
        if (cases[i].then)
            must("cp %s %s", cases[i].then, changed);
        if (cases[i].same)
            has_lines(dso, offset, strcmp(cases[i].first, "without") ? "/src/one.c" : "/src/two.c",
                      strcmp(cases[i].first, "without") ? 100 : 200, in_directory(changed));
        else
            has_no_lines(dso, offset, "the file has no debug information");
        symbols_free(symbols);
    }
}

/* The server is asked where there is no debug information, and must have the very file. */
static void test_server(void **state)
{
    static const unsigned char id[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    static const struct {
        const char *program, *served, *why; /* why: NULL where there are lines then */
        unsigned asked;
    } cases[] = {
        {"bare", "one.debug", NULL, 1},
        {"bare", "two.debug", "the file has no debug information", 1},
        {"bare", "bare", "the file has no debug information", 1},
        {"bare", "not there", "the file has no debug information", 1},
        {"bare", NULL, "no server has it", 1},
        {"names", "one.debug", NULL, 1}, /* its separate file has names alone */
        {"one", "two.debug", NULL, 0},
        {"plain-without", "one.debug", "the file has no debug information", 0}, /* no build-id to ask for */
    };
    const struct symbols_options options = {.debuginfod_seconds = 7};
    (void)state;
    if (!have_tools)
        skip();
    must("strip -g -o plain-without without");
    must("objcopy --only-keep-debug bare bare.debug && objcopy --add-gnu-debuglink=bare.debug stripped names");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char served[512];
        struct symbols *symbols = new_symbols(&options);
        struct symbols_dso *dso = symbols_dso(symbols, in_directory(cases[i].program), NULL, 0);
        uint64_t offset = offset_of_shown(dso);
        snprintf(served, sizeof(served), "%s", in_directory(cases[i].served ? cases[i].served : "x"));
        memset(&server, 0, sizeof(server));
        server.path = cases[i].served ? served : NULL;
        server.why = cases[i].why;
        if (cases[i].why)
            has_no_lines(dso, offset, cases[i].why);
        else
            has_lines(dso, offset, "/src/one.c", 100, cases[i].asked ? served : in_directory("one"));
        assert_int_equal(server.asked, cases[i].asked);
        assert_memory_equal(server.id, cases[i].asked ? id : (const unsigned char[8]){0}, 8);
        symbols_free(symbols);
    }
}

static void test_dsos_without_lines(void **state)
{
    struct symbols *symbols = new_symbols(NULL);
    struct symbols_kernel kernel = {.osrelease = "0.0.1-never"};
    (void)state;
    has_no_lines(symbols_kernel(symbols, &kernel), 0x1000, "panalyze does not look up lines of kernel code");
    has_no_lines(symbols_jit(symbols, UINT32_MAX), 0x1000, "generated code has no line information");
    has_no_lines(symbols_dso(symbols, "/does/not/exist", NULL, 0), 0x1000, "the file is gone");
    has_no_lines(symbols_dso(symbols, "//anon", NULL, 0), 0x1000, "the code was in memory without a file");
    has_no_lines(symbols_dso(symbols, in_directory("c.c"), NULL, 0), 0x1000,
                 "the file is not an ELF file, or is damaged");
    if (have_tools) {
        struct symbols_dso *dso = symbols_dso(symbols, in_directory("bare"), NULL, 0);
        has_no_lines(dso, offset_of_shown(dso), "the file has no debug information");
        dso = symbols_dso(symbols, in_directory("plain"), NULL, 0);
        has_no_lines(dso, offset_of_shown(dso), "the file has no debug information");
        dso = symbols_dso(symbols, in_directory("stripped"), NULL, 0);
        has_no_lines(dso, 0x1000, "the file has no debug information");
    }
    symbols_free(symbols);
}

/* A part of it is not to be read. */
static void test_damaged_lines(void **state)
{
    struct symbols *symbols;
    struct symbols_dso *dso;
    struct symbol_line lines[SYMBOLS_LINES_MAX];
    (void)state;
    if (!have_tools)
        skip();
    must("printf '\\377\\377' > rubbish && objcopy --update-section .debug_info=rubbish one broken");
    symbols = new_symbols(NULL);
    dso = symbols_dso(symbols, in_directory("broken"), NULL, 0);
    assert_int_equal(symbols_lines(dso, offset_of_shown(dso), lines), 0);
    assert_non_null(strstr(symbols_lines_why(dso), "debug information is damaged"));
    symbols_free(symbols);
}

static void test_names_of_functions(void **state)
{
    static const char source[] = "namespace ns { __attribute__((noinline)) int shown(int a) { return a * 3; } }\n"
                                 "int main(int c, char **) { return ns::shown(c); }\n";
    char *version = run("g++ --version 2>&1");
    (void)state;
    if (!have_tools || !version)
        skip();
    free(version);
    write_file("cxx.cc", source, sizeof(source) - 1);
    must("g++ -g -O1 -o cxx cxx.cc");
    for (int raw = 0; raw < 2; raw++) {
        const struct symbols_options options = {.no_demangle = raw};
        struct symbols *symbols = new_symbols(&options);
        struct symbols_dso *dso = symbols_dso(symbols, in_directory("cxx"), NULL, 0);
        struct symbol_line lines[SYMBOLS_LINES_MAX];
        struct symbol symbol;
        uint64_t offset = 0;
        while (offset < 1 << 16 && !(symbols_find(dso, offset, &symbol) && strstr(symbol.name, "shown")))
            offset++;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(symbols_lines(dso, offset, lines), 1);
            assert_string_equal(lines[0].function, raw ? "_ZN2ns5shownEi" : "ns::shown");
            assert_string_equal(lines[0].raw_function, "_ZN2ns5shownEi");
        }
        symbols_free(symbols);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_lines),      cmocka_unit_test(test_server),
        cmocka_unit_test(test_replaced_files), cmocka_unit_test(test_dsos_without_lines),
        cmocka_unit_test(test_damaged_lines),  cmocka_unit_test(test_names_of_functions),
    };
    return cmocka_run_group_tests_name("lines", tests, lines_set_up, tools_tear_down);
}
