/* SPDX-License-Identifier: MIT */
/* --repeat: the mean of complete runs, the last status, --pre and --post, and runs that do not start. */
#include "check.h"

#include <signal.h>

#include "collector/repeat.h"
#include "common/buffer.h"

static char path[] = "/tmp/pinject-repeat-XXXXXX";
static struct settings settings;

static int set_up(void **state)
{
    static char *command[] = {(char *)"./app", NULL};
    (void)state;
    strcpy(path + strlen(path) - 6, "XXXXXX");
    close(mkstemp(path));
    settings = (struct settings){
        .stat = true, .mode = 0600, .counts_file = path, .command = command, .repeat = 3, .count_form = COUNT_AS_CSV};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

/* Run NUMBER counts 10 * NUMBER, and returns what CONTEXT says; the run of that number + 100 is not complete. */
static int run(void *context, unsigned number, struct repeat_result *ret)
{
    const int status = *(int *)context;
    if (status == 300)
        raise(SIGKILL);
    if (status == 127)
        return 127;
    ret->complete = (int)number + 100 != status;
    ret->event_count = 1;
    ret->times.elapsed_ns = 1000;
    strcpy(ret->events[0].name, "faults");
    ret->events[0].cell = (struct count_cell){
        .present = true, .value = 10ull * number, .scaled = 10ull * number, .enabled_ns = 5, .running_ns = 5};
    return status;
}

static const char *printed(void)
{
    static struct buffer text;
    buffer_clear(&text);
    assert_int_equal(buffer_read_file(&text, path, 1 << 16), 0);
    return (const char *)text.data;
}

static int repeat(int status)
{
    return repeat_runs(&settings, run, &status);
}

static void test_mean(void **state)
{
    (void)state;
    assert_int_equal(repeat(4), 4);
    assert_string_equal(printed(), "20,,faults,28.87%,5,100.00,,\n");
    check_capture();
    assert_int_equal(repeat(102), 102); /* the second one is left out */
    assert_non_null(strstr(check_captured(), "2 of 3 runs are complete\n"));
    assert_string_equal(printed(), "20,,faults,50.00%,5,100.00,,\n");
}

static void test_pre_and_post(void **state)
{
    char pre[64], post[64];
    (void)state;
    settings.counts_file = NULL;
    snprintf(pre, sizeof(pre), "echo pre >>%s", path);
    snprintf(post, sizeof(post), "echo post >>%s", path);
    settings.pre = pre;
    settings.post = post;
    settings.repeat = 2;
    check_capture();
    assert_int_equal(repeat(0), 0);
    assert_string_equal(check_captured(), "15,,faults,33.33%,5,100.00,,\n");
    assert_string_equal(printed(), "pre\npost\npre\npost\n");
    settings.post = "exit 3";
    check_capture();
    assert_int_equal(repeat(0), 125);
    const char *text = check_captured();
    assert_non_null(strstr(text, "the command of --post failed (status 3), so no further run starts\n"));
    assert_non_null(strstr(text, "1 of 2 runs are complete\n"));
}

static void test_failures(void **state)
{
    (void)state;
    check_capture();
    assert_int_equal(repeat(127), 127); /* once is enough */
    assert_non_null(strstr(check_captured(), "0 of 3 runs are complete\n"));
    assert_string_equal(printed(), "");
    check_capture();
    assert_int_equal(repeat(300), 128 + SIGKILL);
    assert_non_null(strstr(check_captured(), "0 of 3 runs are complete\n"));
    settings.counts_file = "/nowhere/f";
    check_capture();
    assert_int_equal(repeat(0), 125);
    check_captured();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_mean, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_pre_and_post, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
