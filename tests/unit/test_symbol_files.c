/* SPDX-License-Identifier: MIT */
/*
 * The symbol resolver on real ELF files, against nm, readelf, objdump and addr2line; skipped where these are missing.
 */
#include "test_symbols_tools.h"

#include <inttypes.h>
#include <link.h>
#include <sys/auxv.h>

static const char cxx_source[] =
    "#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n#include <cstdio>\n"
    "namespace outer { template <class T> struct Box { T v; __attribute__((noipa)) T get(int n) const { T s = v;\n"
    "  for (volatile int i = 0; i < n; i++) s += i; return s; } };\n"
    "struct Less { __attribute__((noipa)) bool operator()(int a, int b) const { return a < b; } }; }\n"
    "int main(int c, char **) { outer::Box<double> b{1.0}; std::vector<int> v(100, c); std::map<std::string, int> m;\n"
    "  m[std::to_string(c)] = 1; std::sort(v.begin(), v.end(), outer::Less()); return (int)b.get(c) + (int)m.size(); "
    "}\n";

/* The line at TEXT alone, as far as it fits: sscanf() would measure all that follows each time. */
static const char *line_of(const char *text, char line[4096])
{
    size_t size = strcspn(text, "\n");

    if (size > 4095)
        size = 4095;
    memcpy(line, text, size);
    line[size] = '\0';
    return line;
}

/* The offset in the file of a virtual address, by readelf. */
static uint64_t offset_of(const char *headers, uint64_t address)
{
    for (const char *line = headers; (line = strstr(line, " LOAD ")); line++) {
        uint64_t offset, start, physical, size;
        char copy[4096];

        if (sscanf(line_of(line, copy), " LOAD %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &offset, &start,
                   &physical, &size) == 4 &&
            address >= start && address < start + size)
            return address - start + offset;
    }
    fail_msg("no segment for %" PRIx64, address);
    return 0;
}

struct truth {
    uint64_t address, size;
    char name[2048];
};

/* The next function with a size of "nm -n -S" in *AT. */
static bool next_truth(const char **at, struct truth *ret)
{
    while (**at) {
        const char *line = *at, *end = strchr(line, '\n');
        char type, copy[4096];

        *at = end ? end + 1 : line + strlen(line);
        if (sscanf(line_of(line, copy), "%" SCNx64 " %" SCNx64 " %c %2047[^\n]", &ret->address, &ret->size, &type,
                   ret->name) == 4 &&
            strchr("tTwWi", type) && ret->size)
            return true;
    }
    return false;
}

static bool same_name(const char *nm, const char *name)
{
    size_t size = strcspn(name, "@"), nm_size = strcspn(nm, "@");

    return size == nm_size && !strncmp(nm, name, size);
}

/* Whether nm has NAME for ADDRESS. */
static bool nm_has(const char *nm, uint64_t address, const char *name)
{
    struct truth truth;

    while (next_truth(&nm, &truth))
        if (truth.address == address && same_name(truth.name, name))
            return true;
    return false;
}

/*
 * First and last byte of every function that nm knows (every STEPth) must resolve to that function. How many there
 * were. nm reads NAMES, the DSO is mapped from PATH.
 */
static size_t compare_with_nm(struct symbols_dso *dso, const char *path, const char *nm_options, const char *names,
                              size_t step)
{
    char *headers = run("readelf -lW %s", path), *nm = run("nm -n -S %s %s", nm_options, names);
    const char *at = nm;
    struct truth truth;
    size_t count = 0, compared = 0;

    assert_non_null(headers);
    assert_non_null(nm);
    while (next_truth(&at, &truth)) {
        uint64_t offset = offset_of(headers, truth.address);
        struct symbol first, last;

        if (count++ % step)
            continue;
        compared++;
        assert_true(symbols_find(dso, offset, &first));
        assert_true(symbols_find(dso, offset + truth.size - 1, &last));
        if (first.start != truth.address || !nm_has(nm, truth.address, first.raw_name))
            fail_msg("%s: nm says %s at %" PRIx64 ", we say %s at %" PRIx64, path, truth.name, truth.address,
                     first.raw_name, first.start);
        /* One function may lie in another; never does its last byte belong to an earlier one. */
        assert_true(last.start >= truth.address && last.start < truth.address + truth.size);
        assert_true(last.address == truth.address + truth.size - 1);
    }
    free(headers);
    free(nm);
    return compared;
}

/* Every PLT entry that objdump names, first and last byte. How many there were. */
static size_t compare_plt(struct symbols_dso *dso, const char *path)
{
    char *headers = run("readelf -lW %s", path);
    char *text = run("objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null", path);
    size_t count = 0;

    assert_non_null(headers);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        uint64_t address;
        char name[1024], rest[32], copy[4096];
        struct symbol symbol;

        /* Not "<first@plt-0x10>:", the common stub, nor "<*ABS*+0x1234@plt>:", a function without a name. */
        if (sscanf(line_of(line, copy), "%" SCNx64 " <%1000[^>@*]%31s", &address, name, rest) != 3 ||
            strcmp(rest, "@plt>:"))
            continue;
        assert_true(symbols_find(dso, offset_of(headers, address), &symbol));
        assert_true(symbol.plt && symbol.start == address);
        assert_true(same_name(symbol.raw_name, name));
        assert_non_null(strstr(symbol.name, "@plt"));
        assert_true(symbols_find(dso, offset_of(headers, address) + 7, &symbol));
        assert_true(symbol.start == address);
        count++;
    }
    free(headers);
    free(text);
    return count;
}

static void test_own_symtab(void **state)
{
    struct symbols *symbols;
    struct symbols_dso *dso;

    (void)state;
    if (!have_tools)
        skip();
    symbols = new_symbols(NULL);
    dso = symbols_dso(symbols, in_directory("plain"), NULL, 0);
    assert_ptr_equal(dso, symbols_dso(symbols, in_directory("plain"), NULL, 0));
    assert_true(compare_with_nm(dso, in_directory("plain"), "", in_directory("plain"), 1) >= 5);
    assert_null(symbols_why(dso));
    assert_int_equal(symbols_missing(dso), 0);
    assert_string_equal(symbols_file(dso), in_directory("plain"));
    assert_null(symbols_debug_file(dso));
    assert_true(compare_plt(dso, in_directory("plain")) >= 5);
    dso = symbols_dso(symbols, in_directory("now"), NULL, 0);
    assert_true(compare_plt(dso, in_directory("now")) >= 5);
    symbols_free(symbols);
}

/* An alias, an indirect function, an address behind everything. */
static void test_kinds(void **state)
{
    char *headers, *nm;
    const char *at;
    struct symbols *symbols;
    struct symbols_dso *dso;
    struct symbol symbol;
    struct truth truth;
    size_t seen = 0;
    uint64_t address;

    (void)state;
    if (!have_tools)
        skip();
    symbols = new_symbols(NULL);
    dso = symbols_dso(symbols, in_directory("plain"), NULL, 0);
    headers = run("readelf -lW %s", in_directory("plain"));
    at = nm = run("nm -n -S %s", in_directory("plain"));
    while (next_truth(&at, &truth)) {
        if (strcmp(truth.name, "weak_shown") && strcmp(truth.name, "chosen"))
            continue;
        assert_true(symbols_find(dso, offset_of(headers, truth.address), &symbol));
        if (!strcmp(truth.name, "weak_shown"))
            assert_string_equal(symbol.name, "shown");
        else
            assert_true(symbol.ifunc && !strcmp(symbol.name, "chosen"));
        seen++;
    }
    assert_int_equal(seen, 2);
    assert_false(symbols_find(dso, UINT64_MAX, &symbol));
    assert_false(symbols_find(dso, 1 << 30, &symbol));
    assert_false(symbols_address(dso, 1 << 30, &address));
    free(headers);
    free(nm);
    symbols_free(symbols);
}

/* Without debug info addr2line reads the same table by itself. */
static void test_addr2line(void **state)
{
    char *headers, *nm, *name;
    const char *at;
    struct symbols *symbols;
    struct symbols_dso *dso;
    struct symbol symbol;
    struct truth truth;
    size_t count = 0;

    (void)state;
    if (!have_tools)
        skip();
    symbols = new_symbols(NULL);
    dso = symbols_dso(symbols, in_directory("plain"), NULL, 0);
    headers = run("readelf -lW %s", in_directory("plain"));
    at = nm = run("nm -n -S %s", in_directory("plain"));
    while (next_truth(&at, &truth)) {
        uint64_t inside = truth.address + truth.size / 2;

        name = run("addr2line -f -e %s %" PRIx64, in_directory("plain"), inside);
        assert_non_null(name);
        name[strcspn(name, "\n")] = '\0';
        assert_true(symbols_find(dso, offset_of(headers, inside), &symbol));
        assert_true(nm_has(nm, symbol.start, name));
        free(name);
        count++;
    }
    assert_true(count >= 5);
    free(headers);
    free(nm);
    symbols_free(symbols);
}

static void test_cxx(void **state)
{
    struct symbols *symbols;
    struct symbols_dso *dso;
    struct symbol symbol;
    char *headers, *nm, *version;
    const char *at;
    struct truth truth;
    size_t seen = 0;

    (void)state;
    version = run("g++ --version 2>&1");
    if (!have_tools || !version)
        skip();
    free(version);
    write_file("cxx.cc", cxx_source, sizeof(cxx_source) - 1);
    must("g++ -O2 -o cxx cxx.cc");
    symbols = new_symbols(NULL);
    dso = symbols_dso(symbols, in_directory("cxx"), NULL, 0);
    assert_true(compare_with_nm(dso, in_directory("cxx"), "", in_directory("cxx"), 1) >= 8);
    assert_true(compare_plt(dso, in_directory("cxx")) >= 3);
    headers = run("readelf -lW %s", in_directory("cxx"));
    at = nm = run("nm -n -S %s", in_directory("cxx"));
    while (next_truth(&at, &truth)) {
        bool box = !strcmp(truth.name, "_ZNK5outer3BoxIdE3getEi"), less = !strcmp(truth.name, "_ZNK5outer4LessclEii");

        if (!box && !less)
            continue;
        assert_true(symbols_find(dso, offset_of(headers, truth.address), &symbol));
        assert_string_equal(symbol.name, box ? "outer::Box<double>::get" : "outer::Less::operator()");
        assert_string_equal(symbol.raw_name, truth.name);
        seen++;
    }
    assert_int_equal(seen, 2);
    free(headers);
    free(nm);
    symbols_free(symbols);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *opaque)
{
    (void)size;
    if (strstr(info->dlpi_name, "/libc.so"))
        snprintf(opaque, 512, "%s", info->dlpi_name);
    return 0;
}

static void test_libc(void **state)
{
    struct symbols *symbols;
    struct symbols_dso *dso;
    char path[512] = "";
    size_t compared;

    (void)state;
    dl_iterate_phdr(find_libc, path);
    if (!have_tools || !path[0])
        skip();
    symbols = new_symbols(NULL);
    dso = symbols_dso(symbols, path, NULL, 0);
    compared = compare_with_nm(dso, path, symbols_debug_file(dso) ? "" : "-D",
                               symbols_debug_file(dso) ? symbols_debug_file(dso) : path, 20);
    assert_true(compared >= 20);
    compare_plt(dso, path);
    assert_int_equal(symbols_missing(dso) & ~(unsigned)SYMBOLS_STRIPPED, 0);
    symbols_free(symbols);
}

/* One DSO for PATH in a new struct symbols: what it misses, and whether it knows the local function hidden_one. */
static unsigned missing_of(const struct symbols_options *options, const char *path, const unsigned char *build_id,
                           size_t build_id_size, bool *ret_hidden_known, bool *ret_any)
{
    char *headers = run("readelf -lW %s", in_directory("plain")), *nm = run("nm -n -S %s", in_directory("plain"));
    struct symbols *symbols = new_symbols(options);
    struct symbols_dso *dso = symbols_dso(symbols, path, build_id, build_id_size);
    const char *at = nm;
    struct truth truth;
    struct symbol symbol;
    unsigned missing;

    *ret_hidden_known = *ret_any = false;
    while (next_truth(&at, &truth)) {
        if (!symbols_find(dso, offset_of(headers, truth.address), &symbol))
            continue;
        *ret_any = true;
        if (!strcmp(truth.name, "hidden_one") && !strcmp(symbol.name, "hidden_one"))
            *ret_hidden_known = true;
    }
    missing = symbols_missing(dso);
    assert_true((missing == 0) == (symbols_why(dso) == NULL));
    symbols_free(symbols);
    free(headers);
    free(nm);
    return missing;
}

static void read_build_id(unsigned char build_id[20])
{
    char *notes = run("readelf -n %s", in_directory("plain")), *at = notes ? strstr(notes, "Build ID: ") : NULL;

    assert_non_null(at);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sscanf(at + 10 + 2 * i, "%2hhx", &build_id[i]), 1);
    free(notes);
}

static void test_separate_debug(void **state)
{
    const char *roots[1] = {NULL};
    struct symbols_options options = {.debug_paths = roots, .debug_path_count = 1};
    unsigned char id[20];
    char root[512];
    bool hidden, any;

    (void)state;
    if (!have_tools)
        skip();
    read_build_id(id);
    assert_int_equal(missing_of(NULL, in_directory("stripped"), id, 20, &hidden, &any), SYMBOLS_STRIPPED);
    assert_false(hidden);

    /* By .gnu_debuglink beside the file, in .debug/ and below a root. */
    must("cp stripped linked && objcopy --add-gnu-debuglink=plain.debug linked");
    assert_int_equal(missing_of(NULL, in_directory("linked"), NULL, 0, &hidden, &any), 0);
    assert_true(hidden);
    must("mkdir -p .debug && mv plain.debug .debug/");
    assert_int_equal(missing_of(NULL, in_directory("linked"), NULL, 0, &hidden, &any), 0);
    snprintf(root, sizeof(root), "%s/root", directory);
    roots[0] = root;
    must("mkdir -p root%s && mv .debug/plain.debug root%s/", directory, directory);
    assert_int_equal(missing_of(NULL, in_directory("linked"), NULL, 0, &hidden, &any), SYMBOLS_STRIPPED);
    assert_int_equal(missing_of(&options, in_directory("linked"), NULL, 0, &hidden, &any), 0);
    assert_true(hidden);

    /* By build-id. */
    must("mkdir -p root/.build-id/%02x && mv root%s/plain.debug root/.build-id/%02x/$(readelf -n plain | "
         "sed -n 's/.*Build ID: ..//p').debug",
         id[0], directory, id[0]);
    assert_int_equal(missing_of(&options, in_directory("stripped"), id, 20, &hidden, &any), 0);
    assert_true(hidden);
    must("cp root/.build-id/%02x/*.debug plain.debug", id[0]);
}

/* Without build-ids only the CRC of the link tells whether a debug file belongs to the file. */
static void test_debuglink_crc(void **state)
{
    bool hidden, any;

    (void)state;
    if (!have_tools)
        skip();
    must("objcopy -R .note.gnu.build-id plain noid && objcopy --only-keep-debug noid noid.debug && strip noid && "
         "objcopy --add-gnu-debuglink=noid.debug noid");
    assert_int_equal(missing_of(NULL, in_directory("noid"), NULL, 0, &hidden, &any), 0);
    assert_true(hidden);
    must("printf x >> noid.debug");
    assert_int_equal(missing_of(NULL, in_directory("noid"), NULL, 0, &hidden, &any), SYMBOLS_STRIPPED);
    assert_false(hidden);
}

static void test_build_id(void **state)
{
    struct symbols_options options = {.symfs = directory};
    unsigned char id[20], other[20] = {1}, zero[20] = {0};
    char deleted[600];
    bool hidden, any;

    (void)state;
    if (!have_tools)
        skip();
    read_build_id(id);
    assert_int_equal(missing_of(NULL, in_directory("plain"), id, 20, &hidden, &any), 0);
    assert_true(hidden);
    assert_int_equal(missing_of(NULL, in_directory("plain"), zero, 20, &hidden, &any), 0);
    assert_int_equal(missing_of(NULL, in_directory("plain"), other, 20, &hidden, &any), SYMBOLS_OTHER_BUILD_ID);
    assert_false(any);
    snprintf(deleted, sizeof(deleted), "%s/plain (deleted)", directory);
    assert_int_equal(missing_of(NULL, deleted, id, 20, &hidden, &any), 0);
    assert_true(hidden);
    assert_int_equal(missing_of(NULL, deleted, NULL, 0, &hidden, &any), SYMBOLS_NO_FILE);
    assert_int_equal(missing_of(NULL, deleted, other, 20, &hidden, &any), SYMBOLS_OTHER_BUILD_ID);
    assert_int_equal(missing_of(&options, "/plain", id, 20, &hidden, &any), 0);
    assert_true(hidden);
    assert_int_equal(missing_of(&options, in_directory("plain"), id, 20, &hidden, &any), SYMBOLS_NO_FILE);
}

static void test_vdso(void **state)
{
    struct symbols *symbols = new_symbols(NULL);
    struct symbols_dso *dso = symbols_dso(symbols, "[vdso]", NULL, 0);
    static const unsigned char other[20] = {9};
    const unsigned char *id;
    size_t size, found = 0;
    struct symbol symbol;

    (void)state;
    if (!getauxval(AT_SYSINFO_EHDR) || !symbols_count(dso)) {
        symbols_free(symbols);
        skip();
    }
    for (uint64_t offset = 0; offset < 0x4000; offset++)
        if (symbols_find(dso, offset, &symbol) && strstr(symbol.name, "clock_gettime"))
            found++;
    assert_true(found > 8);
    assert_null(symbols_why(dso));
    id = symbols_build_id(dso, &size);
    if (size) {
        assert_int_equal(symbols_missing(symbols_dso(symbols, "[vdso]", id, size)), 0);
        assert_int_equal(symbols_missing(symbols_dso(symbols, "[vdso]", other, 20)), SYMBOLS_OTHER_KERNEL);
    }
    symbols_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_symtab),    cmocka_unit_test(test_kinds),    cmocka_unit_test(test_addr2line),
        cmocka_unit_test(test_cxx),           cmocka_unit_test(test_libc),     cmocka_unit_test(test_separate_debug),
        cmocka_unit_test(test_debuglink_crc), cmocka_unit_test(test_build_id), cmocka_unit_test(test_vdso),
    };

    return cmocka_run_group_tests_name("symbol files", tests, tools_set_up, tools_tear_down);
}
