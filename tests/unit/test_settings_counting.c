/* SPDX-License-Identifier: MIT */
/* Options of --stat: what each one stores, and which ones exclude each other or would have no effect. */
#include "check.h"

#include <errno.h>

#include "collector/config/event_choice.h"
#include "collector/settings_parse.h"
#include "counts/count_print.h"

static struct settings_line line;

static int parse(const char *options)
{
    static char copy[256];
    char *argv[16] = {(char *)"pinject-run"};
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s true", options);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return settings_parse(&line, argc, argv);
}

static void test_values(void **state)
{
    (void)state;
    assert_int_equal(parse("--stat"), 0);
    assert_int_equal(line.settings.count_by, COUNT_ALL);
    assert_int_equal(line.settings.count_form, COUNT_AS_TEXT);
    assert_int_equal(parse("--stat --per-comm --us-counter-format --counts-file=f --append --with-header"), 0);
    assert_int_equal(line.settings.count_by, COUNT_BY_COMM);
    assert_int_equal(line.settings.count_digits, COUNT_US);
    assert_string_equal(line.settings.counts_file, "f");
    assert_true(line.settings.append && line.settings.with_header);
    assert_int_equal(parse("--stat --per-thread -x;"), 0);
    assert_int_equal(line.settings.count_by, COUNT_BY_THREAD);
    assert_int_equal(line.settings.count_form, COUNT_AS_CSV);
    assert_string_equal(line.settings.separator, ";");
    assert_int_equal(parse("--per-process --json --stat"), 0); /* in any order */
    assert_int_equal(line.settings.count_form, COUNT_AS_JSON);
    assert_int_equal(parse("--stat -I 250"), 0);
    assert_int_equal(line.settings.interval_ns, 250000000);
    assert_int_equal(parse("--show-time --no-cmd-output"), 0); /* also without --stat */
    assert_true(line.settings.show_time && line.settings.no_cmd_output);
}

/* All tasks together, unless each is asked for by itself, or some are left out. */
static void test_whole_tree(void **state)
{
    static const char *const by_itself[] = {
        "",
        "--stat --per-thread",
        "--stat --per-process",
        "--stat --per-comm",
        "--stat --exec-split-results",
        "--stat --linger",
        "--stat --live",
        "--stat --follow-fork",
        "--stat --follow=threads",
        "--stat --follow=none",
        "--stat --switch-timeout=10 -e faults -e task-clock",
        "--stat -e faults,uprobe/path=/bin/sh,offset=0/",
    };
    (void)state;
    assert_int_equal(parse("--stat"), 0);
    assert_true(event_choice_is_whole_tree(&line.settings));
    assert_int_equal(parse("--stat -I 100 --json --counts-file=f --follow=all -e faults"), 0);
    assert_true(event_choice_is_whole_tree(&line.settings));
    event_list_release(&line.settings.events);
    for (size_t i = 0; i < sizeof(by_itself) / sizeof(by_itself[0]); i++) {
        assert_int_equal(parse(by_itself[i]), 0);
        assert_false(event_choice_is_whole_tree(&line.settings));
        event_list_release(&line.settings.events);
    }
}

static void refuse(const char *options, const char *message)
{
    check_capture();
    const int error = parse(options);
    const char *text = check_captured();
    assert_int_equal(error, -EINVAL);
    if (!strstr(text, message))
        fail_msg("%s: %s", options, text);
    event_list_release(&line.settings.events);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("--per-thread", "option '--per-thread' needs '--stat'");
    refuse("-x,", "option '--field-separator' needs '--stat'");
    refuse("--hex-counter-format", "option '--hex-counter-format' needs '--stat'");
    refuse("--stat --per-thread --per-comm",
           "option '--per-comm': only one of --per-thread, --per-process and --per-comm can");
    refuse("--stat --us-counter-format --eu-counter-format",
           "only one of --us-counter-format, --eu-counter-format and --hex");
    refuse("--stat -x, --openmetrics",
           "option '--openmetrics': only one of --field-separator and --openmetrics can be");
    refuse("--stat -x, --json", "option '--json' cannot be used with '-x'");
    refuse("--stat --openmetrics --json", "option '--json' cannot be used with '--openmetrics'");
    refuse("--stat --json --hex-counter-format", "option '--hex-counter-format' cannot be used with '--json'");
    refuse("--stat -x, --us-counter-format", "option '--us-counter-format' cannot be used with '-x'");
    refuse("--stat --append", "option '--append' needs '--counts-file=FILE'");
    refuse("--stat --json --with-header", "option '--with-header' cannot be used with '--json'");
    refuse("--stat --openmetrics --counts-file=f --append", "option '--append' cannot be used with '--openmetrics'");
    refuse("--stat -x\"", "option '-x' needs a separator");
    refuse("--print-interval=100", "option '--print-interval' needs '--stat'");
    refuse("--stat --print-interval=9", "needs a number of milliseconds from 10 to 86400000, not '9'");
    refuse("--stat -I 1s", "needs a number of milliseconds from 10 to 86400000, not '1s'");
    refuse("--stat -I -5", "needs a number of milliseconds");
    refuse("--stat -I 100 --openmetrics", "option '--print-interval' cannot be used with '--openmetrics'");
    refuse("--repeat=3", "option '--repeat' needs '--stat'");
    refuse("-e faults -e cs --switch-timeout=10", "option '--switch-timeout' needs '--stat'");
    refuse("--stat -e faults -e cs --switch-timeout=0", "needs a number of milliseconds from 1 to 86400000, not '0'");
    refuse("--stat -e faults -e cs --switch-timeout=1ms", "needs a number of milliseconds from 1 to");
    refuse("--stat -e faults,cs --switch-timeout=10", "option '--switch-timeout' needs two or more -e");
    refuse("--stat --priv-levels=u -e faults -e cs --switch-timeout=9",
           "each --priv-levels applies to the -e before it");
    refuse("--stat -e faults -e cs --priv-levels=u,k --switch-timeout=9", "more entries than set 2 has events");
    refuse("--stat --pre=x", "option '--pre' needs '--repeat=N'");
    refuse("--stat -r 0", "--repeat");
    refuse("--stat -r 10001", "option '--repeat' takes at most 10000, not '10001'");
    refuse("--stat -r 3 --per-comm", "option '--per-comm' cannot be used with '--repeat'");
    refuse("--stat -r 3 -I 100", "option '--print-interval' cannot be used with '--repeat'");
    refuse("--stat -r 3 --openmetrics", "option '--openmetrics' cannot be used with '--repeat'");
    refuse("--stat -r 3 --show-time", "option '--show-time' cannot be used with '--repeat'");
    refuse("--json", "option '--json' needs '--stat', '--stacks' or '--tree'");
}

static void test_environment(void **state)
{
    (void)state;
    line = (struct settings_line){0};
    setenv("PINJECT_PER_THREAD", "1", 1);
    check_capture();
    assert_int_equal(settings_parse_environment(&line), -EINVAL);
    assert_non_null(strstr(check_captured(), "option '--per-thread' needs '--stat'"));
    line = (struct settings_line){0};
    setenv("PINJECT_STAT", "1", 1);
    setenv("PINJECT_COUNTS_FILE", "f", 1);
    setenv("PINJECT_FIELD_SEPARATOR", ";", 1);
    assert_int_equal(settings_parse_environment(&line), 0);
    assert_int_equal(line.settings.count_by, COUNT_BY_THREAD);
    assert_int_equal(line.settings.count_form, COUNT_AS_CSV);
    assert_string_equal(line.settings.counts_file, "f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_whole_tree),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_environment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
