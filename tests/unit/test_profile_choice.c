/* SPDX-License-Identifier: MIT */
/* analyze/model: which event is shown, and which session, of those that the files have. */
#include "profile_kit.h"

#include <sys/stat.h>
#include <time.h>

#include "analyze/model/loader.h"
#include "analyze/model/raw.h"

struct event {
    const char *name;
    uint64_t period;
    unsigned samples;
};

static struct profile *load_events(const struct event *events, unsigned count, struct buffer *bytes)
{
    struct writer writer;
    writer_init(&writer, false, false);
    for (unsigned i = 0; i < count; i++)
        writer_attr(&writer, PERF_TYPE_RAW, i, events[i].period, events[i].name);
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < events[i].samples; j++)
            writer_sample(&writer, i, USER, 0x1000, 10 + i, NULL, 0);
    struct profile *profile = load_writer(&writer, bytes);
    writer_release(&writer);
    return profile;
}

/* The first with samples; then the first that could have had some; then any. */
static void test_first_event(void **state)
{
    (void)state;
    static const struct {
        struct event events[3];
        uint32_t first;
    } cases[] = {
        {{{"a", 0, 0}, {"b", 0, 0}, {"c", 0, 0}}, 0}, {{{"a", 0, 0}, {"b", 1, 0}, {"c", 1, 0}}, 1},
        {{{"a", 0, 0}, {"b", 1, 0}, {"c", 1, 2}}, 2}, {{{"a", 1, 1}, {"b", 1, 5}, {"c", 1, 2}}, 0},
        {{{"a", 1, 0}, {"b", 0, 1}, {"c", 1, 1}}, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer bytes = BUFFER_INIT;
        struct profile *profile = load_events(cases[i].events, 3, &bytes);
        assert_int_equal(profile->event, cases[i].first);
        /* And again, when another one was chosen. */
        for (uint32_t j = 0; j < 3; j++) {
            assert_int_equal(profile_select_event(profile, cases[i].events[j].name), 0);
            assert_int_equal(profile->event, j);
            if (profile->task_count)
                assert_int_equal(profile->tasks[0].weight, (10 + j) * cases[i].events[j].samples);
        }
        assert_int_equal(profile_select_event(profile, NULL), 0);
        assert_int_equal(profile->event, cases[i].first);
        profile_free(profile);
        buffer_release(&bytes);
    }
}

/* As it is called, or in front of the first colon. */
static void test_names_of_events(void **state)
{
    (void)state;
    static const struct event events[] = {{"cycles:pp", 1, 1},    {"cycles:u", 1, 1},       {"cycles:u:k", 1, 1},
                                          {"instructions", 1, 1}, {"instructions:u", 1, 1}, {"cyclesx", 1, 1}};
    static const struct {
        const char *name;
        int event; /* -1: none */
    } names[] = {{"cycles", 0},       {"cycles:u", 1},       {"cycles:pp", 0}, {"cycles:u:k", 2},
                 {"instructions", 3}, {"instructions:u", 4}, {"cyclesx", 5},   {"cycle", -1},
                 {"cycles:", -1},     {"Cycles", -1},        {"", -1}};
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile = load_events(events, 6, &bytes);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        check_capture();
        int status = profile_select_event(profile, names[i].name);
        const char *said = check_captured();
        assert_int_equal(status, names[i].event < 0 ? -EINVAL : 0);
        assert_int_equal(said[0] != '\0', names[i].event < 0);
        if (status == 0)
            assert_int_equal(profile->event, names[i].event);
        else
            assert_non_null(strstr(said, "recorded events: cycles:pp, cycles:u, cycles:u:k, instructions, "
                                         "instructions:u, cyclesx"));
    }
    profile_free(profile);
    buffer_release(&bytes);
}

/* However many they are, and how long their names. */
static void test_list_of_events(void **state)
{
    (void)state;
    char names[8][128];
    struct event events[8];
    struct buffer bytes = BUFFER_INIT;
    for (unsigned i = 0; i < 8; i++) {
        memset(names[i], 'a' + (int)i, sizeof(names[i]) - 1);
        names[i][sizeof(names[i]) - 1] = '\0';
        events[i] = (struct event){names[i], 1, 0};
    }
    struct profile *profile = load_events(events, 8, &bytes);
    check_capture();
    assert_int_equal(profile_select_event(profile, "none"), -EINVAL);
    const char *said = check_captured();
    assert_non_null(strstr(said, names[0]));
    assert_non_null(strstr(said, names[2]));
    assert_null(strstr(said, names[4]));
    profile_free(profile);
    /* None at all. */
    struct writer writer;
    writer_init(&writer, false, true);
    writer_round(&writer);
    profile = load_writer(&writer, &bytes);
    check_capture();
    assert_int_equal(profile_select_event(profile, "none"), -EINVAL);
    assert_non_null(strstr(check_captured(), "no event 'none' was recorded; recorded events: none"));
    writer_release(&writer);
    profile_free(profile);
    buffer_release(&bytes);
}

enum { FILES = 7 };

static const char *path_at(unsigned i)
{
    char name[16];
    snprintf(name, sizeof(name), "file.%u", i);
    return in_directory(name);
}

/* ID 0: one of perf's, of that time. */
static void save_session(unsigned i, uint8_t id, uint64_t realtime_s)
{
    struct writer writer;
    begin(&writer, 20 + i, 20 + i);
    if (id) {
        writer_session(&writer, id, realtime_s * 1000000000u);
        writer_task(&writer, 0, 0, 1, 2, 0);
    } else {
        struct buffer *to = &writer.features[PERFDATA_CLOCK_DATA];
        writer_u32(&writer, to, 1);
        writer_u32(&writer, to, CLOCK_MONOTONIC);
        writer_u64(&writer, to, realtime_s * 1000000000u);
        writer_u64(&writer, to, 0);
    }
    writer_sample(&writer, 0, USER, 0x1200 + i, 1000, NULL, 0);
    writer_save(&writer, path_at(i));
    writer_release(&writer);
}

/* The chosen one's tid; 0: none was. */
static int32_t choose(unsigned count, const char *wanted, char *said, size_t size, unsigned *ret_left)
{
    const char *paths[FILES];
    char names[FILES][128];
    struct profile *profile = NULL;
    const struct profile_options options = {.session = wanted};
    for (unsigned i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "%s", path_at(i));
        paths[i] = names[i];
    }
    check_capture();
    int status = profile_load(paths, count, &options, &profile);
    snprintf(said, size, "%s", check_captured());
    if (status < 0)
        return 0;
    int32_t tid = profile->tasks[0].tid;
    *ret_left = profile->files_other_session;
    profile_free(profile);
    return tid;
}

static void expect_choice(unsigned count, const char *wanted, int32_t tid, unsigned left, const char *text)
{
    char said[2048];
    unsigned others = 0;
    assert_int_equal(choose(count, wanted, said, sizeof(said), &others), tid);
    assert_int_equal(others, left);
    if (!text)
        assert_string_equal(said, "");
    else if (!strstr(said, text))
        fail_msg("'%s' instead of '%s'", said, text);
}

/* The newest of ours, and of perf's only where there is none of ours. */
static void test_newest(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    save_session(0, 0xa1, 1000000000);
    expect_choice(1, NULL, 20, 0, NULL);
    save_session(1, 0xa2, 1000000001);
    expect_choice(2, NULL, 21, 1,
                  "1 file of 1 other run is left out: a1a1a1a1 of 2001-09-09 01:46:40; the newest "
                  "run is shown: a2a2a2a2 of 2001-09-09 01:46:41. To show another run, give its id with --session");
    save_session(0, 0xa1, 1000000002);
    expect_choice(2, NULL, 20, 1, "the newest run is shown: a1a1a1a1");
    save_session(2, 0xa2, 1000000001);
    expect_choice(3, NULL, 20, 2, "2 files of 1 other run are left out: a2a2a2a2 of 2001-09-09 01:46:41; ");
    save_session(2, 0, 2000000000);
    expect_choice(3, NULL, 20, 2, "2 files of 2 other runs are left out");
    save_session(0, 0, 1000000000);
    save_session(1, 0, 1000000001);
    expect_choice(3, NULL, 22, 2, "the newest run is shown: ");
    save_session(0, 0, 2000000001);
    expect_choice(3, NULL, 20, 2, "of 2033-05-18 03:33:21. To show another run, give its id with --session");
    /* Of two of one time the first. */
    save_session(0, 0xa1, 5);
    save_session(1, 0xa2, 5);
    expect_choice(2, NULL, 20, 1, "a1a1a1a1");
    save_session(0, 0xa1, 0);
    expect_choice(2, NULL, 21, 1, "a1a1a1a1 of an unknown time");
}

static void test_many_sessions(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FILES; i++)
        save_session(i, (uint8_t)(0xb0 + i), 1000000000 + i);
    expect_choice(5, NULL, 24, 4,
                  "01:46:40, b1b1b1b1 of 2001-09-09 01:46:41, b2b2b2b2 of 2001-09-09 01:46:42, "
                  "b3b3b3b3 of 2001-09-09 01:46:43; the newest run is shown");
    expect_choice(FILES, NULL, 26, 6, "b3b3b3b3 of 2001-09-09 01:46:43, ...; the newest run is shown");
    expect_choice(FILES, "nothing", 0, 0, "b3b3b3b3 of 2001-09-09 01:46:43, ...");
}

/*
 * Runs of one directory are told apart by their times alone, others by their directories; of long ones the end is
 * shown.
 */
static void test_directories(void **state)
{
    static const char longest[] = "/123456789012345678901234567890123456789012345678901234567890";
    char path[2][128];
    static struct session_seen sessions[2];
    static struct loader loader = {.sessions = sessions, .session_count = 2};
    static const struct {
        const char *first, *second, *first_directory, *second_directory;
    } places[] = {{"out.1.1", "out.2.2", "", ""},
                  {"a/out.1.1", "a/b.2.2", "", ""},
                  {"/out.1.1", "/b.2.2", "", ""},
                  {"out.1.1", "a/out.2.2", " in .", " in a"},
                  {"/out.1.1", "/a/b/out.2.2", " in /", " in /a/b"},
                  {"a/out.1.1", "b/out.1.1", " in a", " in b"}};
    (void)state;
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i <= sizeof(places) / sizeof(places[0]); i++) {
        const bool last = i == sizeof(places) / sizeof(places[0]);
        uint32_t chosen;
        char wanted[512];
        snprintf(path[0], sizeof(path[0]), last ? "%s/out.1.1" : "%s", last ? longest + 1 : places[i].first);
        snprintf(path[1], sizeof(path[1]), last ? "%s/out.1.1" : "%s", last ? longest : places[i].second);
        for (unsigned j = 0; j < 2; j++)
            sessions[j] = (struct session_seen){.id = {(uint8_t)(0xa1 + j)},
                                                .ours = true,
                                                .start_realtime_ns = 1000000000 + j,
                                                .files = 1,
                                                .path = path[j]};
        snprintf(wanted, sizeof(wanted),
                 "left out: a1000000 of 1970-01-01 00:00:01%s%s; the newest run is shown: a2000000 of 1970-01-01 "
                 "00:00:01%s%s. To show another run, give its id with --session; to compare runs, use 'panalyze diff'",
                 last ? " in " : places[i].first_directory, last ? longest + 1 : "",
                 last ? " in ..." : places[i].second_directory, last ? longest + 1 : "");
        check_capture();
        assert_int_equal(choose_session(&loader, NULL, &chosen), 0);
        assert_int_equal(chosen, 1);
        const char *said = check_captured();
        if (!strstr(said, wanted))
            fail_msg("'%s' instead of '%s'", said, wanted);
    }
}

static void test_named(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        save_session(i, (uint8_t)(0xc0 + i), 1000000000 + i);
    expect_choice(3, "c0", 20, 2, NULL);
    expect_choice(3, "C1c1C1", 21, 2, NULL);
    expect_choice(3, "c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1", 21, 2, NULL);
    expect_choice(3, "c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c", 0, 0, "is not the beginning of a session id");
    expect_choice(
        3, "c", 0, 0,
        "more than one session id in these files begins with 'c'; give the id of one of these runs: c0c0c0c0 of ");
    expect_choice(3, "c3", 0, 0,
                  "no session id in these files begins with 'c3'; give the id of one of these runs: c0c0c0c0 of ");
    expect_choice(3, "c1 ", 0, 0,
                  "'c1 ' is not the beginning of a session id; give the id of one of these runs: c0c0c0c0 of ");
    expect_choice(3, "", 0, 0, "'' is not the beginning of a session id");
    struct profile_session session = {.id = {0x01, 0x23, 0xab, [15] = 0xff}};
    char text[33];
    profile_session_text(&session, text);
    assert_string_equal(text, "0123ab000000000000000000000000ff");
}

/* A file that is named twice counts once, with whatever name. */
static void test_same_file(void **state)
{
    (void)state;
    save_session(0, 0xd0, 1000000000);
    save_session(2, 0xd1, 1000000001);
    unlink(path_at(1));
    assert_int_equal(link(path_at(0), path_at(1)), 0);
    expect_choice(3, NULL, 22, 1, "1 file of 1 other run is left out");
    expect_choice(2, NULL, 20, 0, NULL);
    unlink(path_at(1)); /* the others are files of their own again */
}

/* A file of TID with samples at TIMES[2] of CLOCK_MONOTONIC; ID 0: of a run of perf. COMPLETE: its run has ended. */
static void save_times_at(const char *path, uint8_t id, uint32_t tid, const uint64_t times[2], bool complete)
{
    struct writer writer;
    begin(&writer, tid, tid);
    for (unsigned j = 0; j < writer.attr_count; j++) {
        writer.attrs[j].use_clockid = 1;
        writer.attrs[j].clockid = CLOCK_MONOTONIC;
    }
    if (id) {
        const struct pinject_item_coverage coverage = {.complete = complete};
        writer_session(&writer, id, 1000000000);
        writer_task(&writer, ENDED, 0, times[0], times[1], 0);
        writer_item(&writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
    }
    writer.time = times[0];
    writer_comm(&writer, "first", false);
    writer_comm(&writer, "second", true);
    writer_fork(&writer, tid + 100, tid + 100);
    for (unsigned j = 0; j < 2; j++) {
        writer.time = times[j];
        if (j > 0) {
            writer_begin(&writer, PERF_RECORD_LOST, 0);
            writer_u64(&writer, &writer.data, 100);
            writer_u64(&writer, &writer.data, 7);
            writer_end(&writer);
        }
        writer_sample(&writer, 0, USER, 0x1200 + j, 1000, NULL, 0);
    }
    writer_save(&writer, path);
    writer_release(&writer);
}

static void save_times(unsigned i, uint8_t id, uint32_t tid, const uint64_t times[2])
{
    save_times_at(path_at(i), id, tid, times, true);
}

/* What a copy has that ends at the last byte of the data, or OFF bytes before. */
static void truncate_path(const char *path, off_t off)
{
    uint64_t header[7]; /* the offset and the size of the data are the last two */
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
    assert_int_equal(ftruncate(fd, (off_t)(header[5] + header[6]) - off), 0);
    close(fd);
}

static void truncate_at(unsigned i, off_t off)
{
    truncate_path(path_at(i), off);
}

static struct profile *load_files(unsigned count, char *said, size_t size)
{
    const char *paths[FILES];
    char names[FILES][128];
    struct profile *profile = NULL;
    for (unsigned i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "%s", path_at(i));
        paths[i] = names[i];
    }
    check_capture();
    assert_int_equal(profile_load(paths, count, NULL, &profile), 0);
    snprintf(said, size, "%s", check_captured());
    return profile;
}

static void expect_task(const struct profile *profile, int32_t tid, const uint64_t times[2], uint64_t samples)
{
    const struct profile_task *task = task_of(profile, tid);
    assert_non_null(task);
    assert_true(task->start_ns == times[0] && task->samples == samples && !task->ended);
    assert_true(task->end_ns == times[samples - 1]);
    assert_string_equal(task->comm, "second");
}

/* Files that lost their items belong to the run in whose time they began, and have the tasks of their records. */
static void test_truncated_files(void **state)
{
    static const uint64_t run[2] = {1000, 9000}, inside[2] = {2000, 2100}, after[2] = {9001, 9100};
    char said[2048];
    (void)state;
    save_times(0, 0xa1, 20, run);
    save_times(1, 0xa1, 21, inside);
    truncate_at(1, 8);
    save_times(2, 0xa1, 22, inside);
    truncate_at(2, 0);
    struct profile *profile = load_files(3, said, sizeof(said));
    assert_true(profile->session.ours && !profile->session.items_lost);
    assert_int_equal(profile->task_count, 3);
    expect_task(profile, 21, inside, 1);
    expect_task(profile, 22, inside, 2);
    assert_int_equal(profile->files_truncated, 2);
    assert_int_equal(profile->lost, 14);
    assert_int_equal(profile->files_other_session, 0);
    assert_non_null(strstr(said, "file.1: the file is truncated: "));
    assert_non_null(strstr(said, "file.2: the file is truncated or damaged: its feature section 250 ("));
    assert_null(strstr(said, "left out"));
    assert_int_equal(raw_count(profile), 3);
    profile_free(profile);
    /* Of a later run, which is not there. */
    save_times(1, 0xa2, 21, after);
    truncate_at(1, 8);
    profile = load_files(3, said, sizeof(said));
    assert_int_equal(profile->task_count, 2);
    assert_int_equal(profile->files_other_session, 1);
    assert_non_null(strstr(said,
                           "1 file of 1 other run is left out: a truncated file without a session id; the newest run "
                           "is shown: a1a1a1a1 of "));
    profile_free(profile);
    /* A run of perf is not the newest one then, and no file says of which run it is. */
    save_times(0, 0, 20, run);
    profile = load_files(3, said, sizeof(said));
    assert_true(!profile->session.ours && profile->session.items_lost);
    assert_int_equal(profile->task_count, 2);
    expect_task(profile, 21, after, 1);
    expect_task(profile, 22, inside, 2);
    assert_non_null(strstr(said, "the newest run is shown: truncated files without session ids"));
    profile_free(profile);
}

/* A run that was active when its task began, and whose files have its name; what is not certain is left out. */
static void test_whose_a_truncated_file_is(void **state)
{
    static const uint64_t first[2] = {1000, 9000}, second[2] = {3000, 9000}, later[2] = {9500, 9600};
    static const char *const names[] = {"a.20.20", "b.30.30", "b.31.31", "c.40.40", "b.50.50"};
    char paths[5][128], said[2048];
    const char *all[5];
    struct profile *profile = NULL;
    const struct profile_options zero = {.session = "0"};
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        all[i] = strcpy(paths[i], in_directory(names[i]));
    save_times_at(all[0], 0xa1, 20, first, true);
    save_times_at(all[1], 0xa2, 30, second, true);
    save_times_at(all[2], 0xa2, 31, second, true);
    truncate_path(all[2], 8);
    profile = load_paths(all, 3, "a2"); /* a.20.20 ran, too */
    assert_int_equal(profile->task_count, 2);
    profile_free(profile);
    save_times_at(all[3], 0xa3, 40, second, true);
    truncate_path(all[3], 8);
    for (unsigned i = 1; i <= 2; i++) { /* of c no other file is there, whatever ran at that time */
        profile = load_paths(all, 4, i == 1 ? "a1" : "a2");
        assert_int_equal(profile->task_count, i);
        assert_int_equal(profile->files_other_session, i == 1 ? 3 : 2);
        profile_free(profile);
    }
    /* After the last known end of a run that may go on: only a file of its name. */
    save_times_at(all[1], 0xa2, 30, second, false);
    save_times_at(all[3], 0xa3, 40, later, true);
    truncate_path(all[3], 8);
    save_times_at(all[4], 0xa2, 50, later, true);
    truncate_path(all[4], 8);
    profile = load_paths(all, 5, "a2");
    assert_int_equal(profile->task_count, 3);
    assert_non_null(task_of(profile, 50));
    profile_free(profile);
    check_capture();
    assert_true(profile_load(all, 5, &zero, &profile) < 0);
    snprintf(said, sizeof(said), "%s", check_captured());
    assert_non_null(strstr(said, "no session id in these files begins with '0'"));
    assert_null(strstr(said, "truncated"));
    for (unsigned i = 0; i < 5; i++)
        unlink(all[i]);
}

struct visited {
    char said[256]; /* "begin NAME", "records", "end" */
    uint64_t records;
    const char *failing;
};

static int visit(struct visited *visited, const char *what, const char *name)
{
    size_t used = strlen(visited->said);
    snprintf(visited->said + used, sizeof(visited->said) - used, "%s%s ", what, name);
    return visited->failing && strcmp(visited->failing, what) == 0 ? -EIO : 0;
}

static int visit_begin(void *context, const char *path, const struct file *file)
{
    assert_true(file->source.fd >= 0);
    return visit(context, "begin", strrchr(path, '.'));
}

static int visit_record(void *context, const struct file *file, const struct record *record)
{
    struct visited *visited = context;
    assert_true(file->source.fd >= 0 && record->payload);
    visited->records++;
    return visited->failing && strcmp(visited->failing, "record") == 0 ? -EIO : 0;
}

static int visit_end(void *context, const struct file *file)
{
    assert_true(file->source.fd >= 0);
    return visit(context, "end", "");
}

static void expect_visits(struct profile *profile, const char *failing, int status, const char *said, uint64_t records)
{
    static const struct raw_visitor visitor = {.begin = visit_begin, .each = visit_record, .end = visit_end};
    struct visited visited = {.failing = failing};
    assert_int_equal(raw_records(profile, &visitor, &visited), status);
    assert_string_equal(visited.said, said);
    assert_int_equal(visited.records, records);
}

static int count_sample(void *context, const struct profile_sample *sample)
{
    uint64_t *samples = context;
    assert_true(sample->period == 1000);
    ++*samples;
    return 0;
}

/* What was left out is not looked at again, whether it is there or not; nor is what could not be read. */
static void test_left_out(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        save_session(i, i % 2 ? 0xe1 : 0xe2, 1000000000 - i % 2);
    char names[5][128];
    const char *paths[5];
    for (unsigned i = 0; i < 5; i++) {
        snprintf(names[i], sizeof(names[i]), "%s", path_at(i));
        paths[i] = names[i];
    }
    unlink(names[4]);
    struct profile *profile = NULL;
    check_capture();
    assert_int_equal(profile_load(paths, 5, NULL, &profile), 0);
    assert_non_null(strstr(check_captured(), "file.4: No such file"));
    assert_int_equal(profile->files_bad, 1);
    assert_int_equal(profile->files_read, 2);
    unlink(names[1]);
    uint64_t samples = 0;
    check_capture();
    assert_int_equal(profile_samples(profile, count_sample, &samples), 0);
    assert_int_equal(profile_add_entries(profile, NULL), 0);
    assert_int_equal(raw_count(profile), 2);
    expect_visits(profile, NULL, 0, "begin.0 end begin.2 end ", 2);
    expect_visits(profile, "begin", -EIO, "begin.0 ", 0);
    expect_visits(profile, "record", -EIO, "begin.0 ", 1);
    expect_visits(profile, "end", -EIO, "begin.0 end ", 1);
    assert_string_equal(check_captured(), "");
    assert_int_equal(samples, 2);
    assert_int_equal(profile->files_bad, 1);
    /* One that was taken is missed. */
    unlink(names[0]);
    check_capture();
    expect_visits(profile, NULL, 0, "begin.2 end ", 1);
    assert_non_null(strstr(check_captured(), "file.0: No such file"));
    assert_int_equal(profile->files_bad, 2);
    profile_free(profile);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FILES; i++)
        unlink(path_at(i));
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_event),
        cmocka_unit_test(test_names_of_events),
        cmocka_unit_test(test_list_of_events),
        cmocka_unit_test(test_newest),
        cmocka_unit_test(test_many_sessions),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_same_file),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_truncated_files),
        cmocka_unit_test(test_whose_a_truncated_file_is),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
