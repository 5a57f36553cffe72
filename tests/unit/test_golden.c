/* SPDX-License-Identifier: MIT */
/*
 * Everything that views and exports print of profiles that never change, against tests/data/golden: a made-up one, and
 * recorded files whose programs are nowhere. PINJECT_GOLDEN=write writes the files anew: look at the difference
 * (git diff) before it is committed.
 */
#include "check.h"

#include <locale.h>
#include <sys/stat.h>

#include "analyze/export/export.h"
#include "analyze/fields/field_report.h"
#include "analyze/model/loader.h"
#include "analyze/script/script.h"
#include "common/buffer.h"
#include "test_view_fake.h"

typedef int view_call(struct view *view);

struct shown {
    const char *name;
    view_call *view;
    struct settings settings; /* beside what each has */
    const char *format;       /* of an export */
    bool samples;             /* reads them once more, out of files */
};

static int export_golden(struct view *view)
{
    return export_view(view);
}

static const struct shown shown[] = {
    {.name = "report", .view = view_report, .settings = {.tasks = TASKS_APART}},
    {.name = "report-json", .view = view_report, .settings = {.json = true}},
    {.name = "report-aggregate", .view = view_report},
    {.name = "report-aggregate-json", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .json = true}},
    {.name = "report-total", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .sort = SORT_TOTAL}},
    {.name = "report-top", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .top = 2}},
    {.name = "report-callers", .view = view_report, .settings = {.callers = true, .callees = true}},
    {.name = "report-tree", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .call_tree = true}},
    {.name = "report-tree-json",
     .view = view_report,
     .settings = {.tasks = TASKS_TOGETHER, .call_tree = true, .json = true}},
    {.name = "report-tree-reverse",
     .view = view_report,
     .settings = {.tasks = TASKS_APART, .call_tree = true, .reverse = true}},
    {.name = "report-dso", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .by = BY_DSO}},
    {.name = "report-task", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .by = BY_TASK}},
    {.name = "report-process", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .by = BY_PROCESS}},
    {.name = "report-comm", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .by = BY_COMM, .json = true}},
    {.name = "report-address", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .by = BY_ADDRESS}},
    {.name = "report-markdown", .view = view_report, .settings = {.tasks = TASKS_TOGETHER, .markdown = true}},
    {.name = "report-colour", .view = view_report, .settings = {.tasks = TASKS_APART, .color = COLOR_ALWAYS}},
    {.name = "tree", .view = view_tree},
    {.name = "tree-json", .view = view_tree, .settings = {.json = true}},
    {.name = "counts", .view = view_counts},
    {.name = "counts-json", .view = view_counts, .settings = {.json = true}},
    {.name = "summary", .view = view_summary},
    {.name = "summary-markdown", .view = view_summary, .settings = {.markdown = true}},
    {.name = "flame", .view = view_flame},
    {.name = "flame-reverse", .view = view_flame, .settings = {.reverse = true, .aggregate = true}},
    {.name = "export-folded", .view = export_golden, .format = "folded"},
    {.name = "export-csv", .view = export_golden, .format = "csv"},
    {.name = "export-csv-tasks", .view = export_golden, .format = "csv-tasks"},
    {.name = "export-chrome", .view = export_golden, .format = "chrome"},
    {.name = "export-speedscope", .view = export_golden, .format = "speedscope", .samples = true},
    {.name = "script", .view = script_view, .samples = true},
};

static bool writes;

static const char *directory_of_output(void)
{
    static char directory[] = "/tmp/pinject-golden-XXXXXX";
    static bool made;
    if (!made)
        assert_non_null(mkdtemp(directory));
    made = true;
    return directory;
}

/* What ONE prints of VIEW's profile; owned by the caller. */
static char *print(const struct shown *one, struct profile *profile, size_t *ret_size)
{
    struct settings settings = one->settings;
    struct output output;
    char *text = NULL, file[64];
    settings.symfs = "/opt/no-such";
    if (settings.color == COLOR_AUTO)
        settings.color = COLOR_NEVER;
    snprintf(file, sizeof(file), "%s/out", directory_of_output());
    if (one->view == view_flame || one->format)
        settings.file = file;
    if (one->format)
        settings.format = export_find(one->format);
    struct view view = {.settings = &settings, .profile = profile, .output = &output};
    view.names = names_new(profile, &settings);
    view.selection = select_new(profile, &settings, view.names, settings.file != NULL);
    output = (struct output){.to = open_memstream(&text, ret_size), .color = settings.color == COLOR_ALWAYS};
    int status = one->view(&view);
    fclose(output.to);
    select_free(view.selection);
    names_free(view.names);
    if (status != 0)
        fail_msg("%s: status %d", one->name, status);
    if (settings.file && access(file, F_OK) == 0) {
        struct buffer bytes = BUFFER_INIT;
        assert_int_equal(buffer_read_file(&bytes, file, 64 << 20), 0);
        assert_int_equal(unlink(file), 0);
        free(text);
        buffer_append(&bytes, "", 1);
        text = (char *)bytes.data;
        *ret_size = bytes.size - 1;
    }
    return text;
}

/* Of a flame graph without its program, which has tests of its own. */
static void append(struct buffer *to, const char *name, char *text, size_t size)
{
    char *script = strstr(text, "<script"), *end = script ? strstr(script, "</script>") : NULL;
    buffer_printf(to, "==== %s\n", name);
    if (!end) {
        buffer_append(to, text, size);
        return;
    }
    buffer_append(to, text, (size_t)(script - text));
    buffer_append(to, end, size - (size_t)(end - text));
}

static int length_of_line(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    return (int)(end ? (size_t)(end - text) : size);
}

/* Shows the first line that differs: the whole texts are too long to be looked at. */
static void compare(const char *name, const struct buffer *ours)
{
    struct buffer golden = BUFFER_INIT;
    char path[512];
    snprintf(path, sizeof(path), "%s/golden/%s.txt", TEST_DATA, name);
    if (writes) {
        FILE *to = fopen(path, "w");
        assert_non_null(to);
        assert_int_equal(fwrite(ours->data, 1, ours->size, to), ours->size);
        assert_int_equal(fclose(to), 0);
        return;
    }
    if (buffer_read_file(&golden, path, 64 << 20) < 0)
        fail_msg("%s is missing: PINJECT_GOLDEN=write makes it", path);
    const char *text = (const char *)ours->data, *wanted = (const char *)golden.data;
    unsigned line = 1;
    size_t at = 0, begin = 0;
    for (; at < ours->size && at < golden.size && text[at] == wanted[at]; at++)
        if (text[at] == '\n')
            line++, begin = at + 1;
    if (at < ours->size || at < golden.size)
        fail_msg("%s.txt, line %u:\n%.*s\ninstead of\n%.*s\nIf that is right: PINJECT_GOLDEN=write, then git diff.",
                 name, line, length_of_line(text + begin, ours->size - begin), text + begin,
                 length_of_line(wanted + begin, golden.size - begin), wanted + begin);
    buffer_release(&golden);
}

static void test_made_up(void **state)
{
    struct buffer all = BUFFER_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        struct fake fake;
        size_t size = 0;
        if (shown[i].samples)
            continue;
        fake_new(&fake);
        char *text = print(&shown[i], &fake.profile, &size);
        append(&all, shown[i].name, text, size);
        free(text);
    }
    compare("made-up", &all);
    buffer_release(&all);
}

/* Takes what depends on this machine. */
static void make_lasting(struct profile_session *session)
{
    static const unsigned char no_kernel[20] = {1};
    /* The kernel that runs here has names where it is the one that was recorded, for who may read them. */
    session->kernel_build_id = no_kernel;
    session->kernel_build_id_size = sizeof(no_kernel);
    session->osrelease = "0.0";
    /* The time of day of perf's files is that of the file. */
    if (!session->ours)
        session->start_realtime_ns = 0;
}

static void show_file(const char *file, const char *name, const struct shown *list, size_t count)
{
    struct buffer all = BUFFER_INIT;
    for (size_t i = 0; i < count; i++) {
        struct profile *profile = NULL;
        struct profile_options options = {
            .symfs = "/opt/no-such", .data = true, .branches = list[i].settings.by == BY_BRANCH};
        size_t size = 0;
        assert_int_equal(profile_load(&file, 1, &options, &profile), 0);
        make_lasting(&profile->session);
        char *text = print(&list[i], profile, &size);
        append(&all, list[i].name, text, size);
        free(text);
        profile_free(profile);
    }
    compare(name, &all);
    buffer_release(&all);
}

static void test_of_perf(void **state)
{
    (void)state;
    show_file("fp.data", "fp", shown, sizeof(shown) / sizeof(shown[0]));
}

static void test_of_ours(void **state)
{
    (void)state;
    show_file("ours-2.data", "ours-2", shown, sizeof(shown) / sizeof(shown[0]));
}

/* A made-up file that has what no machine here can record. */
static void test_of_data_and_branches(void **state)
{
    static const struct shown list[] = {
        {.name = "report-data-page", .view = field_report, .settings = {.by = BY_DATA_PAGE}},
        {.name = "report-data-symbol", .view = field_report, .settings = {.by = BY_DATA_SYMBOL, .group = true}},
        {.name = "report-data-type", .view = field_report, .settings = {.by = BY_DATA_TYPE}},
        {.name = "report-data-type-json", .view = field_report, .settings = {.by = BY_DATA_TYPE, .json = true}},
        {.name = "report-branch", .view = field_report, .settings = {.by = BY_BRANCH}},
        {.name = "report-branch-json", .view = field_report, .settings = {.by = BY_BRANCH, .json = true}},
    };
    (void)state;
    show_file("../fuzz/seeds/reader/samples.data", "fields", list, sizeof(list) / sizeof(list[0]));
}

/* What was chosen, and nothing else, goes into one file of all. */
static void test_merged_by_task(void **state)
{
    static const struct shown merge = {.name = "perf", .view = export_golden, .format = "perf", .samples = true};
    const char *file = "fp.data";
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        struct profile *profile = NULL, *merged = NULL;
        struct shown one = merge;
        int32_t tid = 3465;
        size_t size = 0;
        assert_int_equal(profile_load(&file, 1, NULL, &profile), 0);
        if (way == 1)
            one.settings.tids = (struct settings_numbers){.items = &tid, .count = 1};
        else if (way == 2) {
            one.settings.event = "page-faults";
            assert_true(profile_select_event(profile, one.settings.event) >= 0);
        }
        char *bytes = print(&one, profile, &size);
        assert_int_equal(profile_load_memory((const unsigned char *)bytes, size, NULL, &merged), 0);
        assert_int_equal(merged->task_count, profile->task_count);
        uint64_t samples[2] = {0};
        for (uint32_t i = 0; i < merged->event_count; i++)
            samples[strcmp(merged->events[i].name, "page-faults") == 0] += merged->events[i].samples;
        assert_int_equal(samples[0], way == 0 ? 7 : way == 1 ? 3 : 0);
        assert_true(way == 1 ? samples[1] < 10 : samples[1] > 10);
        for (uint32_t i = 0; i < merged->task_count; i++)
            assert_true(way != 1 || merged->tasks[i].tid == tid || merged->tasks[i].samples == 0);
        free(bytes);
        profile_free(merged);
        profile_free(profile);
    }
}

static int set_up(void **state)
{
    (void)state;
    const char *wish = getenv("PINJECT_GOLDEN");
    writes = wish && strcmp(wish, "write") == 0;
    setenv("TZ", "UTC", 1);
    setlocale(LC_ALL, "C.UTF-8");
    if (writes)
        mkdir(TEST_DATA "/golden", 0777);
    return chdir(TEST_DATA);
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory_of_output());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_up),        cmocka_unit_test(test_of_perf),
        cmocka_unit_test(test_of_ours),        cmocka_unit_test(test_of_data_and_branches),
        cmocka_unit_test(test_merged_by_task),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
