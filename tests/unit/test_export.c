/* SPDX-License-Identifier: MIT */
/* The formats out of a profile of which every figure is known, and out of files that somebody damaged. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "analyze/export/export.h"
#include "analyze/export/proto.h"
#include "analyze/export/tree.h"
#include "analyze/export/utf8.h"
#include "analyze/model/loader.h"
#include "common/report.h"
#include "test_view_fake.h"

/* Other builds run beside this one in the same directory. */
static char output_path[64];

static void read_output(struct buffer *ret)
{
    buffer_init(ret);
    assert_int_equal(buffer_read_file(ret, output_path, 64 << 20), 0);
    assert_int_equal(unlink(output_path), 0);
}

/* Instead of the name that the fake's thread has. */
static const char *comm;

static void rename_thread(struct fake *fake)
{
    static struct profile_entry entries[4];
    memcpy(entries, fake->profile.entries, sizeof(entries));
    entries[1].comm = fake->profile.tasks[1].comm = comm;
    fake->profile.entries = entries;
}

/* So many samples a second instead of a period that the fake does not tell; 0: as it is. */
static uint64_t frequency;

static void sample_at_frequency(struct fake *fake)
{
    static struct profile_event events[2];
    memcpy(events, fake->profile.events, sizeof(events));
    events[0].frequency = true;
    events[0].sample_value = frequency;
    fake->profile.events = events;
}

/* When the session began, where that is another time than the fake's. */
static uint64_t session_start;

/* What FORMAT makes of the fake profile; owned by the caller. */
static char *written(const char *format, bool aggregate, size_t *ret_size)
{
    struct fake fake;
    struct buffer bytes;
    fake_new(&fake);
    if (comm)
        rename_thread(&fake);
    if (frequency)
        sample_at_frequency(&fake);
    if (session_start)
        fake.profile.session.start_ns = session_start;
    fake.settings.aggregate = aggregate;
    fake.settings.file = output_path;
    fake.settings.format = export_find(format);
    fake.view.settings = &fake.settings;
    fake.view.profile = &fake.profile;
    fake.view.names = names_new(&fake.profile, &fake.settings);
    fake.view.selection = select_new(&fake.profile, &fake.settings, fake.view.names, true);
    assert_int_equal(export_view(&fake.view), 0);
    select_free(fake.view.selection);
    names_free(fake.view.names);
    read_output(&bytes);
    if (ret_size)
        *ret_size = bytes.size;
    return (char *)bytes.data;
}

/* With --group, --show-cum and --cum, which only this format has. */
static void csv_of_events(void **state)
{
    (void)state;
    struct fake fake;
    struct buffer bytes;
    static struct profile_event events[2];
    static struct profile_entry entries[5];
    fake_new(&fake);
    memcpy(events, fake.profile.events, sizeof(events));
    memcpy(entries, fake.profile.entries, 4 * sizeof(*entries));
    events[1].sampled = true;
    entries[4] = (struct profile_entry){0, 1, 0, entries[0].comm, 2, 30};
    fake.profile.events = events;
    fake.profile.entries = entries;
    fake.profile.entry_count = 5;
    fake.settings.group = fake.settings.show_cum = true;
    fake.settings.cum = 90;
    fake.settings.file = output_path;
    fake.settings.format = export_find("csv");
    assert_int_equal(export_check(&fake.settings), 0);
    fake.view.settings = &fake.settings;
    fake.view.profile = &fake.profile;
    fake.view.names = names_new(&fake.profile, &fake.settings);
    fake.view.selection = select_new(&fake.profile, &fake.settings, fake.view.names, true);
    check_capture();
    assert_int_equal(export_view(&fake.view), 0);
    assert_non_null(strstr(check_captured(), "--cum left out 2 functions (10.00 % of the total weight)"));
    select_free(fake.view.selection);
    names_free(fake.view.names);
    read_output(&bytes);
    buffer_append(&bytes, "", 1);
    assert_string_equal((const char *)bytes.data,
                        "symbol,object,task-clock self_samples,task-clock self_weight,task-clock self_percent,"
                        "task-clock cum_percent,page-faults self_samples,page-faults self_weight,"
                        "page-faults self_percent,page-faults cum_percent\r\n"
                        "app+0x300,/opt/no-such/app,80,80000000,80.0000,80.0000,0,0,0.0000,0.0000\r\n"
                        "app+0x200,/opt/no-such/app,10,10000000,10.0000,90.0000,2,30,100.0000,100.0000\r\n");
    buffer_release(&bytes);
    fake.settings.format = export_find("folded");
    check_capture();
    assert_int_equal(export_check(&fake.settings), -EINVAL);
    assert_non_null(strstr(check_captured(), "option '--group' is for the format csv, not for folded"));
}

static void folded_has_a_line_for_each_stack(void **state)
{
    (void)state;
    char *text = written("folded", false, NULL);
    assert_string_equal(text, "make;app+0x100;app+0x200 10000000\n"
                              "worker;app+0x100 5000000\n"
                              "cc1;app+0x100;app+0x300;app+0x300;app+0x300 80000000\n"
                              "cc1;0xdead000 5000000\n");
    free(text);
}

static void csv_has_a_line_for_each_function(void **state)
{
    (void)state;
    char *text = written("csv", false, NULL);
    assert_string_equal(text, "symbol,object,self_samples,self_weight,self_percent,total_samples,total_weight,"
                              "total_percent\r\n"
                              "app+0x300,/opt/no-such/app,80,80000000,80.0000,80,80000000,80.0000\r\n"
                              "app+0x200,/opt/no-such/app,10,10000000,10.0000,10,10000000,10.0000\r\n"
                              "app+0x100,/opt/no-such/app,5,5000000,5.0000,95,95000000,95.0000\r\n"
                              "0xdead000,[unknown],5,5000000,5.0000,5,5000000,5.0000\r\n");
    free(text);
    text = written("csv-tasks", false, NULL);
    assert_non_null(
        strstr(text, "\r\n10,11,1,worker,/usr/bin/make,2000,3000,0,,5000000,0,,5,5000000,0,make -j2,,\r\n"));
    assert_non_null(strstr(text, "\r\n20,20,10,cc1,/usr/lib/cc1,3000,800000000,1,0,90000000,0,,85,85000000,4,"
                                 "cc1 'a b.c' '\\033[2J\xef\xbf\xbd',90000000,100\r\n"));
    free(text);
}

/* Separators in names, and what a spreadsheet would run. */
static void names_are_quoted(void **state)
{
    (void)state;
    static const struct {
        const char *comm, *csv, *folded;
    } cases[] = {{"a,b", "\"a,b\"", "a,b"}, {"a\"b", "\"a\"\"b\"", "a\"b"},
                 {"\"", "\"\"\"\"", "\""},  {"=1,2", "\"'=1,2\"", "=1,2"},
                 {"=1", "'=1", "=1"},       {"+1", "'+1", "+1"},
                 {"-1", "'-1", "-1"},       {"@a", "'@a", "@a"},
                 {"1=1", "1=1", "1=1"},     {"a;b;", "a;b;", "a:b:"},
                 {"", "", "[unknown]"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char row[64], line[64];
        comm = cases[i].comm;
        snprintf(row, sizeof(row), "\r\n10,11,1,%s,/usr/bin/make,", cases[i].csv);
        snprintf(line, sizeof(line), "\n%s;app+0x100 5000000\n", cases[i].folded);
        char *csv = written("csv-tasks", false, NULL), *folded = written("folded", false, NULL);
        has(csv, row);
        has(folded, line);
        free(csv);
        free(folded);
    }
    comm = NULL;
}

static void speedscope_has_weights_and_frames(void **state)
{
    (void)state;
    char *text = written("speedscope", true, NULL);
    assert_non_null(strstr(text, "\"samples\":[[0,1],[0],[0,2,2,2],[3]],"
                                 "\"weights\":[10000000,5000000,80000000,5000000],"
                                 "\"startValue\":0,\"endValue\":100000000}"));
    assert_non_null(strstr(text, "{\"name\":\"app+0x300\",\"file\":\"/opt/no-such/app\"}"));
    free(text);
}

static void chrome_has_slices_and_arrows(void **state)
{
    (void)state;
    char *text = written("chrome", false, NULL);
    /* cc1 was make for 0.5 us; it began 2 us after the session. */
    assert_non_null(strstr(text, "{\"ph\":\"X\",\"name\":\"make\",\"pid\":20,\"tid\":20,"
                                 "\"cat\":\"process\",\"ts\":2.0000,\"dur\":0.5000,"));
    assert_non_null(strstr(text, "{\"ph\":\"i\",\"name\":\"exec\",\"pid\":20,\"tid\":20,\"s\":\"t\",\"ts\":2.5000}"));
    assert_non_null(strstr(text, "{\"ph\":\"X\",\"name\":\"cc1\",\"pid\":20,\"tid\":20,"
                                 "\"cat\":\"process\",\"ts\":2.5000,\"dur\":799996.5000,"));
    assert_non_null(strstr(text, "{\"ph\":\"s\",\"name\":\"start\",\"pid\":10,\"tid\":10,"
                                 "\"cat\":\"start\",\"id\":3,\"ts\":2.0000}"));
    assert_non_null(strstr(text, "\"ended\":true,\"exit\":0,\"cpu_ms\":90.0000,\"samples\":85"));
    assert_non_null(strstr(text, "\"args\":{\"processes\":0,\"threads\":0}"));
    free(text);
}

/* From the session's start on, or the first task's, if that is earlier. */
static void chrome_counts_from_the_start(void **state)
{
    (void)state;
    static const struct {
        uint64_t start;
        const char *cc1;
    } cases[] = {{500, "\"name\":\"exec\",\"pid\":20,\"tid\":20,\"s\":\"t\",\"ts\":3.0000}"},
                 {1500, "\"name\":\"exec\",\"pid\":20,\"tid\":20,\"s\":\"t\",\"ts\":2.5000}"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        session_start = cases[i].start;
        char *text = written("chrome", false, NULL);
        has(text, cases[i].cc1);
        free(text);
    }
    session_start = 0;
}

static void pprof_is_packed_and_the_same_each_time(void **state)
{
    (void)state;
    size_t one, two;
    char *first = written("pprof", false, &one), *second = written("pprof", false, &two);
    assert_int_equal(one, two);
    assert_memory_equal(first, second, one);
    assert_memory_equal(first, "\x1f\x8b", 2);
    free(first);
    free(second);
}

/* The period in nanoseconds, where samples are asked for by the second. */
static void pprof_has_a_period(void **state)
{
    (void)state;
    static const struct {
        uint64_t frequency, period;
    } cases[] = {{1, 1000000000}, {7, 142857142}, {1000, 1000000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer period = BUFFER_INIT;
        unsigned char unpacked[8192];
        size_t size;
        frequency = cases[i].frequency;
        char *packed = written("pprof", false, &size);
        z_stream zip = {.next_in = (unsigned char *)packed,
                        .avail_in = (unsigned)size,
                        .next_out = unpacked,
                        .avail_out = sizeof(unpacked)};
        assert_int_equal(inflateInit2(&zip, 15 + 16), Z_OK);
        assert_int_equal(inflate(&zip, Z_FINISH), Z_STREAM_END);
        proto_number(&period, 12, cases[i].period);
        assert_non_null(memmem(unpacked, zip.total_out, period.data, period.size));
        inflateEnd(&zip);
        buffer_release(&period);
        free(packed);
    }
    frequency = 0;
}

static void protocol_buffers(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT, part = BUFFER_INIT;
    proto_number(&bytes, 1, 150);
    proto_number(&bytes, 2, 0);
    proto_bytes(&part, 2, "testing", 7);
    proto_message(&bytes, 16, &part);
    assert_int_equal(bytes.size, 3 + 3 + 9);
    assert_memory_equal(bytes.data, "\x08\x96\x01\x82\x01\x09\x12\x07testing", 15);
    buffer_clear(&bytes);
    proto_varint(&bytes, UINT64_MAX);
    assert_int_equal(bytes.size, 10);
    assert_memory_equal(bytes.data, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    buffer_release(&bytes);
    buffer_release(&part);
}

static void names_become_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } cases[] = {{"", ""},
                 {"a\xc3\xa4", "a\xc3\xa4"},
                 {"\xff\xc3(", "\xef\xbf\xbd\xef\xbf\xbd("},
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xf0\x9f\x94", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *clean = utf8_clean(cases[i].from);
        assert_string_equal(clean, cases[i].to);
        free(clean);
    }
}

static void endings_name_formats(void **state)
{
    (void)state;
    static const struct {
        const char *file, *format;
    } cases[] = {{"x.data", "perf"},
                 {"x.pb.gz", "pprof"},
                 {"x.speedscope.json", "speedscope"},
                 {"a/b.csv", "csv"},
                 {"x.tasks.csv", "csv-tasks"},
                 {"x.csv.gz", "csv"},
                 {"x.trace.json", "chrome"},
                 {"x.json.gz", "firefox"},
                 {"x.trace.json.gz", "chrome"},
                 {"x.speedscope.json.gz", "speedscope"},
                 {"x.folded.gz", "folded"},
                 {"x.json", NULL},
                 {".csv", NULL},
                 {"csv", NULL},
                 {"", NULL},
                 {"x.gz", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct export_format *format = export_of_file(cases[i].file);
        const char *name = format ? format->name : NULL;
        if (cases[i].format)
            assert_string_equal(name, cases[i].format);
        else
            assert_null(name);
    }
}

static void equal_beginnings_are_one_path(void **state)
{
    (void)state;
    struct fake fake;
    struct tree tree;
    fake_new(&fake);
    fake.view.names = names_new(&fake.profile, &fake.settings);
    tree_init(&tree, &fake.view, true);
    const uint32_t deep[] = {2, 1, 0}, other[] = {1, 0};
    uint32_t leaf = tree_add(&tree, deep, 3), caller = tree_add(&tree, other, 2);
    assert_int_equal(tree_node_count(&tree), 3);
    assert_int_equal(tree_parent(&tree, leaf), caller);
    assert_int_equal(tree_parent(&tree, tree_parent(&tree, caller)), TREE_ROOT);
    assert_int_equal(tree.calls[tree_label(&tree, leaf)].frame, 2);
    tree_release(&tree);
    names_free(fake.view.names);
}

/* Every format of what is in BYTES; messages are fine, but nothing else. */
static void export_all(const void *bytes, size_t size)
{
    static const char *const formats[] = {"perf",   "pprof",  "speedscope", "firefox",
                                          "folded", "chrome", "csv",        "csv-tasks"};
    struct settings settings = {.file = "/dev/null"};
    struct profile *profile;
    if (profile_load_memory(bytes, size, NULL, &profile) < 0)
        return;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct view view = {.settings = &settings, .profile = profile};
        settings.format = export_find(formats[i]);
        view.names = names_new(profile, &settings);
        view.selection = select_new(profile, &settings, view.names, true);
        int status = export_view(&view);
        assert_true(status == 0 || status == 1);
        select_free(view.selection);
        names_free(view.names);
    }
    profile_free(profile);
}

static void damaged_files(void **state)
{
    (void)state;
    static const char *const files[] = {"ours.data", "ours-thread.data", "fp.data", "pipe.data", "swapped.data"};
    uint32_t random = 12345;
    check_capture();
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct buffer whole = BUFFER_INIT, copy = BUFFER_INIT;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", TEST_SEEDS, files[i]);
        assert_int_equal(buffer_read_file(&whole, path, 1 << 24), 0);
        for (int round = 0; round < 12; round++) {
            buffer_clear(&copy);
            buffer_append(&copy, whole.data, whole.size);
            for (int change = 0; change < round; change++) {
                random = random * 1103515245 + 12345;
                copy.data[(random >> 8) % copy.size] = (unsigned char)(random >> 3);
            }
            export_all(copy.data, copy.size);
        }
        buffer_release(&whole);
        buffer_release(&copy);
    }
    check_captured();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded_has_a_line_for_each_stack),
        cmocka_unit_test(csv_has_a_line_for_each_function),
        cmocka_unit_test(csv_of_events),
        cmocka_unit_test(names_are_quoted),
        cmocka_unit_test(speedscope_has_weights_and_frames),
        cmocka_unit_test(chrome_has_slices_and_arrows),
        cmocka_unit_test(chrome_counts_from_the_start),
        cmocka_unit_test(pprof_is_packed_and_the_same_each_time),
        cmocka_unit_test(pprof_has_a_period),
        cmocka_unit_test(protocol_buffers),
        cmocka_unit_test(names_become_utf8),
        cmocka_unit_test(endings_name_formats),
        cmocka_unit_test(equal_beginnings_are_one_path),
        cmocka_unit_test(damaged_files),
    };
    report_program("panalyze");
    snprintf(output_path, sizeof(output_path), "test_export.%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
