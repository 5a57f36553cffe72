/* SPDX-License-Identifier: MIT */
/* Which bases of a folder are in use: a lock whose place the name chooses tells others. */
#include "check.h"

#include <fcntl.h>

#include "collector/files.h"
#include "common/report.h"

static char folder[64];

static int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/pinject-unit-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

/* Each name is one of its own, wherever in the folder its lock lies: none is used before, or by another's session. */
static void each_base_is_known(void **state)
{
    enum { BASES = 64 };
    static struct files files[BASES];
    char base[96];
    (void)state;
    for (unsigned i = 0; i < BASES; i++) {
        snprintf(base, sizeof(base), "%u-base", i * 7919);
        assert_false(files_base_is_used(base));
        assert_int_equal(files_init(&files[i], base, 0600), 0);
        assert_true(files_base_is_used(base));
    }
    for (unsigned i = 0; i < BASES; i++) {
        snprintf(base, sizeof(base), "./%u-base", i * 7919); /* the folder is no part of it */
        assert_true(files_base_is_used(base));
        snprintf(base, sizeof(base), "%s/%u-base", folder, i * 7919);
        assert_true(files_base_is_used(base));
        snprintf(base, sizeof(base), "%u-bass", i * 7919);
        assert_false(files_base_is_used(base));
        files_release(&files[i]);
        snprintf(base, sizeof(base), "%u-base", i * 7919);
        assert_false(files_base_is_used(base));
    }
    assert_false(files_base_is_used("missing/base"));
    assert_false(files_base_is_used(""));
}

/* As many sessions as like may have the same one. */
static void sessions_share_a_base(void **state)
{
    struct files one, two;
    (void)state;
    assert_int_equal(files_init(&one, "same", 0600), 0);
    assert_int_equal(files_init(&two, "./same", 0600), 0);
    files_release(&one);
    assert_true(files_base_is_used("same"));
    files_release(&two);
    assert_false(files_base_is_used("same"));
}

/* Started without stdin: its number is one like the others. */
static void descriptor_of_stdin(void **state)
{
    struct files one, two;
    int saved = fcntl(0, F_DUPFD_CLOEXEC, 100), created = -1;
    (void)state;
    assert_int_equal(files_init(&one, "one", 0600), 0);
    close(0);
    const bool used = files_base_is_used("one"), other = files_base_is_used("two");
    const bool closed = fcntl(0, F_GETFD) < 0;
    const int status = files_create(&one, "one.1.1", &created);
    close(0);
    const int second = files_init(&two, "two", 0600), directory = two.directory;
    const bool second_used = files_base_is_used("two");
    files_release(&two);
    const bool second_closed = fcntl(0, F_GETFD) < 0;
    assert_true(saved < 0 || dup2(saved, 0) == 0);
    close(saved);
    files_remove(&one, "one.1.1");
    files_release(&one);
    assert_true(used && !other && closed);
    assert_int_equal(status, 0);
    assert_int_equal(created, 0);
    assert_int_equal(second, 0);
    assert_int_equal(directory, 0);
    assert_true(second_used && second_closed);
}

int main(void)
{
    report_program("pinject-run");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_base_is_known),
        cmocka_unit_test(sessions_share_a_base),
        cmocka_unit_test(descriptor_of_stdin),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
