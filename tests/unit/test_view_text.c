/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <locale.h>
#include <time.h>

#include "analyze/model/profile.h"
#include "analyze/view/map.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "common/json.h"

static void test_amounts(void **state)
{
    (void)state;
    char text[TEXT_AMOUNT];
    assert_string_equal(text_time(text, 0), "0 s");
    assert_string_equal(text_time(text, 9520000000), "9.52 s");
    assert_string_equal(text_time(text, 123456789012), "123.5 s");
    assert_string_equal(text_time(text, 999600000), "1.00 s");
    assert_string_equal(text_time(text, 999400000), "999 ms");
    /* From where on three digits would be four. */
    assert_string_equal(text_time(text, 99995000000), "100.0 s");
    assert_string_equal(text_time(text, 999500000), "1.00 s");
    assert_string_equal(text_time(text, 99950000), "100 ms");
    assert_string_equal(text_time(text, 9995000), "10.0 ms");
    assert_string_equal(text_time(text, 12345678), "12.3 ms");
    assert_string_equal(text_time(text, 1234567), "1.23 ms");
    assert_string_equal(text_time(text, UINT64_MAX), "18446744073.7 s");
    assert_string_equal(text_count(text, 0), "0");
    assert_string_equal(text_count(text, 999), "999");
    assert_string_equal(text_count(text, 1000), "1,000");
    assert_string_equal(text_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(text_percent(text, 1, 3), "33.33 %");
    assert_string_equal(text_percent(text, 0, 0), "-");
    assert_string_equal(text_bytes(text, 999), "999 bytes");
    assert_string_equal(text_bytes(text, UINT64_MAX), "18.4 EB");
}

/* Where another unit, or another number of digits, begins. */
static void test_bounds_of_amounts(void **state)
{
    static const struct {
        uint64_t amount;
        const char *text;
    } times[] = {{1, "0.0000 ms"},      {9499, "0.0095 ms"},      {9500, "0.01 ms"},       {9994999, "9.99 ms"},
                 {9995001, "10.0 ms"},  {99949999, "99.9 ms"},    {99950001, "100 ms"},    {999499999, "999 ms"},
                 {999500001, "1.00 s"}, {99994999999, "99.99 s"}, {99995000001, "100.0 s"}},
      bytes[] = {{0, "0 bytes"},
                 {1000, "1.0 kB"},
                 {1049, "1.0 kB"},
                 {999949, "999.9 kB"},
                 {999951, "1.0 MB"},
                 {999949999, "999.9 MB"},
                 {999951000, "1.0 GB"},
                 {1000000000000, "1.0 TB"},
                 {1000000000000000, "1.0 PB"},
                 {1000000000000000000, "1.0 EB"}},
      counts[] = {{10, "10"}, {999999, "999,999"}, {1000000, "1,000,000"}};
    char text[TEXT_AMOUNT];
    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        assert_string_equal(text_time(text, times[i].amount), times[i].text);
        assert_string_equal(text_weight(text, times[i].amount, true), times[i].text);
    }
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        assert_string_equal(text_bytes(text, bytes[i].amount), bytes[i].text);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        assert_string_equal(text_count(text, counts[i].amount), counts[i].text);
        assert_string_equal(text_weight(text, counts[i].amount, false), counts[i].text);
    }
    assert_string_equal(text_plural(text, 0, "task", "tasks"), "0 tasks");
    assert_string_equal(text_plural(text, 1, "task", "tasks"), "1 task");
    assert_string_equal(text_plural(text, 2, "task", "tasks"), "2 tasks");
    assert_string_equal(text_plural(text, 1234, "task", "tasks"), "1,234 tasks");
    /* No more than there is room for. */
    char longer[2 * TEXT_AMOUNT + 1], room[2 * TEXT_AMOUNT];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    memset(room, '!', sizeof(room));
    assert_int_equal(strlen(text_plural(room, 1234, "task", longer)), TEXT_AMOUNT - 1);
    for (size_t i = TEXT_AMOUNT; i < sizeof(room); i++)
        assert_int_equal(room[i], '!');
    assert_string_equal(text_percent(text, 0, 3), "0.00 %");
    assert_string_equal(text_percent(text, 3, 3), "100.00 %");
    assert_true(text_share(1, 4) == 25 && text_share(1, 0) == 0);
}

static void test_base(void **state)
{
    (void)state;
    assert_string_equal(text_base("/usr/lib/libc.so.6"), "libc.so.6");
    assert_string_equal(text_base("[vdso]"), "[vdso]");
    assert_string_equal(text_base("//anon"), "//anon");
    assert_string_equal(text_base("/"), "/");
    assert_string_equal(text_base("/a/"), "/a/");
}

static void test_command(void **state)
{
    (void)state;
    const char *const words[] = {"sh", "-c", "echo 'a'", "", "x=1"};
    char *line = text_command(words, 5);
    assert_string_equal(line, "sh -c 'echo '\\''a'\\''' '' x=1");
    free(line);
    const char *const strange[] = {"\xc3\xa4", "$x", "a;b", "'", "~", "AZaz09_-+=./:,@%^"};
    line = text_command(strange, 6);
    assert_string_equal(line, "\xc3\xa4 '$x' 'a;b' ''\\''' '~' AZaz09_-+=./:,@%^");
    free(line);
    /* Words that need the most room for their size. */
    const char *const tight[] = {"", "", "a", "b", "'", "''", ""};
    line = text_command(tight, 1);
    assert_string_equal(line, "''");
    free(line);
    line = text_command(tight + 2, 2);
    assert_string_equal(line, "a b");
    free(line);
    line = text_command(tight, 7);
    assert_string_equal(line, "'' '' a b ''\\''' ''\\'''\\''' ''");
    free(line);
    line = text_command(strange, 0);
    assert_string_equal(line, "");
    free(line);
}

static void test_cut(void **state)
{
    (void)state;
    char plain[] = "abcdefgh", wide[] = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", small[] = "abcd";
    text_cut(plain, 8, true);
    assert_string_equal(plain, "abcdefgh");
    text_cut(plain, 6, true);
    assert_string_equal(plain, "abc...");
    text_cut(small, 2, false);
    assert_string_equal(small, "..");
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    assert_int_equal(text_columns(wide, true), 8);
    text_cut(wide, 6, true);
    assert_string_equal(wide, "\xe6\xbc\xa2..."); /* a half of a wide character does not fit */
}

/* What is no whole character, or has no width, has one column for each byte. */
static void test_columns(void **state)
{
    static const struct {
        const char *text;
        size_t columns, bytes;
    } cases[] = {
        {"", 0, 0},
        {"a\xc3\xa4z", 3, 4},
        {"\xe6\xbc\xa2", 2, 3},
        {"e\xcc\x81", 1, 3}, /* an accent of its own has no column */
        {"a\xe6\xbc", 3, 3}, /* cut off */
        {"\xf0\x9f\x94", 3, 3},
        {"\xc3", 1, 1},
        {"\xff\xfe", 2, 2},
        {"\xbc\xe6\xbc\xa2", 3, 4},
        {"\xc2\x85", 1, 2}, /* a control character */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(text_columns(cases[i].text, false), cases[i].bytes);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[16];
        if (text_columns(cases[i].text, true) != cases[i].columns)
            fail_msg("%zu: %zu columns", i, text_columns(cases[i].text, true));
        strcpy(text, cases[i].text);
        text_cut(text, cases[i].columns, true);
        assert_string_equal(text, cases[i].text);
    }
    char text[] = "ab\xe6\xbc\xa2\xe6";
    text_cut(text, 4, true);
    assert_string_equal(text, "a...");
}

static void test_tasks(void **state)
{
    static const char *const words[] = {"cc", "a b.c"};
    struct profile_task task = {.pid = 1, .tid = 1, .comm = "cc1", .cmdline = words, .cmdline_count = 2};
    char *text = text_task(&task);
    (void)state;
    assert_string_equal(text, "cc 'a b.c'");
    free(text);
    task.tid = 2;
    text = text_task(&task);
    assert_string_equal(text, "{cc1}");
    free(text);
    text = text_task_command(&task);
    assert_string_equal(text, "cc 'a b.c'");
    free(text);
    task.tid = 1;
    task.cmdline_count = 0;
    text = text_task(&task);
    assert_string_equal(text, "cc1");
    free(text);
}

static void test_clean(void **state)
{
    (void)state;
    char *text = text_clean("a\x1b[0m\xc3\xa4\xff", true);
    assert_string_equal(text, "a\\033[0m\xc3\xa4\\377");
    free(text);
    text = text_clean("\xc3\xa4", false);
    assert_string_equal(text, "\\303\\244");
    free(text);
}

static char *text_table_text(int width)
{
    static const struct text_table_column columns[] = {{"N", true}, {"DSO", false, true}, {"Name"}};
    struct text_table *table = text_table_new(columns, 3, false);
    char *text = NULL;
    size_t size = 0;
    struct output output = {.to = open_memstream(&text, &size), .width = width};
    const char *const cells[] = {"1", "library", "a-rather-long-name", "234", "x", ""};
    for (size_t i = 0; i < 6; i++)
        text_table_cell(table, OUTPUT_PLAIN, cells[i]);
    text_table_line(table, "line");
    text_table_print(table, &output, true);
    fclose(output.to);
    text_table_free(table);
    return text;
}

static void test_text_table(void **state)
{
    (void)state;
    char *text = text_table_text(0);
    assert_string_equal(text, "  N  DSO      Name\n  1  library  a-rather-long-name\n234  x\nline\n");
    free(text);
    text = text_table_text(24);
    assert_string_equal(text, "  N  DSO      Name\n  1  library  a-rathe...\n234  x\nline\n");
    free(text);
    text = text_table_text(20);
    assert_string_equal(text, "  N  DSO\n    Name\n  1  library\n    a-rather-long...\n234  x\nline\n");
    free(text);
}

/* The first and the last character of each length, and what is next to them and is none. */
static void test_json_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {{"\x7f", 1},
                 {"\x80", 0},
                 {"\xc1\xbf", 0},
                 {"\xc2\x80", 2},
                 {"\xdf\xbf", 2},
                 {"\xdf\xc0", 0},
                 {"\xe0\x9f\xbf", 0},
                 {"\xe0\xa0\x80", 3},
                 {"\xed\x9f\xbf", 3},
                 {"\xed\xa0\x80", 0},
                 {"\xef\xbf\xbf", 3},
                 {"\xf0\x8f\xbf\xbf", 0},
                 {"\xf0\x90\x80\x80", 4},
                 {"\xf4\x8f\xbf\xbf", 4},
                 {"\xf4\x90\x80\x80", 0},
                 {"\xf5\x80\x80\x80", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(json_character((const unsigned char *)cases[i].text), cases[i].size);
}

static void test_json(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    struct json json = {.to = open_memstream(&text, &size)};
    json_object(&json, NULL);
    json_string(&json, "a\"", "\\ \n\x01 \xc3\xa4 \xc3 \xed\xa0\x80 \xf5");
    json_string(&json, "c",
                "\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0|\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf|"
                "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa|\xf0\x9f\x94\xa5");
    json_list(&json, "l");
    json_null(&json, NULL);
    json_number(&json, NULL, 0.0 / 0.0);
    json_number(&json, NULL, 12.34567);
    json_signed(&json, NULL, -1);
    json_unsigned(&json, NULL, UINT64_MAX);
    json_end_list(&json);
    json_list(&json, "e");
    json_end_list(&json);
    json_end_object(&json);
    fclose(json.to);
    assert_string_equal(text, "{\n \"a\\\"\":\"\\\\ \\u000a\\u0001 \xc3\xa4 \\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\",\n"
                              " \"c\":\"\\u007f\\u0080\\u009b\\u009f\xc2\xa0|\xe2\x80\xa7\\u2028\\u202e\xe2\x80\xaf|"
                              "\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa|\xf0\x9f\x94\xa5\",\n \"l\":[\n  null,\n"
                              "  null,\n  12.3457,\n  -1,\n  18446744073709551615],\n \"e\":[]}\n");
    free(text);
}

static void test_map(void **state)
{
    (void)state;
    struct map map = {0};
    struct map_strings strings = {0};
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(map_add(&map, i % 100, i), i);
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(map_find(&map, i % 100, i), i);
    assert_int_equal(map_find(&map, 1, 2), MAP_NONE);
    map_clear(&map);
    assert_int_equal(map_find(&map, 1, 1), MAP_NONE);
    assert_int_equal(map_add(&map, 7, 7), 0);
    map_release(&map);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            char text[16];
            snprintf(text, sizeof(text), "s%u", i);
            assert_int_equal(map_strings_add(&strings, text), i);
        }
    }
    assert_string_equal(strings.texts[999], "s999");
    map_strings_release(&strings);
}

/* The number that undoes a multiplication by ODD. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t found = odd;
    for (int i = 0; i < 6; i++)
        found *= 2 - odd * found;
    return found;
}

/* Pairs that a hash without a key put into one slot: 3 s for 60000 of them, and 30 s for these. */
static void test_map_of_chosen_pairs(void **state)
{
    (void)state;
    struct map map = {0};
    const uint64_t back = inverse(0xc2b2ae3d27d4eb4fu);
    const clock_t begin = clock();
    for (uint64_t i = 0; i < 200000; i++)
        assert_int_equal(map_add(&map, i, i * 0x9e3779b97f4a7c15u * back - 0x7f4a7c15u), i);
    assert_true(clock() - begin < CLOCKS_PER_SEC);
    /* Few bits, high or low, in one number or in both. */
    map_clear(&map);
    for (uint64_t i = 0; i < 65536; i++)
        for (unsigned shift = 0; shift < 64; shift += 16)
            (void)(map_add(&map, i << shift, 0), map_add(&map, 0, i << shift), map_add(&map, i << shift, i << shift));
    assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
    map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_text_table),
        cmocka_unit_test(test_json_characters),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_map_of_chosen_pairs),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_bounds_of_amounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
