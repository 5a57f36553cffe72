/* SPDX-License-Identifier: MIT */
/* analyze/inputs.h: from operands to files. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analyze/inputs.h"

static char directory[] = "/tmp/pinject-inputs-XXXXXX";

static void make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* FOUND is these names, each with a blank behind it. */
static void expect(struct inputs *found, const char *wanted)
{
    char text[1024] = "";
    for (size_t i = 0; i < found->count; i++) {
        strcat(text, found->paths[i]);
        strcat(text, " ");
    }
    assert_string_equal(text, wanted);
    inputs_release(found);
    assert_int_equal(found->count, 0);
    assert_null(found->paths);
}

static void follow(const char *base, const char *const *operands, size_t count, const char *wanted)
{
    struct inputs inputs;
    assert_int_equal(inputs_follow(&inputs, base, operands, count), 0);
    expect(&inputs, wanted);
}

/* A file stands for all of its session, once, wherever it is. */
static void test_files_of_a_session(void **state)
{
    (void)state;
    const char *const one[] = {"out.1.1"}, *const two[] = {"out.1.2", "out.1.1", "out.9.9"},
                      *const both[] = {"out.1.1", "there/out.1.1"},
                      *const bases[] = {"other.2.2", "out.1.2", "other.3.3"},
                      *const dotted[] = {"./out.1.1", "out.1.1"}, *const plain[] = {"plain", "out.1.1", "plain"},
                      *const longer[] = {"out.1.1", "outer.1.1"}, *const directories[] = {"there", "there/"};
#define OUT "out.1.1 out.1.2 out.1.10.as "
    follow(NULL, one, 1, OUT);
    follow(NULL, two, 3, OUT);
    follow(NULL, both, 2, OUT "there/out.1.1 there/out.1.3 ");
    follow(NULL, bases, 3, "other.2.2 " OUT);
    follow(NULL, dotted, 2, "./out.1.1 ./out.1.2 ./out.1.10.as " OUT);
    follow(NULL, plain, 3, "plain " OUT "plain ");
    follow(NULL, longer, 2, OUT "outer.1.1 ");
    follow(NULL, directories, 1, "there/out.1.1 there/out.1.3 ");
    follow(NULL, directories + 1, 1, "there/out.1.1 there/out.1.3 ");
    follow("out", NULL, 0, OUT);
    follow("there/out", NULL, 0, "there/out.1.1 there/out.1.3 ");
    follow("outer", one, 1, "outer.1.1 ");
}

static void test_nothing_yet(void **state)
{
    (void)state;
    const char *const gone[] = {"nobody.1.1"};
    struct inputs inputs;
    check_capture();
    int status = inputs_follow(&inputs, "nobody", NULL, 0);
    assert_non_null(strstr(check_captured(), "there are no result files nobody.* yet"));
    assert_int_equal(status, -ENOENT);
    assert_int_equal(inputs.count, 0);
    inputs_release(&inputs);
    check_capture();
    status = inputs_follow(&inputs, NULL, gone, 1);
    assert_non_null(strstr(check_captured(), "there are no result files yet"));
    assert_int_equal(status, -ENOENT);
    inputs_release(&inputs);
}

/* What is a result file by its name; directories and pipes are none. */
static void test_directories(void **state)
{
    (void)state;
    static const char *const results[] = {"names/a.1.2",    "names/a.1.2.exec", "names/a.1.2~1",
                                          "names/a.1.2~12", "names/a.b.1.2",    "names/1.2.3"},
                             *const others[] = {"names/a.1",     "names/a.1.",  "names/a.1.2.", "names/a.1.2~",
                                                "names/a.1.2~x", "names/a.x.2", "names/.1.2",   "names/a.1.2x"};
    const char *const operands[] = {"names"}, *const empty[] = {"empty"};
    struct inputs inputs;
    assert_int_equal(mkdir("names", 0700), 0);
    assert_int_equal(mkdir("empty", 0700), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        make(others[i]);
    assert_int_equal(mkdir("names/dir.1.1", 0700), 0);
    assert_int_equal(mkfifo("names/fifo.1.1", 0600), 0);
    check_capture();
    int status = inputs_find(&inputs, operands, 1);
    assert_non_null(strstr(check_captured(), "the directory 'names' has no result files (NAME.PID.TID)"));
    assert_int_equal(status, -ENOENT);
    inputs_release(&inputs);
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        char wanted[64];
        make(results[i]);
        snprintf(wanted, sizeof(wanted), "%s ", results[i]);
        assert_int_equal(inputs_find(&inputs, operands, 1), 0);
        expect(&inputs, wanted);
        assert_int_equal(unlink(results[i]), 0);
    }
    check_capture();
    status = inputs_find(&inputs, empty, 1);
    assert_non_null(strstr(check_captured(), "the directory 'empty' has no result files"));
    assert_int_equal(status, -ENOENT);
    inputs_release(&inputs);
}

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory) || chdir(directory) < 0 || mkdir("there", 0700) < 0)
        return -1;
    static const char *const files[] = {"out.1.1",   "out.1.2", "out.1.10.as",   "other.2.2",
                                        "outer.1.1", "plain",   "there/out.1.1", "there/out.1.3"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        make(files[i]);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "cd / && rm -r '%s'", directory);
    return system(command); /* NOLINT(cert-env33-c): a name of mkdtemp() */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_of_a_session),
        cmocka_unit_test(test_nothing_yet),
        cmocka_unit_test(test_directories),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
