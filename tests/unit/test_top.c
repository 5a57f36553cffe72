/* SPDX-License-Identifier: MIT */
/* What `panalyze top` says of the moment: no figure that a machine cannot reach. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>

#include "analyze/view/top.h"
#include "test_view_fake.h"

#define MS UINT64_C(1000000)
enum { TASKS = 4 };

/* Tasks that run one after the other, 10 ms each, all the time; and looks at them. */
struct looks {
    struct fake fake;
    struct profile_task tasks[TASKS];
    struct profile_count counts[TASKS];
    struct top_look look;
    unsigned char past[4096];
};

static void looks_new(struct looks *looks)
{
    *looks = (struct looks){0};
    fake_new(&looks->fake);
    struct profile *profile = &looks->fake.profile;
    for (uint32_t i = 0; i < TASKS; i++) {
        looks->tasks[i] = profile->tasks[1];
        looks->tasks[i].tid = 100 + (int32_t)i;
        looks->tasks[i].pid = 100 + (int32_t)i;
        looks->tasks[i].index = i;
        looks->tasks[i].start_ns = (100 + 10 * i) * MS;
        looks->tasks[i].end_ns = (110 + 10 * i) * MS;
        looks->counts[i] = (struct profile_count){0, UINT32_MAX, 10 * MS, 9, 9, 10 * MS};
        looks->tasks[i].counts = &looks->counts[i];
        looks->tasks[i].count_count = 1;
    }
    profile->tasks = looks->tasks;
    profile->task_count = TASKS;
    profile->session.start_ns = 100 * MS;
    profile->session.cpus = 2;
    looks->look.future = memfd_create("future", MFD_CLOEXEC);
    assert_true(looks->look.future >= 0);
}

/* The next look; what it leaves is the past of the one after. */
static char *take(struct looks *looks)
{
    struct top_look *look = &looks->look;
    looks->fake.settings.look = look;
    assert_int_equal(ftruncate(look->future, 0), 0);
    assert_int_equal(lseek(look->future, 0, SEEK_SET), 0);
    char *text = run(&looks->fake, view_top);
    ssize_t size = pread(look->future, looks->past, sizeof(looks->past), 0);
    assert_true(size >= (ssize_t)sizeof(look->head) && size < (ssize_t)sizeof(looks->past));
    memcpy(&look->head, looks->past, sizeof(look->head));
    look->past = (const void *)(looks->past + sizeof(look->head));
    return text;
}

/* A task has used more than its life so far: some of it before it was announced. */
static void test_start_up_is_before_the_start(void **state)
{
    (void)state;
    struct looks looks;
    looks_new(&looks);
    looks.tasks[0].startup_ns = 5 * MS;
    looks.counts[0].value = looks.counts[0].scaled = 10500000;
    char *text = take(&looks);
    has(text, "100.0 %   15.5 ms");
    has_not(text, "155.0 %");
    free(text);
    close(looks.look.future);
}

static void test_rates_of_different_times_are_not_added(void **state)
{
    (void)state;
    struct looks looks;
    looks_new(&looks);
    looks.fake.profile.session.cpus = 0; /* not known: nothing is cut to it */
    char *text = take(&looks);
    has(text, "4 alive, 1.00 CPUs busy");
    free(text);
    /* All of them have ended or go on: one CPU from here to there. */
    for (uint32_t i = 0; i < TASKS - 1; i++)
        looks.tasks[i].ended = true;
    looks.tasks[3].end_ns += 20 * MS;
    looks.counts[3].value = looks.counts[3].scaled = 30 * MS;
    text = take(&looks);
    has(text, "1 alive, 1.00 CPUs busy");
    free(text);
    /* Nothing new is known: what was known goes on. */
    text = take(&looks);
    has(text, "1 alive, 1.00 CPUs busy");
    free(text);
    looks.tasks[3].end_ns += 40 * MS;
    looks.counts[3].value = looks.counts[3].scaled = 40 * MS;
    text = take(&looks);
    has(text, "1 alive, 0.25 CPUs busy");
    free(text);
    close(looks.look.future);
}

static void test_no_more_than_there_are(void **state)
{
    (void)state;
    struct looks looks;
    looks_new(&looks);
    for (uint32_t i = 0; i < TASKS; i++) {
        looks.tasks[i].start_ns = 100 * MS;
        looks.tasks[i].end_ns = 110 * MS;
    }
    char *text = take(&looks);
    has(text, "4 alive, 2.00 CPUs busy");
    free(text);
    close(looks.look.future);
}

/* Where no terminal says how many lines there are. */
static void test_ten_tasks(void **state)
{
    (void)state;
    enum { MANY = 15 };
    struct looks looks;
    struct profile_task tasks[MANY];
    looks_new(&looks);
    for (uint32_t i = 0; i < MANY; i++) {
        tasks[i] = looks.tasks[i % TASKS];
        tasks[i].tid = tasks[i].pid = 700 + (int32_t)i;
        tasks[i].index = i;
    }
    looks.fake.profile.tasks = tasks;
    looks.fake.profile.task_count = MANY;
    char *text = take(&looks);
    has(text, "15 tasks");
    has(text, "709.709");
    has_not(text, "710.710");
    free(text);
    close(looks.look.future);
}

/* All samples of a function get another name between two looks. */
static void test_another_name_is_no_more_than_all(void **state)
{
    (void)state;
    static const struct profile_module named = {.path = "/opt/no-such/app", .symbol = "known", .index = 0};
    static const struct profile_module *const modules[] = {&named};
    struct looks looks;
    looks_new(&looks);
    struct profile *profile = &looks.fake.profile;
    struct profile_entry entries[4];
    struct profile_frame frames[4];
    memcpy(entries, profile->entries, sizeof(entries));
    memcpy(frames, profile->frames, sizeof(frames));
    free(take(&looks));
    for (int i = 0; i < 3; i++)
        frames[i].module = &named;
    entries[0].weight += MS;
    profile->modules = modules;
    profile->frames = frames;
    profile->entries = entries;
    char *text = take(&looks);
    has(text, "100.0 %  95.05 %  app        known");
    free(text);
    close(looks.look.future);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_up_is_before_the_start),
        cmocka_unit_test(test_rates_of_different_times_are_not_added),
        cmocka_unit_test(test_no_more_than_there_are),
        cmocka_unit_test(test_ten_tasks),
        cmocka_unit_test(test_another_name_is_no_more_than_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
