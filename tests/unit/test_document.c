/* SPDX-License-Identifier: MIT */
/* Reports of `panalyze --json` as profiles. What they are compared with: tests/data/commands/diffs.txt. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/model/document.h"
#include "common/report.h"

static char path[] = "/tmp/pinject-document-XXXXXX";

#define HEAD "{\"schema\":\"pinject.report/1\",\"event\":\"task-clock\",\"nanoseconds\":true,"
#define TOTAL "\"total\":{\"samples\":5,\"weight\":50,\"lost\":1},"
#define FUNCTIONS                                                                                                      \
    "\"functions\":["                                                                                                  \
    "{\"symbol\":\"work\",\"dso\":\"/opt/app\",\"self_samples\":2,\"self_weight\":20},"                                \
    "{\"symbol\":\"app+0x10\",\"dso\":\"/opt/app\",\"self_samples\":1,\"self_weight\":10},"                            \
    "{\"symbol\":\"0x20\",\"dso\":\"/opt/app\",\"self_samples\":1,\"self_weight\":10},"                            \
    "{\"symbol\":\"ap+0x20\",\"dso\":\"/opt/app\",\"self_samples\":1,\"self_weight\":10},"                                \
    "{\"symbol\":\"main\",\"dso\":\"/opt/app\",\"self_samples\":0,\"self_weight\":0}],"
#define TASKS                                                                                                          \
    "\"tasks\":[{\"pid\":7,\"tid\":7,\"comm\":\"app\",\"cmdline\":[\"./app\",\"-x\"],\"start_ns\":100,\"end_ns\":900,"  \
    "\"ended\":true,\"root\":true,\"samples\":5,\"weight\":50,\"lost\":0}],"
#define COMMANDS "\"commands\":[{\"comm\":\"app\",\"self_samples\":5,\"self_weight\":50}],"
#define COVERAGE "\"coverage\":{\"cpu_ns\":60,\"attributed_ns\":50,\"complete\":true,\"kernel_excluded\":false},"
#define SESSION                                                                                                        \
    "\"session\":{\"id\":\"00ff0000000000000000000000000000\",\"cmdline\":[\"pinject-run\",\"./app\"],\"start_ns\":90,"   \
    "\"start_realtime_ns\":5}}"

static int load(const char *text, const struct profile_options *options, struct profile **ret)
{
    static const struct profile_options usual;
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    *ret = NULL;
    return document_load(path, options ? options : &usual, ret);
}

static void need_json(void)
{
    struct profile *profile;
    if (load(HEAD TOTAL FUNCTIONS TASKS COMMANDS COVERAGE SESSION, NULL, &profile) < 0)
        skip(); /* built without jansson */
    profile_free(profile);
}

static void test_is_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
    } cases[] = {{"{}", true}, {" \n\t{", true}, {"PERFILE2{", false}, {"", false}, {"[{", false}, {"\n", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fputs(cases[i].text, file);
        fclose(file);
        assert_int_equal(document_is(path), cases[i].is);
    }
    assert_false(document_is("/nowhere/at/all"));
    assert_false(document_is("/tmp"));
}

static void test_all_of_it(void **state)
{
    (void)state;
    struct profile *profile;
    need_json();
    assert_int_equal(load(HEAD TOTAL FUNCTIONS TASKS COMMANDS COVERAGE SESSION, NULL, &profile), 0);
    assert_true(profile->document);
    assert_string_equal(profile->events[profile->event].name, "task-clock");
    assert_true(profile->events[0].nanoseconds && profile->events[0].sampled && !profile->events[0].exclude_kernel);
    assert_int_equal(profile->events[0].samples, 5);
    assert_int_equal(profile->events[0].weight, 50);
    assert_int_equal(profile->lost, 1);
    /* What has no name in it is one function, what has no samples none. */
    assert_int_equal(profile->entry_count, 3);
    const struct profile_entry *entry = &profile->entries[1];
    const struct profile_frame *frame = &profile->frames[profile->stacks[entry->stack].frames[0]];
    assert_string_equal(frame->module->symbol, "[no symbol]");
    assert_string_equal(frame->module->path, "/opt/app");
    assert_int_equal(entry->samples, 2);
    assert_int_equal(entry->weight, 20);
    assert_int_equal(profile->task_count, 1);
    assert_int_equal(profile->tasks[0].pid, 7);
    assert_int_equal(profile->tasks[0].weight, 50);
    assert_int_equal(profile->tasks[0].end_ns, 900);
    assert_string_equal(profile->tasks[0].images[0].cmdline[1], "-x");
    assert_int_equal(profile->command_count, 1);
    assert_string_equal(profile->commands[0].comm, "app");
    assert_int_equal(profile->commands[0].weight, 50);
    assert_int_equal(profile->session.id[1], 255);
    assert_string_equal(profile->session.arguments[0], "pinject-run");
    assert_int_equal(profile->session.start_realtime_ns, 5);
    assert_int_equal(profile->session.cpu_ns, 60);
    assert_int_equal(profile->session.attributed_ns, 50);
    assert_true(profile->session.coverage_known && profile->session.coverage_complete);
    profile_free(profile);
}

static void test_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *head, *coverage;
        bool excluded;
    } cases[] = {
        {"{\"schema\":\"pinject.report/1\",\"event\":\"cycles:u\",", COVERAGE, true},
        {"{\"schema\":\"pinject.report/1\",\"event\":\"cycles:uk\",", COVERAGE, false},
        {"{\"schema\":\"pinject.report/1\",\"event\":\"cycles\",", COVERAGE, false},
        {HEAD, "\"coverage\":{\"cpu_ns\":null,\"kernel_excluded\":true},", true},
    };
    need_json();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[4096];
        struct profile *profile;
        snprintf(text, sizeof(text), "%s%s%s%s", cases[i].head, TOTAL FUNCTIONS TASKS COMMANDS, cases[i].coverage,
                 SESSION);
        assert_int_equal(load(text, NULL, &profile), 0);
        assert_int_equal(profile->events[0].exclude_kernel, cases[i].excluded);
        assert_int_equal(profile->session.coverage_known, i < 3);
        profile_free(profile);
    }
}

static void test_options(void **state)
{
    (void)state;
    static const char text[] = HEAD TOTAL FUNCTIONS TASKS COMMANDS COVERAGE SESSION;
    struct profile *profile;
    need_json();
    assert_int_equal(load(text, &(struct profile_options){.session = "00ff"}, &profile), 0);
    profile_free(profile);
    assert_int_equal(load(text, &(struct profile_options){.event = "task-clock"}, &profile), 0);
    profile_free(profile);
    assert_int_equal(load(text, &(struct profile_options){.session = "0f"}, &profile), -EINVAL);
    assert_int_equal(load(text, &(struct profile_options){.event = "cycles"}, &profile), -EINVAL);
}

/* Whatever it is, nothing is invented of it. */
static void test_others(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "{}",
        "[]",
        "{\"schema\":\"pinject.diff/1\"}",
        "{\"schema\":7}",
        "{\"schema\":\"pinject.report/1\"}",
        HEAD "\"a\":1,\"a\":2}",
        HEAD FUNCTIONS TASKS COMMANDS COVERAGE SESSION,
        HEAD TOTAL TASKS COMMANDS COVERAGE SESSION,
        HEAD TOTAL "\"functions\":{}," TASKS COMMANDS COVERAGE SESSION,
        HEAD TOTAL "\"functions\":[7]," TASKS COMMANDS COVERAGE SESSION,
        HEAD TOTAL "\"functions\":[{\"symbol\":\"a\",\"dso\":\"b\",\"self_samples\":-5,\"self_weight\":50}]," TASKS
            COMMANDS COVERAGE SESSION,
        HEAD TOTAL "\"functions\":[{\"symbol\":\"a\",\"dso\":\"b\",\"self_samples\":5,\"self_weight\":49}]," TASKS
            COMMANDS COVERAGE SESSION,
        HEAD TOTAL "\"functions\":[{\"symbol\":\"a\",\"dso\":\"b\",\"self_samples\":5.5,\"self_weight\":50}]," TASKS
            COMMANDS COVERAGE SESSION,
        HEAD TOTAL "\"functions\":[{\"symbol\":1,\"dso\":\"b\",\"self_samples\":5,\"self_weight\":50}]," TASKS COMMANDS
            COVERAGE SESSION,
        HEAD TOTAL FUNCTIONS COMMANDS COVERAGE SESSION,
        HEAD TOTAL FUNCTIONS "\"tasks\":[{}]," COMMANDS COVERAGE SESSION,
        HEAD TOTAL FUNCTIONS "\"tasks\":[null]," COMMANDS COVERAGE SESSION,
        HEAD TOTAL FUNCTIONS TASKS COVERAGE SESSION,
        HEAD TOTAL FUNCTIONS TASKS "\"commands\":[{}]," COVERAGE SESSION,
        HEAD TOTAL FUNCTIONS TASKS COMMANDS "\"coverage\":{\"cpu_ns\":-1}," SESSION,
        HEAD TOTAL FUNCTIONS TASKS COMMANDS COVERAGE "\"session\":{\"start_ns\":\"now\"}}",
        HEAD TOTAL FUNCTIONS TASKS COMMANDS COVERAGE SESSION "{}",
        HEAD "\"total\":{\"samples\":18446744073709551615,\"weight\":50}," FUNCTIONS TASKS COMMANDS COVERAGE SESSION,
    };
    report_quiet(true);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct profile *profile;
        int status = load(texts[i], NULL, &profile);
        if (status != -EINVAL)
            fail_msg("%d for %s", status, texts[i]);
        assert_null(profile);
    }
    assert_int_equal(document_load("/nowhere/at/all", &(struct profile_options){0}, &(struct profile *){NULL}), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_one),  cmocka_unit_test(test_all_of_it), cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_options), cmocka_unit_test(test_others),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
