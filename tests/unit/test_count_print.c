/* SPDX-License-Identifier: MIT */
/* The four forms of counts, byte for byte, with what is estimated, missing, or has a hostile name. */
#include "check.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "counts/count_print.h"

static const struct count_event events[] = {
    {"task-clock", "", 0, true, false, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", "", 0, false, false, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"cycles", "", 0, false, false, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"energy-pkg", "Joules", 0.5, false, false, 30, 2},
    {"branches", "", 0, false, true, 0, 0},
};
enum { EVENTS = sizeof(events) / sizeof(events[0]) };

/*
 * Cycles have a counter for a quarter of the time; in the second task they, and energy, are not counted at all. The
 * total takes cycles to be as frequent there as in the first task.
 */
static const struct count_cell first[EVENTS] = {{true, false, 1234567890, 1234567890, 1000, 1000},
                                                {true, false, 1234567, 1234567, 1000, 1000},
                                                {true, true, 1000, 4000, 1000, 250},
                                                {true, false, 9, 9, 1000, 1000}};
static const struct count_cell second[EVENTS] = {
    {true, false, 10000000, 10000000, 1000, 1000}, {true, false, 33, 33, 1000, 1000}, {true, true, 0, 0, 1000, 0}};

static char *print(struct count_style style, bool whole)
{
    struct count_store store;
    static const char *const comments[EVENTS] = {"", "1300000 in all"};
    const struct count_report report = {
        .events = events,
        .event_count = EVENTS,
        .store = &store,
        .times = {.elapsed_ns = whole ? 2000000000 : 0, .user_ns = 1000000001, .system_ns = 5, .cpu_known = whole},
        .command = whole ? "./a \033[1m" : NULL,
        .comments = whole ? comments : NULL};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_int_equal(count_store_init(&store, (enum count_by)style.by, EVENTS, 0), 0);
    count_store_add(&store, &(struct count_row){"make", 7, 7, 0, 1, 1500000000, first});
    count_store_add(&store, &(struct count_row){"a\",\nb", 8, 9, 0, 1, 2500000000, second});
    assert_int_equal(count_store_sort(&store), 0);
    count_print(&report, &style, to);
    assert_int_equal(fclose(to), 0);
    count_store_release(&store);
    return text;
}

static void expect(struct count_style style, bool whole, const char *wanted)
{
    char *text = print(style, whole);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_text(void **state)
{
    (void)state;
    expect(
        (struct count_style){0}, true,
        "\n Counts of './a \\033[1m' (2 tasks):\n\n"
        "           1244.56 msec task-clock               #    0.622  CPUs utilized\n"
        "           1234600      page-faults              #  991.991  K/sec  (1300000 in all)\n"
        "              8000      cycles                   #    0.000  GHz  (estimate: counted for 12.50% of the time)\n"
        "              4.50 Joules energy-pkg\n"
        "   <not supported>      branches\n"
        "\n"
        "       2.000000000 seconds time elapsed\n"
        "       1.000000001 seconds user\n"
        "       0.000000005 seconds sys\n\n");
    expect((struct count_style){.by = COUNT_BY_THREAD, .digits = COUNT_EU}, false,
           "\n Counts (2 tasks):\n\n"
           "              make-7           1.234,56 msec task-clock\n"
           "              make-7          1.234.567      page-faults              #  999.999  K/sec\n"
           "              make-7              4.000      cycles                   #    0.000  GHz  (estimate: counted "
           "for 25.00% of the time)\n"
           "              make-7               4.50 Joules energy-pkg\n"
           "          a\",\\012b-9              10,00 msec task-clock\n"
           "          a\",\\012b-9                 33      page-faults              #    3.300  K/sec\n"
           "          a\",\\012b-9      <not counted>      cycles  (no counter of the machine was free)\n"
           "          a\",\\012b-9      <not counted>      energy-pkg\n"
           "                        <not supported>      branches\n\n");
}

static void test_digits(void **state)
{
    char text[COUNT_TEXT];
    (void)state;
    assert_string_equal(count_number(text, 1234567, COUNT_PLAIN), "1234567");
    assert_string_equal(count_number(text, 1234567, COUNT_US), "1,234,567");
    assert_string_equal(count_number(text, 1234567, COUNT_EU), "1.234.567");
    assert_string_equal(count_number(text, 1234567, COUNT_HEX), "0x12d687");
    assert_string_equal(count_number(text, 123, COUNT_US), "123");
    assert_string_equal(count_number(text, UINT64_MAX, COUNT_EU), "18.446.744.073.709.551.615");
    assert_string_equal(count_milliseconds(text, UINT64_MAX, COUNT_US), "18,446,744,073,709.55");
    assert_string_equal(count_milliseconds(text, 999999, COUNT_PLAIN), "0.99"); /* cut */
    assert_string_equal(count_milliseconds(text, 4096, COUNT_HEX), "0x1000");
}

static void test_csv(void **state)
{
    (void)state;
    expect((struct count_style){.form = COUNT_AS_CSV}, true,
           "1244.567890,msec,task-clock,2000,100.00,0.622,CPUs utilized\n"
           "1234600,,page-faults,2000,100.00,991.991,K/sec\n"
           "8000,,cycles,250,12.50,0.000,GHz\n"
           "4.500000,Joules,energy-pkg,1000,100.00,,\n"
           "<not supported>,,branches,0,0.00,,\n");
    expect((struct count_style){.form = COUNT_AS_CSV, .by = COUNT_BY_PROCESS, .digits = COUNT_HEX, .separator = ";"},
           true,
           "make-7;0x499602d2;nsec;task-clock;1000;100.00;0.617;CPUs utilized\n"
           "make-7;0x12d687;;page-faults;1000;100.00;999.999;K/sec\n"
           "make-7;0xfa0;;cycles;250;25.00;0.000;GHz\n"
           "make-7;0x9;;energy-pkg;1000;100.00;;\n"
           "make-7;<not supported>;;branches;0;0.00;;\n"
           "\"a\"\",\\012b-8\";0x989680;nsec;task-clock;1000;100.00;0.005;CPUs utilized\n"
           "\"a\"\",\\012b-8\";0x21;;page-faults;1000;100.00;3.300;K/sec\n"
           "\"a\"\",\\012b-8\";<not counted>;;cycles;0;0.00;;\n"
           "\"a\"\",\\012b-8\";<not counted>;;energy-pkg;0;0.00;;\n"
           "\"a\"\",\\012b-8\";<not supported>;;branches;0;0.00;;\n");
}

static void expect_unit(struct count_style style, double scale, const char *unit, const char *wanted)
{
    const struct count_event event = {"energy", unit, scale, false, false, 30, 2};
    const struct count_cell cell = {true, false, 17, 17, 1000, 1000};
    struct count_store store;
    const struct count_report report = {.events = &event, .event_count = 1, .store = &store};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_int_equal(count_store_init(&store, COUNT_ALL, 1, 0), 0);
    count_store_add(&store, &(struct count_row){"make", 7, 7, 0, 1, 1500000000, &cell});
    count_print(&report, &style, to);
    assert_int_equal(fclose(to), 0);
    count_store_release(&store);
    if (!strstr(text, wanted))
        fail_msg("'%s' is not in: %s", wanted, text);
    free(text);
}

/* A hexadecimal count is the kernel's: not times the scale, so without the unit. Units may be hostile. */
static void test_units(void **state)
{
    const struct count_style text = {0}, hex = {.digits = COUNT_HEX}, csv = {.form = COUNT_AS_CSV},
                             csv_hex = {.form = COUNT_AS_CSV, .digits = COUNT_HEX};
    (void)state;
    expect_unit(text, 0.5, "Joules", "              8.50 Joules energy\n");
    expect_unit(text, 0, "KiB", "                17 KiB  energy\n");
    expect_unit(hex, 0.5, "Joules", "              0x11      energy\n");
    expect_unit(hex, 0, "KiB", "              0x11 KiB  energy\n");
    expect_unit(csv, 0.5, "Joules", "8.500000,Joules,energy,");
    expect_unit(csv_hex, 0.5, "Joules", "0x11,,energy,");
    expect_unit(csv_hex, 0, "KiB", "0x11,KiB,energy,");
    expect_unit(text, 0.5, "\033[1m\n", "              8.50 \\033[1m\\012 energy\n");
    expect_unit(csv, 0.5, "a,\"b\n", "8.500000,\"a,\"\"b\n\",energy,");
}

static void test_json(void **state)
{
    (void)state;
    char *text = print((struct count_style){.form = COUNT_AS_JSON, .by = COUNT_BY_COMM}, true);
    assert_non_null(strstr(text, "\"command\":\"./a \\u001b[1m\""));
    assert_non_null(strstr(text,
                           "{\"event\":\"cycles\",\"unit\":\"\",\"value\":8000,\"estimate\":true,\"counted\":1000,"
                           "\"enabled_ns\":2000,\"running_ns\":250,"));
    assert_non_null(strstr(text, "{\"comm\":\"a\\\",\\u000ab\",\"tasks\":1,\"counts\":["));
    assert_non_null(
        strstr(text, "{\"event\":\"branches\",\"unit\":\"\",\"value\":null,\"missing\":\"not supported\"}"));
    assert_non_null(strstr(text, "{\"event\":\"energy-pkg\",\"unit\":\"Joules\",\"value\":4.5"));
    free(text);
}

static void test_openmetrics(void **state)
{
    (void)state;
    char *text = print((struct count_style){.form = COUNT_AS_OPENMETRICS, .by = COUNT_BY_THREAD}, false);
    assert_non_null(strstr(text, "# TYPE pinject_event counter\n# HELP pinject_event What the event counted.\n"
                                 "pinject_event_total{event=\"page-faults\",comm=\"make\",pid=\"7\",tid=\"7\","
                                 "start=\"1.500000000\"} 1234567\n"));
    assert_non_null(strstr(text, "comm=\"a\\\",\\nb\",pid=\"8\",tid=\"9\",start=\"2.500000000\"} 33\n"));
    assert_non_null(strstr(text,
                           "pinject_event_time_seconds_total{event=\"task-clock\",comm=\"make\",pid=\"7\",tid=\"7\","
                           "start=\"1.500000000\"} 1.234567890\n"));
    assert_non_null(strstr(text, "pinject_event_counted_ratio{event=\"cycles\",comm=\"make\",pid=\"7\",tid=\"7\","
                                 "start=\"1.500000000\"} 0.250000\n"));
    assert_non_null(strstr(text, ",reason=\"not counted\"} 1\n"));
    assert_true(strcmp(text + strlen(text) - 6, "# EOF\n") == 0);
    free(text);
}

/* Lines of an interval begin with its end; what is the same each time is left out. */
static void test_intervals(void **state)
{
    (void)state;
    struct count_store store;
    struct count_report report = {.events = events, .event_count = 2, .store = &store, .at_ns = 12345678901};
    static const char *const wanted[] = {
        "    12.345678901            1234.56 msec task-clock\n"
        "    12.345678901            1234567      page-faults              #  999.999  K/sec\n",
        "    12.345678901,1234.567890,msec,task-clock,1000,100.00,,\n"
        "    12.345678901,1234567,,page-faults,1000,100.00,999.999,K/sec\n",
        "         summary,1234.567890,msec,task-clock,1000,100.00,,\n"
        "         summary,1234567,,page-faults,1000,100.00,999.999,K/sec\n"};
    for (int i = 0; i < 3; i++) {
        char text[1024] = "";
        FILE *to = fmemopen(text, sizeof(text), "w");
        report.at_ns = i < 2 ? report.at_ns : 0;
        report.is_summary = i == 2;
        assert_int_equal(count_store_init(&store, COUNT_ALL, 2, 0), 0);
        count_store_add(&store, &(struct count_row){"make", 7, 7, 0, 1, 1500000000, first});
        count_print(&report, &(struct count_style){.form = i ? COUNT_AS_CSV : COUNT_AS_TEXT}, to);
        fclose(to);
        assert_string_equal(text, wanted[i]);
        count_store_release(&store);
    }
}

static void test_options(void **state)
{
    const char *separator = NULL;
    (void)state;
    assert_int_equal(count_take_separator(&separator, "\\t"), 0);
    assert_string_equal(separator, "\t");
    assert_int_equal(count_take_separator(&separator, ";"), 0);
    check_capture();
    assert_int_equal(count_take_separator(&separator, ""), -EINVAL);
    assert_int_equal(count_take_separator(&separator, "a\nb"), -EINVAL);
    assert_int_equal(count_take_separator(&separator, "123456789"), -EINVAL);
    assert_int_equal(count_check_style(COUNT_AS_CSV, COUNT_HEX), 0);
    assert_int_equal(count_check_style(COUNT_AS_TEXT, COUNT_US), 0);
    assert_int_equal(count_check_style(COUNT_AS_CSV, COUNT_US), -EINVAL);
    assert_int_equal(count_check_style(COUNT_AS_JSON, COUNT_HEX), -EINVAL);
    assert_non_null(strstr(check_captured(), "option '--us-counter-format' cannot be used with '-x'"));
    assert_string_equal(separator, ";");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),      cmocka_unit_test(test_digits),
                                       cmocka_unit_test(test_csv),       cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_json),      cmocka_unit_test(test_openmetrics),
                                       cmocka_unit_test(test_intervals), cmocka_unit_test(test_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
