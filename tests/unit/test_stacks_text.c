/* SPDX-License-Identifier: MIT */
/* What is said of a session's call stacks, and when their dumps are made smaller. */
#include <unistd.h>

#include "check.h"

#include "collector/tasks/task_stacks.h"
#include "collector/tasks/tasks.h"

static struct session session;
static struct stacks stacks;
static struct event_config config;
static struct tasks tasks;
static struct process process;
static struct task task;

static int set_up(void **state)
{
    (void)state;
    memset(&session, 0, sizeof(session));
    memset(&stacks.counts, 0, sizeof(stacks.counts));
    memset(&task, 0, sizeof(task));
    task.process = &process;
    stacks.lowered = stacks.raised = stacks.lowest = 0;
    session.dumps.now = 16384;
    tasks.session = &session;
    tasks.config = &config;
    config.dump_auto = false;
    stacks.config = &config;
    stacks.dumps = &session.dumps;
    tasks.stacks = &stacks;
    return 0;
}

static void expect(const char *wanted)
{
    char text[STACKS_TEXT] = "?";
    stacks_describe(tasks.stacks, text);
    assert_string_equal(text, wanted);
}

static void texts(void **state)
{
    static const char advice_text[] = " at 16384 bytes (raise -g dwarf,BYTES)";
    char wanted[STACKS_TEXT * 2];
    (void)state;
    tasks.stacks = NULL;
    expect("");
    tasks.stacks = &stacks;
    expect("");
    stacks.counts.ends[UNWIND_BOTTOM] = 1;
    assert_int_equal(stacks_sum(&stacks.counts), 1);
    expect("1 call stack unwound, 100.0 % complete");
    config.unwinder = UNWIND_ENGINE_LIBUNWIND;
    expect("1 call stack unwound by libunwind, 100.0 % complete");
    config.unwinder = UNWIND_ENGINE_TABLES;
    stacks.counts.ends[UNWIND_BOTTOM + 1] = 2;
    snprintf(wanted, sizeof(wanted),
             "3 call stacks unwound, 33.3 %% complete, 2 truncated at 16384 bytes (raise -g "
             "dwarf,BYTES)");
    expect(wanted);
    config.dump_auto = true;
    expect("3 call stacks unwound, 33.3 % complete, 2 truncated at 16384 bytes (raise -g auto,BYTES)");
    config.dump_auto = false;
    stacks.counts.ends[UNWIND_BOTTOM] = 9998;
    expect("10000 call stacks unwound, 99.9 % complete, 2 truncated at 16384 bytes (raise -g dwarf,BYTES)");
    stacks.counts.ends[UNWIND_BOTTOM] = 1;
    stacks.counts.chosen = 3;
    stacks.counts.behind = 4;
    stacks.counts.foreign = 5;
    assert_int_equal(stacks_sum(&stacks.counts), 15);
    strcat(wanted,
           ", 3 by frame pointer (the process has frame pointers), 4 by frame pointer (the collector fell behind), 5 "
           "by frame pointer (32-bit code)");
    expect(wanted);
    session.dumps.now = 16384;
    stacks.lowest = 512;
    char whole[STACKS_TEXT * 3];
    stacks.lowered = 1;
    /* Who lowered them for want of memory gives no such advice. */
    char *advice = strstr(wanted, advice_text);
    snprintf(whole, sizeof(whole), "%.*s%s; the size of stack dumps was lowered to 512 bytes", (int)(advice - wanted),
             wanted, advice + strlen(advice_text));
    expect(whole);
    stacks.lowered = 0;
    stacks.raised = 1;
    session.dumps.now = 32768;
    snprintf(whole, sizeof(whole),
             "%.*s at 32768 bytes or less (pinject raised this size during the run; raise -g dwarf,BYTES)%s",
             (int)(advice - wanted), wanted, advice + strlen(advice_text));
    expect(whole);
    /* What was raised is said even where nothing is truncated. */
    stacks.counts.ends[UNWIND_TRUNCATED] = 0;
    snprintf(whole, sizeof(whole),
             "1 call stack unwound, 100.0 %% complete%s; the size of stack dumps was raised to 32768 bytes",
             advice + strlen(advice_text));
    expect(whole);
    stacks.time.put_off = 1;
    stacks.no_room = 2;
    snprintf(whole, sizeof(whole),
             "1 call stack unwound, 100.0 %% complete%s; unwind tables not read in time: 1 file; "
             "no memory left for unwind tables: 2 files; the size of stack dumps was raised to 32768 bytes",
             advice + strlen(advice_text));
    expect(whole);
    stacks.time.put_off = stacks.no_room = 0;
    /* All ends, and numbers as long as they get: as much as fits. */
    for (unsigned i = 0; i < UNWIND_ENDS; i++)
        stacks.counts.ends[i] = 1000000000000000000;
    stacks_describe(tasks.stacks, whole);
    assert_in_range(strlen(whole), 300, STACKS_TEXT - 1);
    stacks.counts = (struct stack_counts){.chosen = 2};
    stacks.raised = 0;
    expect("0 call stacks unwound, 2 by frame pointer (the process has frame pointers)");
}

static uint32_t own_limit(void)
{
    return dump_limits_find(&session.dumps.limits, getpid());
}

/* Nearly full at two rounds running, and something lost since: once a while. */
static void dumps_become_smaller(void **state)
{
    (void)state;
    tasks.now_ns = 1000000000000;
    tasks_begin_round(&tasks, &task, 7501, 10000);
    assert_false(task.fill.behind);
    tasks_begin_round(&tasks, &task, 7500, 10000); /* three quarters are no more than that */
    assert_false(task.fill.behind || task.fill.was_full);
    tasks_begin_round(&tasks, &task, 7501, 10000);
    tasks_begin_round(&tasks, &task, 7501, 10000);
    assert_true(task.fill.behind);
    assert_int_equal(own_limit(), 0); /* nothing was lost */
    task.lost_records = 5;
    task.pid = getpid();
    tasks_begin_round(&tasks, &task, 9000, 10000);
    assert_int_equal(own_limit(), 8192);
    assert_int_equal(stacks.lowered, 1);
    assert_int_equal(task.fill.lost_seen, 5);
    task.lost_records = 6;
    tasks_begin_round(&tasks, &task, 9000, 10000); /* that had no time to help */
    assert_int_equal(own_limit(), 8192);
    for (unsigned i = 0; i < 10; i++) {
        tasks.now_ns += 29000000000;
        task.lost_records++;
        tasks_begin_round(&tasks, &task, 9000, 10000);
    }
    assert_int_equal(own_limit(), STACKS_DUMP_MIN);
    assert_true(stacks.lowered == 5 && stacks.lowest == STACKS_DUMP_MIN);
    assert_int_equal(session.dumps.now, 16384);
    tasks.stacks = NULL;
    tasks_begin_round(&tasks, &task, 9000, 10000);
}

/* After half a minute without loss a step up, until there is nothing to say any more. */
static void dumps_become_larger_again(void **state)
{
    (void)state;
    tasks.now_ns = 1000000000000;
    assert_int_equal(dump_limits_lower(&session.dumps.limits, getpid(), 16384, tasks.now_ns), 8192);
    tasks.now_ns += 500000000;
    assert_int_equal(dump_limits_lower(&session.dumps.limits, getpid(), 16384, tasks.now_ns), 4096);
    tasks.now_ns += 29999999999;
    tasks_begin_round(&tasks, &task, 100, 10000);
    assert_int_equal(own_limit(), 4096);
    tasks.now_ns++;
    tasks_begin_round(&tasks, &task, 100, 10000);
    assert_int_equal(own_limit(), 8192);
    tasks_begin_round(&tasks, &task, 100, 10000);
    assert_int_equal(own_limit(), 8192);
    tasks.now_ns += 30000000000;
    tasks_begin_round(&tasks, &task, 100, 10000);
    assert_int_equal(own_limit(), 0);
    assert_int_equal(session.dumps.limits.count, 0);
    assert_int_equal(dump_limits_lower(&session.dumps.limits, 0, 16384, tasks.now_ns), 0); /* whose it was? */
    assert_int_equal(session.dumps.limits.count, 0);
}

/* One user's limit is not another one's, and there are so many. */
static void limits_are_of_a_user(void **state)
{
    (void)state;
    struct dump_limits *limits = &session.dumps.limits;
    for (uint64_t i = 0; i < DUMP_LIMITS; i++)
        limits->entries[i] = (UINT64_C(4000000000) + i) << 32 | 512;
    limits->count = 5;
    assert_int_equal(own_limit(), 0);
    assert_int_equal(dump_limits_lower(limits, getpid(), 16384, 1), 8192);
    assert_int_equal(limits->count, 6);
    assert_int_equal(own_limit(), 8192);
    assert_int_equal(dump_limits_lower(limits, getpid(), 16384, 500000000), 0);
    assert_int_equal(dump_limits_lower(limits, getpid(), 16384, 500000001), 4096);
    limits->entries[5] = UINT64_C(4000000005) << 32 | 512;
    limits->entries[2] = 0; /* who comes next takes its place */
    assert_int_equal(dump_limits_lower(limits, getpid(), 16384, 1), 8192);
    assert_int_equal(limits->count, 6);
    limits->entries[2] = UINT64_C(4000000002) << 32 | 512;
    limits->count = DUMP_LIMITS;
    assert_int_equal(dump_limits_lower(limits, getpid(), 16384, 1), 0);
    assert_int_equal(limits->entries[0], UINT64_C(4000000000) << 32 | 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(texts, set_up),
        cmocka_unit_test_setup(dumps_become_smaller, set_up),
        cmocka_unit_test_setup(dumps_become_larger_again, set_up),
        cmocka_unit_test_setup(limits_are_of_a_user, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
