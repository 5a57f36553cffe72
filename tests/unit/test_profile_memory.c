/* SPDX-License-Identifier: MIT */
/* Each allocation of a load fails in turn: the result is an error or a whole profile, and nothing leaks (LeakSanitizer
 * looks). */
#include "check.h"

#include <errno.h>
#include <fcntl.h>

#include "analyze/model/profile.h"
#include "perfdata_writer.h"

/* How many more may succeed. */
static long allowance = -1;

static bool refused(void)
{
    return allowance >= 0 && allowance-- <= 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return refused() ? NULL : __real_reallocarray(old, count, size);
}

/* What a load without faults found. */
static struct sizes {
    uint32_t files, tasks, modules, dumps, frames, stacks, entries;
} whole;

/* A stack that was dumped stays as it was recorded where its tables do not fit into memory; it is counted. */
static bool dumped;

static int no_sample(void *context, const struct profile_sample *sample)
{
    (void)context;
    (void)sample;
    return 0;
}

static struct sizes sizes_of(const struct profile *profile)
{
    struct sizes sizes = {
        profile->files_read, profile->task_count, profile->module_count, profile->jit_dump_count, 0, 0, 0};
    sizes.frames = dumped ? 0 : profile->frame_count;
    sizes.stacks = dumped ? 0 : profile->stack_count;
    sizes.entries = dumped ? 0 : profile->entry_count;
    return sizes;
}

/* True when nothing failed any more. */
static bool load_with(const char *const *paths, size_t count, long allowed)
{
    struct profile *profile = NULL;
    struct profile_file *file = NULL;
    allowance = allowed;
    int status = profile_load(paths, count, NULL, &profile);
    if (status == 0)
        status = profile_samples(profile, no_sample, NULL);
    if (status == 0)
        status = profile_add_entries(profile, NULL);
    if (status == 0)
        status = profile_file_load(paths[0], &file);
    bool enough = allowance > 0;
    allowance = -1;
    assert_true(status == 0 || status == -ENOMEM || status == -ENOENT);
    if (allowed < 0) {
        assert_int_equal(status, 0);
        whole = sizes_of(profile);
    } else if (status == 0) {
        /* It may fail; it may not leave out what is in the files. */
        const struct sizes sizes = sizes_of(profile);
        assert_memory_equal(&sizes, &whole, sizeof(whole));
    }
    profile_file_free(file);
    profile_free(profile);
    return enough;
}

static void check_all(const char *const *paths, size_t count)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), saved = dup(2);
    dup2(null, 2);
    load_with(paths, count, -1);
    long allowed = 0;
    while (allowed < 5000 && !load_with(paths, count, allowed))
        allowed++;
    dup2(saved, 2);
    close(saved);
    close(null);
    assert_true(allowed > 20 && allowed < 5000);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char *const ours[] = {TEST_SEEDS "/ours.data", TEST_SEEDS "/ours-thread.data",
                                       TEST_SEEDS "/ours-split.data"};
    static const char *const theirs[] = {TEST_DATA "/fp.data"}, *const piped[] = {TEST_DATA "/pipe.data"},
                             *const packed[] = {TEST_DATA "/ours-2.data"}, *const dumps[] = {TEST_SEEDS "/dumps.data"};
    check_all(ours, 3);
    check_all(theirs, 1);
    check_all(piped, 1);
    check_all(packed, 1);
    dumped = true;
    check_all(dumps, 1);
    dumped = false;
}

/* Code that is in no file: a BPF program, and what a just-in-time compiler says of its own. */
static void test_no_memory_for_generated_code(void **state)
{
    (void)state;
    char path[] = "/tmp/pinject-memory-XXXXXX";
    const char *const paths[] = {path};
    struct writer writer;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    writer.pid = writer.tid = 10;
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/tmp/jit-10.dump");
    /* More text than fits into the memory that is asked for at once. */
    char name[1000];
    memset(name, 'b', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    for (uint64_t i = 0; i < 40; i++) {
        const uint64_t start = 0xffffffffc0001000 + i * 0x1000;
        name[0] = (char)('0' + i);
        writer_begin(&writer, PERF_RECORD_KSYMBOL, 0);
        writer_u64(&writer, &writer.data, start);
        writer_u32(&writer, &writer.data, 0x40);
        writer_u16(&writer, &writer.data, 1);
        writer_u16(&writer, &writer.data, 0);
        buffer_string(&writer.data, name);
        writer_end(&writer);
        writer_sample(&writer, 0, PERF_RECORD_MISC_KERNEL, start + 1, 1, NULL, 0);
    }
    writer_save(&writer, path);
    writer_release(&writer);
    check_all(paths, 1);
    assert_true(whole.modules > 40);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory),
                                       cmocka_unit_test(test_no_memory_for_generated_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
