/* SPDX-License-Identifier: MIT */
/* Reports of `panalyze --json` as profiles. What they are compared with: tests/data/commands/diffs.txt. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/model/json_document.h"
#include "common/report.h"

static char path[] = "/tmp/pinject-document-XXXXXX";

#define HEAD  "{\"schema\":\"pinject.report/1\",\"event\":\"task-clock\",\"nanoseconds\":true,"
#define TOTAL "\"total\":{\"samples\":5,\"weight\":50,\"lost\":1},"
#define FUNCTION(symbol, samples, weight) \
    "{\"symbol\":\"" symbol "\",\"dso\":\"/opt/app\",\"self_samples\":" samples ",\"self_weight\":" weight "}"
#define FUNCTIONS                                                                                   \
    "\"functions\":[" FUNCTION("work", "2", "20") "," FUNCTION("app+0x10", "1", "10") "," FUNCTION( \
        "0x20", "1", "10") "," FUNCTION("ap+0x20", "1", "10") "," FUNCTION("main", "0", "0") "],"
#define TASK(samples, weight)                                                                \
    "{\"pid\":7,\"tid\":7,\"comm\":\"app\",\"cmdline\":[\"./app\",\"-x\"],\"start_ns\":100," \
    "\"end_ns\":900,\"ended\":true,\"root\":true,\"samples\":" samples ",\"weight\":" weight ",\"lost\":0}"
#define TASKS                                                                                         \
    "\"tasks\":[" TASK("5", "50") ",{\"pid\":-1,\"tid\":-1,\"comm\":\"\",\"samples\":0,\"weight\":0," \
                                  "\"start_ns\":null,\"end_ns\":null,\"lost\":0}],"
#define COMMAND(samples, weight) \
    "\"commands\":[{\"comm\":\"app\",\"self_samples\":" samples ",\"self_weight\":" weight "}],"
#define COMMANDS COMMAND("5", "50")
#define COVERAGE \
    "\"coverage\":{\"cpu_ns\":60,\"attributed_ns\":50,\"incomplete_files\":2,\"unwritten_samples\":9,\"complete\":true},"
#define SESSION                                                                                         \
    "\"session\":{\"id\":\"00ff0000000000000000000000000000\",\"cmdline\":[\"pinject-run\",\"./app\"]," \
    "\"start_ns\":90,\"start_realtime_ns\":5}}"
#define END TASKS COMMANDS COVERAGE SESSION

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
#ifndef PINJECT_JANSSON
    skip();
#endif
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
    assert_int_equal(load(HEAD TOTAL FUNCTIONS END, NULL, &profile), 0);
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
    assert_int_equal(profile->task_count, 2);
    assert_int_equal(profile->tasks[0].pid, -1); /* of samples whose task was gone; it has no start */
    assert_int_equal(profile->tasks[1].weight, 50);
    assert_int_equal(profile->tasks[1].end_ns, 900);
    assert_string_equal(profile->tasks[1].generations[0].cmdline[1], "-x");
    assert_int_equal(profile->command_count, 1);
    assert_string_equal(profile->commands[0].comm, "app");
    assert_int_equal(profile->commands[0].weight, 50);
    assert_int_equal(profile->session.id[1], 255);
    assert_string_equal(profile->session.arguments[0], "pinject-run");
    assert_int_equal(profile->session.start_realtime_ns, 5);
    assert_int_equal(profile->session.cpu_ns, 60);
    assert_int_equal(profile->session.attributed_ns, 50);
    assert_int_equal(profile->session.incomplete_files, 2);
    assert_int_equal(profile->session.unwritten_samples, 9);
    assert_true(profile->session.coverage_known && profile->session.coverage_complete);
    profile_free(profile);
}

static void test_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *more, *coverage;
        bool user_only, covered;
    } cases[] = {
        {"", COVERAGE, false, true},
        {"\"user_only\":false,\"filtered\":false,", COVERAGE, false, true},
        {"\"user_only\":true,", "\"coverage\":{\"cpu_ns\":null},", true, false},
    };
    need_json();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[4096];
        struct profile *profile;
        snprintf(text, sizeof(text), "%s%s%s%s%s", HEAD, cases[i].more, TOTAL FUNCTIONS TASKS COMMANDS,
                 cases[i].coverage, SESSION);
        assert_int_equal(load(text, NULL, &profile), 0);
        assert_int_equal(profile->events[0].exclude_kernel, cases[i].user_only);
        assert_int_equal(profile->session.coverage_known, cases[i].covered);
        profile_free(profile);
    }
}

static void test_options(void **state)
{
    (void)state;
    static const char text[] = HEAD TOTAL FUNCTIONS END;
    struct profile *profile;
    need_json();
    assert_int_equal(load(text, &(struct profile_options){.session = "00ff"}, &profile), 0);
    profile_free(profile);
    assert_int_equal(load(text, &(struct profile_options){.event = "task-clock"}, &profile), 0);
    profile_free(profile);
    assert_int_equal(load(text, &(struct profile_options){.session = "0f"}, &profile), -EINVAL);
    assert_int_equal(load(text, &(struct profile_options){.event = "cycles"}, &profile), -EINVAL);
}

#define ONE(samples, weight) "\"functions\":[" FUNCTION("a", samples, weight) "],"

/* Whatever it is, nothing is invented of it. */
static void test_others(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "(line 1)"},
        {"{", "(line 1)"},
        {"[]", "not a report of 'panalyze report --json'"},
        {"{}", "not a report of 'panalyze report --json'"},
        {"{\"schema\":\"pinject.diff/1\"}", "not a report of 'panalyze report --json'"},
        {"{\"schema\":7}", "not a report of 'panalyze report --json'"},
        {"{\"schema\":\"pinject.report/1\"}", "'event' should be a string"},
        {HEAD "\"a\":1,\"a\":2}", "duplicate object key"},
        {HEAD TOTAL FUNCTIONS END "{}", "end of file expected"},
        {HEAD "\"filtered\":true," TOTAL FUNCTIONS END, "only some of the tasks"},
        {HEAD FUNCTIONS END, "'samples' should be a whole number"},
        {HEAD "\"total\":{\"samples\":5,\"weight\":50,\"lost\":-1}," FUNCTIONS END, "'lost' should be a whole number"},
        {HEAD "\"total\":{\"samples\":18446744073709551615,\"weight\":5,\"lost\":0}," FUNCTIONS END, "too big int"},
        {HEAD TOTAL END, "the list 'functions' is missing"},
        {HEAD TOTAL "\"functions\":{}," END, "the list 'functions' is missing"},
        {HEAD TOTAL "\"functions\":[7]," END, "'symbol' should be a string"},
        {HEAD TOTAL ONE("-5", "50") END, "'self_samples' should be a whole number"},
        {HEAD TOTAL ONE("5.5", "50") END, "'self_samples' should be a whole number"},
        {HEAD TOTAL ONE("5", "49") END, "the functions of this report do not add up"},
        {HEAD TOTAL ONE("4", "50") END, "the functions of this report do not add up"},
        {HEAD TOTAL "\"functions\":[" FUNCTION("a", "5", "9223372036854775807") "," FUNCTION(
             "b", "0", "9223372036854775807") "," FUNCTION("c", "0", "52") "]," END,
         "the sum of its numbers exceeds 64 bits"},
        {HEAD TOTAL FUNCTIONS COMMANDS COVERAGE SESSION, "the list 'tasks' is missing"},
        {HEAD TOTAL FUNCTIONS "\"tasks\":[]," COMMANDS COVERAGE SESSION, "the tasks of this report do not add up"},
        {HEAD TOTAL FUNCTIONS "\"tasks\":[" TASK("5", "51") "]," COMMANDS COVERAGE SESSION,
         "the tasks of this report do not add up"},
        {HEAD TOTAL FUNCTIONS "\"tasks\":[{}]," COMMANDS COVERAGE SESSION, "'pid' should be a process"},
        {HEAD TOTAL FUNCTIONS "\"tasks\":[{\"pid\":4294967303}]," COMMANDS COVERAGE SESSION, "'pid' should be a"},
        {HEAD TOTAL FUNCTIONS "\"tasks\":[null]," COMMANDS COVERAGE SESSION, "'pid' should be a process"},
        {HEAD TOTAL FUNCTIONS TASKS COVERAGE SESSION, "the report has no list 'commands'"},
        {HEAD TOTAL FUNCTIONS TASKS "\"commands\":[{}]," COVERAGE SESSION, "'comm' should be a string"},
        {HEAD TOTAL FUNCTIONS TASKS COMMAND("5", "40") COVERAGE SESSION, "the commands of this report do not add up"},
        {HEAD TOTAL FUNCTIONS TASKS COMMANDS "\"coverage\":{\"cpu_ns\":-1}," SESSION, "'cpu_ns' should be a whole"},
        {HEAD TOTAL FUNCTIONS TASKS COMMANDS COVERAGE "\"session\":{\"start_realtime_ns\":\"now\"}}",
         "'start_realtime_ns' should be a whole number"},
    };
    need_json();
    char said[] = "/tmp/pinject-document-said-XXXXXX", text[1024];
    int file = mkstemp(said), saved = dup(2);
    assert_true(file >= 0 && saved >= 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct profile *profile;
        assert_int_equal(ftruncate(file, 0), 0);
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        dup2(file, 2);
        int status = load(cases[i].text, NULL, &profile);
        dup2(saved, 2);
        ssize_t size = pread(file, text, sizeof(text) - 1, 0);
        text[size < 0 ? 0 : size] = '\0';
        if (status != -EINVAL || !strstr(text, cases[i].said) || !strstr(text, path))
            fail_msg("%d, '%s' for %s", status, text, cases[i].text);
        assert_null(profile);
    }
    close(file);
    close(saved);
    unlink(said);
}

static void test_no_file(void **state)
{
    (void)state;
    static const struct profile_options usual;
    struct profile *profile = NULL;
    report_quiet(true);
    assert_int_equal(document_load("/nowhere/at/all", &usual, &profile), -EINVAL);
    assert_int_equal(document_load("/tmp", &usual, &profile), -EINVAL);
    assert_null(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_one),  cmocka_unit_test(test_all_of_it), cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_options), cmocka_unit_test(test_others),    cmocka_unit_test(test_no_file),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
