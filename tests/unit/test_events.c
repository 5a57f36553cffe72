/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "common/events.h"
#include "common/report.h"

static struct event_choice choice;

static int parse(const char *text)
{
    return events_parse(text, strlen(text), &choice);
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(parse("task-clock"), 0);
    assert_int_equal(choice.event->type, PERF_TYPE_SOFTWARE);
    assert_int_equal(choice.event->config, PERF_COUNT_SW_TASK_CLOCK);
    assert_true(choice.event->nanoseconds);
    assert_false(choice.exclude_user || choice.exclude_kernel);
    assert_string_equal(choice.text, "task-clock");
    assert_int_equal(parse("faults"), 0);
    assert_int_equal(choice.event->config, PERF_COUNT_SW_PAGE_FAULTS);
    assert_string_equal(choice.text, "faults");
    assert_int_equal(parse("cpu-cycles"), 0);
    assert_ptr_equal(choice.event, events_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
    assert_int_equal(events_parse("cycles,instructions", 6, &choice), 0);
    assert_string_equal(choice.text, "cycles");
}

/* A name ends with its NUL, however many bytes there may be. */
static void test_size(void **state)
{
    static const char text[] = "cpu-clock\0page-faults";
    (void)state;
    assert_int_equal(events_parse(text, sizeof(text), &choice), 0);
    assert_string_equal(choice.text, "cpu-clock");
    assert_int_equal(events_parse(text + 10, 11, &choice), 0);
    assert_string_equal(choice.text, "page-faults");
}

static void test_modifiers(void **state)
{
    (void)state;
    assert_int_equal(parse("cycles:u"), 0);
    assert_true(choice.exclude_kernel && !choice.exclude_user);
    assert_string_equal(choice.text, "cycles:u");
    assert_int_equal(parse("cycles:k"), 0);
    assert_true(!choice.exclude_kernel && choice.exclude_user);
    assert_int_equal(parse("cycles:uk"), 0);
    assert_true(!choice.exclude_kernel && !choice.exclude_user);
}

static void expect_error(const char *text, const char *message)
{
    struct event_choice before = choice;
    check_capture();
    int status = parse(text);
    const char *said = check_captured();
    assert_int_equal(status, -EINVAL);
    assert_non_null(strstr(said, message));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    assert_memory_equal(&before, &choice, sizeof(choice));
}

static void test_errors(void **state)
{
    (void)state;
    report_program("test");
    memset(&choice, 0, sizeof(choice));
    expect_error("", "empty name");
    expect_error("task-clok", "did you mean 'task-clock'?");
    expect_error("fault", "did you mean 'faults'?");
    expect_error("zzzzzz", "unknown event 'zzzzzz'");
    expect_error("cycles:", "without a modifier");
    expect_error("cycles:x", "unknown modifier 'x'");
    expect_error(":u", "unknown event ''");
    expect_error("cycles\033[2J", "\\033");
    expect_error("a-name-that-is-much-longer-than-any-name-of-an-event-could-ever-be-said-to-be", "unknown event");
}

static void test_table(void **state)
{
    (void)state;
    assert_null(events_find(PERF_TYPE_SOFTWARE, 9999));
    assert_null(events_find(9999, 0));
    for (size_t i = 0; i < events_count; i++) {
        const struct event_name *event = &events_names[i];
        assert_ptr_equal(events_find(event->type, event->config), event);
        assert_int_equal(parse(event->name), 0);
        assert_ptr_equal(choice.event, event);
        if (event->alias)
            assert_int_equal(parse(event->alias), 0);
        assert_ptr_equal(choice.event, event);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),  cmocka_unit_test(test_size),  cmocka_unit_test(test_modifiers),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
