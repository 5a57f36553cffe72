/* SPDX-License-Identifier: MIT */
/* analyze/read: what is opened by its path. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analyze/read/file.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

struct seen {
    unsigned samples;
    uint64_t last_ns;
};

static int count_samples(void *context, const struct record *record)
{
    struct seen *seen = context;
    if (record->type == PERF_RECORD_SAMPLE) {
        seen->samples++;
        seen->last_ns = record->time;
    }
    return 0;
}

static char directory[] = "/tmp/pinject-reader-XXXXXX";

static const char *in_directory(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void expect_open_error(const char *path, int status, const char *text)
{
    struct file file;
    struct problem problem = {""};
    assert_int_equal(file_open(&file, path, &problem), status);
    if (!strstr(problem.text, text))
        fail_msg("\"%s\" instead of \"%s\"", problem.text, text);
}

/* A table of ids that takes nearly all of the file. */
static void test_table_of_ids(void **state)
{
    (void)state;
    enum { IDS = 1000 };
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct problem problem = {""};
    struct file file;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1, NULL);
    writer_finish(&writer, &bytes);
    const uint64_t section[2] = {bytes.size, IDS * sizeof(uint64_t)};
    memcpy(bytes.data + sizeof(struct perfdata_header) + 8 * WRITER_ATTRS + sizeof(struct perf_event_attr), section,
           sizeof(section));
    for (uint64_t i = 0; i < IDS; i++)
        buffer_u64(&bytes, 5000 + i);
    assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
    for (uint64_t i = 0; i < IDS; i++)
        assert_ptr_equal(attr_with_id(&file.attrs, 5000 + i), file.attrs.items);
    assert_null(attr_with_id(&file.attrs, 5000 + IDS));
    assert_int_equal(file.attrs.items[0].ids, IDS);
    file_release(&file);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* What panalyze starts, a pager or objdump, has none of its files. */
static void test_own_descriptor(void **state)
{
    (void)state;
    struct writer writer;
    struct problem problem = {""};
    struct file file;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1, "cpu-clock");
    writer_save(&writer, in_directory("own"));
    writer_release(&writer);
    assert_int_equal(file_open(&file, in_directory("own"), &problem), 0);
    assert_int_equal(fcntl(file.source.fd, F_GETFD), FD_CLOEXEC);
    file_release(&file);
    assert_int_equal(unlink(in_directory("own")), 0);
}

static void test_not_files(void **state)
{
    (void)state;
    expect_open_error(in_directory("missing"), -ENOENT, "No such file");
    expect_open_error(directory, -EISDIR, "this is a directory");
    assert_int_equal(mkfifo(in_directory("fifo"), 0600), 0);
    expect_open_error(in_directory("fifo"), -EINVAL, "this is a pipe");
    int fd = open(in_directory("empty"), O_CREAT | O_WRONLY | O_CLOEXEC, 0);
    close(fd);
    if (geteuid() != 0)
        expect_open_error(in_directory("empty"), -EACCES, "Permission denied");
    else
        expect_open_error(in_directory("empty"), -ENODATA, "the file is empty; record again");
    expect_open_error("/dev/null", -EINVAL, "this is a character device");
}

#define SMALL (256u << 10) /* what is read at once */

/* Bytes that were read stay valid in a small file; a larger one is read where it is asked for. */
static void test_small_and_large(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 4096, SMALL - 1, SMALL, SMALL + 1, 3 * SMALL};
    static unsigned char bytes[3 * SMALL];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7 + i / 4096);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct source source;
        struct problem problem = {""};
        const uint64_t size = sizes[i];
        int fd = open(in_directory("large"), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, bytes, size), size);
        close(fd);
        assert_int_equal(source_open(&source, in_directory("large"), &problem), 0);
        assert_int_equal(source.size, size);
        assert_int_equal(source.whole, size <= SMALL);
        const unsigned char *first = source_at(&source, 0, 1);
        assert_int_equal(*first, bytes[0]);
        assert_int_equal(*source_at(&source, size - 1, 1), bytes[size - 1]);
        assert_int_equal(*source_at(&source, size / 2, 1), bytes[size / 2]);
        assert_memory_equal(source_at(&source, 0, size), bytes, size);
        if (source.whole)
            assert_ptr_equal(source_at(&source, 0, 1), first);
        /* Nothing is behind the end, however much is asked for. */
        assert_non_null(source_at(&source, size, 0));
        assert_null(source_at(&source, size, 1));
        assert_null(source_at(&source, 0, size + 1));
        assert_null(source_at(&source, size + 1, 0));
        assert_null(source_at(&source, UINT64_MAX, 1));
        assert_null(source_at(&source, 1, SIZE_MAX));
        assert_null(source_at(&source, 1, size));
        assert_memory_equal(source_at(&source, size - 1, 1), bytes + size - 1, 1);
        source_release(&source);
        assert_int_equal(source.fd, -1);
        assert_null(source_at(&source, 0, 1));
    }
}

/* More than fits into memory at once: read in windows, and cut off while it is read. */
static void test_large(void **state)
{
    (void)state;
    struct writer writer;
    uint64_t chain[64] = {PERF_CONTEXT_USER};
    const unsigned count = 6000;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1, "cpu-clock");
    for (unsigned i = 0; i < count; i++) {
        writer.time = 1000 + (i ^ 1);
        writer_sample(&writer, 0, PERF_RECORD_MISC_USER, 1, i, chain, i % 64);
        if (i % 100 == 99)
            writer_round(&writer);
    }
    writer_save(&writer, in_directory("large"));
    struct file file;
    struct problem problem = {""};
    struct seen seen = {0};
    assert_int_equal(file_open(&file, in_directory("large"), &problem), 0);
    assert_false(file.source.whole);
    assert_int_equal(file_records(&file, UINT64_MAX, count_samples, &seen), 0);
    assert_int_equal(seen.samples, count);
    assert_int_equal(seen.last_ns, 1000 + count - 1);
    assert_string_equal(file.problem.text, "");
    /* Again, from a file that lost its end: no signal, what is there, and a word about it. */
    assert_int_equal(truncate(in_directory("large"), 1u << 20), 0);
    seen.samples = 0;
    assert_int_equal(file_records(&file, UINT64_MAX, count_samples, &seen), 0);
    assert_true(seen.samples > 100 && seen.samples < count);
    assert_non_null(strstr(file.problem.text, "it shrank"));
    file_release(&file);
    writer_release(&writer);
}

/* The description of an event has from 80 (the first kernel's, and where its ids are) to 4096 bytes. */
static void test_size_of_description(void **state)
{
    (void)state;
    static const struct {
        unsigned char size[2];
        bool possible;
    } cases[] = {{{79, 0}, false}, {{80, 0}, true}, {{0, 16}, true}, {{1, 16}, false}};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    writer_finish(&writer, &bytes);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct file file;
        struct problem problem = {""};
        memcpy(bytes.data + offsetof(struct perfdata_header, attr_size), cases[i].size, 2);
        if (file_open_memory(&file, bytes.data, bytes.size, &problem) == 0)
            file_release(&file);
        else
            assert_true(problem.text[0]);
        assert_int_equal(!strstr(problem.text, "says that an event description has"), cases[i].possible);
    }
    writer_release(&writer);
    buffer_release(&bytes);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    static const char *const names[] = {"fifo", "empty", "large"};
    for (size_t i = 0; i < 3; i++)
        unlink(in_directory(names[i]));
    return rmdir(directory);
}

/* One record that is too short for an id, one whose id is longer than any; what follows is read. */
static void test_damaged_build_ids(void **state)
{
    (void)state;
    static const unsigned char id[20] = {1, 2, 3};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    struct buffer *to = &writer.features[PERFDATA_BUILD_ID];
    writer_u32(&writer, to, 0);
    writer_u16(&writer, to, PERF_RECORD_MISC_USER);
    writer_u16(&writer, to, 8 + 4 + 16);
    writer_u32(&writer, to, 1);
    memset(buffer_extend(to, 16), 'x', 16);
    writer_build_id(&writer, "/bin/app", id, 20, PERF_RECORD_MISC_USER);
    to->data[to->size - 16 - 4] = 25;
    writer_finish(&writer, &bytes);
    struct file file;
    struct problem problem = {""};
    assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
    assert_int_equal(file.features.build_id_count, 1);
    assert_string_equal(file.features.build_ids[0].path, "/bin/app");
    assert_int_equal(file.features.build_ids[0].size, 20);
    assert_memory_equal(file.features.build_ids[0].id, id, 20);
    file_release(&file);
    writer_release(&writer);
    buffer_release(&bytes);
}

/* Of the processors those that are online; of arguments as many as are said, whatever follows; and no fewer where the
 * count is more than there can be. */
static void test_features(void **state)
{
    (void)state;
    for (uint32_t said = 2; said < 5; said++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        writer_init(&writer, false, false);
        writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
        writer_u32(&writer, &writer.features[PERFDATA_NRCPUS], 8);
        writer_u32(&writer, &writer.features[PERFDATA_NRCPUS], 4);
        writer_u32(&writer, &writer.features[PERFDATA_CMDLINE], said);
        writer_text(&writer, &writer.features[PERFDATA_CMDLINE], "make");
        writer_text(&writer, &writer.features[PERFDATA_CMDLINE], "-j2");
        writer_text(&writer, &writer.features[PERFDATA_CMDLINE], "all");
        writer_finish(&writer, &bytes);
        struct file file;
        struct problem problem = {""};
        assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
        assert_int_equal(file.features.cpus, 4);
        assert_int_equal(file.features.argument_count, said < 3 ? said : 3);
        assert_string_equal(file.features.arguments[0], "make");
        assert_string_equal(file.features.arguments[1], "-j2");
        file_release(&file);
        writer_release(&writer);
        buffer_release(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_files),      cmocka_unit_test(test_table_of_ids),
        cmocka_unit_test(test_own_descriptor), cmocka_unit_test(test_small_and_large),
        cmocka_unit_test(test_large),          cmocka_unit_test(test_damaged_build_ids),
        cmocka_unit_test(test_features),       cmocka_unit_test(test_size_of_description),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
