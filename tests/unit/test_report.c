/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>

#include "common/report.h"

#define SAFE(size, text) report_safe(ret, size, text, strlen(text))

static void test_safe_keeps_text(void **state)
{
    (void)state;
    char ret[64];
    assert_string_equal(SAFE(64, "plain text"), "plain text");
    assert_string_equal(SAFE(64, "Gr\303\274\303\237e \342\202\254 \360\237\230\200"),
                        "Gr\303\274\303\237e \342\202\254 \360\237\230\200");
    assert_string_equal(SAFE(64, ""), "");
    assert_string_equal(report_safe(ret, 64, "abcdef", 3), "abc");
    assert_string_equal(report_safe(ret, 64, "ab\0cd", 5), "ab");
}

static void test_safe_escapes(void **state)
{
    (void)state;
    char ret[64];
    assert_string_equal(SAFE(64, "a\033[31mb\nc\177"), "a\\033[31mb\\012c\\177");
    /* Not UTF-8: a lone byte, a cut character, an overlong one, a surrogate, past the last code point. */
    assert_string_equal(SAFE(64, "\377x"), "\\377x");
    assert_string_equal(SAFE(64, "\342\202"), "\\342\\202");
    assert_string_equal(SAFE(64, "\300\257"), "\\300\\257");
    assert_string_equal(SAFE(64, "\340\200\257"), "\\340\\200\\257");
    assert_string_equal(SAFE(64, "\355\240\200"), "\\355\\240\\200");
    assert_string_equal(SAFE(64, "\364\220\200\200"), "\\364\\220\\200\\200");
    /* UTF-8, but a control character: CSI in one, and the one that turns the direction of writing. */
    assert_string_equal(SAFE(64, "\302\2333m"), "\\302\\2333m");
    assert_string_equal(SAFE(64, "\342\200\256"), "\\342\\200\\256");
    /* From the first to the last of them, and the characters beside them. */
    assert_string_equal(SAFE(64, "~\302\200"), "~\\302\\200");
    assert_string_equal(SAFE(64, "\302\237"), "\\302\\237");
    assert_string_equal(SAFE(64, "\302\240"), "\302\240");
    assert_string_equal(SAFE(64, "\342\200\251"), "\342\200\251");
    assert_string_equal(SAFE(64, "\342\200\252"), "\\342\\200\\252");
    assert_string_equal(SAFE(64, "\342\200\257"), "\342\200\257");
    assert_string_equal(SAFE(64, "\342\201\245"), "\342\201\245");
    assert_string_equal(SAFE(64, "\342\201\246"), "\\342\\201\\246");
    assert_string_equal(SAFE(64, "\342\201\251"), "\\342\\201\\251");
    assert_string_equal(SAFE(64, "\342\201\252"), "\342\201\252");
    /* The borders of what UTF-8 has. */
    assert_string_equal(SAFE(64, "\301\277"), "\\301\\277");
    assert_string_equal(SAFE(64, "\340\240\200"), "\340\240\200");
    assert_string_equal(SAFE(64, "\355\237\277"), "\355\237\277");
    assert_string_equal(SAFE(64, "\355\277\277"), "\\355\\277\\277");
    assert_string_equal(SAFE(64, "\356\200\200"), "\356\200\200");
    assert_string_equal(SAFE(64, "\360\217\277\277"), "\\360\\217\\277\\277");
    assert_string_equal(SAFE(64, "\360\220\200\200"), "\360\220\200\200");
    assert_string_equal(SAFE(64, "\364\217\277\277"), "\364\217\277\277");
    assert_string_equal(SAFE(64, "\365\200\200\200"), "\\365\\200\\200\\200");
    assert_string_equal(SAFE(64, "\037 ~"), "\\037 ~");
}

static void test_safe_truncates(void **state)
{
    (void)state;
    char ret[64];
    assert_string_equal(SAFE(6, "abcde"), "abcde");
    assert_string_equal(SAFE(6, "abcdef"), "ab...");
    assert_string_equal(SAFE(8, "abc\033\033"), "abc...");
    assert_string_equal(SAFE(3, "abcdef"), "..");
    assert_string_equal(SAFE(1, "abcdef"), "");
    ret[0] = 'x';
    report_safe(ret, 0, "abc", 3);
    assert_int_equal(ret[0], 'x');
    /* Whatever the room: terminated, and never half a character. */
    for (unsigned long size = 1; size < 20; size++) {
        memset(ret, '#', sizeof(ret));
        SAFE(size, "\342\202\254\342\202\254\033\342\202\254\342\202\254");
        assert_true(strlen(ret) < size);
        assert_int_equal(ret[size], '#');
        assert_true(strlen(ret) % 3 == 0 || strchr(ret, '.') || strchr(ret, '\\'));
    }
}

static void test_lines(void **state)
{
    (void)state;
    report_program("prog");
    check_capture();
    errno = EPIPE;
    report_error("cannot read '%s': %s", "a\nb", "why");
    assert_int_equal(errno, EPIPE);
    report_warning("careful");
    report_note("noted");
    report_quiet(true);
    report_note("not shown");
    report_error("shown");
    report_quiet(false);
    assert_string_equal(check_captured(), "prog: cannot read 'a\\012b': why\n"
                                          "prog: warning: careful\nprog: noted\nprog: shown\n");
}

static void test_long_line(void **state)
{
    (void)state;
    static char name[20000];
    memset(name, '\001', sizeof(name) - 1);
    check_capture();
    report_error("file %s", name);
    const char *text = check_captured();
    assert_true(strlen(text) < 4500);
    assert_string_equal(text + strlen(text) - 4, "...\n");
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safe_keeps_text), cmocka_unit_test(test_safe_escapes),
        cmocka_unit_test(test_safe_truncates),  cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
