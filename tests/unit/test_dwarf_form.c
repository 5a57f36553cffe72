/* SPDX-License-Identifier: MIT */
/* Forms and abbreviations of DWARF, byte by byte: compilers write few of the forms, other tools write the rest. */
#include "check.h"

#include <dwarf.h>
#include <errno.h>

#include "analyze/sym/dwarf_form.h"

enum { WORK = 1000 };

static const struct dwarf_encoding dwarf5 = {.version = 5, .address_size = 8, .offset_size = 4};
static const struct dwarf_encoding dwarf2 = {.version = 2, .address_size = 8, .offset_size = 4};
static const struct dwarf_encoding small = {.version = 3, .address_size = 4, .offset_size = 4};
static const struct dwarf_encoding wide = {.version = 5, .address_size = 4, .offset_size = 8};

/* 0x11 0x12 0x13 ... */
static uint64_t counted(unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)(0x11 + i) << 8 * i;
    return value;
}

/* What FORM takes of 0x11 0x12 0x13 ... is SIZE bytes, a number of CLASS; one byte less is not enough. */
static void fixed(const struct dwarf_encoding *encoding, uint64_t form, unsigned size, enum dwarf_class class)
{
    unsigned char bytes[24];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(0x11 + i);
    struct cursor cursor = cursor_of(bytes, sizeof(bytes));
    struct dwarf_value value = dwarf_form_read(&cursor, encoding, form, 0);
    if (cursor.failed || cursor.at != bytes + size || value.class != class)
        fail_msg("form 0x%x: %td bytes of class %d", (unsigned)form, cursor.at - bytes, (int)value.class);
    assert_true(value.number == (size <= 8 ? counted(size) : 0));
    assert_null(value.text);
    cursor = cursor_of(bytes, size - 1);
    assert_int_equal(dwarf_form_read(&cursor, encoding, form, 0).class, DWARF_NONE);
    assert_true(cursor.failed);
}

static void test_fixed_sizes(void **state)
{
    static const struct {
        uint16_t form;
        uint8_t size;
        enum dwarf_class class;
    } cases[] = {
        {DW_FORM_data1, 1, DWARF_CONSTANT},
        {DW_FORM_data2, 2, DWARF_CONSTANT},
        {DW_FORM_data4, 4, DWARF_CONSTANT},
        {DW_FORM_data8, 8, DWARF_CONSTANT},
        {DW_FORM_data16, 16, DWARF_OTHER},
        {DW_FORM_flag, 1, DWARF_CONSTANT},
        {DW_FORM_ref1, 1, DWARF_REF},
        {DW_FORM_ref2, 2, DWARF_REF},
        {DW_FORM_ref4, 4, DWARF_REF},
        {DW_FORM_ref8, 8, DWARF_REF},
        {DW_FORM_ref_sup4, 4, DWARF_REF_SUP},
        {DW_FORM_ref_sup8, 8, DWARF_REF_SUP},
        {DW_FORM_ref_sig8, 8, DWARF_OTHER},
        {DW_FORM_strx1, 1, DWARF_TEXT_INDEX},
        {DW_FORM_strx2, 2, DWARF_TEXT_INDEX},
        {DW_FORM_strx3, 3, DWARF_TEXT_INDEX},
        {DW_FORM_strx4, 4, DWARF_TEXT_INDEX},
        {DW_FORM_addrx1, 1, DWARF_ADDRESS_INDEX},
        {DW_FORM_addrx2, 2, DWARF_ADDRESS_INDEX},
        {DW_FORM_addrx3, 3, DWARF_ADDRESS_INDEX},
        {DW_FORM_addrx4, 4, DWARF_ADDRESS_INDEX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fixed(&dwarf5, cases[i].form, cases[i].size, cases[i].class);
        fixed(&wide, cases[i].form, cases[i].size, cases[i].class);
    }
}

/* Sizes that the unit says. */
static void test_sizes_of_the_unit(void **state)
{
    static const struct {
        uint16_t form;
        enum dwarf_class class;
    } offsets[] = {
        {DW_FORM_strp, DWARF_TEXT_STR},       {DW_FORM_line_strp, DWARF_TEXT_LINE_STR},
        {DW_FORM_strp_sup, DWARF_TEXT_SUP},   {DW_FORM_sec_offset, DWARF_OFFSET},
        {DW_FORM_GNU_ref_alt, DWARF_REF_SUP}, {DW_FORM_GNU_strp_alt, DWARF_TEXT_SUP},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
        fixed(&dwarf5, offsets[i].form, 4, offsets[i].class);
        fixed(&wide, offsets[i].form, 8, offsets[i].class);
    }
    fixed(&dwarf5, DW_FORM_addr, 8, DWARF_ADDRESS);
    fixed(&small, DW_FORM_addr, 4, DWARF_ADDRESS);
    /* As large as an address in DWARF 2, as an offset since. */
    fixed(&dwarf2, DW_FORM_ref_addr, 8, DWARF_REF_INFO);
    fixed(&small, DW_FORM_ref_addr, 4, DWARF_REF_INFO);
    fixed(&wide, DW_FORM_ref_addr, 8, DWARF_REF_INFO);
    fixed(&dwarf5, DW_FORM_ref_addr, 4, DWARF_REF_INFO);
}

/* FORM takes all of BYTES; one byte less is not enough. */
static struct dwarf_value whole(uint64_t form, const void *bytes, size_t size)
{
    struct cursor cursor = cursor_of(bytes, size);
    struct dwarf_value value = dwarf_form_read(&cursor, &dwarf5, form, 77);
    if (cursor.failed || cursor_left(&cursor))
        fail_msg("form 0x%x leaves %zu bytes of %zu", (unsigned)form, cursor_left(&cursor), size);
    if (size) {
        cursor = cursor_of(bytes, size - 1);
        assert_int_equal(dwarf_form_read(&cursor, &dwarf5, form, 77).class, DWARF_NONE);
        assert_true(cursor.failed);
    }
    return value;
}

static void test_numbers_of_any_length(void **state)
{
    static const struct {
        uint16_t form;
        enum dwarf_class class;
    } cases[] = {
        {DW_FORM_udata, DWARF_CONSTANT},
        {DW_FORM_ref_udata, DWARF_REF},
        {DW_FORM_strx, DWARF_TEXT_INDEX},
        {DW_FORM_addrx, DWARF_ADDRESS_INDEX},
        {DW_FORM_loclistx, DWARF_OTHER},
        {DW_FORM_rnglistx, DWARF_LIST_INDEX},
        {DW_FORM_GNU_addr_index, DWARF_ADDRESS_INDEX},
        {DW_FORM_GNU_str_index, DWARF_TEXT_INDEX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct dwarf_value value = whole(cases[i].form, "\x80\x81\x7f", 3);
        assert_int_equal(value.class, cases[i].class);
        assert_int_equal(value.number, 0x1fc080);
        assert_int_equal(whole(cases[i].form, "\x7f", 1).number, 0x7f);
    }
    assert_true((int64_t)whole(DW_FORM_sdata, "\x80\x7f", 2).number == -128);
    assert_true((int64_t)whole(DW_FORM_sdata, "\x3f", 1).number == 63);
    assert_true((int64_t)whole(DW_FORM_sdata, "\x40", 1).number == -64);
    assert_int_equal(whole(DW_FORM_sdata, "\x40", 1).class, DWARF_CONSTANT);
    assert_true(whole(DW_FORM_udata, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10).number == UINT64_MAX);
    assert_true((int64_t)whole(DW_FORM_sdata, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10).number == INT64_MIN);
}

static void test_texts_and_blocks(void **state)
{
    struct dwarf_value value = whole(DW_FORM_string, "int", 4);
    (void)state;
    assert_int_equal(value.class, DWARF_TEXT);
    assert_string_equal(value.text, "int");
    assert_string_equal(whole(DW_FORM_string, "", 1).text, "");
    assert_int_equal(whole(DW_FORM_block,
                           "\x02"
                           "ab",
                           3)
                         .class,
                     DWARF_OTHER);
    assert_int_equal(whole(DW_FORM_exprloc,
                           "\x82\x00"
                           "ab",
                           4)
                         .class,
                     DWARF_OTHER);
    assert_int_equal(whole(DW_FORM_block1,
                           "\x03"
                           "abc",
                           4)
                         .class,
                     DWARF_OTHER);
    assert_int_equal(whole(DW_FORM_block2,
                           "\x03\x00"
                           "abc",
                           5)
                         .class,
                     DWARF_OTHER);
    assert_int_equal(whole(DW_FORM_block4,
                           "\x03\x00\x00\x00"
                           "abc",
                           7)
                         .class,
                     DWARF_OTHER);
    assert_int_equal(whole(DW_FORM_block1, "\x00", 1).class, DWARF_OTHER);
    /* 128 and 32768 are no negative numbers. */
    static unsigned char large[2 + 32768] = {0, 0x80};
    whole(DW_FORM_block2, large, sizeof(large));
    large[0] = 0x80;
    whole(DW_FORM_block1, large, 1 + 128);
}

static void test_what_needs_no_bytes(void **state)
{
    struct dwarf_value value = whole(DW_FORM_flag_present, "", 0);
    (void)state;
    assert_int_equal(value.class, DWARF_CONSTANT);
    assert_int_equal(value.number, 1);
    value = whole(DW_FORM_implicit_const, "", 0);
    assert_int_equal(value.class, DWARF_CONSTANT);
    assert_int_equal(value.number, 77);
}

/* The form stands in front of the value. */
static void test_indirect(void **state)
{
    struct dwarf_value value = whole(DW_FORM_indirect, "\x05\x22\x11", 3); /* data2 */
    (void)state;
    assert_int_equal(value.class, DWARF_CONSTANT);
    assert_int_equal(value.number, 0x1122);
    value = whole(DW_FORM_indirect, "\x0f\x81\x01", 3); /* udata */
    assert_int_equal(value.number, 129);
    value = whole(DW_FORM_indirect,
                  "\x08"
                  "ab",
                  4); /* string */
    assert_int_equal(value.class, DWARF_TEXT);
    assert_string_equal(value.text, "ab");
    value = whole(DW_FORM_indirect, "\x13\x04\x03\x02\x01", 5); /* ref4 */
    assert_int_equal(value.class, DWARF_REF);
    assert_int_equal(value.number, 0x01020304);
    value = whole(DW_FORM_indirect, "\x81\x3e\x07", 3); /* GNU_addr_index: its number has two bytes itself */
    assert_int_equal(value.class, DWARF_ADDRESS_INDEX);
    assert_int_equal(value.number, 7);
    value = whole(DW_FORM_indirect, "\x19", 1); /* flag_present */
    assert_int_equal(value.number, 1);
    /* implicit_const has its value in the abbreviation, which is that of the indirect form here: no value. */
    struct cursor cursor = cursor_of("\x21\x05", 2);
    assert_int_equal(dwarf_form_read(&cursor, &dwarf5, DW_FORM_indirect, 77).class, DWARF_NONE);
    cursor = cursor_of("\x16\x16\x05\x01\x01", 5);
    assert_int_equal(dwarf_form_read(&cursor, &dwarf5, DW_FORM_indirect, 0).class, DWARF_NONE);
    assert_true(cursor.failed);
}

static void test_unknown_forms(void **state)
{
    static const uint64_t unknown[] = {0, 2, 0x2d, 0x7f, 0x100, 0x1f00, 0x1f22, 0xffff, 0x10001, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
        struct cursor cursor = cursor_of("abcdefgh", 8);
        assert_int_equal(dwarf_form_read(&cursor, &dwarf5, unknown[i], 0).class, DWARF_NONE);
        assert_true(cursor.failed);
    }
}

static void test_other_byte_order(void **state)
{
    static const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const uint64_t expected[] = {
        [1] = 1, [2] = 0x0102, [3] = 0x010203, [4] = 0x01020304, [8] = 0x0102030405060708};
    static const uint16_t forms[] = {
        [1] = DW_FORM_addrx1, [2] = DW_FORM_addrx2, [3] = DW_FORM_addrx3, [4] = DW_FORM_addrx4, [8] = DW_FORM_data8};
    (void)state;
    for (size_t i = 1; i < sizeof(forms) / sizeof(*forms); i++) {
        struct cursor cursor = cursor_of(bytes, sizeof(bytes));
        cursor.swap = true;
        if (forms[i])
            assert_true(dwarf_form_read(&cursor, &dwarf5, forms[i], 0).number == expected[i]);
    }
}

/* ---- abbreviations */

static int table(struct dwarf_abbrevs *abbrevs, const void *bytes, size_t size, uint64_t offset, uint64_t *work)
{
    struct dwarf_sections sections = {0};
    sections.part[DWARF_ABBREV] = (struct dwarf_slice){bytes, size};
    return dwarf_abbrevs_init(abbrevs, &sections, offset, &dwarf5, work);
}

static const unsigned char two_codes[] = {9,
                                          9,
                                          9, /* of another unit */
                                          2,
                                          DW_TAG_subprogram,
                                          DW_CHILDREN_yes,
                                          DW_AT_name,
                                          DW_FORM_strp,
                                          DW_AT_low_pc,
                                          DW_FORM_addr,
                                          0,
                                          0,
                                          1,
                                          DW_TAG_variable,
                                          DW_CHILDREN_no,
                                          DW_AT_name,
                                          DW_FORM_string,
                                          DW_AT_decl_line,
                                          DW_FORM_implicit_const,
                                          0x7d,
                                          0,
                                          0,
                                          0}; /* 0x7d: -3 */

static void test_table(void **state)
{
    struct dwarf_abbrevs abbrevs;
    uint64_t work = WORK;
    (void)state;
    assert_int_equal(table(&abbrevs, two_codes, sizeof(two_codes), 3, &work), 0);
    assert_int_equal(work, WORK - 6); /* four attributes and two ends */
    assert_int_equal(abbrevs.offset, 3);
    assert_int_equal(abbrevs.encoding.address_size, 8);
    assert_int_equal(abbrevs.count, 2);
    const struct dwarf_abbrev *function = dwarf_abbrevs_find(&abbrevs, 2), *variable = dwarf_abbrevs_find(&abbrevs, 1);
    assert_true(function && function->tag == DW_TAG_subprogram && function->children && function->count == 2);
    assert_int_equal(function->size, 4 + 8);
    assert_true(variable && variable->tag == DW_TAG_variable && !variable->children && variable->count == 2);
    assert_int_equal(variable->size, UINT32_MAX);
    const struct dwarf_attribute *line = &abbrevs.attributes[variable->first + 1];
    assert_int_equal(line->name, DW_AT_decl_line);
    assert_int_equal(line->form, DW_FORM_implicit_const);
    assert_true(line->constant == -3);
    assert_int_equal(abbrevs.attributes[function->first].name, DW_AT_name);
    assert_null(dwarf_abbrevs_find(&abbrevs, 0));
    assert_null(dwarf_abbrevs_find(&abbrevs, 3));
    assert_null(dwarf_abbrevs_find(&abbrevs, UINT64_MAX));

    struct cursor cursor = cursor_of("0123456789abcdef", 16);
    dwarf_abbrevs_skip(&abbrevs, function, &cursor);
    assert_int_equal(cursor_left(&cursor), 4);
    cursor = cursor_of("text\0rest", 9);
    dwarf_abbrevs_skip(&abbrevs, variable, &cursor);
    assert_int_equal(cursor_left(&cursor), 4);
    dwarf_abbrevs_release(&abbrevs);
    assert_null(abbrevs.list);
}

/* The sizes of values add up where each is fixed, whether or not it has bytes. */
static void test_sizes_add_up(void **state)
{
    static const struct {
        uint16_t form;
        uint32_t size;
    } cases[] = {{DW_FORM_implicit_const, 0},
                 {DW_FORM_flag_present, 0},
                 {DW_FORM_data16, 16},
                 {DW_FORM_addr, 8},
                 {DW_FORM_strp, 4},
                 {DW_FORM_ref_addr, 4},
                 {DW_FORM_strx3, 3},
                 {DW_FORM_udata, UINT32_MAX},
                 {DW_FORM_block1, UINT32_MAX},
                 {DW_FORM_string, UINT32_MAX},
                 {DW_FORM_indirect, UINT32_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned char bytes[16] = {
            1, DW_TAG_variable, 0, DW_AT_name, DW_FORM_data4, DW_AT_type, (unsigned char)cases[i].form};
        size_t size = 7;
        struct dwarf_abbrevs abbrevs;
        uint64_t work = WORK;
        if (cases[i].form == DW_FORM_implicit_const)
            bytes[size++] = 5;
        memcpy(bytes + size, (const unsigned char[]){DW_AT_decl_line, DW_FORM_data2, 0, 0, 0}, 5);
        assert_int_equal(table(&abbrevs, bytes, size + 5, 0, &work), 0);
        assert_int_equal(abbrevs.list[0].size, cases[i].size == UINT32_MAX ? UINT32_MAX : 4 + cases[i].size + 2);
        dwarf_abbrevs_release(&abbrevs);
    }
}

/* Many, in any order, with codes far apart. */
static void test_search(void **state)
{
    unsigned char bytes[8 * 200];
    size_t size = 0;
    struct dwarf_abbrevs abbrevs;
    uint64_t work = WORK;
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        unsigned code = (i * 77 % 200 + 1) * 3;
        bytes[size++] = (unsigned char)(0x80 | (code & 0x7f));
        bytes[size++] = (unsigned char)(code >> 7);
        bytes[size++] = (unsigned char)(code / 3 % 100 + 1); /* its tag */
        memcpy(bytes + size, "\0\3\x0b\0\0", 5);
        size += 5;
    }
    assert_int_equal(table(&abbrevs, bytes, size, 0, &work), 0); /* without a code 0: the section ends it */
    assert_int_equal(abbrevs.count, 200);
    for (unsigned code = 0; code < 610; code++) {
        const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(&abbrevs, code);
        assert_true((abbrev != NULL) == (code && code % 3 == 0 && code <= 600));
        if (abbrev)
            assert_true(abbrev->code == code && abbrev->tag == code / 3 % 100 + 1);
    }
    dwarf_abbrevs_release(&abbrevs);
}

static void test_bad_tables(void **state)
{
    struct dwarf_abbrevs abbrevs;
    uint64_t work;
    (void)state;
    /* Cut anywhere: only a whole number of declarations is a table. */
    for (size_t size = 4; size < sizeof(two_codes); size++) {
        work = WORK;
        int status = table(&abbrevs, two_codes, size, 3, &work);
        assert_int_equal(status, size == 12 || size == sizeof(two_codes) - 1 ? 0 : -ENOEXEC);
        if (status)
            assert_true(!abbrevs.list && !abbrevs.count);
        else
            dwarf_abbrevs_release(&abbrevs);
    }
    for (work = 0; work < 7; work++) {
        uint64_t left = work;
        int status = table(&abbrevs, two_codes, sizeof(two_codes), 3, &left);
        assert_int_equal(status, work < 6 ? -ENOEXEC : 0);
        assert_int_equal(left, 0);
        if (!status)
            dwarf_abbrevs_release(&abbrevs);
    }
    work = WORK;
    assert_int_equal(table(&abbrevs, two_codes, sizeof(two_codes), sizeof(two_codes), &work), -ENOEXEC);
    assert_int_equal(table(&abbrevs, "\1\2\0\3\x80\x80\x04\0\0", 9, 0, &work), -ENOEXEC); /* form 0x10000 */
}

/* Names of some vendor's, and an attribute whose value is of no known size. */
static void test_strange_attributes(void **state)
{
    static const unsigned char bytes[] = {1, 2, 0, 0x81, 0x80, 4, DW_FORM_data1, 0xff, 0xff, 3, DW_FORM_data2, 0, 0, 0};
    static const unsigned char unknown[] = {1, 2, 0, 3, 0x7f, 3, DW_FORM_data1, 0, 0, 0};
    struct dwarf_abbrevs abbrevs;
    uint64_t work = WORK;
    (void)state;
    assert_int_equal(table(&abbrevs, bytes, sizeof(bytes), 0, &work), 0);
    assert_int_equal(abbrevs.attribute_count, 2);
    assert_int_equal(abbrevs.attributes[0].name, 0);
    assert_int_equal(abbrevs.attributes[1].name, 0xffff);
    assert_int_equal(abbrevs.list[0].size, 3);
    dwarf_abbrevs_release(&abbrevs);
    assert_int_equal(table(&abbrevs, unknown, sizeof(unknown), 0, &work), 0);
    struct cursor cursor = cursor_of("abcd", 4);
    dwarf_abbrevs_skip(&abbrevs, &abbrevs.list[0], &cursor);
    assert_true(cursor.failed);
    dwarf_abbrevs_release(&abbrevs);
}

static void test_extent(void **state)
{
    struct dwarf_extent extent = {0};
    const struct dwarf_value low = {DWARF_ADDRESS, 1, NULL}, high = {DWARF_CONSTANT, 2, NULL},
                             ranges = {DWARF_OFFSET, 3, NULL};
    (void)state;
    assert_false(dwarf_extent_take(&extent, DW_AT_name, &low));
    assert_true(dwarf_extent_take(&extent, DW_AT_low_pc, &low));
    assert_true(dwarf_extent_take(&extent, DW_AT_high_pc, &high));
    assert_true(dwarf_extent_take(&extent, DW_AT_ranges, &ranges));
    assert_true(extent.low.number == 1 && extent.low.class == DWARF_ADDRESS);
    assert_true(extent.high.number == 2 && extent.high.class == DWARF_CONSTANT);
    assert_true(extent.ranges.number == 3 && extent.ranges.class == DWARF_OFFSET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_sizes),
        cmocka_unit_test(test_sizes_of_the_unit),
        cmocka_unit_test(test_numbers_of_any_length),
        cmocka_unit_test(test_texts_and_blocks),
        cmocka_unit_test(test_what_needs_no_bytes),
        cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_unknown_forms),
        cmocka_unit_test(test_other_byte_order),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_sizes_add_up),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_bad_tables),
        cmocka_unit_test(test_strange_attributes),
        cmocka_unit_test(test_extent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
