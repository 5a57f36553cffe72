/* SPDX-License-Identifier: MIT */
/* Whether samples come with a piece of stack, on a kernel that gives it to each event, to some, or to none. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>

#include "collector/config/dump_event.h"
#include "collector/config/event_config.h"
#include "collector/config/probe.h"
#include "collector/stacks/dump_size.h"
#include "unwind/unwind.h"

/* probe_open() as the linker lets dump_event.c see it. */
int __wrap_probe_open(const struct perf_event_attr *attr);

static struct {
    unsigned calls, refused; /* the number of the call that fails; 0: none does */
    uint64_t regs;
    uint32_t dump;
} kernel;

int __wrap_probe_open(const struct perf_event_attr *attr)
{
    assert_true(attr->sample_type & PERF_SAMPLE_STACK_USER && attr->sample_type & PERF_SAMPLE_REGS_USER);
    kernel.regs = attr->sample_regs_user;
    kernel.dump = attr->sample_stack_user;
    return ++kernel.calls == kernel.refused ? -EINVAL : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Two events that sample and one that counts. REFUSED: see above. */
static int config_dumps(struct event_config *config, int call_graph, uint32_t dump, unsigned refused)
{
    struct settings settings = {.call_graph = call_graph, .call_graph_given = dump, .dump = dump};
    *config = (struct event_config){.source = PINJECT_SOURCE_PERF, .sampling = 2, .count = 3};
    memset(&kernel, 0, sizeof(kernel));
    kernel.refused = refused;
    return stacks_configure(config, &settings);
}

static void test_given(void **state)
{
    (void)state;
    struct event_config config;
    assert_int_equal(config_dumps(&config, SETTINGS_CALL_GRAPH_DWARF, 0, 0), 0);
    assert_int_equal(kernel.calls, 2);
    assert_int_equal(kernel.regs, UNWIND_PERF_REGS);
    assert_true(kernel.dump > 0);
    assert_int_equal(config.dump, STACKS_DUMP);
    assert_false(config.dump_fixed || config.dump_auto);
    assert_int_equal(config.note_count, 0);
    assert_int_equal(config_dumps(&config, SETTINGS_CALL_GRAPH_DWARF, 4096, 0), 0);
    assert_int_equal(config.dump, 4096);
    assert_true(config.dump_fixed);
    assert_int_equal(config_dumps(&config, SETTINGS_CALL_GRAPH_AUTO, 0, 0), 0);
    assert_int_equal(config.dump, STACKS_DUMP);
    assert_true(config.dump_auto);
    assert_int_equal(config.dump_note, 0);
    /* Nobody asks. */
    assert_int_equal(config_dumps(&config, SETTINGS_CALL_GRAPH_FP, 4096, 0), 0);
    assert_int_equal(config.dump, 0);
    assert_int_equal(kernel.calls, 0);
}

/* By either event. */
static void test_refused(void **state)
{
    (void)state;
    struct event_config config;
    for (unsigned refused = 1; refused <= 2; refused++) {
        check_capture();
        int status = config_dumps(&config, SETTINGS_CALL_GRAPH_DWARF, 4096, refused);
        const char *text = check_captured();
        assert_int_equal(status, -EINVAL);
        assert_int_equal(kernel.calls, refused);
        assert_non_null(strstr(text, "dwarf is not available: Invalid argument; use --call-graph fp or auto"));
        assert_int_equal(config.dump, 0);
        /* Without: by frame pointers, which is noted. */
        check_capture();
        status = config_dumps(&config, SETTINGS_CALL_GRAPH_AUTO, 0, refused);
        assert_string_equal(check_captured(), "");
        assert_int_equal(status, 0);
        assert_int_equal(config.dump, 0);
        assert_false(config.dump_auto);
        assert_int_equal(config.note_count, 1);
        assert_int_equal(config.dump_note, 0);
        assert_non_null(strstr(config.notes[0], "use frame pointers: samples cannot include registers and stack"));
        /* Said, where the user asked for it. */
        assert_int_equal(config_dumps(&config, SETTINGS_CALL_GRAPH_AUTO, 4096, refused), 0);
        assert_int_equal(config.dump_note, 1);
        assert_int_equal(stacks_try(&config), 0); /* the next time it would be given */
    }
}

static void test_timers_bring_none(void **state)
{
    (void)state;
    struct settings settings = {.call_graph = SETTINGS_CALL_GRAPH_DWARF, .call_graph_given = true, .dump = 4096};
    struct event_config config = {.source = PINJECT_SOURCE_TIMER, .sampling = 1, .count = 1};
    memset(&kernel, 0, sizeof(kernel));
    assert_int_equal(stacks_configure(&config, &settings), 0);
    assert_int_equal(config.dump, 0);
    assert_int_equal(config.dump_note, 1);
    assert_int_equal(kernel.calls, 0);
    settings = (struct settings){.call_graph = SETTINGS_CALL_GRAPH_AUTO};
    config = (struct event_config){.source = PINJECT_SOURCE_TIMER, .sampling = 1, .count = 1};
    assert_int_equal(stacks_configure(&config, &settings), 0);
    assert_int_equal(config.note_count, 1);
    assert_int_equal(config.dump_note, 0);
    /* --stat samples nothing. */
    config = (struct event_config){.source = PINJECT_SOURCE_PERF, .count = 1, .dummy = true};
    assert_int_equal(stacks_configure(&config, &settings), 0);
    assert_int_equal(config.dump, 0);
    assert_int_equal(config.note_count, 0);
}

/* Which events have one, and what they are opened with. */
static void test_attributes(void **state)
{
    (void)state;
    struct event_config config = {.dump = 8192};
    struct config_event event = {.samples = true};
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP};
    assert_false(stacks_has(&config, &event)); /* call-graph=no */
    event.attr.sample_type = PERF_SAMPLE_CALLCHAIN;
    assert_true(stacks_has(&config, &event));
    stacks_attr(&config, &event, 4096, &attr);
    assert_int_equal(attr.sample_type, PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    assert_int_equal(attr.sample_stack_user, 4096);
    stacks_attr(&config, &event, 0, &attr);
    assert_int_equal(attr.sample_stack_user, 8192);
    attr.sample_regs_user = UINT64_C(1) << 63; /* of --user-regs */
    stacks_attr(&config, &event, 0, &attr);
    assert_true(attr.sample_regs_user == (UNWIND_PERF_REGS | UINT64_C(1) << 63));
    attr = (struct perf_event_attr){.sample_type = PERF_SAMPLE_IP};
    event.attr.exclude_user = 1;
    assert_false(stacks_has(&config, &event));
    event = (struct config_event){.samples = false};
    assert_false(stacks_has(&config, &event));
    stacks_attr(&config, &event, 4096, &attr);
    event.samples = true;
    config.dump = 0;
    assert_false(stacks_has(&config, &event));
    stacks_attr(&config, &event, 4096, &attr);
    assert_int_equal(attr.sample_type, PERF_SAMPLE_IP);
    assert_int_equal(attr.sample_stack_user, 0);
}

/* A ring holds as many samples as configured, whatever a stack needs; where the collector is behind, more. */
static void test_pages(void **state)
{
    (void)state;
    enum { MANY = 4096, MIN = PREDICTOR_STACK_MIN };
    struct event_config config = {.dump = MIN, .dump_auto = true};
    struct dump_sizes dumps = {.now = MIN};
    struct stack_sizes sizes = {.stacks_all = MANY, .stacks = {MANY}};
    assert_int_equal(dump_size_pages(&config, &dumps, 0, NULL, 16), 16);
    assert_int_equal(stack_sizes_predict(&sizes), MIN);
    assert_int_equal(dump_size_pages(&config, &dumps, 0, &sizes, 16), 16);
    sizes = (struct stack_sizes){.stacks_all = MANY, .stacks = {[2] = MANY}};
    assert_int_equal(stack_sizes_predict(&sizes), 4 * MIN);
    assert_int_equal(dump_size_pages(&config, &dumps, 0, &sizes, 16), 64);
    config.dump_fixed = true;
    assert_int_equal(dump_size_pages(&config, &dumps, 0, &sizes, 16), 16);
    config.dump_fixed = false;
    /* Less is needed than was configured. */
    config.dump = dumps.now = 4 * MIN;
    sizes = (struct stack_sizes){.stacks_all = MANY, .stacks = {MANY}};
    assert_int_equal(dump_size_pages(&config, &dumps, 0, &sizes, 16), 4);
    assert_int_equal(dump_size_pages(&config, &dumps, 0, &sizes, 2), 1);
    /* Behind. */
    assert_int_equal(dump_size_pages(&config, &dumps, 2 * MIN, NULL, 16), 16);
    assert_int_equal(dump_size_pages(&config, &dumps, 2 * MIN, &sizes, 16), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given),      cmocka_unit_test(test_refused), cmocka_unit_test(test_timers_bring_none),
        cmocka_unit_test(test_attributes), cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
