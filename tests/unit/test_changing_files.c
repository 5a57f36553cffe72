/* SPDX-License-Identifier: MIT */
/* analyze/read and analyze/model: a file that somebody writes while it is opened. */
#include "profile_kit.h"

#include <sys/stat.h>

#define FEATURES_AT 72 /* of struct perfdata_header */
#define ATTEMPTS    5

_Static_assert(offsetof(struct perfdata_header, features) == FEATURES_AT, "the bits of the features");

/* What is done to the file at the pause number AT (1: the first), or when it is read for the time number AT. */
struct change {
    unsigned at, seen;
    const char *path;
    const void *bytes;
    size_t size;
};

static struct change at_pause, at_read, at_choice;

static void make(struct change *change)
{
    if (++change->seen != change->at)
        return;
    int fd = open(change->path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(buffer_write(fd, change->bytes, change->size), 0);
    close(fd);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap wants these names. */
int __wrap_usleep(useconds_t time);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset);
ssize_t __real_pread(int fd, void *to, size_t size, off_t offset);
int __wrap_choose_session(struct loader *loader, const char *wanted, uint32_t *ret_session);
int __real_choose_session(struct loader *loader, const char *wanted, uint32_t *ret_session);

/* The pauses pass at once. */
int __wrap_usleep(useconds_t time)
{
    (void)time;
    make(&at_pause);
    return 0;
}

/* The change comes behind what is read. */
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset)
{
    ssize_t got = __real_pread(fd, to, size, offset);
    make(&at_read);
    return got;
}

/* All files were looked at, none was read. */
int __wrap_choose_session(struct loader *loader, const char *wanted, uint32_t *ret_session)
{
    make(&at_choice);
    return __real_choose_session(loader, wanted, ret_session);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static struct buffer whole; /* the file when it is finished */

static void save(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(buffer_write(fd, bytes, size), 0);
    close(fd);
}

static void make_whole(bool pipe)
{
    struct writer writer;
    writer_init(&writer, false, pipe);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    writer_text(&writer, &writer.features[PERFDATA_HOSTNAME], "somewhere");
    writer_sample(&writer, 0, USER, 0x1010, 1, NULL, 0);
    buffer_clear(&whole);
    writer_finish(&writer, &whole);
    writer_release(&writer);
}

/* In front of its features our recorder writes more data: it takes them out of the header first. */
static void save_between(const char *path)
{
    static const unsigned char none[32];
    make_whole(false);
    save(path, whole.data, whole.size);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, none, sizeof(none), FEATURES_AT), sizeof(none));
    close(fd);
}

static void no_changes(void)
{
    at_pause = at_read = at_choice = (struct change){0};
}

/* Opens PATH with so many pauses; what was opened in between is closed. */
static void expect_open(const char *path, int status, unsigned pauses, const char *hostname)
{
    struct file file;
    struct problem problem = {""};
    unsigned fds = check_open_fds();
    assert_int_equal(file_open(&file, path, &problem), status);
    assert_int_equal(at_pause.seen, pauses);
    if (status == 0) {
        assert_string_equal(problem.text, "");
        assert_string_equal(file.features.hostname, hostname);
        file_release(&file);
    } else {
        assert_true(problem.text[0]);
    }
    assert_int_equal(check_open_fds(), fds);
}

/* Finished while it is looked at: at the first pause, or at the last. */
static void test_between_versions(void **state)
{
    (void)state;
    const char *path = in_directory("one");
    for (unsigned at = 1; at <= ATTEMPTS; at++) {
        no_changes();
        save_between(path);
        at_pause = (struct change){.at = at, .path = path, .bytes = whole.data, .size = whole.size};
        expect_open(path, 0, at, "somewhere");
    }
}

/* It stays as it is: after some attempts what is there is taken. */
static void test_never_finished(void **state)
{
    (void)state;
    no_changes();
    save_between(in_directory("one"));
    expect_open(in_directory("one"), 0, ATTEMPTS, "");
}

static void test_between_versions_of_a_directory(void **state)
{
    (void)state;
    const char *path = in_directory("recording/data");
    no_changes();
    save_between(path);
    save(in_directory("recording/data.0"), "", 0);
    save(in_directory("recording/data.1"), whole.data, 8);
    at_pause = (struct change){.at = 2, .path = path, .bytes = whole.data, .size = whole.size};
    expect_open(in_directory("recording"), 0, 2, "somewhere");
}

/* The header was another one when it was read: damaged, or without features. */
static void test_other_header(void **state)
{
    (void)state;
    const char *path = in_directory("one");
    for (unsigned damaged = 0; damaged < 3; damaged++) {
        no_changes();
        save_between(path);
        struct buffer before = BUFFER_INIT;
        assert_int_equal(buffer_read_file(&before, path, 1u << 20), 0);
        if (damaged == 1)
            before.data[0] ^= 1; /* no perf.data file */
        if (damaged == 2)
            before.data[16] = 1; /* entries of one byte */
        save(path, before.data, before.size);
        no_changes();
        at_read = (struct change){.at = 1, .path = path, .bytes = whole.data, .size = whole.size};
        expect_open(path, 0, 1, "somewhere");
        buffer_release(&before);
    }
}

/* What does not change is not looked at twice: whole, of a pipe, not finished, too short, or damaged. */
static void test_nothing_to_wait_for(void **state)
{
    (void)state;
    const char *path = in_directory("one");
    no_changes();
    make_whole(false);
    save(path, whole.data, whole.size);
    expect_open(path, 0, 0, "somewhere");
    memset(whole.data + 48, 0, 8);
    memset(whole.data + FEATURES_AT, 0, 32);
    save(path, whole.data, whole.size);
    expect_open(path, 0, 0, "");
    for (size_t size = 1; size < sizeof(struct perfdata_header); size++) {
        save(path, whole.data, size);
        expect_open(path, size < 8 ? -ENOEXEC : -EBADMSG, 0, "");
    }
    whole.data[16] = 1;
    save(path, whole.data, whole.size);
    expect_open(path, -EBADMSG, 0, "");
    /* Of a pipe the features come later. */
    make_whole(true);
    save(path, whole.data, whole.size);
    expect_open(path, 0, 0, "");
    save(path, whole.data, 16);
    expect_open(path, 0, 0, "");
    /* No features, and no bytes behind the data. */
    struct writer writer;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, NULL);
    writer_sample(&writer, 0, USER, 0x1010, 1, NULL, 0);
    writer_save(&writer, path);
    expect_open(path, 0, 0, "");
    writer_release(&writer);
}

/* One of our own was cut off, or written anew, after it was looked at: nothing says whose session it is any more. */
static void test_section_lost_in_between(void **state)
{
    (void)state;
    const char *path = in_directory("one");
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_text(&writer, &writer.features[PERFDATA_HOSTNAME], "somewhere");
    writer_session(&writer, 0xaa, 1000);
    writer_task(&writer, ENDED, 0, 600, 9000, 0);
    writer_sample(&writer, 0, USER, 0x1100, 1000, NULL, 0);
    writer_finish(&writer, &bytes);
    save(path, bytes.data, bytes.size);
    /* As another feature that nobody knows. */
    bytes.data[FEATURES_AT + PINJECT_FEATURE / 8] ^= 1u << PINJECT_FEATURE % 8;
    bytes.data[FEATURES_AT + 255 / 8] |= 1u << 255 % 8;
    no_changes();
    at_choice = (struct change){.at = 1, .path = path, .bytes = bytes.data, .size = bytes.size};
    struct profile *profile = load_paths(&path, 1, NULL);
    const struct profile_session *session = &profile->session;
    assert_int_equal(at_choice.seen, 1);
    assert_true(session->ours);
    assert_string_equal(session->version, "");
    assert_string_equal(session->event_reason, "");
    assert_string_equal(session->hostname, "somewhere");
    assert_string_equal(session->osrelease, "");
    assert_string_equal(session->arch, "");
    assert_string_equal(session->cpudesc, "");
    assert_int_equal(session->argument_count, 0);
    assert_string_equal(session->clock, "perf");
    assert_false(session->coverage_known);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

struct again {
    const struct profile *profile;
    uint32_t samples, frames, events, tasks;
};

static int check_again(void *context, const struct profile_sample *sample)
{
    struct again *again = context;
    again->samples++;
    assert_true(sample->event < again->events);
    assert_true(sample->task >= again->profile->tasks && sample->task < again->profile->tasks + again->tasks);
    for (uint32_t i = 0; i < sample->depth; i++)
        assert_true(sample->frames[i] < again->frames);
    return 0;
}

/* STRANGE samples, each of another kind: at another place, by another event, of another process. */
static void write_samples(struct writer *writer, bool event, unsigned strange, struct buffer *ret)
{
    begin(writer, 10, 10);
    if (event)
        writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, "context-switches");
    for (unsigned i = 0; i < 3; i++) {
        writer->time++;
        writer_sample(writer, 0, USER, i == 2 ? 0x1300 : 0x1100, 1, NULL, 0);
    }
    for (unsigned i = 0; i < strange; i++) {
        writer->time++;
        writer->pid = writer->tid = i == 2 ? 20 : 10;
        writer_sample(writer, i == 1 ? 2 : 0, USER, i == 0 ? 0x2200 : 0x1100, 1, NULL, 0);
    }
    writer_finish(writer, ret);
    writer_release(writer);
}

/* The same file with more in it than when it was loaded: what nobody has made room for is left out, and counted. */
static void test_more_in_it_than_before(void **state)
{
    (void)state;
    const char *path = in_directory("one");
    for (unsigned strange = 0; strange <= 3; strange++) {
        struct writer writer;
        struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
        no_changes();
        write_samples(&writer, false, 0, &before);
        write_samples(&writer, strange > 1, strange, &after);
        save(path, before.data, before.size);
        struct profile_options options = {.merged = PROFILE_BY_STACK};
        for (int way = 0; way < 2; way++) {
            struct profile *profile = NULL;
            save(path, before.data, before.size);
            assert_int_equal(profile_load(&path, 1, &options, &profile), 0);
            struct loader *loader = profile->loader;
            save(path, after.data, after.size);
            loader->inputs[0].limit = UINT64_MAX; /* as if it had been as long before */
            struct again again = {profile, 0, profile->frame_count, profile->event_count, profile->task_count};
            check_capture();
            int status = way ? profile_add_entries(profile, NULL) : profile_samples(profile, check_again, &again);
            const char *said = check_captured();
            assert_int_equal(status, 0);
            /* Of a process that was not there before nothing is asked. */
            unsigned left = strange < 2 ? strange : 2;
            char text[120];
            snprintf(text, sizeof(text), "one: the file changed while panalyze read it; %u of its samples are left out",
                     left);
            assert_int_equal(strstr(said, text) != NULL, left > 0);
            assert_int_equal(profile->files_bad, left > 0);
            assert_int_equal(again.samples, way ? 0 : 3);
            for (uint32_t i = 0; i < profile->entry_count; i++)
                assert_true(profile->entries[i].stack < profile->stack_count);
            profile_free(profile);
        }
        buffer_release(&before);
        buffer_release(&after);
    }
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) && mkdir(in_directory("recording"), 0700) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    buffer_release(&whole);
    unlink(in_directory("one"));
    unlink(in_directory("recording/data"));
    unlink(in_directory("recording/data.0"));
    unlink(in_directory("recording/data.1"));
    rmdir(in_directory("recording"));
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_versions),
        cmocka_unit_test(test_never_finished),
        cmocka_unit_test(test_between_versions_of_a_directory),
        cmocka_unit_test(test_other_header),
        cmocka_unit_test(test_nothing_to_wait_for),
        cmocka_unit_test(test_section_lost_in_between),
        cmocka_unit_test(test_more_in_it_than_before),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
