/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "common/nearest.h"

static const char *const words[] = {"report", "tree",       "counts",      NULL,        "script",
                                    "info",   "follow-all", "follow-fork", "aggregate", ""};

static const char *nearest(const char *word)
{
    return nearest_word(word, words, sizeof(words) / sizeof(words[0]));
}

static void test_typing_errors(void **state)
{
    (void)state;
    assert_string_equal(nearest("reprot"), "report");
    assert_string_equal(nearest("reort"), "report");
    assert_string_equal(nearest("tre"), "tree");
    assert_string_equal(nearest("TREE"), "tree");
    assert_string_equal(nearest("count"), "counts");
    assert_string_equal(nearest("followall"), "follow-all");
    assert_string_equal(nearest("follow-frok"), "follow-fork");
    assert_string_equal(nearest("aggr"), "aggregate");
    assert_string_equal(nearest("report"), "report");
}

static void test_nothing_near(void **state)
{
    (void)state;
    assert_null(nearest("zzz"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
    assert_null(nearest("completely-different"));
    assert_null(nearest_word("report", NULL, 0));
}

static void test_long_words(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const char *const list[] = {text};
    assert_null(nearest(text));
    assert_ptr_equal(nearest_word(text, list, 1), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typing_errors),
        cmocka_unit_test(test_nothing_near),
        cmocka_unit_test(test_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
