/* SPDX-License-Identifier: MIT */
/* Each allocation of a load fails in turn: the result is an error or a whole profile, and nothing leaks (LeakSanitizer
 * looks). */
#include "check.h"

#include <errno.h>
#include <fcntl.h>

#include "analyze/model/profile.h"

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

static int no_sample(void *context, const struct profile_sample *sample)
{
    (void)context;
    (void)sample;
    return 0;
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
    profile_file_free(file);
    profile_free(profile);
    return enough;
}

static void check_all(const char *const *paths, size_t count)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), saved = dup(2);
    dup2(null, 2);
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
                      *const packed[] = {TEST_DATA "/ours-2.data"};
    check_all(ours, 3);
    check_all(theirs, 1);
    check_all(piped, 1);
    check_all(packed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
