/* SPDX-License-Identifier: MIT */
/*
 * Units and scales that sysfs gives to the values of events: from the recorded files of a CPU, through the event
 * configuration, to what --stat prints and to the items of result files. The machine opens every event.
 */
#include "events_kit.h"
#include "machine_fake.h"

#include <pinject/format.h>

#include "collector/config/event_config.h"
#include "collector/output/counts.h"
#include "collector/output/items.h"
#include "collector/output/result_task.h"
#include "collector/repeat.h"
#include "collector/sources/session.h"

enum { DUMMY, ENERGY, READS, SLOTS, INSTRUCTIONS, EVENTS };

static struct settings settings;
static struct event_config config;
static struct result_task task;
static char text[8192];

static int set_up(void **state)
{
    (void)state;
    machine_fake_init();
    settings = (struct settings){.stat = true};
    assert_int_equal(event_list_parse(&settings.events, &kit_intel,
                                      "power/energy-pkg/,uncore_imc_0/cas_count_read/,cpu/topdown-total-slots/,"
                                      "cpu/instructions/"),
                     0);
    assert_int_equal(event_config_init(&config, &settings), 0);
    assert_true(config.count > EVENTS);
    task = (struct result_task){0};
    for (unsigned i = 0; i < config.count; i++) {
        task.ids[i] = 100 + i;
        task.values[i] = (struct attach_value){.value = UINT64_C(1) << 33, .enabled_ns = 8, .running_ns = 8};
    }
    task.values[SLOTS].running_ns = 4; /* an estimate: twice as many */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    event_config_release(&config);
    event_list_release(&settings.events);
    return 0;
}

static void has(const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void print(struct counts *counts, enum count_form form)
{
    FILE *to = fmemopen(text, sizeof(text), "w");
    counts_print(counts, &config, &(const struct counts_run){0}, &(const struct count_style){.form = form}, to);
    fclose(to);
}

/* 2^33 times 2^-32 Joules; times 64 / 2^20 MiB; and a whole number, as perf stat prints it. */
static void stat_prints_them(void **state)
{
    struct counts counts;
    (void)state;
    assert_int_equal(counts_init(&counts, &config, COUNT_ALL), 0);
    counts_add(&counts, &config, &task, task.values, 0);
    print(&counts, COUNT_AS_TEXT);
    has("              2.00 Joules power/energy-pkg/\n");
    has("         524288.00 MiB  uncore_imc_0/cas_count_read/\n");
    has("       34359738368      cpu/topdown-total-slots/");
    has("        8589934592      cpu/instructions/");
    print(&counts, COUNT_AS_CSV);
    has("2.000000,Joules,power/energy-pkg/,8,100.00,,\n");
    has("\n524288.000000,MiB,uncore_imc_0/cas_count_read/,8,100.00,,\n");
    has("\n8589934592,,cpu/instructions/,");
    print(&counts, COUNT_AS_JSON);
    has("{\"event\":\"power/energy-pkg/\",\"unit\":\"Joules\",\"value\":2,");
    has("{\"event\":\"uncore_imc_0/cas_count_read/\",\"unit\":\"MiB\",\"value\":524288,");
    has("{\"event\":\"cpu/topdown-total-slots/\",\"unit\":\"\",\"value\":34359738368,");
    print(&counts, COUNT_AS_OPENMETRICS);
    has("pinject_event_total{event=\"power/energy-pkg/\",unit=\"Joules\"} 2\n");
    counts_release(&counts);
}

static void files_keep_them(void **state)
{
    static const struct {
        const char *unit;
        double scale;
    } wanted[] = {{"Joules", 0x1p-32}, {"MiB", 0x1p-14}, {"", 2}};
    struct session session = {.settings = &settings, .config = &config};
    struct buffer arguments = BUFFER_INIT, items = BUFFER_INIT;
    unsigned found = 0;
    (void)state;
    const uint64_t with_attr = UINT64_MAX & ~(UINT64_C(1) << READS);
    items_append(&session, &arguments, 0, with_attr, &task, NULL, NULL, &items);
    assert_false(buffer_failed(&items));
    for (size_t at = 0; at < items.size;) {
        const struct pinject_item_unit *one = (const void *)(items.data + at);
        at += one->item.size;
        if (one->item.type != PINJECT_ITEM_UNIT)
            continue;
        double scale;
        memcpy(&scale, &one->scale, sizeof(scale));
        const char *unit = (const char *)(one + 1);
        assert_true(found < 3 && scale > wanted[found].scale * 0.9999 && scale < wanted[found].scale * 1.0001);
        assert_string_equal(unit, wanted[found].unit);
        /* Without an attribute, the event is found by its name. */
        static const uint32_t places[] = {ENERGY, UINT32_MAX, SLOTS - 1};
        assert_int_equal(one->event, places[found]);
        if (one->event == UINT32_MAX)
            assert_string_equal(unit + strlen(unit) + 1, "uncore_imc_0/cas_count_read/");
        found++;
    }
    assert_int_equal(found, 3);
    buffer_release(&items);
    buffer_release(&arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stat_prints_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_keep_them, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
