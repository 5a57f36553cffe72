/* SPDX-License-Identifier: MIT */
/* Tables of lines, byte by byte: what compilers and assemblers write, and what only a damaged file has. */
#include "check.h"

#include <dwarf.h>
#include <errno.h>

#include "analyze/sym/dwarf_line.h"
#include "analyze/sym/dwarf_unit.h"

static struct bytes {
    unsigned char at[8192];
    size_t size;
} table, program;

static void put(struct bytes *bytes, uint64_t number, unsigned size)
{
    assert_true(bytes->size + size <= sizeof(bytes->at));
    for (unsigned i = 0; i < size; i++)
        bytes->at[bytes->size++] = (unsigned char)(number >> 8 * i);
}

static void put_all(const void *from, size_t size)
{
    assert_true(table.size + size <= sizeof(table.at));
    memcpy(table.at + table.size, from, size);
    table.size += size;
}

#define CODE(...) put_code((const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

static void put_code(const unsigned char *code, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put(&program, code[i], 1);
}

static void set_address(uint64_t address)
{
    CODE(0, 9, DW_LNE_set_address);
    put(&program, address, 8);
}

static void end_sequence(void)
{
    CODE(0, 1, DW_LNE_end_sequence);
}

/* A row at ADDRESS with LINE, which follows one with the line BEFORE. */
static void row_at(uint64_t address, unsigned before, unsigned line)
{
    set_address(address);
    CODE(DW_LNS_advance_line, (unsigned char)((line - before) & 0x7f), DW_LNS_copy);
}

enum { OPCODE_BASE = 13, LINE_RANGE = 14, MIN_LENGTH = 2 };

static const char old_names[] = "include\0/usr/include\0\0" /* directories 1 and 2 */
                                "a.c\0\0\1\2"
                                "b.h\0\1\3\4"
                                "c.h\0\2\0\0"
                                "d.h\0\7\0\0"
                                "/e.h\0\1\0\0";

/* A table of VERSION with what is in `program`; WIDE: with offsets of 8 bytes. */
static void put_table(uint16_t version, bool wide, uint8_t line_range, const void *names, size_t names_size)
{
    static const unsigned char lengths[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 2}; /* the last: unknown */
    unsigned offset_size = wide ? 8 : 4;
    size_t begin, head;
    table.size = 0;
    if (wide)
        put(&table, UINT32_MAX, 4);
    put(&table, 0, offset_size);
    begin = table.size;
    put(&table, version, 2);
    if (version >= 5)
        put(&table, 8, 2);
    put(&table, 0, offset_size);
    head = table.size;
    put(&table, MIN_LENGTH, 1);
    if (version >= 4)
        put(&table, 1, 1);
    put(&table, 1, 1);
    put(&table, (uint8_t)-3, 1);
    put(&table, line_range, 1);
    put(&table, OPCODE_BASE, 1);
    put_all(lengths, sizeof(lengths));
    put_all(names, names_size);
    size_t code = table.size;
    put_all(program.at, program.size);
    size_t end = table.size;
    table.size = head - offset_size;
    put(&table, code - head, offset_size);
    table.size = begin - offset_size;
    put(&table, end - begin, offset_size);
    table.size = end;
}

static bool is_code(const void *context, uint64_t address)
{
    (void)context;
    return address >= 0x1000;
}

static const char line_texts[] = "\0/src\0sub\0x.c\0y.c";
static struct dwarf_file file;
static struct dwarf_unit unit;

/* The table that was put, of a unit "main.c" of "/build". */
static int read_table(struct dwarf_lines **ret, bool rows, uint64_t work)
{
    memset(&file, 0, sizeof(file));
    file.sections.part[DWARF_LINE] = (struct dwarf_slice){table.at, table.size};
    file.sections.part[DWARF_LINE_STR] = (struct dwarf_slice){(const unsigned char *)line_texts, sizeof(line_texts)};
    file.is_code = is_code;
    file.work = work;
    unit = (struct dwarf_unit){
        .encoding = {.version = 4, .address_size = 8, .offset_size = 4}, .name = "main.c", .directory = "/build"};
    *ret = NULL;
    return dwarf_lines_new(&file, &unit, 0, rows, ret);
}

static struct dwarf_lines *lines_of(uint16_t version)
{
    struct dwarf_lines *lines;
    put_table(version, false, LINE_RANGE, old_names, sizeof(old_names));
    assert_int_equal(read_table(&lines, true, 10000), 0);
    assert_int_equal(lines->version, version);
    return lines;
}

/* The row at ADDRESS is "FILE:LINE:COLUMN"; "-": there is none. */
static void expect_at(const struct dwarf_lines *lines, uint64_t address, const char *expected)
{
    const struct dwarf_row *row = dwarf_lines_find(lines, address);
    char text[64] = "-";
    if (row)
        snprintf(text, sizeof(text), "%u:%u:%u", row->file, row->line, row->column);
    if (strcmp(text, expected) != 0)
        fail_msg("0x%llx: %s, not %s", (unsigned long long)address, text, expected);
}

/* Each opcode, in each version that has such a table. */
static void test_opcodes(void **state)
{
    (void)state;
    for (uint16_t version = 2; version <= 4; version++) {
        program.size = 0;
        set_address(0x1000);
        CODE(DW_LNS_copy); /* 0x1000 1:1:0 */
        CODE(DW_LNS_advance_pc, 3, DW_LNS_advance_line, 9, DW_LNS_set_file, 2, DW_LNS_set_column, 7, DW_LNS_copy);
        CODE(DW_LNS_negate_stmt, DW_LNS_set_basic_block);
        CODE(OPCODE_BASE + 2 * LINE_RANGE + 4);                 /* 0x100a: two steps, one line on */
        CODE(DW_LNS_const_add_pc, DW_LNS_copy);                 /* 0x102c: 17 steps, as opcode 255 does */
        CODE(DW_LNS_fixed_advance_pc, 0x03, 0x01, DW_LNS_copy); /* 0x112f */
        CODE(12, 1, 0x81, 1);                                   /* an unknown one with two operands */
        CODE(0, 2, DW_LNE_set_discriminator, 5);
        CODE(0, 4, 0x80, 1, 2, 3);                    /* some vendor's */
        CODE(DW_LNS_advance_line, 0x7b, OPCODE_BASE); /* 0x112f: five lines back, three more; the last word counts */
        CODE(DW_LNS_advance_pc, 8);
        end_sequence();
        struct dwarf_lines *lines = lines_of(version);
        assert_int_equal(lines->sequence_count, 1);
        assert_int_equal(lines->row_count, 6);
        assert_true(lines->sequences[0].low == 0x1000 && lines->sequences[0].high == 0x113f);
        expect_at(lines, 0xfff, "-");
        expect_at(lines, 0x1000, "1:1:0");
        expect_at(lines, 0x1005, "1:1:0");
        expect_at(lines, 0x1006, "2:10:7");
        expect_at(lines, 0x1009, "2:10:7");
        expect_at(lines, 0x100a, "2:11:7");
        expect_at(lines, 0x102b, "2:11:7");
        expect_at(lines, 0x102c, "2:11:7");
        expect_at(lines, 0x112e, "2:11:7");
        expect_at(lines, 0x112f, "2:3:7");
        expect_at(lines, 0x113e, "2:3:7");
        expect_at(lines, 0x113f, "-");
        assert_true(lines->rows[3].address == 0x102c && lines->rows[4].address == 0x112f);
        dwarf_lines_free(lines);
    }
    dwarf_lines_free(NULL);
}

/* Sequences in any order; what is not usable does not harm the others. */
static void test_sequences(void **state)
{
    (void)state;
    program.size = 0;
    end_sequence(); /* of nothing */
    row_at(0x3000, 1, 30);
    set_address(0x3010);
    end_sequence();
    row_at(0x10, 1, 5); /* left out by the linker */
    set_address(0x20);
    end_sequence();
    row_at(0x2000, 1, 20);
    row_at(0x1ff0, 20, 21); /* backwards */
    set_address(0x2010);
    end_sequence();
    row_at(0x5000, 1, 40); /* without an address behind it */
    end_sequence();
    row_at(0x1000, 1, 10);
    row_at(0x1004, 10, 0); /* no line */
    row_at(0x1008, 0, 11);
    set_address(0x1010);
    end_sequence();
    row_at(0x4000, 1, 50); /* without an end */
    struct dwarf_lines *lines = lines_of(4);
    assert_int_equal(lines->sequence_count, 2);
    assert_int_equal(lines->row_count, 6);
    assert_true(lines->sequences[0].low == 0x1000 && lines->sequences[0].high == 0x1010);
    assert_true(lines->sequences[1].low == 0x3000 && lines->sequences[1].high == 0x3010);
    expect_at(lines, 0, "-");
    expect_at(lines, 0x10, "-");
    expect_at(lines, 0xfff, "-");
    expect_at(lines, 0x1003, "1:10:0");
    expect_at(lines, 0x1004, "1:0:0");
    expect_at(lines, 0x100f, "1:11:0");
    expect_at(lines, 0x1010, "-");
    expect_at(lines, 0x2000, "-");
    expect_at(lines, 0x2fff, "-");
    expect_at(lines, 0x3000, "1:30:0");
    expect_at(lines, 0x300f, "1:30:0");
    expect_at(lines, 0x3010, "-");
    expect_at(lines, 0x4000, "-");
    expect_at(lines, 0x5000, "-");
    expect_at(lines, UINT64_MAX, "-");
    dwarf_lines_free(lines);
    program.size = 0; /* none at all */
    lines = lines_of(3);
    expect_at(lines, 0x1000, "-");
    dwarf_lines_free(lines);
}

/* Sequences that lie in another: the nearest that reaches so far is asked, of the last eight that begin before. */
static void test_overlapping_sequences(void **state)
{
    (void)state;
    for (unsigned inner = 6; inner <= 8; inner++) {
        program.size = 0;
        row_at(0x1000, 1, 60);
        set_address(0x2000);
        end_sequence();
        for (unsigned i = 0; i < inner; i++) {
            row_at(0x1100 + i * 0x10, 1, 2 + i);
            set_address(0x1108 + i * 0x10);
            end_sequence();
        }
        struct dwarf_lines *lines = lines_of(4);
        assert_int_equal(lines->sequence_count, inner + 1);
        expect_at(lines, 0x1107, "1:2:0");
        expect_at(lines, 0x1108, "1:60:0");
        expect_at(lines, 0x1fff, inner < 8 ? "1:60:0" : "-");
        expect_at(lines, 0x2000, "-");
        expect_at(lines, 0xfff, "-");
        dwarf_lines_free(lines);
    }
    /* Of two from one address on the later one comes first. */
    program.size = 0;
    for (unsigned i = 0; i < 2; i++) {
        row_at(0x6000, 1, 20 + i);
        set_address(0x6010 - i * 8);
        end_sequence();
    }
    struct dwarf_lines *lines = lines_of(4);
    expect_at(lines, 0x6007, "1:21:0");
    expect_at(lines, 0x6008, "1:20:0");
    dwarf_lines_free(lines);
}

static void path_is(struct dwarf_lines *lines, uint64_t number, const char *expected)
{
    static struct name_pool pool;
    const char *path = dwarf_lines_path(lines, number, &pool);
    if (expected)
        assert_string_equal(path, expected);
    else
        assert_null(path);
    assert_ptr_equal(dwarf_lines_path(lines, number, &pool), path);
    for (size_t i = 0; i < lines->file_count; i++) /* before the pool goes */
        if (number == UINT64_MAX)
            lines->files[i].path = NULL;
    if (number == UINT64_MAX)
        name_pool_release(&pool);
}

static void test_old_names(void **state)
{
    (void)state;
    program.size = 0;
    for (uint16_t version = 2; version <= 4; version++) {
        struct dwarf_lines *lines = lines_of(version);
        assert_int_equal(lines->file_count, 6);
        assert_int_equal(lines->directory_count, 3);
        path_is(lines, 0, "/build/main.c");
        path_is(lines, 1, "/build/a.c");
        path_is(lines, 2, "/build/include/b.h");
        path_is(lines, 3, "/usr/include/c.h");
        path_is(lines, 4, "d.h"); /* a directory that is not there */
        path_is(lines, 5, "/e.h");
        path_is(lines, 6, NULL);
        path_is(lines, UINT64_MAX, NULL);
        dwarf_lines_free(lines);
    }
}

static const unsigned char new_names[] = {1,
                                          DW_LNCT_path,
                                          DW_FORM_line_strp, /* directories */
                                          2,
                                          1,
                                          0,
                                          0,
                                          0,
                                          6,
                                          0,
                                          0,
                                          0, /* "/src", "sub" */
                                          3,
                                          DW_LNCT_path,
                                          DW_FORM_line_strp,
                                          DW_LNCT_directory_index,
                                          DW_FORM_udata,
                                          DW_LNCT_MD5,
                                          DW_FORM_data16, /* files */
                                          3,
                                          10,
                                          0,
                                          0,
                                          0,
                                          0,
                                          0,
                                          1,
                                          2,
                                          3,
                                          4,
                                          5,
                                          6,
                                          7,
                                          8,
                                          9,
                                          10,
                                          11,
                                          12,
                                          13,
                                          14,
                                          15, /* x.c */
                                          14,
                                          0,
                                          0,
                                          0,
                                          1,
                                          0,
                                          1,
                                          2,
                                          3,
                                          4,
                                          5,
                                          6,
                                          7,
                                          8,
                                          9,
                                          10,
                                          11,
                                          12,
                                          13,
                                          14,
                                          15, /* y.c */
                                          99,
                                          0,
                                          0,
                                          0,
                                          1,
                                          0,
                                          1,
                                          2,
                                          3,
                                          4,
                                          5,
                                          6,
                                          7,
                                          8,
                                          9,
                                          10,
                                          11,
                                          12,
                                          13,
                                          14,
                                          15}; /* no such text */

/* Version 5: names are numbered from 0 on, and directories are below that of the unit. */
static void test_new_names(void **state)
{
    struct dwarf_lines *lines;
    (void)state;
    program.size = 0;
    row_at(0x1000, 1, 4);
    set_address(0x1010);
    end_sequence();
    put_table(5, false, LINE_RANGE, new_names, sizeof(new_names));
    for (int rows = 0; rows < 2; rows++) {
        assert_int_equal(read_table(&lines, rows, 1000), 0);
        assert_int_equal(lines->file_count, 3);
        assert_int_equal(lines->directory_count, 2);
        path_is(lines, 0, "/src/x.c");
        path_is(lines, 1, "/build/sub/y.c");
        path_is(lines, 2, NULL);
        path_is(lines, 3, NULL);
        path_is(lines, UINT64_MAX, NULL);
        expect_at(lines, 0x100f, rows ? "1:4:0" : "-");
        dwarf_lines_free(lines);
    }
    /* Names cost work as rows do: five of them, then three rows with their steps. */
    for (uint64_t work = 0; work < 20; work++) {
        assert_int_equal(read_table(&lines, true, work), 0);
        assert_int_equal(lines->directory_count + lines->file_count, work < 5 ? work : 5);
        assert_int_equal(lines->sequence_count, work >= 5 + 5);
        assert_int_equal(file.work, work < 5 + 5 ? 0 : work - 5 - 5);
        dwarf_lines_free(lines);
    }
}

/* Where no directory is said it is the first one. */
static void test_names_without_directories(void **state)
{
    static const unsigned char names[] = {1, DW_LNCT_path, DW_FORM_string, 2, '/', 'a', 0,   '/', 'b', 0,
                                          1, DW_LNCT_path, DW_FORM_string, 1, 'x', '.', 'c', 0};
    struct dwarf_lines *lines;
    (void)state;
    program.size = 0;
    row_at(0x1000, 1, 4);
    set_address(0x1010);
    end_sequence();
    put_table(5, false, LINE_RANGE, names, sizeof(names));
    assert_int_equal(read_table(&lines, true, 1000), 0);
    path_is(lines, 0, "/a/x.c");
    dwarf_lines_free(lines);
}

/* Offsets of 8 bytes, those of the names too. */
static void test_wide(void **state)
{
    static const unsigned char names[] = {1, DW_LNCT_path, DW_FORM_line_strp, 1, 1,  0, 0, 0, 0, 0, 0, 0,
                                          1, DW_LNCT_path, DW_FORM_line_strp, 1, 10, 0, 0, 0, 0, 0, 0, 0};
    struct dwarf_lines *lines;
    (void)state;
    program.size = 0;
    row_at(0x1000, 1, 4);
    set_address(0x1010);
    end_sequence();
    put_table(5, true, LINE_RANGE, names, sizeof(names));
    assert_int_equal(read_table(&lines, true, 1000), 0);
    path_is(lines, 0, "/src/x.c");
    path_is(lines, UINT64_MAX, NULL);
    expect_at(lines, 0x1000, "1:4:0");
    dwarf_lines_free(lines);
    /* Lists that say nothing of their entries are empty ones. */
    put_table(5, false, LINE_RANGE, (const unsigned char[]){0, 9, 0, 9}, 4);
    assert_int_equal(read_table(&lines, true, 1000), 0);
    assert_int_equal(lines->file_count + lines->directory_count, 0);
    expect_at(lines, 0x1000, "1:4:0");
    dwarf_lines_free(lines);
}

static void test_bad_heads(void **state)
{
    struct dwarf_lines *lines;
    (void)state;
    program.size = 0;
    row_at(0x1000, 1, 4);
    set_address(0x1010);
    end_sequence();
    for (uint16_t version = 0; version < 8; version++) {
        bool known = version >= 2 && version <= 5;
        put_table(version, false, LINE_RANGE, version < 5 ? (const void *)old_names : new_names,
                  version < 5 ? sizeof(old_names) : sizeof(new_names));
        assert_int_equal(read_table(&lines, true, 1000), known ? 0 : -ENOEXEC);
        dwarf_lines_free(lines);
    }
    /* Cut off anywhere: the table says how long it is. */
    put_table(4, false, LINE_RANGE, old_names, sizeof(old_names));
    for (size_t whole = table.size; table.size > 0; table.size--) {
        assert_int_equal(read_table(&lines, true, 1000), table.size == whole ? 0 : -ENOEXEC);
        dwarf_lines_free(lines);
    }
    /* A table that is itself too short for its head, or for its names. */
    put_table(4, false, LINE_RANGE, old_names, sizeof(old_names));
    for (unsigned char length = 1; length <= 6 + 18 + sizeof(old_names); length++) {
        table.at[0] = length;
        assert_int_equal(read_table(&lines, true, 1000), length == 6 + 18 + sizeof(old_names) ? 0 : -ENOEXEC);
        dwarf_lines_free(lines);
    }
    /* Steps that would be divided by zero: no rows, but names. */
    CODE(OPCODE_BASE, DW_LNS_const_add_pc);
    put_table(4, false, 0, old_names, sizeof(old_names));
    assert_int_equal(read_table(&lines, true, 1000), 0);
    assert_int_equal(lines->file_count, 6);
    dwarf_lines_free(lines);
}

/* The work that a file may make is by its bytes, of all its sections. */
static void test_work(void **state)
{
    struct dwarf_file some = {.sections.part[DWARF_INFO].size = 100, .sections.part[DWARF_LINE].size = 20};
    struct dwarf_file none = {.work = 1};
    (void)state;
    dwarf_file_allow(&none);
    dwarf_file_allow(&some);
    assert_true(none.work > 0);
    assert_int_equal(some.work - none.work, 120 * 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opcodes),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_overlapping_sequences),
        cmocka_unit_test(test_old_names),
        cmocka_unit_test(test_names_without_directories),
        cmocka_unit_test(test_new_names),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_bad_heads),
        cmocka_unit_test(test_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
