/* SPDX-License-Identifier: MIT */
/* Where the counts go: stderr or a file, replaced or added to; the header, the times, and errors. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "collector/count_output.h"

static struct settings settings;
static struct event_config config;
static struct session session = {.settings = &settings, .config = &config};
static char path[] = "/tmp/pinject-counts-XXXXXX";

static int set_up(void **state)
{
    static char *command[] = {(char *)"./app", (char *)"-v", NULL};
    (void)state;
    strcpy(path + strlen(path) - 6, "XXXXXX");
    close(mkstemp(path));
    settings = (struct settings){.stat = true, .mode = 0600, .counts_file = path, .command = command};
    config = (struct event_config){.count = 1};
    strcpy(config.events[0].name, "page-faults");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static int print(int expected)
{
    struct count_output output;
    struct outcome outcome = {.elapsed_ns = 1500000000, .cpu_ns = 1, .tree = {.ru_utime = {.tv_sec = 1}}};
    assert_int_equal(count_output_open(&output, &settings), expected);
    int error = expected ? expected : count_output_print(&output, &session, &outcome);
    count_output_close(&output);
    outcome_release(&outcome);
    return error;
}

static const char *content(void)
{
    static char text[8192];
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    assert_true(size >= 0);
    text[size] = '\0';
    return text;
}

static void test_file(void **state)
{
    (void)state;
    settings.count_form = COUNT_AS_CSV;
    assert_int_equal(print(0), 0);
    assert_int_equal(print(0), 0);
    assert_string_equal(content(), "<not counted>,,page-faults,0,0.00,,\n");
    settings.append = settings.show_time = true;
    assert_int_equal(print(0), 0);
    assert_string_equal(content(), "<not counted>,,page-faults,0,0.00,,\n<not counted>,,page-faults,0,0.00,,\n"
                                   "real 1.500000\nuser 1.000000\nsys 0.000000\n");
}

static void test_header(void **state)
{
    (void)state;
    settings.with_header = true;
    assert_int_equal(print(0), 0);
    assert_non_null(strstr(content(), "# command   ./app -v\n"));
    assert_non_null(strstr(content(), "# kernel    Linux "));
    assert_non_null(strstr(content(), "Counts of './app -v' (0 tasks):"));
}

static void test_stderr(void **state)
{
    (void)state;
    settings.counts_file = NULL;
    settings.count_form = COUNT_AS_CSV;
    check_capture();
    assert_int_equal(print(0), 0);
    assert_string_equal(check_captured(), "<not counted>,,page-faults,0,0.00,,\n");
    settings.bare = true; /* the program's stderr is not ours */
    check_capture();
    assert_int_equal(print(0), 0);
    assert_string_equal(check_captured(), "");
    settings.bare = settings.stat = false;
    check_capture();
    assert_int_equal(print(0), 0);
    assert_string_equal(check_captured(), "");
}

static void test_errors(void **state)
{
    (void)state;
    const unsigned fds = check_open_fds();
    settings.counts_file = "/nowhere/counts";
    check_capture();
    assert_int_equal(print(-ENOENT), -ENOENT);
    assert_non_null(strstr(check_captured(), "cannot write counts to '/nowhere/counts': No such file or directory; "
                                             "choose another file with --counts-file\n"));
    settings.counts_file = "/dev/full";
    check_capture();
    assert_int_equal(print(0), -ENOSPC);
    assert_non_null(strstr(check_captured(), "cannot write the counts to '/dev/full': No space left on device\n"));
    assert_int_equal(check_open_fds(), fds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_header, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_stderr, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
