/* SPDX-License-Identifier: MIT */
/* What many threads with many mappings cost: rings that must be read at once have a bound that no time decides. */
#include "check.h"

#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T    2000000000ull
#define PATH "/lib/one"

enum { MOST = 64 << 20, ALL = 128 << 20, LEAST = 1 << 20, RECORD = 112, PLACES = 4 };

static struct stage stage;
static struct tasks *tasks;
static struct task *leader, *one, *two, *other;

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    tasks = stage.tasks;
    leader = stage_process(&stage, 100, 1, T, 1000);
    one = stage_thread(&stage, 100, 101, T + 1, 10);
    two = stage_thread(&stage, 100, 102, T + 2, 10);
    other = stage_process(&stage, 200, 1, T, 1000);
    stage_thread(&stage, 200, 201, T + 1, 10);
    tasks->now_ns = T + 1000000000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_free(&stage);
    return 0;
}

static void put_places(struct task *task, uint64_t first)
{
    for (unsigned i = 0; i < PLACES; i++)
        stage_mmap(task, PATH, first + i * 0x10000, T + 100 + i);
}

/* What it has left in this second. */
static void leave(struct process *process, uint64_t bytes)
{
    process->told_second = tasks->now_ns / 1000000000;
    process->told = MOST - bytes;
}

static unsigned mappings_of(const char *path)
{
    struct kit_file file;
    assert_true(kit_read(path, &file));
    unsigned count = file.records[PERF_RECORD_MMAP2];
    kit_file_free(&file);
    return count;
}

static void too_many_are_in_one_file(void **state)
{
    (void)state;
    put_places(one, 0x100000);
    put_places(other, 0x100000);
    leave(leader->process, 2 * 2 * RECORD + 1 + 2 + 3); /* two to two threads; and three comparisons */
    tasks_task_ended(tasks, one, true);
    assert_int_equal(tasks->mappings_untold, PLACES - 2);
    assert_int_equal(leader->process->told, MOST);
    assert_int_equal(space_count(&leader->process->space), 1 + 2);
    tasks_task_ended(tasks, other, true);
    assert_int_equal(tasks->mappings_untold, PLACES - 2);
    assert_int_equal(space_count(&other->process->space), 1 + PLACES);
    /* In the next second there is more. */
    tasks->now_ns += 1000000000;
    put_places(two, 0x200000);
    tasks_drain(tasks, two);
    assert_int_equal(tasks->mappings_untold, PLACES - 2);
    stage_close(&stage);
    assert_int_equal(mappings_of("out.100.101"), 1 + PLACES);
    assert_int_equal(mappings_of("out.100.102"), 1 + 2 + PLACES);
    assert_int_equal(mappings_of("out.100.100"), 1 + 2 + PLACES);
    assert_int_equal(mappings_of("out.200.201"), 1 + PLACES);
}

/* The end of a session is one round: who has had his share has it no more. */
static void the_end_has_the_same_bound(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 50; i++)
        put_places(i % 2 ? one : two, 0x100000 + i * 0x100000);
    leave(leader->process, 1);
    stage_close(&stage);
    assert_int_equal(tasks->mappings_untold, 50 * PLACES);
    assert_int_equal(mappings_of("out.100.101"), 1 + 25 * PLACES);
    assert_int_equal(mappings_of("out.100.100"), 1);
}

/* Many processes have no more than one or two. */
static void all_have_a_bound(void **state)
{
    (void)state;
    struct share *share = leader->process->share;
    assert_ptr_equal(other->process->share, share);
    share->told_second = tasks->now_ns / 1000000000;
    share->told = ALL - 1;
    assert_true(tasks_may_tell(tasks, leader->process, 2 * LEAST));
    assert_int_equal(share->told, ALL - 1 + 2 * LEAST);
    assert_false(tasks_may_tell(tasks, leader->process, 1));
    assert_false(tasks_may_tell(tasks, other->process, LEAST + 1));
    assert_true(tasks_may_tell(tasks, other->process, LEAST));
    assert_false(tasks_may_tell(tasks, other->process, 1));
    tasks->now_ns += 1000000000;
    assert_true(tasks_may_tell(tasks, other->process, MOST));
    assert_false(tasks_may_tell(tasks, other->process, 1));
    assert_true(tasks_may_tell(tasks, leader->process, MOST));
}

/* Neither a storm of threads, nor one of processes, makes more of what is mapped. Each file has as many as it may. */
static void who_begins_has_the_same_bound(void **state)
{
    (void)state;
    put_places(leader, 0x100000);
    tasks_drain(tasks, leader);
    leave(leader->process, (1 + PLACES) * RECORD + RECORD + RECORD / 2);
    stage_thread(&stage, 100, 103, T + 200, 10);
    assert_int_equal(tasks->mappings_untold, 0);
    stage_thread(&stage, 100, 104, T + 201, 10);
    assert_int_equal(tasks->mappings_untold, PLACES);
    stage_thread(&stage, 100, 105, T + 202, 10);
    assert_int_equal(tasks->mappings_untold, PLACES + 1 + PLACES);
    tasks->now_ns += 1000000000;
    stage_thread(&stage, 100, 106, T + 203, 10);
    assert_int_equal(tasks->mappings_untold, 1 + 2 * PLACES);
    stage_close(&stage);
    assert_int_equal(mappings_of("out.100.103"), 1 + PLACES);
    assert_int_equal(mappings_of("out.100.104"), 1);
    assert_int_equal(mappings_of("out.100.105"), 0);
    assert_int_equal(mappings_of("out.100.106"), 1 + PLACES);
}

/* Who is of another user than who has had all has all. */
static void users_have_their_own(void **state)
{
    (void)state;
    enum { USER = 4711 };
    struct notification *notification = stage_notification(PINJECT_PROCESS, 300, 300, 1, T + 10);
    stage_events(&stage, notification, 10);
    notification->limited = true;
    notification->user = USER;
    tasks_admit(tasks, notification);
    struct process *process = tasks_find_process(tasks, 300);
    assert_ptr_equal(process->share, shares_of(&tasks->shares, USER));
    assert_ptr_not_equal(process->share, leader->process->share);
    assert_ptr_equal(process->space.quota, &process->share->quota);
    assert_ptr_equal(leader->process->space.quota, &leader->process->share->quota);
    leader->process->share->told_second = tasks->now_ns / 1000000000;
    leader->process->share->told = ALL;
    assert_false(tasks_may_tell(tasks, leader->process, LEAST + 1));
    assert_true(tasks_may_tell(tasks, process, MOST));
    assert_false(tasks_may_tell(tasks, process, 1));
    /* What it makes and does not ask is its user's; what says that it was made by it is not. */
    for (unsigned i = 0; i < 3; i++) {
        notification = stage_notification(PINJECT_PROCESS, 301 + (int)i, 301 + (int)i, 300, T + 20);
        stage_events(&stage, notification, 10);
        notification->attached_late = i == 1;
        notification->inherited = i == 2;
        tasks_admit(tasks, notification);
        assert_ptr_equal(tasks_find_process(tasks, 301 + (int)i)->share, i ? process->share : leader->process->share);
    }
    /* Of one that is told of by others its user may tell later. */
    notification = stage_notification(PINJECT_GENERATION, 301, 301, 300, T + 30);
    notification->limited = true;
    notification->user = USER;
    tasks_admit(tasks, notification);
    assert_ptr_equal(tasks_find_process(tasks, 301)->share, process->share);
    assert_ptr_equal(tasks_find_process(tasks, 301)->space.quota, &process->share->quota);
    /* Beyond so many they share a place. */
    for (uid_t user = 1; user < 2 * SHARES; user++)
        shares_of(&tasks->shares, user);
    assert_ptr_equal(shares_of(&tasks->shares, USER), process->share);
    assert_ptr_equal(shares_of(&tasks->shares, 2 * SHARES), &tasks->shares.users[SHARES - 2]);
    assert_int_equal(tasks->shares.count, SHARES - 1);
}

/* Who maps nothing loses nothing, however many threads end at once and whatever their process has had. */
static void a_storm_loses_nothing(void **state)
{
    (void)state;
    enum { THREADS = 200, SAMPLES = 500 };
    struct task *all[THREADS];
    for (int i = 0; i < THREADS; i++)
        all[i] = stage_thread(&stage, 100, 1000 + i, T + 10, 10);
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned j = 0; j < SAMPLES; j++)
            stage_sample(all[i], 0x1000, T + 100 + j);
    leave(leader->process, 0);
    tasks->share_ns = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        if (i % 2)
            tasks_task_ended(tasks, all[i], true);
    }
    stage_close(&stage);
    assert_int_equal(tasks->samples, THREADS * SAMPLES);
    assert_int_equal(tasks->mappings_untold + tasks->broken_rings + tasks->lost, 0);
}

/* What a library has that is loaded again and again costs a comparison, and no copy. */
static void known_ones_are_not_copied(void **state)
{
    (void)state;
    put_places(one, 0x100000);
    tasks_drain(tasks, one);
    const uint64_t told = leader->process->told;
    leave(leader->process, PLACES * (1 + PLACES));
    put_places(two, 0x100000);
    tasks_drain(tasks, two);
    assert_int_equal(tasks->mappings_untold, 0);
    assert_int_equal(leader->process->told, MOST);
    assert_in_range(told, PLACES * 2 * RECORD, PLACES * 2 * RECORD + PLACES * (1 + PLACES));
}

/* Copies for who writes nothing himself do not pile up in memory. */
static void copies_are_written(void **state)
{
    (void)state;
    char record[1024] = {0};
    const struct perf_event_header header = {.type = 200, .size = sizeof(record)};
    memcpy(record, &header, sizeof(header));
    for (unsigned i = 0; i < 1024; i++)
        tasks_put_record(tasks, two, record, sizeof(record));
    assert_true(result_pending(two->result) >= 1 << 20);
    stage_mmap(one, PATH, 0x100000, T + 100);
    tasks_drain(tasks, one);
    assert_int_equal(result_pending(two->result), 0);
    assert_true(result_pending(leader->result) > 0);
    stage_close(&stage);
}

/* However many notifications of a batch refer to a process: its rings had all that these refer to when it began. */
static void rings_are_read_once_in_a_batch(void **state)
{
    (void)state;
    stage_sample(leader, 0x1000, T + 100);
    stage_sample(two, 0x1000, T + 100);
    tasks->batch++;
    tasks_drain_process(tasks, leader->process);
    assert_true(leader->samples == 1 && two->samples == 1);
    stage_sample(two, 0x1000, T + 200);
    tasks_drain_process(tasks, leader->process);
    assert_int_equal(two->samples, 1);
    /* Who came meanwhile has not been read. */
    struct notification *notification = stage_notification(PINJECT_THREAD, 100, 103, 1, T + 300);
    stage_events(&stage, notification, 10);
    tasks_admit(tasks, notification);
    struct task *three = tasks_find(tasks, 103);
    stage_sample(three, 0x1000, T + 400);
    tasks_drain_process(tasks, leader->process);
    assert_true(three->samples == 1 && two->samples == 1);
    const uint64_t batch = tasks->batch;
    tasks_notify(tasks, NULL);
    assert_int_equal(tasks->batch, batch + 1);
    tasks_drain_process(tasks, leader->process);
    assert_int_equal(two->samples, 2);
    tasks_sweep(tasks);
    assert_int_equal(tasks->batch, batch + 2);
    stage_close(&stage);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(too_many_are_in_one_file),       TEST(the_end_has_the_same_bound),    TEST(all_have_a_bound),
        TEST(a_storm_loses_nothing),          TEST(known_ones_are_not_copied),     TEST(copies_are_written),
        TEST(rings_are_read_once_in_a_batch), TEST(who_begins_has_the_same_bound), TEST(users_have_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
