/* SPDX-License-Identifier: MIT */
/* perf's directories: what belongs to them, and their parts as one stream of records. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/read/directory.h"
#include "analyze/read/file.h"
#include "perfdata_writer.h"

static char directory[] = "/tmp/pinject-directory-XXXXXX";

static const char *in_directory(const char *name)
{
    static char paths[4][64];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
    return path;
}

static void save(const char *name, const void *bytes, size_t size)
{
    int fd = open(in_directory(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s/*", directory);
    assert_int_equal(system(command), 0);
}

static void begin(struct writer *writer)
{
    writer_init(writer, false, false);
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1, "cpu-clock")->sample_type |= PERF_SAMPLE_RAW;
}

/* A sample with SIZE bytes of ballast. */
static void put_sample(struct writer *writer, uint64_t time, uint32_t size)
{
    writer->time = time;
    writer_sample(writer, 0, PERF_RECORD_MISC_USER, 0x1010, 1, NULL, 0);
    writer_u32(writer, &writer->data, size + 4);
    buffer_extend(&writer->data, size + 4);
    writer_end(writer);
}

struct seen {
    uint64_t samples, last;
    bool ordered;
};

static int note(void *context, const struct record *record)
{
    struct seen *seen = context;
    if (record->type != PERF_RECORD_SAMPLE)
        return 0;
    seen->ordered &= record->time > seen->last;
    seen->last = record->time;
    seen->samples++;
    return 0;
}

static struct seen read_directory(const char *problem_text)
{
    struct file file;
    struct problem problem = {""};
    struct seen seen = {.ordered = true};
    assert_int_equal(file_open(&file, directory, &problem), 0);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    if (!strstr(file.problem.text, problem_text))
        fail_msg("\"%s\" instead of \"%s\"", file.problem.text, problem_text);
    file_release(&file);
    return seen;
}

enum { SAMPLES = 1300, BALLAST = 60000 };

/* SAMPLES of them from TIME on, two apart; the ballast is a hole in the file. */
static void save_part(const char *name, uint64_t time)
{
    struct writer part;
    int fd = open(in_directory(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    off_t at = 0;
    assert_true(fd >= 0);
    begin(&part);
    for (unsigned i = 0; i < SAMPLES; i++) {
        buffer_clear(&part.data);
        put_sample(&part, time + 2 * i, BALLAST);
        size_t size = part.data.size, head = size - BALLAST;
        assert_int_equal(pwrite(fd, part.data.data, head, at), (ssize_t)head);
        at += (off_t)size;
        /* Which is of no meaning to the other part. */
        buffer_clear(&part.data);
        writer_round(&part);
        assert_int_equal(pwrite(fd, part.data.data, part.data.size, at), (ssize_t)part.data.size);
        at += (off_t)part.data.size;
    }
    close(fd);
    writer_release(&part);
}

/* Two threads' records, each more than is held in memory: in order of time all the same. */
static void test_order(void **state)
{
    (void)state;
    struct writer data;
    struct buffer bytes = BUFFER_INIT;
    begin(&data);
    writer_finish(&data, &bytes);
    save("data", bytes.data, bytes.size);
    save_part("data.9", 1000);
    save_part("data.10", 1001);
    struct seen seen = read_directory("");
    assert_int_equal(seen.samples, 2 * SAMPLES);
    assert_true(seen.ordered);
    writer_release(&data);
    buffer_release(&bytes);
    remove_all();
}

/* One part is damaged: the others are read to their end. */
static void test_damage(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer);
    writer_finish(&writer, &bytes);
    save("data", bytes.data, bytes.size);
    put_sample(&writer, 1000, 8);
    save("data.0", "\1\0\0\0\0\0\3\0", 8);
    save("data.1", writer.data.data, writer.data.size);
    save("data.2", "", 0);
    save("data.3", "\1\0\0", 3);
    assert_int_equal(read_directory("the file is damaged at byte 0, where a record claims to have 3 bytes").samples, 1);
    writer_release(&writer);
    buffer_release(&bytes);
    remove_all();
}

static void become(uid_t user)
{
    if (getuid() == 0)
        assert_int_equal(seteuid(user), 0);
}

/* Who may not read what is in it hears of that, and not that it is something else. */
static void test_not_allowed(void **state)
{
    (void)state;
    struct problem problem = {""};
    struct source *parts = NULL;
    uint32_t count = 0;
    struct file file;
    save("data", "12345678", 8);
    assert_int_equal(chmod(in_directory("data"), 0), 0);
    assert_int_equal(chmod(directory, 0711), 0);
    become(65534);
    assert_true(directory_is_perf(directory));
    int status = file_open(&file, directory, &problem);
    become(0);
    assert_int_equal(status, -EACCES);
    assert_string_equal(problem.text, "the file 'data' in this directory cannot be read: Permission denied");
    problem.text[0] = '\0';
    assert_int_equal(chmod(directory, 0300), 0);
    become(65534);
    status = directory_open_parts(&parts, &count, directory, &problem);
    become(0);
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(status, -EACCES);
    assert_string_equal(problem.text, "Permission denied");
    remove_all();
}

/* What cannot be looked at for another reason is none. */
static void test_no_descriptor(void **state)
{
    (void)state;
    struct rlimit limit, none;
    const uint64_t magic = __builtin_bswap64(0x32454c4946524550ull);
    save("data", &magic, 8);
    assert_true(directory_is_perf(directory));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){3, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool is_one = directory_is_perf(directory);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_false(is_one);
    remove_all();
}

/* Names that are longer than the system's. */
static void test_long_name(void **state)
{
    (void)state;
    static char path[PATH_MAX + 8];
    struct problem problem = {""};
    struct source source;
    memset(path, '/', PATH_MAX - 5);
    memcpy(path, directory, strlen(directory));
    assert_true(strlen(path) == PATH_MAX - 5);
    assert_int_equal(directory_open_data(&source, path, &problem), -ENAMETOOLONG);
    assert_string_equal(problem.text, "the path of the directory is too long");
    path[PATH_MAX - 6] = '\0'; /* "/data" and the NUL fit */
    problem.text[0] = '\0';
    assert_int_equal(directory_open_data(&source, path, &problem), -ENOENT);
    assert_string_equal(problem.text, "the file 'data' in this directory cannot be read: No such file or directory");
    save("data", "12345678", 8);
    assert_int_equal(directory_open_data(&source, path, &problem), 0);
    source_release(&source);
    remove_all();
}

static void test_what_is_one(void **state)
{
    (void)state;
    const uint64_t magic = __builtin_bswap64(0x32454c4946524550ull);
    struct problem problem = {""};
    struct file file;
    assert_false(directory_is_perf(directory));
    assert_int_equal(file_open(&file, directory, &problem), -EISDIR);
    save("data", "something else", 14);
    assert_false(directory_is_perf(directory));
    assert_false(directory_is_perf(in_directory("data")));
    save("data", &magic, 8);
    assert_true(directory_is_perf(directory));
    save("data", "", 0);
    assert_true(directory_is_perf(directory));
    problem.text[0] = '\0';
    assert_int_equal(file_open(&file, directory, &problem), -ENODATA);
    assert_string_equal(problem.text, "the file 'data' in this directory is empty; record again");
    if (geteuid() != 0) {
        assert_int_equal(chmod(in_directory("data"), 0), 0);
        save("data.0", "x", 1);
        problem.text[0] = '\0';
        assert_int_equal(file_open(&file, directory, &problem), -EACCES);
    }
    unlink(in_directory("data"));
    assert_int_equal(mkfifo(in_directory("data"), 0600), 0);
    assert_false(directory_is_perf(directory));
    remove_all();
}

static void expect_parts(int status, uint32_t count, const char *text)
{
    struct source *parts = NULL;
    uint32_t found = 0;
    struct problem problem = {""};
    assert_int_equal(directory_open_parts(&parts, &found, directory, &problem), status);
    assert_int_equal(found, count);
    if (!strstr(problem.text, text))
        fail_msg("\"%s\" instead of \"%s\"", problem.text, text);
    directory_release_parts(parts, found);
}

static void test_parts(void **state)
{
    (void)state;
    static const char *const names[] = {"data.0",  "data.7",       "data.999999", "data.", "data.x",
                                        "data.01", "data.1000000", "data.1.old",  "dat.1"};
    expect_parts(0, 0, "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        save(names[i], "x", 1);
    expect_parts(0, 3, "");
    assert_int_equal(mkfifo(in_directory("data.8"), 0600), 0);
    expect_parts(-EINVAL, 0, "the file 'data.8' in this directory cannot be read: this is a pipe");
    remove_all();
    assert_int_equal(symlink("nowhere", in_directory("data.3")), 0);
    expect_parts(-ENOENT, 0, "the file 'data.3' in this directory cannot be read: No such file");
    remove_all();
    for (unsigned i = 0; i <= 4096; i++) {
        char name[16];
        snprintf(name, sizeof(name), "data.%u", i);
        save(name, "", 0);
    }
    expect_parts(-E2BIG, 0, "has more than 4096 files");
    remove_all();
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),     cmocka_unit_test(test_damage),      cmocka_unit_test(test_what_is_one),
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_not_allowed), cmocka_unit_test(test_no_descriptor),
        cmocka_unit_test(test_long_name),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
