/* SPDX-License-Identifier: MIT */
/* Names of what is followed: each set of flags is written so that it is read again. */
#include "check.h"

#include <errno.h>
#include <pinject/wire.h>

#include "common/follow.h"

static void test_every_set(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= PINJECT_SESSION_ALL; flags++) {
        char text[FOLLOW_TEXT];
        unsigned again = ~0u;
        assert_ptr_equal(follow_text(text, flags), text);
        assert_int_equal(follow_parse(text, &again), 0);
        assert_int_equal(again, flags);
        assert_int_equal(follow_is_all(flags), flags == PINJECT_SESSION_ALL);
    }
    char text[FOLLOW_TEXT];
    assert_string_equal(follow_text(text, 0), "none");
    assert_string_equal(follow_text(text, PINJECT_SESSION_ALL | 1u << 20), "all");
    assert_string_equal(follow_text(text, PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK | PINJECT_SESSION_PTHREAD),
                        "fork,vfork,threads");
}

static void test_words(void **state)
{
    (void)state;
    unsigned flags;
    assert_int_equal(follow_parse("pthread,none,exec,exec", &flags), 0);
    assert_int_equal(flags, PINJECT_SESSION_PTHREAD | PINJECT_SESSION_EXEC);
    static const char *const wrong[] = {"", "forks", "for", "fork,", ",fork", "fork,,exec", "all ", "ALL"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        flags = 77;
        check_capture();
        int error = follow_parse(wrong[i], &flags);
        assert_non_null(strstr(check_captured(), "cannot follow '"));
        assert_int_equal(error, -EINVAL);
        assert_int_equal(flags, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_set),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
