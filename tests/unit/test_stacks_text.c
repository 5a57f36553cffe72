/* SPDX-License-Identifier: MIT */
/* What is said of a session's call stacks, and when their dumps are made smaller. */
#include "check.h"

#include "collector/tasks.h"

static struct session session;
static struct stacks stacks;
static struct plan plan;
static struct tasks tasks;
static struct task task;

static int set_up(void **state)
{
    (void)state;
    memset(&session, 0, sizeof(session));
    memset(&stacks.counts, 0, sizeof(stacks.counts));
    memset(&task, 0, sizeof(task));
    stacks.lowered = stacks.raised = stacks.lowered_ns = 0;
    session.dump = 16384;
    tasks.session = &session;
    tasks.plan = &plan;
    plan.dump_auto = false;
    tasks.stacks = &stacks;
    return 0;
}

static void expect(const char *wanted)
{
    char text[STACKS_TEXT] = "?";
    stacks_describe(&tasks, text);
    assert_string_equal(text, wanted);
}

static void texts(void **state)
{
    static const char advice_text[] = " at 16384 bytes of stack (-g dwarf,BYTES copies more)";
    char wanted[STACKS_TEXT * 2];
    (void)state;
    tasks.stacks = NULL;
    expect("");
    tasks.stacks = &stacks;
    expect("");
    stacks.counts.ends[UNWIND_BOTTOM] = 1;
    assert_int_equal(stacks_sum(&stacks.counts), 1);
    expect("1 call stack unwound, 100.0 % complete");
    stacks.counts.ends[UNWIND_BOTTOM + 1] = 2;
    snprintf(wanted, sizeof(wanted), "3 call stacks unwound, 33.3 %% complete, 2 truncated at 16384 bytes of stack "
             "(-g dwarf,BYTES copies more)");
    expect(wanted);
    plan.dump_auto = true;
    expect("3 call stacks unwound, 33.3 % complete, 2 truncated at 16384 bytes of stack (-g auto,BYTES copies more)");
    plan.dump_auto = false;
    stacks.counts.ends[UNWIND_BOTTOM] = 9998;
    expect("10000 call stacks unwound, 99.9 % complete, 2 truncated at 16384 bytes of stack "
             "(-g dwarf,BYTES copies more)");
    stacks.counts.ends[UNWIND_BOTTOM] = 1;
    stacks.counts.chosen = 3;
    stacks.counts.behind = 4;
    stacks.counts.foreign = 5;
    assert_int_equal(stacks_sum(&stacks.counts), 15);
    strcat(wanted, ", 3 by frame pointer (the process has them), 4 by frame pointer (the collector fell behind), 5 "
                   "by frame pointer (32-bit code)");
    expect(wanted);
    session.dump = 512;
    char whole[STACKS_TEXT * 3];
    stacks.lowered = 1;
    /* Who lowered them for want of memory gives no such advice. */
    char *advice = strstr(wanted, advice_text);
    snprintf(whole, sizeof(whole), "%.*s%s; stack dumps were lowered to 512 bytes", (int)(advice - wanted), wanted,
             advice + strlen(advice_text));
    expect(whole);
    stacks.lowered = 0;
    stacks.raised = 1;
    session.dump = 32768;
    snprintf(whole, sizeof(whole), "%.*s at up to 32768 bytes of stack (raised during the run; -g dwarf,BYTES copies "
             "more)%s", (int)(advice - wanted), wanted,
             advice + strlen(advice_text));
    expect(whole);
    /* What was raised is said even where nothing is truncated. */
    stacks.counts.ends[UNWIND_TRUNCATED] = 0;
    snprintf(whole, sizeof(whole), "1 call stack unwound, 100.0 %% complete%s; stack dumps were raised to 32768 bytes",
             advice + strlen(advice_text));
    expect(whole);
    stacks.time.put_off = 1;
    stacks.no_room = 2;
    snprintf(whole, sizeof(whole),
             "%s; unwind tables not read in time: 1 file; no room for unwind tables: 2 files; stack dumps were raised to "
             "32768 bytes", wanted);
    expect(whole);
    stacks.time.put_off = stacks.no_room = 0;
    /* All ends, and numbers as long as they get: as much as fits. */
    for (unsigned i = 0; i < UNWIND_ENDS; i++)
        stacks.counts.ends[i] = 1000000000000000000;
    stacks_describe(&tasks, whole);
    assert_in_range(strlen(whole), 300, STACKS_TEXT - 1);
    stacks.counts = (struct stack_counts){.chosen = 2};
    stacks.raised = 0;
    expect("0 call stacks unwound, 2 by frame pointer (the process has them)");
}

/* Nearly full at two rounds running, and something lost since: once a while. */
static void dumps_become_smaller(void **state)
{
    (void)state;
    tasks.now_ns = 1000000000000;
    stacks_round(&tasks, &task, 7501, 10000);
    assert_false(task.behind);
    stacks_round(&tasks, &task, 7500, 10000); /* three quarters are no more than that */
    assert_false(task.behind || task.was_full);
    stacks_round(&tasks, &task, 7501, 10000);
    stacks_round(&tasks, &task, 7501, 10000);
    assert_true(task.behind);
    assert_int_equal(session.dump, 16384); /* nothing was lost */
    task.lost_records = 5;
    stacks_round(&tasks, &task, 9000, 10000);
    assert_int_equal(session.dump, 8192);
    assert_int_equal(stacks.lowered, 1);
    assert_int_equal(task.lost_seen, 5);
    task.lost_records = 6;
    stacks_round(&tasks, &task, 9000, 10000); /* that had no time to help */
    assert_int_equal(session.dump, 8192);
    for (unsigned i = 0; i < 10; i++) {
        tasks.now_ns += 100000000000;
        task.lost_records++;
        stacks_round(&tasks, &task, 9000, 10000);
    }
    assert_int_equal(session.dump, STACKS_DUMP_MIN);
    assert_int_equal(stacks.lowered, 5);
    session.dump = 1000; /* a multiple of eight, and no less than there may be */
    tasks.now_ns += 100000000000;
    task.lost_records++;
    stacks_round(&tasks, &task, 9000, 10000);
    assert_int_equal(session.dump, STACKS_DUMP_MIN);
    tasks.stacks = NULL;
    stacks_round(&tasks, &task, 9000, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(texts, set_up),
        cmocka_unit_test_setup(dumps_become_smaller, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
