/* SPDX-License-Identifier: MIT */
/* Which notes a task's file has, in which words. */
#include "check.h"

#include <errno.h>

#include "collector/tasks/notes.h"
#include "collector/tasks/tasks.h"

#define T UINT64_C(1000000000)

static struct event_config config;
static struct tasks tasks;
static struct process process;
static struct exec_generation generation;
static struct task task;

static int set_up(void **state)
{
    (void)state;
    memset(&config, 0, sizeof(config));
    memset(&tasks, 0, sizeof(tasks));
    memset(&process, 0, sizeof(process));
    memset(&generation, 0, sizeof(generation));
    memset(&task, 0, sizeof(task));
    config.count = config.sampling = 1;
    config.events[0].samples = true;
    config.events[0].attr.type = PERF_TYPE_SOFTWARE;
    config.events[0].attr.config = PERF_COUNT_SW_TASK_CLOCK;
    tasks.config = &config;
    task.process = &process;
    task.start_ns = task.attached_late_ns = T;
    task.kind = PINJECT_PROCESS;
    return 0;
}

/* TEXT: all notes, a line each. */
#define expect(text)                       \
    do {                                   \
        struct notes notes = {.count = 0}; \
        notes_make(&notes, &tasks, &task); \
        expect_notes(&notes, text);        \
    } while (0)

static void expect_notes(const struct notes *notes, const char *wanted)
{
    char text[NOTES * NOTES_SIZE + NOTES] = "";
    for (unsigned i = 0; i < notes->count; i++) {
        strcat(text, notes->list[i]);
        strcat(text, "\n");
    }
    assert_string_equal(text, wanted);
}

static void all_is_well(void **state)
{
    (void)state;
    expect("");
    task.coverage = TASK_BY_TIMER;
    task.timer_started = true;
    expect("");
    /* Found in time, or a moment later. */
    task.attached_late_ns = T + 5000000;
    expect("");
    task.attached_late_ns = 0; /* it came by itself */
    expect("");
}

static void timers(void **state)
{
    (void)state;
    task.coverage = TASK_BY_TIMER;
    expect("counted by the kernel, not sampled: no timer started in the task (static, setuid or very short?)\n");
    task.ring_error = -ENOSPC;
    expect("counted by the kernel, not sampled: the task's timer was refused (No space left on device)\n");
    /* Not twice. */
    task.coverage = TASK_NOT_SAMPLED;
    expect("counted by the kernel, not sampled: the task's timer was refused (No space left on device)\n");
}

#define REFUSED \
    ": the kernel refused events (Permission denied), because the task is not dumpable or belongs to another user\n"

static void refused_events(void **state)
{
    (void)state;
    task.refusal = -EACCES;
    expect("without events" REFUSED);
    task.coverage = TASK_BY_TIMER;
    task.timer_started = true;
    expect("sampled by a timer" REFUSED);
    config.events[0].attr.config = PERF_COUNT_SW_PAGE_FAULTS; /* no timer can sample it */
    expect("counted, not sampled (timers sample only task-clock)" REFUSED);
    config.events[0].samples = false;
    config.sampling = 0;
    expect("counted by the preload object" REFUSED);
}

static void programs_without_a_timer(void **state)
{
    (void)state;
    task.coverage = TASK_NOT_SAMPLED;
    task.timer_started = true;
    expect("the task executed a program in which no timer runs (a static program?): only its CPU time is known\n");
    process.inherits = true;
    expect("the task executed a program in which no timer runs (a static program?): inherited events sample this "
           "program instead, and the kernel's accounting says how much CPU time it used\n");
    process.inherits = false;
    task.process = NULL;
    expect("the task executed a program in which no timer runs (a static program?): only its CPU time is known\n");
    task.covers = true;
    expect("the task executed a program in which no timer runs (a static program?): inherited events sample this "
           "program instead, and the kernel's accounting says how much CPU time it used\n");
    task.state.cause = TASK_LEFT;
    expect("the task executed a program that is not followed (--follow=exec follows it)\n");
}

static void rings(void **state)
{
    (void)state;
    task.coverage = TASK_BY_COUNTERS;
    task.ring_error = -ENOMEM;
    expect("counted but not sampled: no memory for the task's ring buffer (Cannot allocate memory)\n");
    config.sampling = 0; /* as all of them are */
    expect("");
    config.sampling = 1;
    task.coverage = TASK_BY_TIMER;
    task.timer_started = true;
    expect("");
    task.broken = true;
    expect("the task's ring buffer was damaged: later samples are missing\n");
}

static void ends_and_beginnings(void **state)
{
    (void)state;
    task.attached_late_ns = T + 5000001;
    expect("task found late: for its start-up, only the CPU time is known\n");
    task.attached_late_ns = 0;
    task.state.cause = TASK_REVOKED;
    expect("the task executed a setuid or unreadable program, and the kernel closed its events: from then on only its "
           "CPU time is known\n");
    task.state.cause = TASK_CONTINUED;
    expect("the task executed an unreadable program, and the kernel closed its events: from then on timers sample the "
           "task, and these samples are in another file\n");
    task.state.cause = TASK_CAUSE_NONE;
    task.generations_more = 12;
    expect("12 more programs that the task executed are not in this file\n");
    task.generations_more = 0;
    task.arguments_cut = 1;
    expect("the arguments of 1 program that the task executed earlier are shortened: they were too long\n");
    task.arguments_cut = 3;
    expect("the arguments of 3 programs that the task executed earlier are shortened: they were too long\n");
}

#define DID_NOT_ASK                                                                                               \
    "the preload object did not work in the program of this task (static, setuid or without access to pinject's " \
    "files?): its children and threads are not profiled\n"

static void programs_that_do_not_ask(void **state)
{
    (void)state;
    task.generations = &generation;
    generation.start_ns = T + 1;
    expect(""); /* there is none */
    task.generation_count = 1;
    expect(DID_NOT_ASK);
    generation.named = true;
    expect("");
    generation.named = false;
    generation.start_ns = T; /* the one that it began with */
    expect("");
    generation.start_ns = T + 1;
    task.kind = PINJECT_THREAD;
    expect("");
    task.kind = PINJECT_FORK;
    expect(DID_NOT_ASK);
    /* What it starts is seen from outside. */
    bool *covered[] = {&task.covers, &process.inherits};
    for (int i = 0; i < 2; i++) {
        *covered[i] = true;
        expect("");
        *covered[i] = false;
    }
    task.coverage = TASK_BY_INHERITANCE;
    expect("");
    task.coverage = TASK_BY_EVENTS;
    expect(DID_NOT_ASK);
}

static void timer_fallbacks(void **state)
{
    struct notes notes = {.count = 0};
    (void)state;
    tasks.timer_fallbacks = tasks.timer_fallbacks_counted = 4;
    notes_add_fallbacks(&notes, &tasks);
    expect_notes(&notes, "");
    tasks.timer_fallbacks = 7;
    tasks.seen = 20;
    tasks.refusal = -EPERM;
    notes_add_fallbacks(&notes, &tasks);
    config.sampling = 0;
    notes_add_fallbacks(&notes, &tasks);
    expect_notes(&notes,
                 "3 of 20 tasks were sampled by timers, user space only: the kernel refused their events "
                 "(Operation not permitted)\n"
                 "3 of 20 tasks were counted by the preload object: the kernel refused their events (Operation not "
                 "permitted)\n");
}

/* What does not fit is left out: notes, and the end of a long one. */
static void room_for_notes(void **state)
{
    struct notes notes = {.count = 0};
    char text[NOTES_SIZE + 10];
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < NOTES + 2; i++)
        notes_add(&notes, i ? "short" : text);
    assert_int_equal(notes.count, NOTES);
    assert_int_equal(strlen(notes.list[0]), NOTES_SIZE - 1);
    for (int i = 1; i < NOTES; i++)
        assert_string_equal(notes.list[i], "short");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_is_well, set_up),
        cmocka_unit_test_setup(timers, set_up),
        cmocka_unit_test_setup(refused_events, set_up),
        cmocka_unit_test_setup(programs_without_a_timer, set_up),
        cmocka_unit_test_setup(rings, set_up),
        cmocka_unit_test_setup(ends_and_beginnings, set_up),
        cmocka_unit_test_setup(programs_that_do_not_ask, set_up),
        cmocka_unit_test_setup(timer_fallbacks, set_up),
        cmocka_unit_test_setup(room_for_notes, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
