/* SPDX-License-Identifier: MIT */
/* Which source line each address has, from rows in any order; the line tables are the test's own. */
#include "check.h"

#include <errno.h>

#include "analyze/sym/code_lines.h"

struct row {
    uint64_t address;
    const char *directory, *file; /* file NULL: the end of a sequence */
    uint32_t line;
};

static const struct row *rows;
static size_t row_count;
static uint64_t asked_start, asked_end;

void __wrap_symbols_rows(struct symbols_dso *dso, uint64_t start, uint64_t end, symbols_each_row *each, void *context);

void __wrap_symbols_rows(struct symbols_dso *dso, uint64_t start, uint64_t end, symbols_each_row *each, void *context)
{
    (void)dso;
    asked_start = start;
    asked_end = end;
    for (size_t i = 0; i < row_count; i++)
        each(context, rows[i].address, rows[i].directory, rows[i].file, rows[i].line);
}

/* ---- memory that ends */

static long allocations, allowed = -1; /* -1: as much as there is */

static bool there_is_memory(void)
{
    return allowed < 0 || allocations++ < allowed;
}

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_calloc(size_t count, size_t size)
{
    return there_is_memory() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    return there_is_memory() ? __real_realloc(old, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
    return there_is_memory() ? __real_strdup(text) : NULL;
}

/* ---- */

static void init_lines(struct code_lines *lines, const struct row *list, size_t count)
{
    rows = list;
    row_count = count;
    assert_int_equal(code_lines_init(lines, NULL, 0x1000, 0x2000), 0);
    assert_true(asked_start == 0x1000 && asked_end == 0x2000);
}

/* FILE NULL: ADDRESS has no line. */
static void expect_line(const struct code_lines *lines, uint64_t address, const char *file, uint32_t line)
{
    const struct code_lines_row *row = code_lines_at(lines, address);
    if (!file != !row || (row && (strcmp(lines->files[row->file], file) != 0 || row->line != line)))
        fail_msg("0x%x: %s:%u", (unsigned)address, row ? lines->files[row->file] : "-", row ? row->line : 0);
}

static void test_ranges(void **state)
{
    static const struct row list[] = {
        {0x1000, "/src", "a.c", 1}, {0x1004, "/src", "b.h", 7}, {0x1010, NULL, NULL, 0}, {0x1020, "/src", "a.c", 2}};
    struct code_lines lines;
    (void)state;
    init_lines(&lines, list, 4);
    assert_int_equal(lines.count, 4);
    assert_int_equal(lines.file_count, 2);
    expect_line(&lines, 0, NULL, 0);
    expect_line(&lines, 0xfff, NULL, 0);
    expect_line(&lines, 0x1000, "a.c", 1);
    expect_line(&lines, 0x1003, "a.c", 1);
    expect_line(&lines, 0x1004, "b.h", 7);
    expect_line(&lines, 0x100f, "b.h", 7);
    expect_line(&lines, 0x1010, NULL, 0);
    expect_line(&lines, 0x101f, NULL, 0);
    expect_line(&lines, 0x1020, "a.c", 2);
    expect_line(&lines, UINT64_MAX, "a.c", 2);
    code_lines_release(&lines);
    assert_true(!lines.rows && !lines.files && !lines.count);
}

static void test_nothing(void **state)
{
    struct code_lines lines;
    (void)state;
    init_lines(&lines, NULL, 0);
    assert_int_equal(lines.count, 0);
    expect_line(&lines, 0x1000, NULL, 0);
    code_lines_release(&lines);
}

/* Of several rows at one address the last one holds. */
static void test_last_row_of_an_address(void **state)
{
    static const struct row list[] = {{0x1000, NULL, "a.c", 1},
                                      {0x1000, NULL, "a.c", 2},
                                      {0x1000, NULL, "b.c", 3},
                                      {0x1008, NULL, "a.c", 4},
                                      {0x1008, NULL, "a.c", 5}};
    struct code_lines lines;
    (void)state;
    init_lines(&lines, list, 5);
    assert_int_equal(lines.count, 2);
    expect_line(&lines, 0x1000, "b.c", 3);
    expect_line(&lines, 0x1007, "b.c", 3);
    expect_line(&lines, 0x1008, "a.c", 5);
    code_lines_release(&lines);
}

/* An end of a sequence holds only where no other sequence begins, whichever comes first. */
static void test_ends_of_sequences(void **state)
{
    static const struct row list[] = {
        {0x1000, NULL, "a.c", 1}, {0x1010, NULL, NULL, 0}, /* the next one begins there, and stands behind */
        {0x1010, NULL, "b.c", 2}, {0x1020, NULL, NULL, 0}, /* nothing there */
        {0x1040, NULL, "d.c", 4}, {0x1050, NULL, NULL, 0},
        {0x1030, NULL, "c.c", 3}, {0x1040, NULL, NULL, 0}, /* the next one begins there, and stood before */
        {0x1060, NULL, NULL, 0},  {0x1060, NULL, NULL, 0},
    };
    struct code_lines lines;
    (void)state;
    init_lines(&lines, list, sizeof(list) / sizeof(*list));
    assert_int_equal(lines.count, 7);
    expect_line(&lines, 0x100f, "a.c", 1);
    expect_line(&lines, 0x1010, "b.c", 2);
    expect_line(&lines, 0x101f, "b.c", 2);
    expect_line(&lines, 0x1020, NULL, 0);
    expect_line(&lines, 0x1030, "c.c", 3);
    expect_line(&lines, 0x103f, "c.c", 3);
    expect_line(&lines, 0x1040, "d.c", 4);
    expect_line(&lines, 0x104f, "d.c", 4);
    expect_line(&lines, 0x1050, NULL, 0);
    expect_line(&lines, 0x1060, NULL, 0);
    code_lines_release(&lines);
}

/* Many rows and files, each address twice, the addresses backwards. */
static void test_many(void **state)
{
    enum { ADDRESSES = 1000, FILES = 50 };
    static struct row list[2 * ADDRESSES];
    static char files[FILES][16], directories[FILES][16];
    struct code_lines lines;
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        snprintf(files[i], sizeof(files[i]), "file%zu.c", i);
        snprintf(directories[i], sizeof(directories[i]), "/of/%zu", i);
    }
    for (size_t i = 0; i < 2 * ADDRESSES; i++) {
        size_t place = (2 * ADDRESSES - 1 - i) % ADDRESSES, file = i % 7 ? place % FILES : 0;
        list[i] = (struct row){0x1000 + 4 * place, directories[file], files[file], (uint32_t)i + 1};
    }
    init_lines(&lines, list, 2 * ADDRESSES);
    assert_int_equal(lines.count, ADDRESSES);
    assert_int_equal(lines.file_count, FILES);
    for (size_t i = ADDRESSES; i < 2 * ADDRESSES; i++)
        expect_line(&lines, list[i].address + 3, list[i].file, list[i].line);
    for (size_t i = 0; i < lines.file_count; i++) {
        unsigned number;
        assert_int_equal(sscanf(lines.files[i], "file%u.c", &number), 1);
        assert_string_equal(lines.directories[i], directories[number]);
    }
    code_lines_release(&lines);
}

/* A file has the directory of the first unit that names it, and may have none. */
static void test_directories(void **state)
{
    static const struct row list[] = {
        {0x1000, "/one", "x.h", 1}, {0x1001, "/two", "x.h", 2}, {0x1002, NULL, "y.h", 3}, {0x1003, "/three", "y.h", 4}};
    struct code_lines lines;
    (void)state;
    init_lines(&lines, list, 4);
    assert_int_equal(lines.file_count, 2);
    assert_string_equal(lines.files[0], "x.h");
    assert_string_equal(lines.directories[0], "/one");
    assert_null(lines.directories[1]);
    expect_line(&lines, 0x1001, "x.h", 2);
    expect_line(&lines, 0x1003, "y.h", 4);
    code_lines_release(&lines);
}

/* Each allocation fails in turn: the same answer, and nothing is left. */
static void test_no_memory(void **state)
{
    static struct row list[300];
    static char files[20][16];
    struct code_lines lines;
    int status = -ENOMEM;
    (void)state;
    for (size_t i = 0; i < 20; i++)
        snprintf(files[i], sizeof(files[i]), "f%zu", i);
    for (size_t i = 0; i < 300; i++)
        list[i] = (struct row){0x1000 + i, i % 2 ? "/d" : NULL, i % 20 == 19 ? NULL : files[i % 20], 1};
    rows = list;
    row_count = 300;
    for (allowed = 0; status; allowed++) {
        allocations = 0;
        status = code_lines_init(&lines, NULL, 0, 1);
        assert_true(status == 0 || status == -ENOMEM);
        assert_true(status == 0 || (!lines.rows && !lines.files && !lines.count));
        assert_true(allowed < 1000);
    }
    /* Files twice, names and directories, rows twice, and the order. */
    assert_int_equal(allowed - 1, 2 * 2 + 19 + 9 + 2 + 1);
    allowed = -1;
    assert_int_equal(lines.count, 300);
    code_lines_release(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_last_row_of_an_address),
        cmocka_unit_test(test_ends_of_sequences),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
