/* SPDX-License-Identifier: MIT */
/* Functions, what is inlined in them, and ranges of addresses, of debug information that is written by hand. */
#include "check.h"

#include <dwarf.h>
#include <errno.h>

#include "analyze/sym/dwarf_scope.h"

struct bytes {
    unsigned char at[32768];
    size_t size;
};

static void put(struct bytes *bytes, uint64_t number, unsigned size)
{
    assert_true(bytes->size + size <= sizeof(bytes->at));
    for (unsigned i = 0; i < size; i++)
        bytes->at[bytes->size++] = (unsigned char)(number >> 8 * i);
}

static void put_all(struct bytes *bytes, const void *from, size_t size)
{
    assert_true(bytes->size + size <= sizeof(bytes->at));
    memcpy(bytes->at + bytes->size, from, size);
    bytes->size += size;
}

enum { UNIT = 1, FUNCTION, INLINED, NAMED, PARTS, LATER, LIST, OTHER };

static const unsigned char abbreviations[] = {UNIT,
                                              DW_TAG_compile_unit,
                                              1,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              0,
                                              0,
                                              FUNCTION,
                                              DW_TAG_subprogram,
                                              1,
                                              DW_AT_name,
                                              DW_FORM_string,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_high_pc,
                                              DW_FORM_data4,
                                              0,
                                              0,
                                              INLINED,
                                              DW_TAG_inlined_subroutine,
                                              1,
                                              DW_AT_abstract_origin,
                                              DW_FORM_ref4,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              DW_AT_high_pc,
                                              DW_FORM_data4,
                                              DW_AT_call_file,
                                              DW_FORM_data1,
                                              DW_AT_call_line,
                                              DW_FORM_data2,
                                              DW_AT_call_column,
                                              DW_FORM_data1,
                                              0,
                                              0,
                                              NAMED,
                                              DW_TAG_subprogram,
                                              0,
                                              DW_AT_name,
                                              DW_FORM_string,
                                              DW_AT_linkage_name,
                                              DW_FORM_string,
                                              0,
                                              0,
                                              PARTS,
                                              DW_TAG_subprogram,
                                              0,
                                              DW_AT_name,
                                              DW_FORM_string,
                                              DW_AT_ranges,
                                              DW_FORM_sec_offset,
                                              0,
                                              0,
                                              LATER,
                                              DW_TAG_subprogram,
                                              0,
                                              DW_AT_specification,
                                              DW_FORM_ref4,
                                              0,
                                              0,
                                              OTHER,
                                              DW_TAG_lexical_block,
                                              1,
                                              DW_AT_low_pc,
                                              DW_FORM_addr,
                                              0,
                                              0,
                                              0};

static struct bytes info, ranges;

static void begin_unit(void)
{
    info.size = ranges.size = 0;
    put(&info, 0, 4); /* its length: see end_unit() */
    put(&info, 4, 2);
    put(&info, 0, 4);
    put(&info, 8, 1);
    put(&info, UNIT, 1);
    put(&info, 0x1000, 8);
}

static void end_unit(void)
{
    size_t size = info.size;
    info.size = 0;
    put(&info, size - 4, 4);
    info.size = size;
}

static void put_function(const char *name, uint64_t low, uint32_t size)
{
    put(&info, FUNCTION, 1);
    put_all(&info, name, strlen(name) + 1);
    put(&info, low, 8);
    put(&info, size, 4);
}

static void put_inlined(uint32_t of, uint64_t low, uint32_t size, uint16_t line)
{
    put(&info, INLINED, 1);
    put(&info, of, 4);
    put(&info, low, 8);
    put(&info, size, 4);
    put(&info, line / 100u, 1);
    put(&info, line, 2);
    put(&info, line % 100u, 1);
}

static uint32_t put_named(const char *name, const char *linkage)
{
    uint32_t die = (uint32_t)info.size;
    put(&info, NAMED, 1);
    put_all(&info, name, strlen(name) + 1);
    put_all(&info, linkage, strlen(linkage) + 1);
    return die;
}

static bool is_code(const void *context, uint64_t address)
{
    (void)context;
    return address >= 0x1000 && address < 0x10000;
}

/* The file of what was put, with as much WORK. */
static struct dwarf_file *file_of(uint64_t work)
{
    struct dwarf_file *file = calloc(1, sizeof(*file));
    assert_non_null(file);
    file->sections.part[DWARF_INFO] = (struct dwarf_slice){info.at, info.size};
    file->sections.part[DWARF_ABBREV] = (struct dwarf_slice){abbreviations, sizeof(abbreviations)};
    file->sections.part[DWARF_RANGES] = (struct dwarf_slice){ranges.at, ranges.size};
    file->is_code = is_code;
    file->work = work;
    return file;
}

/* "plain", with "one" inlined in it, in which "two" is inlined twice; "parted", of two parts; "behind". */
static void put_program(void)
{
    begin_unit();
    uint32_t one = put_named("one", "linkage_of_one"), two = put_named("two", "");
    put_function("plain", 0x1000, 0x100);
    put(&info, OTHER, 1); /* a block does not stand between them */
    put(&info, 0x1000, 8);
    put_inlined(one, 0x1010, 0x40, 301);
    put_inlined(two, 0x1020, 0x10, 402);
    put(&info, 0, 1);
    put_inlined(two, 0x1040, 0x10, 403); /* up to the end of what it is in */
    put(&info, 0, 1);
    put(&info, 0, 1);
    put(&info, 0, 1);
    put(&info, 0, 1);
    put(&info, PARTS, 1);
    put_all(&info, "parted", 7);
    put(&info, 0, 4);
    put_function("left out", 0, 0x10); /* what the linker left out is at 0 */
    put_inlined(one, 0x1100, 0, 1);    /* and has no size */
    put(&info, 0, 1);
    put(&info, 0, 1);
    put_function("behind", 0x1100, 0x10);
    put(&info, 0, 1);
    put(&info, 0, 1);
    end_unit();
    put(&ranges, 0x1000, 8); /* from the unit's address on */
    put(&ranges, 0x1008, 8);
    put(&ranges, UINT64_MAX, 8); /* from another one on */
    put(&ranges, 0x3000, 8);
    put(&ranges, 0x10, 8);
    put(&ranges, 0x20, 8);
    put(&ranges, 0x30, 8); /* nothing */
    put(&ranges, 0x30, 8);
    put(&ranges, 0, 8);
    put(&ranges, 0, 8);
}

/* At ADDRESS the functions are WORDS, the innermost first, with the line of each call. */
static void expect_at(struct dwarf_file *file, struct dwarf_scopes *scopes, uint64_t address, const char *words)
{
    char text[200] = "";
    for (struct dwarf_scope *scope = dwarf_scopes_find(scopes, address); scope;
         scope = dwarf_scopes_parent(scopes, scope)) {
        dwarf_scope_name(file, scope);
        assert_true(scope->call_file == scope->call_line / 100 && scope->call_column == scope->call_line % 100);
        sprintf(text + strlen(text), "%s%s", *text ? " " : "", scope->name ? scope->name : "?");
        if (scope->call_line)
            sprintf(text + strlen(text), ":%u", scope->call_line);
    }
    if (strcmp(text, words) != 0)
        fail_msg("0x%x: '%s'", (unsigned)address, text);
}

static void check_program(struct dwarf_file *file, struct dwarf_scopes *scopes)
{
    expect_at(file, scopes, 0, "");
    expect_at(file, scopes, 0xfff, "");
    expect_at(file, scopes, 0x1000, "plain");
    expect_at(file, scopes, 0x100f, "plain");
    expect_at(file, scopes, 0x1010, "one:301 plain");
    expect_at(file, scopes, 0x101f, "one:301 plain");
    expect_at(file, scopes, 0x1020, "two:402 one:301 plain");
    expect_at(file, scopes, 0x102f, "two:402 one:301 plain");
    expect_at(file, scopes, 0x1030, "one:301 plain");
    expect_at(file, scopes, 0x1040, "two:403 one:301 plain");
    expect_at(file, scopes, 0x104f, "two:403 one:301 plain");
    expect_at(file, scopes, 0x1050, "plain");
    expect_at(file, scopes, 0x10ff, "plain");
    expect_at(file, scopes, 0x1100, "behind");
    expect_at(file, scopes, 0x110f, "behind");
    expect_at(file, scopes, 0x1110, "");
    expect_at(file, scopes, 0x1fff, "");
    expect_at(file, scopes, 0x2000, "parted");
    expect_at(file, scopes, 0x2007, "parted");
    expect_at(file, scopes, 0x2008, "");
    expect_at(file, scopes, 0x3010, "parted");
    expect_at(file, scopes, 0x301f, "parted");
    expect_at(file, scopes, 0x3020, "");
    expect_at(file, scopes, 0x3030, "");
    expect_at(file, scopes, UINT64_MAX, "");
}

static void test_program(void **state)
{
    struct dwarf_scopes *scopes;
    (void)state;
    put_program();
    struct dwarf_file *file = file_of(1000);
    assert_int_equal(dwarf_units_init(file), 0);
    assert_int_equal(file->unit_count, 1);
    assert_int_equal(file->units[0].tag, DW_TAG_compile_unit);
    assert_int_equal(file->units[0].base, 0x1000);
    assert_int_equal(dwarf_scopes_new(file, &file->units[0], &scopes), 0);
    assert_int_equal(scopes->count, 6);
    check_program(file, scopes);
    assert_string_equal(dwarf_scopes_find(scopes, 0x1010)->linkage, "linkage_of_one");
    assert_null(dwarf_scopes_find(scopes, 0x1000)->linkage);
    dwarf_scopes_free(scopes);
    dwarf_scopes_free(NULL);
    dwarf_file_free(file);
}

/* Nothing costs more than is allowed, and what is cut off is said. */
static void test_work(void **state)
{
    uint64_t needed = 0;
    (void)state;
    put_program();
    for (uint64_t work = 0; work < 200; work++) {
        struct dwarf_scopes *scopes = NULL;
        struct dwarf_file *file = file_of(work);
        int error = dwarf_units_init(file);
        assert_true(file->work <= work);
        if (error == 0 && file->units[0].tag) {
            error = dwarf_scopes_new(file, &file->units[0], &scopes);
            assert_true(file->work <= work);
        } else {
            error = -ENOEXEC;
        }
        assert_true(error == 0 || error == -ENOEXEC);
        if (error == 0) {
            needed = needed ? needed : work;
            check_program(file, scopes);
        } else {
            assert_int_equal(needed, 0);
            assert_int_equal(file->work, 0);
        }
        dwarf_scopes_free(scopes);
        dwarf_file_free(file);
    }
    /* A unit, the attributes and ends of its table, the DIEs and ends of the unit, five ranges; one is left. */
    assert_int_equal(needed, 1 + 23 + 21 + 5 + 1);
}

/* ---- memory that ends */

static long allocations, failing = -1; /* the one that fails; -1: none */

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return allocations++ != failing ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    return allocations++ != failing ? __real_realloc(old, size) : NULL;
}

/* Each allocation fails in turn: what lacks something is never taken for the whole. */
static void test_no_memory(void **state)
{
    int error = -ENOMEM;
    (void)state;
    put_program();
    for (long i = 0; error; i++) {
        struct dwarf_scopes *scopes = NULL;
        struct dwarf_file *file = file_of(1000);
        assert_int_equal(dwarf_units_init(file), 0);
        dwarf_abbrevs_release(&file->abbrevs[0]);
        allocations = 0;
        failing = i;
        error = dwarf_scopes_new(file, &file->units[0], &scopes);
        failing = -1;
        assert_true(error == 0 || error == -ENOMEM || error == -ENOEXEC);
        assert_true(error || allocations <= i);
        if (error == 0)
            check_program(file, scopes);
        dwarf_scopes_free(scopes);
        dwarf_file_free(file);
        assert_true(i < 100);
    }
    assert_true(allocations >= 8);
}

/* Cut off anywhere: what stood before is known. */
static void test_cut_off(void **state)
{
    (void)state;
    put_program();
    size_t whole = info.size;
    for (size_t size = 24; size < whole; size++) {
        struct dwarf_scopes *scopes;
        info.size = size;
        end_unit();
        struct dwarf_file *file = file_of(1000);
        assert_int_equal(dwarf_units_init(file), 0);
        int error = dwarf_scopes_new(file, &file->units[0], &scopes);
        assert_true(error == 0 || error == -ENOEXEC);
        assert_non_null(scopes);
        assert_true(scopes->count <= 6);
        if (dwarf_scopes_find(scopes, 0x1050))
            expect_at(file, scopes, 0x1000, "plain");
        if (scopes->count == 6)
            check_program(file, scopes);
        dwarf_scopes_free(scopes);
        dwarf_file_free(file);
    }
}

static void test_deep_entries(void **state)
{
    static const unsigned depths[] = {0, 1, 300, 2044, 2045, 3000};
    (void)state;
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        struct dwarf_scopes *scopes;
        begin_unit();
        uint32_t deep = put_named("deep", "");
        put_function("outer", 0x1000, 0x100);
        for (unsigned j = 0; j < depths[i]; j++) {
            put(&info, OTHER, 1);
            put(&info, 0x1000, 8);
        }
        put_inlined(deep, 0x1000, 0x10, 7);
        for (unsigned j = 0; j < depths[i] + 3; j++)
            put(&info, 0, 1);
        end_unit();
        struct dwarf_file *file = file_of(10000);
        assert_int_equal(dwarf_units_init(file), 0);
        assert_int_equal(dwarf_scopes_new(file, &file->units[0], &scopes), depths[i] < 2045 ? 0 : -ENOEXEC);
        expect_at(file, scopes, 0x1000, depths[i] < 3000 ? "deep:7 outer" : "outer");
        expect_at(file, scopes, 0x1010, "outer");
        dwarf_scopes_free(scopes);
        dwarf_file_free(file);
    }
}

/* ---- names that stand elsewhere */

/* The name of a scope at DIE of the unit that was put; "?": none. */
static void name_is(uint32_t die, const char *name, const char *linkage)
{
    struct dwarf_file *file = file_of(1000);
    struct dwarf_scope scope = {.die = die};
    assert_int_equal(dwarf_units_init(file), 0);
    dwarf_scope_name(file, &scope);
    assert_true(scope.named);
    if (name)
        assert_string_equal(scope.name, name);
    else
        assert_null(scope.name);
    if (linkage)
        assert_string_equal(scope.linkage, linkage);
    else
        assert_null(scope.linkage);
    dwarf_file_free(file);
}

static uint32_t put_later(uint32_t of)
{
    uint32_t die = (uint32_t)info.size;
    put(&info, LATER, 1);
    put(&info, of, 4);
    return die;
}

static void test_references(void **state)
{
    uint32_t entries[20];
    (void)state;
    begin_unit();
    entries[0] = put_named("name", "linkage");
    for (int i = 1; i < 20; i++)
        entries[i] = put_later(entries[i - 1]);
    uint32_t itself = put_later((uint32_t)info.size), outside = put_later(5000);
    put(&info, 0, 1);
    end_unit();
    for (int i = 0; i < 20; i++)
        name_is(entries[i], i < 16 ? "name" : NULL, i < 16 ? "linkage" : NULL);
    name_is(itself, NULL, NULL);
    name_is(outside, NULL, NULL);
    name_is(3, NULL, NULL);    /* the head of the unit */
    name_is(4000, NULL, NULL); /* in no unit */
    name_is((uint32_t)info.size - 1, NULL, NULL);
}

/* ---- ranges */

static char found[500];

static bool add_range(void *context, uint64_t low, uint64_t high)
{
    int *most = context;
    sprintf(found + strlen(found), "%s%llx-%llx", *found ? " " : "", (unsigned long long)low, (unsigned long long)high);
    return --*most > 0;
}

static const unsigned char addresses[] = {9, 9, 9, 9, 9, 9, 9, 9, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0};

/* EXTENT of a unit of VERSION has the ranges EXPECTED, the first MOST of them. */
static void ranges_are(struct dwarf_extent extent, uint16_t version, const struct bytes *lists, int most, uint64_t work,
                       const char *expected)
{
    struct dwarf_file *file = file_of(work);
    struct dwarf_unit unit = {
        .encoding = {.version = version, .address_size = 8, .offset_size = 4}, .base = 0x5000, .addr_base = 8};
    file->sections.part[DWARF_RANGES] = file->sections.part[DWARF_RNGLISTS] = (struct dwarf_slice){
        lists ? lists->at : NULL, lists ? lists->size : 0};
    file->sections.part[DWARF_ADDR] = (struct dwarf_slice){addresses, sizeof(addresses)};
    found[0] = '\0';
    dwarf_unit_ranges(file, &unit, &extent, add_range, &most);
    assert_string_equal(found, expected);
    assert_true(file->work <= work);
    dwarf_file_free(file);
}

static void test_bounds(void **state)
{
    const struct dwarf_value low = {DWARF_ADDRESS, 0x1000, NULL}, size = {DWARF_CONSTANT, 0x20, NULL},
                             high = {DWARF_ADDRESS, 0x1010, NULL}, first = {DWARF_ADDRESS_INDEX, 0, NULL},
                             second = {DWARF_ADDRESS_INDEX, 1, NULL}, none = {DWARF_NONE, 0, NULL},
                             third = {DWARF_ADDRESS_INDEX, 2, NULL}, far = {DWARF_ADDRESS_INDEX, UINT64_MAX, NULL};
    (void)state;
    ranges_are((struct dwarf_extent){low, size, none}, 4, NULL, 9, 9, "1000-1020");
    ranges_are((struct dwarf_extent){low, high, none}, 4, NULL, 9, 9, "1000-1010");
    ranges_are((struct dwarf_extent){first, second, none}, 5, NULL, 9, 9, "1000-2000");
    ranges_are((struct dwarf_extent){first, size, none}, 5, NULL, 9, 9, "1000-1020");
    ranges_are((struct dwarf_extent){high, low, none}, 5, NULL, 9, 9, "");
    ranges_are((struct dwarf_extent){low, low, none}, 5, NULL, 9, 9, "");
    ranges_are((struct dwarf_extent){low, none, none}, 5, NULL, 9, 9, "");
    ranges_are((struct dwarf_extent){none, size, none}, 5, NULL, 9, 9, "");
    ranges_are((struct dwarf_extent){low, third, none}, 5, NULL, 9, 9, "");
    ranges_are((struct dwarf_extent){far, size, none}, 5, NULL, 9, 9, "");
}

static void test_lists(void **state)
{
    struct bytes lists = {.size = 0};
    const struct dwarf_value none = {DWARF_NONE, 0, NULL}, index = {DWARF_LIST_INDEX, 1, NULL},
                             offset = {DWARF_OFFSET, 20, NULL};
    struct dwarf_extent extent = {none, none, offset};
    static const char all[] = "5001-5002 1000-2000 1000-1007 1003-1004 7000-7010 8000-8100 6001-6002";
    (void)state;
    put_all(&lists, "head of list", 12);
    put(&lists, 99, 4);
    put(&lists, 8, 4); /* the second list, from behind the head on */
    put_all(&lists,
            (const unsigned char[]){DW_RLE_offset_pair, 1, 2, DW_RLE_startx_endx, 0, 1, DW_RLE_startx_length, 0, 7,
                                    DW_RLE_base_addressx, 0, DW_RLE_offset_pair, 3, 4, DW_RLE_offset_pair, 4, 4},
            17);
    put(&lists, DW_RLE_start_end, 1);
    put(&lists, 0x7000, 8);
    put(&lists, 0x7010, 8);
    put(&lists, DW_RLE_start_length, 1);
    put(&lists, 0x8000, 8);
    put(&lists, 0x280, 2);
    put(&lists, DW_RLE_base_address, 1);
    put(&lists, 0x6000, 8);
    put_all(&lists, (const unsigned char[]){DW_RLE_offset_pair, 1, 2, DW_RLE_end_of_list, DW_RLE_offset_pair, 1, 9}, 7);
    ranges_are(extent, 5, &lists, 9, 100, all);
    ranges_are(extent, 5, &lists, 9, 10, all);
    extent.ranges = index;
    ranges_are(extent, 5, &lists, 9, 10, all);
    extent.ranges.number = 2000;
    ranges_are(extent, 5, &lists, 9, 10, "");
    extent.ranges = offset;
    ranges_are(extent, 5, &lists, 2, 10, "5001-5002 1000-2000");
    ranges_are(extent, 5, &lists, 9, 0, "");
    ranges_are(extent, 5, &lists, 9, 2, "5001-5002 1000-2000");
    lists.size = 25; /* in the middle of the second one */
    ranges_are(extent, 5, &lists, 9, 10, "5001-5002");
    extent.ranges.number = 26;
    ranges_are(extent, 5, &lists, 9, 10, "");
}

static void test_pairs(void **state)
{
    struct bytes lists = {.size = 0};
    struct dwarf_extent extent = {.ranges = {DWARF_CONSTANT, 16, NULL}}; /* so DWARF 3 says where it is */
    static const uint64_t numbers[] = {9, 9, 1, 2, UINT64_MAX, 0x6000, 3, 4, 5, 5, 0, 0, 7, 8};
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put(&lists, numbers[i], 8);
    ranges_are(extent, 4, &lists, 9, 100, "5001-5002 6003-6004 6005-6005");
    ranges_are(extent, 4, &lists, 9, 5, "5001-5002 6003-6004 6005-6005");
    ranges_are(extent, 4, &lists, 2, 100, "5001-5002 6003-6004");
    ranges_are(extent, 4, &lists, 9, 3, "5001-5002 6003-6004");
    ranges_are(extent, 4, &lists, 9, 0, "");
    lists.size = 16 + 24;
    ranges_are(extent, 4, &lists, 9, 100, "5001-5002");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program), cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_work),
        cmocka_unit_test(test_cut_off), cmocka_unit_test(test_deep_entries), cmocka_unit_test(test_references),
        cmocka_unit_test(test_bounds),  cmocka_unit_test(test_lists),        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
