/* SPDX-License-Identifier: MIT */
/* What `panalyze info` says of files that the test makes up. */
#include "check.h"

#include <errno.h>

#include "common/perfdata.h"
#include "test_view_fake.h"

/* ---- files; a name that is not among them cannot be read */

static struct profile_file files[3];
static size_t file_count;
static int loaded;

int __wrap_profile_file_load(const char *path, struct profile_file **ret);
void __wrap_profile_file_free(struct profile_file *file);

int __wrap_profile_file_load(const char *path, struct profile_file **ret)
{
    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(files[i].path, path) != 0)
            continue;
        *ret = &files[i];
        loaded++;
        return 0;
    }
    return -ENOENT;
}

void __wrap_profile_file_free(struct profile_file *file)
{
    assert_true(file >= files && file < files + file_count);
    loaded--;
}

static char *info(const char *const *paths, size_t count, int width, bool utf8, int *ret_status)
{
    static const struct settings settings = {.color = COLOR_NEVER};
    char *text = NULL;
    size_t size = 0;
    struct output output = {.to = open_memstream(&text, &size), .width = width, .utf8 = utf8};
    struct view view = {.settings = &settings, .output = &output, .paths = paths, .path_count = count};
    *ret_status = view_info(&view);
    fclose(output.to);
    assert_int_equal(loaded, 0);
    return text;
}

/* The file with nothing in it. */
static struct profile_file *a_file(void)
{
    file_count = 1;
    files[0] = (struct profile_file){.path = "a", .size = 1000, .data_size = 900, .problem = ""};
    return &files[0];
}

/* All that is said of it. */
static void expect_info(const char *expected)
{
    static const char *const paths[] = {"a"};
    int status;
    char *text = info(paths, 1, 0, true, &status);
    assert_int_equal(status, 0);
    assert_string_equal(text, expected);
    free(text);
}

#define HEAD "a\n  format     perf.data, 1.0 kB, data 900 bytes\n"

static void test_format(void **state)
{
    struct profile_file *file = a_file();
    (void)state;
    expect_info(HEAD);
    file->pipe = true;
    expect_info("a\n  format     perf.data, written to a pipe, 1.0 kB, data 900 bytes\n");
    file->swapped = true;
    file->pipe = false;
    expect_info("a\n  format     perf.data, of the opposite byte order, 1.0 kB, data 900 bytes\n");
    file->ours = true;
    file->swapped = false;
    expect_info("a\n  format     perf.data, by pinject, 1.0 kB, data 900 bytes\n");
    file = a_file();
    file->parts = 1;
    expect_info(HEAD "  directory  1 file beside 'data', one for each recording thread\n");
    file->parts = 2;
    expect_info(HEAD "  directory  2 files beside 'data', one for each recording thread\n");
    file = a_file();
    file->truncated_bytes = 7;
    file->missing_bytes = 2000;
    file->problem = "its end is missing";
    expect_info(HEAD "  truncated  7 bytes at the end are an incomplete record\n"
                     "  cut off    2.0 kB are missing at the end of the file\n"
                     "  problem    its end is missing\n");
}

/* All types of records with a name, and those without. */
static void test_records(void **state)
{
    static const char *const names[] = {NULL,           "MMAP",
                                        "LOST",         "COMM",
                                        "EXIT",         "THROTTLE",
                                        "UNTHROTTLE",   "FORK",
                                        "READ",         "SAMPLE",
                                        "MMAP2",        "AUX",
                                        "ITRACE_START", "LOST_SAMPLES",
                                        "SWITCH",       "SWITCH_CPU_WIDE",
                                        "NAMESPACES",   "KSYMBOL",
                                        "BPF_EVENT",    "CGROUP",
                                        "TEXT_POKE",    "AUX_OUTPUT_HW_ID"};
    static const struct {
        uint32_t type;
        const char *name;
    } of_files[] = {{PERFDATA_RECORD_ATTR, "ATTR"},
                    {PERFDATA_RECORD_EVENT_TYPE, "EVENT_TYPE"},
                    {PERFDATA_RECORD_TRACING_DATA, "TRACING_DATA"},
                    {PERFDATA_RECORD_BUILD_ID, "BUILD_ID"},
                    {PERFDATA_RECORD_FINISHED_ROUND, "FINISHED_ROUND"},
                    {PERFDATA_RECORD_ID_INDEX, "ID_INDEX"},
                    {PERFDATA_RECORD_AUXTRACE_INFO, "AUXTRACE_INFO"},
                    {PERFDATA_RECORD_AUXTRACE, "AUXTRACE"},
                    {PERFDATA_RECORD_AUXTRACE_ERROR, "AUXTRACE_ERROR"},
                    {PERFDATA_RECORD_THREAD_MAP, "THREAD_MAP"},
                    {PERFDATA_RECORD_CPU_MAP, "CPU_MAP"},
                    {PERFDATA_RECORD_STAT_CONFIG, "STAT_CONFIG"},
                    {PERFDATA_RECORD_STAT, "STAT"},
                    {PERFDATA_RECORD_STAT_ROUND, "STAT_ROUND"},
                    {PERFDATA_RECORD_EVENT_UPDATE, "EVENT_UPDATE"},
                    {PERFDATA_RECORD_TIME_CONV, "TIME_CONV"},
                    {PERFDATA_RECORD_HEADER_FEATURE, "HEADER_FEATURE"},
                    {PERFDATA_RECORD_COMPRESSED, "COMPRESSED"},
                    {PERFDATA_RECORD_FINISHED_INIT, "FINISHED_INIT"},
                    {83, "COMPRESSED2"}};
    enum { KINDS = 96 };
    const char *expected[KINDS] = {[KINDS - 1] = "others"};
    struct profile_file *file = a_file();
    char all[8000] = HEAD;
    (void)state;
    assert_int_equal(sizeof(file->records) / sizeof(file->records[0]), KINDS);
    for (size_t i = 1; i < sizeof(names) / sizeof(*names); i++)
        expected[i] = names[i];
    for (size_t i = 0; i < sizeof(of_files) / sizeof(*of_files); i++)
        expected[of_files[i].type] = of_files[i].name;
    for (uint32_t type = 0; type < KINDS; type++) {
        char name[24], line[160];
        snprintf(name, sizeof(name), "type %u", (unsigned)type);
        snprintf(line, sizeof(line), HEAD "  records    %-16s %12u\n", expected[type] ? expected[type] : name,
                 (unsigned)type + 1);
        file->records[type] = type + 1;
        expect_info(line);
        file->records[type] = 0;
        strcat(all, line + strlen(HEAD));
    }
    for (uint32_t type = 0; type < KINDS; type++)
        file->records[type] = type + 1;
    expect_info(all);
    file = a_file();
    file->records[9] = 1234567;
    expect_info(HEAD "  records    SAMPLE              1,234,567\n");
}

static const char *const words[] = {"make", "-j 2"};
static const char *const notes[] = {"one", "", "two"};
static const struct profile_missed missed[] = {{"setuid", "su", 1000, 0}, {"static", "busybox", 1, 0}};

static void test_session(void **state)
{
    struct profile_file *file = a_file();
    struct profile_session session = {.ours = true, .id = {0xab, 1}, .root = 77, .version = "1.0"};
    char *text;
    static const char *const paths[] = {"a"};
    int status;
    (void)state;
    file->session = &session;
    expect_info(HEAD "  session    ab010000000000000000000000000000\n  root       77\n  recorder   1.0\n");
    session.bare = true;
    expect_info(
        HEAD "  session    ab010000000000000000000000000000 (started by LD_PRELOAD, not by the command pinject-run)\n"
             "  root       77\n  recorder   1.0\n");
    session = (struct profile_session){.version = ""};
    expect_info(HEAD);
    session.arguments = words;
    session.argument_count = 2;
    session.hostname = "box";
    session.clock = "monotonic";
    session.memory_bytes = 8000000000;
    expect_info(HEAD "  command    make '-j 2'\n  host       box\n  memory     8.0 GB\n  clock      monotonic\n");
    session = (struct profile_session){.osrelease = "6.1"};
    expect_info(HEAD "  kernel     6.1 \n");
    session.arch = "x86_64";
    expect_info(HEAD "  kernel     6.1 x86_64\n");
    session.osrelease = NULL;
    expect_info(HEAD "  kernel     ? x86_64\n");
    session = (struct profile_session){.cpus = 4};
    expect_info(HEAD "  cpus       4\n");
    session.cpudesc = "Some CPU";
    expect_info(HEAD "  cpus       4, Some CPU\n");
    session.cpus = 0;
    expect_info(HEAD);
    session = (struct profile_session){.coverage_known = true,
                                       .cpu_ns = 2000000000,
                                       .attributed_ns = 1990000000,
                                       .missed = missed,
                                       .missed_count = 2,
                                       .notes = notes,
                                       .note_count = 3};
    expect_info(HEAD "  coverage   CPU time 2.00 s, 1.99 s of it attributed to tasks; the run had not ended yet\n"
                     "  missed     su: setuid, 1,000 times\n"
                     "  missed     busybox: static, 1 time\n  note       one\n  note       two\n");
    session = (struct profile_session){
        .coverage_known = true, .coverage_complete = true, .cpu_ns = 12000000, .attributed_ns = 11000000};
    expect_info(HEAD "  coverage   CPU time 12.0 ms, 11.0 ms of it attributed to tasks; the run has ended\n");
    session = (struct profile_session){.start_realtime_ns = 1700000000u * UINT64_C(1000000000)};
    text = info(paths, 1, 0, true, &status);
    has(text, HEAD "  started    2023-11-1");
    free(text);
}

static void test_events(void **state)
{
    static const struct profile_event events[] = {
        {.name = "cycles", .sampled = true, .frequency = true, .sample_value = 999},
        {.name = "cycles", .sampled = true, .frequency = true, .nanoseconds = true, .sample_value = 999},
        {.name = "task-clock", .sampled = true, .nanoseconds = true, .sample_value = 1000000, .exclude_kernel = true},
        {.name = "branches", .sampled = true, .sample_value = 4000},
        {.name = "page-faults"},
        {.name = "instructions", .exclude_kernel = true},
    };
    struct profile_file *file = a_file();
    (void)state;
    file->events = events;
    file->event_count = 6;
    expect_info(HEAD "  event      cycles, sampled at 999 Hz\n  event      cycles, sampled at 999 Hz\n"
                     "  event      task-clock, sampled every 1000000 ns, user space only\n"
                     "  event      branches, sampled every 4000\n  event      page-faults, counted\n"
                     "  event      instructions, counted, user space only\n");
}

static void test_tasks(void **state)
{
    static const struct profile_task tasks[] = {
        {.pid = 10,
         .tid = 10,
         .comm = "make",
         .cmdline = words,
         .cmdline_count = 2,
         .samples = 1,
         .source = PROFILE_SOURCE_PERF},
        {.pid = 10, .tid = 11, .comm = "worker", .samples = 1234, .source = PROFILE_SOURCE_TIMER},
        {.pid = 12, .tid = 12, .comm = "su", .source = PROFILE_SOURCE_ACCOUNTING},
        {.pid = 13, .tid = 13, .comm = "x\033[2J", .source = PROFILE_SOURCE_INHERITED},
        {.pid = -1, .tid = -1, .comm = "y"},
    };
    struct profile_file *file = a_file();
    (void)state;
    file->tasks = tasks;
    file->task_count = 5;
    expect_info(HEAD "  task       10.10 make, 1 sample: make '-j 2'\n"
                     "  task       10.11 worker, 1,234 samples by a timer\n"
                     "  task       12.12 su, 0 samples, only the CPU time is known (from the kernel's accounting)\n"
                     "  task       13.13 x\\033[2J, 0 samples\n  task       -1.-1 y, 0 samples\n");
}

static void test_features(void **state)
{
    static const char *const names[] = {"HOSTNAME", "OSRELEASE", "VERSION", "ARCH"};
    static const char *const paths[] = {"a"};
    struct profile_file *file = a_file();
    int status;
    (void)state;
    file->feature_names = names;
    file->feature_count = 1;
    expect_info(HEAD "  features   HOSTNAME\n");
    file->feature_count = 4;
    expect_info(HEAD "  features   HOSTNAME OSRELEASE VERSION ARCH\n");
    char *text = info(paths, 1, 24, true, &status);
    has(text, "  features   HOSTNAME OSRELEASE\n             VERSION\n             ARCH\n");
    free(text);
}

/* A blank line between files; one that cannot be read is left out, and the status says so. */
static void test_several_files(void **state)
{
    static const char *const paths[] = {"a", "none", "b\n", "none"}, *const bad_first[] = {"none", "a"};
    int status;
    (void)state;
    a_file();
    files[1] = files[0];
    files[1].path = "b\n";
    file_count = 2;
    char *text = info(paths, 4, 0, true, &status);
    assert_int_equal(status, 1);
    assert_string_equal(text, HEAD "\nb\\012\n  format     perf.data, 1.0 kB, data 900 bytes\n");
    free(text);
    text = info(bad_first, 2, 0, true, &status);
    assert_int_equal(status, 1);
    assert_string_equal(text, HEAD);
    free(text);
    text = info(paths, 0, 0, true, &status);
    assert_int_equal(status, 0);
    assert_string_equal(text, "");
    free(text);
}

/* Nobody reads any more. */
static void test_output_that_is_over(void **state)
{
    static const char *const paths[] = {"a", "a"};
    static const struct settings settings = {.color = COLOR_NEVER};
    char *text = NULL;
    size_t size = 0;
    struct output output = {.to = open_memstream(&text, &size), .ended = true};
    struct view view = {.settings = &settings, .output = &output, .paths = paths, .path_count = 2};
    (void)state;
    a_file();
    assert_int_equal(view_info(&view), 0);
    fclose(output.to);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),        cmocka_unit_test(test_records),
        cmocka_unit_test(test_session),       cmocka_unit_test(test_events),
        cmocka_unit_test(test_tasks),         cmocka_unit_test(test_features),
        cmocka_unit_test(test_several_files), cmocka_unit_test(test_output_that_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
