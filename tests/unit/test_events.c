/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <linux/perf_event.h>

#include "common/events.h"

static void test_names(void **state)
{
    (void)state;
    const struct event_name *event = events_find_name("task-clock");
    assert_int_equal(event->type, PERF_TYPE_SOFTWARE);
    assert_int_equal(event->config, PERF_COUNT_SW_TASK_CLOCK);
    assert_true(event->nanoseconds);
    assert_int_equal(events_find_name("FAULTS")->config, PERF_COUNT_SW_PAGE_FAULTS);
    assert_ptr_equal(events_find_name("cpu-cycles"), events_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
    assert_null(events_find_name("cycle"));
    assert_null(events_find_name(""));
}

static void test_table(void **state)
{
    (void)state;
    assert_null(events_find(PERF_TYPE_SOFTWARE, 9999));
    assert_null(events_find(9999, 0));
    for (size_t i = 0; i < events_count; i++) {
        const struct event_name *event = &events_names[i];
        assert_ptr_equal(events_find(event->type, event->config), event);
        assert_ptr_equal(events_find_name(event->name), event);
        assert_true(!event->alias || events_find_name(event->alias) == event);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
