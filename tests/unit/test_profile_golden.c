/* SPDX-License-Identifier: MIT */
/* perf's own files, against what `perf script` reads out of them: golden ones, and one recorded now where perf is
 * there. */
#include "check.h"

#include <fcntl.h>

#include "analyze/model/profile.h"
#include "analyze/read/unzstd.h"

struct expected {
    FILE *script;
    const struct profile *profile;
    uint64_t samples;
};

/* "comm  pid/tid  seconds.nanoseconds:  period  event: " */
static int compare_sample(void *context, const struct profile_sample *sample)
{
    struct expected *expected = context;
    char line[512], event[64], comm[32];
    unsigned long long seconds, nanoseconds, period;
    int pid, tid;
    do
        assert_non_null(fgets(line, sizeof(line), expected->script));
    while (line[0] == '\n');
    int fields = sscanf(line, " %31s %d/%d %llu.%llu: %llu %63[^ \n]", comm, &pid, &tid, &seconds, &nanoseconds,
                        &period, event);
    if (fields != 7)
        fail_msg("not understood: %s", line);
    event[strlen(event) - 1] = '\0';
    assert_int_equal(sample->task->pid, pid);
    assert_int_equal(sample->task->tid, tid);
    assert_int_equal(sample->time_ns, seconds * 1000000000u + nanoseconds);
    assert_int_equal(sample->period, period);
    assert_string_equal(sample->comm, comm);
    assert_string_equal(expected->profile->events[sample->event].name, event);
    assert_true(sample->depth > 0);
    expected->samples++;
    return 0;
}

static bool has_module(const struct profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->module_count; i++)
        if (strstr(profile->modules[i]->path, name))
            return true;
    return false;
}

static uint64_t entry_samples(const struct profile *profile)
{
    uint64_t samples = 0;
    for (uint32_t i = 0; i < profile->entry_count; i++)
        samples += profile->entries[i].samples;
    return samples;
}

static void compare(const char *data, FILE *script)
{
    struct profile *profile = NULL;
    assert_int_equal(profile_load(&data, 1, NULL, &profile), 0);
    struct expected expected = {script, profile, 0};
    assert_int_equal(profile_samples(profile, compare_sample, &expected), 0);
    char rest[512];
    while (fgets(rest, sizeof(rest), script))
        if (rest[0] != '\n')
            fail_msg("%s: perf has more samples: %s", data, rest);
    assert_true(expected.samples > 0);
    assert_int_equal(entry_samples(profile), expected.samples);
    assert_true(has_module(profile, "/work") && has_module(profile, "libc.so") && has_module(profile, "[vdso]"));
    assert_true(profile->session.root > 0 && profile->tasks[0].root);
    assert_true(profile->task_count >= 3);
    assert_string_equal(profile->session.kernel_reference, "_text");
    profile_free(profile);
}

static void compare_golden(const char *name)
{
    char data[512], path[512];
    snprintf(data, sizeof(data), "%s/%s.data", TEST_DATA, name);
    snprintf(path, sizeof(path), "%s/%s.script", TEST_DATA, name);
    FILE *script = fopen(path, "r");
    assert_non_null(script);
    compare(data, script);
    fclose(script);
}

static const struct profile_module *find_module(const struct profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->module_count; i++)
        if (strstr(profile->modules[i]->path, name))
            return profile->modules[i];
    fail_msg("no module %s", name);
    return NULL;
}

/* A file of ours says the same whatever version of the format it is of. */
static void test_ours(void **state)
{
    (void)state;
    static const char *const names[] = {"ours-1", "ours-2"};
    static const char *const events[] = {"task-clock", "page-faults", "context-switches", "cpu-migrations"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char data[512], script[512];
        const char *path = data;
        struct profile *profile = NULL;
        snprintf(data, sizeof(data), "%s/%s.data", TEST_DATA, names[i]);
        snprintf(script, sizeof(script), "%s/%s.script", TEST_DATA, names[i]);
        assert_int_equal(profile_load(&path, 1, NULL, &profile), 0);
        struct expected expected = {fopen(script, "r"), profile, 0};
        assert_non_null(expected.script);
        assert_int_equal(profile_samples(profile, compare_sample, &expected), 0);
        fclose(expected.script);
        assert_int_equal(expected.samples, profile->tasks[0].samples);
        assert_true(profile->session.ours);
        assert_string_equal(profile->session.event_reason, "this machine has no cycles event");
        assert_int_equal(profile->session.argument_count, 9);
        assert_string_equal(profile->session.arguments[8], "./work");
        assert_int_equal(profile->session.cpus, 2);
        assert_int_equal(profile->session.kernel_build_id_size, 20);
        assert_int_equal(find_module(profile, "libc.so")->build_id_size, 20);
        assert_int_equal(find_module(profile, "[vdso]")->build_id_size, 20);
        const struct profile_task *task = &profile->tasks[0];
        assert_true(task->root);
        assert_string_equal(task->generations[0].cmdline[0], "./work");
        assert_int_equal(task->count_count, 4);
        for (uint32_t j = 0; j < task->count_count; j++)
            assert_string_equal(profile->events[task->counts[j].event].name, events[j]);
        assert_true(task->counts[0].value > 1000000 && task->counts[1].value > 50);
        profile_free(profile);
    }
}

static void test_golden(void **state)
{
    (void)state;
    static const char *const names[] = {"fp", "dwarf", "pipe", "fields", "swapped"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        compare_golden(names[i]);
}

static void test_compressed(void **state)
{
    (void)state;
    if (unzstd_available()) {
        compare_golden("zstd");
        return;
    }
    const char *path = TEST_DATA "/zstd.data";
    struct profile *profile = NULL;
    check_capture();
    assert_int_equal(profile_load(&path, 1, NULL, &profile), 0);
    assert_non_null(strstr(check_captured(), "built without libzstd"));
    profile_free(profile);
}

/* READ records of perf record -s: the thread that perf tells of has its counts. */
static void test_pipe_counts(void **state)
{
    (void)state;
    const char *path = TEST_DATA "/pipe.data";
    struct profile *profile = NULL;
    uint32_t counts = 0;
    assert_int_equal(profile_load(&path, 1, NULL, &profile), 0);
    for (uint32_t i = 0; i < profile->task_count; i++)
        counts += profile->tasks[i].count_count;
    assert_true(counts > 0);
    assert_string_equal(profile->events[0].name, "task-clock");
    profile_free(profile);
}

/* The registers of a dwarf sample taken in the kernel say where the user was. */
static void test_dwarf_user(void **state)
{
    (void)state;
    const char *path = TEST_DATA "/dwarf.data";
    struct profile *profile = NULL;
    assert_int_equal(profile_load(&path, 1, NULL, &profile), 0);
    bool user = false;
    for (uint32_t i = 0; i < profile->entry_count; i++) {
        const struct profile_stack *stack = &profile->stacks[profile->entries[i].stack];
        const struct profile_frame *last = &profile->frames[stack->frames[stack->depth - 1]];
        user |= !last->kernel && last->module && strstr(last->module->path, "/work");
    }
    assert_true(user);
    profile_free(profile);
}

/* A directory of its own, since perf moves an older file away. */
static void test_live(void **state)
{
    (void)state;
    char directory[] = "/tmp/pinject-golden-XXXXXX", command[1024], data[64];
    assert_non_null(mkdtemp(directory));
    snprintf(data, sizeof(data), "%s/perf.data", directory);
    snprintf(command, sizeof(command),
             "cp /bin/sh %s/work && perf record -q -F 2000 -e task-clock:u,page-faults:u -g -o %s %s/work -c "
             "'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; (:); /bin/true; cat /proc/self/maps | grep -c vdso' "
             ">%s/out 2>&1 </dev/null",
             directory, data, directory, directory);
    bool recorded = system(command) == 0;
    if (recorded) {
        snprintf(command, sizeof(command),
                 "perf script -i %s -F comm,pid,tid,time,period,event -G --ns 2>/dev/null </dev/null", data);
        FILE *script = popen(command, "r");
        struct profile *profile = NULL;
        const char *path = data;
        assert_non_null(script);
        assert_int_equal(profile_load(&path, 1, NULL, &profile), 0);
        struct expected expected = {script, profile, 0};
        assert_int_equal(profile_samples(profile, compare_sample, &expected), 0);
        assert_true(expected.samples > 5);
        assert_true(has_module(profile, "/work"));
        assert_true(profile->task_count >= 3);
        char line[256];
        while (fgets(line, sizeof(line), script))
            assert_int_equal(line[0], '\n');
        assert_int_equal(pclose(script), 0);
        profile_free(profile);
    }
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    assert_int_equal(system(command), 0);
    if (!recorded)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ours),        cmocka_unit_test(test_golden),     cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_pipe_counts), cmocka_unit_test(test_dwarf_user), cmocka_unit_test(test_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
