/* SPDX-License-Identifier: MIT */
/* Packages of split debug information and links to shared one, byte by byte. */
#include "check.h"

#include <dwarf.h>
#include <errno.h>

#include "analyze/sym/dwarf_split.h"
#include "elf_kit.h"

struct bytes {
    unsigned char at[4096];
    size_t size;
};

static void put(struct bytes *bytes, uint64_t number, unsigned size)
{
    assert_true(bytes->size + size <= sizeof(bytes->at));
    for (unsigned i = 0; i < size; i++)
        bytes->at[bytes->size++] = (unsigned char)(number >> 8 * i);
}

static const unsigned char abbreviations[] = {1, DW_TAG_compile_unit, 0, DW_AT_name, DW_FORM_string, 0, 0, 0};

/* A unit of split DWARF 5 with a name of one letter; its size. */
static uint32_t put_unit(struct bytes *bytes, uint64_t id, char name)
{
    put(bytes, 2 + 1 + 1 + 4 + 8 + 3, 4);
    put(bytes, 5, 2);
    put(bytes, DW_UT_split_compile, 1);
    put(bytes, 8, 1);
    put(bytes, 0, 4);
    put(bytes, id, 8);
    put(bytes, 1, 1);
    put(bytes, (unsigned char)name, 2);
    return 4 + 19;
}

/* ---- packages */

enum { UNITS = 3, SLOTS = 4, UNIT_SIZE = 23 };

/* All begin at slot 1; the second and third one go on by 1 and by 3. */
static const uint64_t ids[UNITS] = {0x1111111100000001, 0x2222222000000001, 0x3333333300000005};

static struct package {
    uint32_t version, columns, units, slots;
    uint32_t column[40];
    uint64_t table[SLOTS];
    uint32_t rows[SLOTS];
    uint32_t offsets[UNITS][40], sizes[UNITS][40];
} package;

static struct bytes info, index_bytes;
static const unsigned char others[64];

static void begin_package(uint32_t version)
{
    static const uint32_t columns[] = {DW_SECT_INFO, DW_SECT_ABBREV, DW_SECT_LINE, DW_SECT_STR_OFFSETS, 8, 2, 5};
    memset(&package, 0, sizeof(package));
    package.version = version;
    package.columns = sizeof(columns) / sizeof(columns[0]);
    package.units = UNITS;
    package.slots = SLOTS;
    memcpy(package.column, columns, sizeof(columns));
    info.size = 0;
    for (unsigned i = 0; i < UNITS; i++) {
        package.offsets[i][0] = (uint32_t)info.size;
        package.sizes[i][0] = put_unit(&info, ids[i], (char)('a' + i));
        package.sizes[i][1] = sizeof(abbreviations);
        for (uint32_t column = 2; column < package.columns; column++) {
            package.offsets[i][column] = column + 10 * i;
            package.sizes[i][column] = 20 + column;
        }
    }
    package.table[1] = ids[0];
    package.rows[1] = 1;
    package.table[2] = ids[1];
    package.rows[2] = 2;
    package.table[0] = ids[2];
    package.rows[0] = 3;
}

static void put_package(void)
{
    index_bytes.size = 0;
    put(&index_bytes, package.version, 4);
    put(&index_bytes, package.columns, 4);
    put(&index_bytes, package.units, 4);
    put(&index_bytes, package.slots, 4);
    for (uint32_t i = 0; i < package.slots && i < SLOTS; i++)
        put(&index_bytes, package.table[i], 8);
    for (uint32_t i = 0; i < package.slots && i < SLOTS; i++)
        put(&index_bytes, package.rows[i], 4);
    for (uint32_t i = 0; i < package.columns; i++)
        put(&index_bytes, package.column[i], 4);
    for (uint32_t row = 0; row < package.units && row < UNITS; row++)
        for (uint32_t i = 0; i < package.columns; i++)
            put(&index_bytes, package.offsets[row][i], 4);
    for (uint32_t row = 0; row < package.units && row < UNITS; row++)
        for (uint32_t i = 0; i < package.columns; i++)
            put(&index_bytes, package.sizes[row][i], 4);
}

/* The unit ID of the package; NULL: it has none. */
static struct dwarf_file *unit_of(uint64_t id)
{
    const struct debug_roots roots = {NULL, 0, ""};
    const struct dwarf_places places = {"/does/not/exist/it", "/does/not/exist/it", &roots};
    const struct dwarf_file file = {.unit_count = 0};
    const struct dwarf_unit unit = {.dwo_id = id, .dwo_name = "it.dwo"};
    struct dwarf_package with = {.looked_for = true, .found = true};
    struct elf_file debug = {.fd = -1};
    struct dwarf_file *split = NULL;
    char *path = NULL;
    with.sections.part[DWARF_INFO] = (struct dwarf_slice){info.at, info.size};
    with.sections.part[DWARF_ABBREV] = (struct dwarf_slice){abbreviations, sizeof(abbreviations)};
    with.sections.part[DWARF_CU_INDEX] = (struct dwarf_slice){index_bytes.at, index_bytes.size};
    with.sections.part[DWARF_LINE] = with.sections.part[DWARF_STR_OFFSETS] = with.sections.part[DWARF_RNGLISTS] =
        with.sections.part[DWARF_STR] = (struct dwarf_slice){others, sizeof(others)};
    int error = dwarf_split_new(&file, &unit, &with, &places, &debug, &split, &path);
    assert_true(error == (split ? 0 : -ENOENT));
    assert_null(path);
    return split;
}

/* The package has the unit ID, with NAME; NULL: it has not. */
static void unit_is(uint64_t id, const char *name)
{
    struct dwarf_file *split = unit_of(id);
    assert_int_equal(split != NULL, name != NULL);
    if (!split)
        return;
    assert_int_equal(split->unit_count, 1);
    assert_string_equal(split->units[0].name, name);
    assert_true(split->units[0].dwo_id == id);
    dwarf_file_free(split);
}

static void slice_is(const struct dwarf_slice *slice, uint64_t offset, size_t size)
{
    assert_int_equal(slice->size, size);
    assert_ptr_equal(slice->at, size ? others + offset : NULL);
}

/* Each unit gets what the index says of it: of its sections in version 2 of GNU and in DWARF 5. */
static void test_units(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 5; version += 3) {
        begin_package(version);
        put_package();
        for (unsigned i = 0; i < UNITS; i++) {
            struct dwarf_file *split = unit_of(ids[i]);
            assert_non_null(split);
            unit_is(ids[i], i == 0 ? "a" : i == 1 ? "b" : "c");
            slice_is(&split->sections.part[DWARF_LINE], 2 + 10 * i, 22);
            slice_is(&split->sections.part[DWARF_STR_OFFSETS], 3 + 10 * i, 23);
            slice_is(&split->sections.part[DWARF_RNGLISTS], 4 + 10 * i, version == 5 ? 24 : 0);
            slice_is(&split->sections.part[DWARF_STR], 0, sizeof(others)); /* of all units */
            assert_true(split->dwo);
            dwarf_file_free(split);
        }
        unit_is(0x4444444400000001, NULL);
        unit_is(0x1111111100000002, NULL);
        unit_is(0x1111111100000003, NULL); /* at a free slot */
    }
}

static void test_hash_tables(void **state)
{
    (void)state;
    /* Without a free slot the search ends too. */
    begin_package(5);
    package.table[3] = 99;
    package.rows[3] = 1;
    put_package();
    unit_is(0x4444444400000001, NULL);
    unit_is(ids[2], "c");
    /* A row that is none. */
    package.rows[0] = 4;
    put_package();
    unit_is(ids[2], NULL);
    package.rows[0] = UINT32_MAX;
    put_package();
    unit_is(ids[2], NULL);
    unit_is(ids[1], "b");
    package.slots = 3;
    put_package();
    unit_is(ids[0], NULL);
    package.slots = 0;
    put_package();
    unit_is(ids[0], NULL);
    /* One unit, one slot. */
    begin_package(5);
    package.slots = package.units = 1;
    package.table[0] = ids[0];
    package.rows[0] = 1;
    put_package();
    unit_is(ids[0], "a");
    unit_is(ids[1], NULL);
}

static void test_bad_packages(void **state)
{
    static const uint32_t versions[] = {0, 1, 3, 4, 6, 0x20000};
    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        begin_package(versions[i]);
        put_package();
        unit_is(ids[0], NULL);
    }
    begin_package(5);
    package.columns = 32; /* those that are not told are 0 */
    put_package();
    unit_is(ids[0], "a");
    package.columns = 33;
    put_package();
    unit_is(ids[0], NULL);
    /* Cut off anywhere. */
    begin_package(5);
    put_package();
    for (size_t size = index_bytes.size; index_bytes.size-- > 0;) {
        assert_true(index_bytes.size < size);
        unit_is(ids[0], NULL);
    }
    /* Numbers so large that their product is small. */
    begin_package(5);
    package.units = 1u << 31;
    put_package();
    unit_is(ids[0], NULL);
}

/* A part that is not wholly there is left out; without the DIEs there is no unit. */
static void test_parts(void **state)
{
    (void)state;
    for (uint32_t past = 0; past < 2; past++) {
        begin_package(5);
        package.offsets[0][2] = 30; /* up to the end */
        package.sizes[0][2] = sizeof(others) - 30 + past;
        package.offsets[0][3] = sizeof(others) + past;
        package.sizes[0][3] = 0;
        package.sizes[0][4] = UINT32_MAX;
        put_package();
        struct dwarf_file *split = unit_of(ids[0]);
        assert_non_null(split);
        slice_is(&split->sections.part[DWARF_LINE], 30, past ? 0 : sizeof(others) - 30);
        slice_is(&split->sections.part[DWARF_RNGLISTS], 0, 0);
        dwarf_file_free(split);
        package.sizes[2][0] += past;
        put_package();
        unit_is(ids[2], past ? NULL : "c");
    }
    /* What the index says is the unit is another one. */
    begin_package(5);
    package.rows[1] = 2;
    put_package();
    unit_is(ids[0], NULL);
    /* Its entries are empty. */
    begin_package(5);
    package.sizes[0][0] = 0;
    put_package();
    unit_is(ids[0], NULL);
}

/* ---- what dwz shared */

static char directory[] = "/tmp/pinject-dwarf-split-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[16][300];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

/* A shared file with a build-id of SIZE bytes, all 7, and DIEs unless DAMAGED. */
static void write_shared(const char *path, uint32_t size, bool damaged)
{
    uint32_t note[3 + 1 + 16] = {4, size, NT_GNU_BUILD_ID};
    struct bytes unit = {.size = 0};
    memcpy(&note[3], "GNU", 4);
    memset(&note[4], 7, size);
    put_unit(&unit, 1, 'x');
    const struct elf_kit_section sections[] = {
        {".note.gnu.build-id", SHT_NOTE, .bytes = note, .size = 16 + (size + 3) / 4 * 4},
        {".debug_info", SHT_PROGBITS, .bytes = unit.at, .size = damaged ? 3 : unit.size},
        {".debug_abbrev", SHT_PROGBITS, .bytes = abbreviations, .size = sizeof(abbreviations)}};
    elf_kit_write(path, NULL, sections, 3);
}

/* What becomes of a link to NAME, with a build-id of SIZE bytes, all 7 but for the last one: LAST. */
static int linked(const char *name, size_t size, int last, const char *expected)
{
    unsigned char link[600] = {0};
    const struct debug_roots roots = {NULL, 0, ""};
    const struct dwarf_places places = {path_of("program"), "/program", &roots};
    struct dwarf_file *sup = NULL;
    struct elf_file debug;
    char *path = NULL;
    size_t length = strlen(name);
    memcpy(link, name, length);
    memset(link + length + 1, 7, size);
    link[length + size] = (unsigned char)last;
    const struct elf_kit_section sections[] = {
        {".gnu_debugaltlink", SHT_PROGBITS, .bytes = link, .size = length + 1 + size}};
    elf_kit_write(path_of("program"), NULL, sections, 1);
    assert_int_equal(elf_file_init(&debug, path_of("program")), 0);
    unsigned fds = check_open_fds();
    int error = dwarf_sup_new(&debug, &places, &sup, &path);
    assert_int_equal(check_open_fds(), fds);
    assert_int_equal(sup != NULL, error == 0);
    assert_int_equal(path != NULL, error == 0);
    if (error == 0) {
        assert_string_equal(path, expected);
        assert_string_equal(sup->units[0].name, "x");
    }
    free(path);
    dwarf_file_free(sup);
    elf_file_release(&debug);
    return error;
}

static void test_links(void **state)
{
    static const struct {
        uint32_t size;
        int error;
    } cases[] = {{1, -ENOENT}, {2, 0}, {20, 0}, {64, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t size = cases[i].size;
        write_shared(path_of("shared"), size, false);
        assert_int_equal(linked("shared", size, 7, path_of("shared")), cases[i].error);
        assert_int_equal(linked(path_of("shared"), size, 7, path_of("shared")), cases[i].error);
        assert_int_equal(linked("shared", size, 8, NULL), -ENOENT);
        assert_int_equal(linked("shared", size + 1, 7, NULL), -ENOENT);
        write_shared(path_of("shared"), size, true);
        assert_int_equal(linked("shared", size, 7, NULL), -ENOENT);
    }
    write_shared(path_of("shared"), 20, false);
    assert_int_equal(linked("", 20, 7, NULL), -ENOENT);
    assert_int_equal(linked("other", 20, 7, NULL), -ENOENT);
    assert_int_equal(linked("/shared", 20, 7, NULL), -ENOENT);
}

static void test_no_link(void **state)
{
    const struct elf_kit_section sections[] = {{".text", SHT_PROGBITS, .size = 8}};
    const struct debug_roots roots = {NULL, 0, ""};
    const struct dwarf_places places = {path_of("program"), "/program", &roots};
    struct dwarf_file *sup = NULL;
    struct elf_file debug;
    char *path = NULL;
    (void)state;
    elf_kit_write(path_of("program"), NULL, sections, 1);
    assert_int_equal(elf_file_init(&debug, path_of("program")), 0);
    assert_int_equal(dwarf_sup_new(&debug, &places, &sup, &path), -ENODATA);
    assert_true(!sup && !path);
    elf_file_release(&debug);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units), cmocka_unit_test(test_hash_tables), cmocka_unit_test(test_bad_packages),
        cmocka_unit_test(test_parts), cmocka_unit_test(test_links),       cmocka_unit_test(test_no_link),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
