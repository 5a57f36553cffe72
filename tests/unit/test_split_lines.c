/* SPDX-License-Identifier: MIT */
/*
 * Debug information in several files: split off by the compiler (.dwo, .dwp), or shared by dwz. Wherever it lies, it
 * says the same as that of the program built as one.
 */
#include "test_symbols_tools.h"

static const char sub_source[] = "static inline __attribute__((always_inline)) int deep(int a)\n{\n"
                                 "    for (int i = 0; i < v; i++)\n        a += i * v;\n    return a;\n}\n";
static const char main_source[] = "int volatile v;\n#include \"sub/deep.h\"\n"
                                  "static inline __attribute__((always_inline)) int middle(int a)\n{\n"
                                  "    return deep(a) + v;\n}\n"
                                  "__attribute__((noinline)) int shown(int a)\n{\n    return middle(a) * v;\n}\n"
                                  "int main(int c, char **w)\n{\n    (void)w;\n    return shown(c);\n}\n";

enum { TEXT_END = 0x3000 };

/* Lines and functions at all offsets of PROGRAM, as one text; owned by the caller. */
static char *lines_of(struct symbols *symbols, const char *program, const char **ret_why)
{
    static char why[100];
    struct symbols_dso *dso = symbols_dso(symbols, in_directory(program), NULL, 0);
    struct symbol_line lines[SYMBOLS_LINES_MAX];
    char *text = NULL;
    size_t size = 0;
    unsigned fds = check_open_fds();
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    for (uint64_t offset = 0x1000; offset < TEXT_END; offset++) {
        size_t count = symbols_lines(dso, offset, lines);
        for (size_t i = 0; i < count; i++)
            fprintf(stream, "%s%s %s:%u:%u", i ? " in " : "", lines[i].function ? lines[i].function : "?",
                    lines[i].file ? lines[i].file : "?", lines[i].line, lines[i].column);
        if (count)
            fputc('\n', stream);
    }
    fclose(stream);
    assert_int_equal(check_open_fds(), fds); /* however many files were read */
    snprintf(why, sizeof(why), "%s", symbols_lines_why(dso));
    *ret_why = why;
    return text;
}

static const char nothing_missing[] = "the file's debug information does not cover these addresses";

/* PROGRAM has the lines of PLAIN, with debug files below ROOT (NULL: none). */
static void same_lines(const char *program, const char *plain, const char *root)
{
    const struct symbols_options options = {.debug_paths = &root, .debug_path_count = root ? 1 : 0};
    struct symbols *symbols = new_symbols(&options), *others = new_symbols(NULL);
    const char *why;
    char *text = lines_of(symbols, program, &why);
    assert_string_equal(why, nothing_missing);
    char *expected = lines_of(others, plain, &why);
    assert_non_null(strstr(expected, "in middle "));
    assert_non_null(strstr(expected, "in shown "));
    /* Each file from the root on. */
    char file[320];
    snprintf(file, sizeof(file), "deep %s/sub/deep.h:4:", directory);
    assert_non_null(strstr(text, file));
    snprintf(file, sizeof(file), "shown %s/main.c:10:", directory);
    assert_non_null(strstr(text, file));
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    symbols_free(others);
    symbols_free(symbols);
}

/* PROGRAM has other lines than PLAIN, for WHY. */
static void missing_lines(const char *program, const char *plain, const char *root, const char *why)
{
    const struct symbols_options options = {.debug_paths = &root, .debug_path_count = root ? 1 : 0};
    struct symbols *symbols = new_symbols(&options);
    const char *told, *none;
    char *text = lines_of(symbols, program, &told);
    assert_string_equal(told, why);
    char *expected = lines_of(symbols, plain, &none);
    assert_string_not_equal(text, expected);
    assert_non_null(strstr(text, "main.c:")); /* a part is known */
    free(text);
    free(expected);
    symbols_free(symbols);
}

static struct {
    unsigned count;
    char path[300], place[100];
} used;

static void use_file(void *context, const char *path, const char *place)
{
    (void)context;
    used.count++;
    snprintf(used.path, sizeof(used.path), "%s", path);
    snprintf(used.place, sizeof(used.place), "%s", place);
}

/* The files that were read beside PROGRAM. */
static void look_at_files(const char *program)
{
    struct symbols *symbols = new_symbols(NULL);
    const char *why;
    used.count = 0;
    free(lines_of(symbols, program, &why));
    symbols_lines_files(symbols_dso(symbols, in_directory(program), NULL, 0), use_file, NULL);
    symbols_free(symbols);
}

static void build(const char *name, const char *options)
{
    must("%s -O2 -g %s -c -o %s.o main.c && %s -Wl,--build-id=sha1 -o %s %s.o", TEST_CC, options, name, TEST_CC, name,
         name);
}

static int split_set_up(void **state)
{
    if (tools_set_up(state) < 0)
        return -1;
    if (!have_tools)
        return 0;
    must("mkdir sub roots");
    write_file("main.c", main_source, sizeof(main_source) - 1);
    write_file("sub/deep.h", sub_source, sizeof(sub_source) - 1);
    build("plain4", "-gdwarf-4");
    build("plain5", "-gdwarf-5");
    build("split4", "-gdwarf-4 -gsplit-dwarf");
    build("split5", "-gdwarf-5 -gsplit-dwarf");
    return 0;
}

static bool is_split(void)
{
    return have_tools && access(in_directory("split4.dwo"), F_OK) == 0 && access(in_directory("split5.dwo"), F_OK) == 0;
}

static void test_split(void **state)
{
    (void)state;
    if (!is_split())
        skip();
    for (int version = 4; version <= 5; version++) {
        char split[16], plain[16], root[300], file[300];
        sprintf(split, "split%d", version);
        sprintf(plain, "plain%d", version);
        same_lines(split, plain, NULL);
        look_at_files(split);
        assert_int_equal(used.count, 1);
        snprintf(file, sizeof(file), "%s/%s.dwo", directory, split);
        assert_string_equal(used.path, file);
        assert_int_equal(strncmp(used.place, ".dwo/", 5), 0);
        assert_int_equal(strlen(used.place), 5 + 16 + 4);
        /* Gone, below a root by its name, and there by its id. */
        must("mkdir roots/%s && mv %s.dwo roots/%s/", split, split, split);
        missing_lines(split, plain, NULL, "a .dwo or .dwp file is missing");
        look_at_files(split);
        assert_int_equal(used.count, 0);
        snprintf(root, sizeof(root), "%s/roots/%s", directory, split);
        same_lines(split, plain, root);
        must("mkdir roots/%s/.dwo && mv roots/%s/%s.dwo roots/%s/%s", split, split, split, split, used.place);
        same_lines(split, plain, root);
        /* Another unit's. */
        must("cp roots/%s/%s %s.dwo && cp roots/split4/.dwo/* split4.dwo", split, used.place, split);
        if (version == 5) {
            must("cp split5.dwo kept && cp split4.dwo split5.dwo");
            missing_lines(split, plain, NULL, "a .dwo or .dwp file is missing");
            must("mv kept split5.dwo");
            same_lines(split, plain, NULL);
        }
    }
}

static const char types_source[] = "struct thing { int a; thing *next; };\n";
static const char cxx_source[] = "int volatile v;\n#include \"sub/types.h\"\n#include \"sub/deep.h\"\nthing here;\n"
                                 "__attribute__((noinline)) int shown(int a)\n{\n    return deep(a) * v + here.a;\n}\n"
                                 "int main(int c, char **)\n{\n    return shown(c);\n}\n";

/* A .dwo may have a list of files for its types alone; the calls are in files of the program's own list. */
static void test_files_of_types(void **state)
{
    char *version = run("clang --version 2>&1");
    bool have_clang = version != NULL;
    (void)state;
    free(version);
    if (!have_tools || !have_clang)
        skip();
    write_file("types.cc", cxx_source, sizeof(cxx_source) - 1);
    write_file("sub/types.h", types_source, sizeof(types_source) - 1);
    for (int number = 4; number <= 5; number++) {
        const char *why;
        char file[320];
        must("clang -x c++ -O2 -g -gdwarf-%d -gsplit-dwarf -fdebug-types-section -c -o types.o types.cc && "
             "clang -o types types.o",
             number);
        struct symbols *symbols = new_symbols(NULL);
        char *text = lines_of(symbols, "types", &why);
        assert_string_equal(why, nothing_missing);
        snprintf(file, sizeof(file), "in shown %s/types.cc:7:", directory);
        assert_non_null(strstr(text, file));
        snprintf(file, sizeof(file), "in shown %s/sub", directory);
        assert_null(strstr(text, file));
        free(text);
        symbols_free(symbols);
    }
}

/* The program was taken elsewhere: the path that the compiler wrote does not hold, but the .dwo lies beside it. */
static void test_moved(void **state)
{
    char name[64];
    (void)state;
    if (!is_split())
        skip();
    must("mkdir moved moved/sub && mv split4 split4.dwo moved/");
    snprintf(name, sizeof(name), "moved/split4");
    same_lines(name, "plain4", NULL);
    must("mv moved/split4 moved/split4.dwo .");
    /* A name with directories. */
    must("mkdir objects && %s -O2 -g -gdwarf-4 -gsplit-dwarf -c -o objects/s.o main.c && %s -o s objects/s.o", TEST_CC,
         TEST_CC);
    same_lines("s", "plain4", NULL);
    must("mv objects/s.dwo .");
    same_lines("s", "plain4", NULL);
    must("mv s.dwo moved/ && mv s moved/");
    same_lines("moved/s", "plain4", NULL);
}

/* One package for all units, beside the program or below a root by its name or its build-id. */
static void test_package(void **state)
{
    char *version = run("dwp --version 2>&1"), root[300];
    (void)state;
    bool have_dwp = version != NULL;
    free(version);
    if (!is_split() || !have_dwp)
        skip();
    must("cp split4 packed && dwp -e packed -o packed.dwp && mv split4.dwo hidden.dwo");
    missing_lines("split4", "plain4", NULL, "a .dwo or .dwp file is missing");
    same_lines("packed", "plain4", NULL);
    look_at_files("packed");
    assert_int_equal(used.count, 1);
    char place[100], *id = run("readelf -n %s | sed -n 's/.*Build ID: //p'", in_directory("packed"));
    assert_non_null(id);
    snprintf(place, sizeof(place), ".build-id/%.2s/%.38s.dwp", id, id + 2);
    free(id);
    assert_string_equal(used.place, place);
    assert_string_equal(used.path, in_directory("packed.dwp"));
    snprintf(root, sizeof(root), "%s/roots/packages", directory);
    must("mkdir -p roots/packages/.build-id/%.2s && mv packed.dwp roots/packages/", place + 10);
    same_lines("packed", "plain4", root);
    must("mv roots/packages/packed.dwp roots/packages/%s", place);
    same_lines("packed", "plain4", root);
    missing_lines("packed", "plain4", NULL, "a .dwo or .dwp file is missing");
    /* One without this unit: the .dwo is taken. */
    must("cp split5 packed && dwp -e packed -o packed.dwp; mv hidden.dwo split4.dwo; cp split4 packed");
    same_lines("packed", "plain4", NULL);
}

/* A build-id of one byte names no place, one of two does. */
static void test_short_ids(void **state)
{
    char *version = run("dwp --version 2>&1");
    bool have_dwp = version != NULL;
    (void)state;
    free(version);
    if (!is_split() || !have_dwp)
        skip();
    for (int size = 1; size <= 2; size++) {
        must("%s -Wl,--build-id=0xab%s -o short split4.o && dwp -e short -o short.dwp", TEST_CC, size == 2 ? "cd" : "");
        look_at_files("short");
        assert_int_equal(used.count, size - 1);
    }
    assert_string_equal(used.place, ".build-id/ab/cd.dwp");
}

/* What dwz moved into a file for several programs. */
static void test_shared(void **state)
{
    char *version = run("dwz --version 2>&1"), root[300];
    (void)state;
    bool have_dwz = version != NULL;
    free(version);
    if (!have_tools || !have_dwz)
        skip();
    build("plain", "-gdwarf-5");
    must("cp plain one && cp plain two && dwz -m shared.debug one two");
    if (access(in_directory("shared.debug"), F_OK) != 0)
        skip();
    same_lines("one", "plain", NULL);
    look_at_files("one");
    assert_int_equal(used.count, 1);
    assert_string_equal(used.path, in_directory("shared.debug"));
    assert_int_equal(strncmp(used.place, ".build-id/", 10), 0);
    snprintf(root, sizeof(root), "%s/roots/shared", directory);
    must("mkdir -p $(dirname roots/shared/%s) && mv shared.debug roots/shared/%s", used.place, used.place);
    same_lines("one", "plain", root);
    missing_lines("one", "plain", NULL, "the dwz supplementary file is missing");
    /* Another file of that name. */
    must("cp plain shared.debug");
    missing_lines("one", "plain", NULL, "the dwz supplementary file is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),   cmocka_unit_test(test_files_of_types), cmocka_unit_test(test_moved),
        cmocka_unit_test(test_package), cmocka_unit_test(test_short_ids),      cmocka_unit_test(test_shared),
    };
    return cmocka_run_group_tests_name("split lines", tests, split_set_up, tools_tear_down);
}
