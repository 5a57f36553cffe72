/* SPDX-License-Identifier: MIT */
/* Tasks that timers were to sample, and whose programs say nothing: how they are named, and where they end. */
#include "check.h"

#include <pinject/format.h>

#include "collector/system/monotonic.h"
#include "collector/system/procfs.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/mappings.h"
#include "collector/tasks/programs.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/timer_fallback.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

static struct stage stage;

static int begin(unsigned follow)
{
    stage_new(&stage, follow, false);
    stage.kit.config.source = PINJECT_SOURCE_TIMER;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return begin(PINJECT_SESSION_ALL);
}

static int set_up_without_exec(void **state)
{
    (void)state;
    return begin(PINJECT_SESSION_ALL & ~PINJECT_SESSION_EXEC);
}

static int tear_down(void **state)
{
    (void)state;
    stage_close(&stage);
    stage.kit.settings.command = NULL;
    stage_free(&stage);
    return 0;
}

/* Its ring was not to be had. */
static struct task *process(pid_t pid, uint32_t kind)
{
    struct notification *notification = stage_notification(kind, pid, pid, 1, T);
    struct attached *events = notification->events = attach_new(stage.kit.config.count);
    assert_non_null(events);
    events->session = &stage.kit.session;
    events->tid = events->key = events->pid = pid;
    events->end_fd = events->number = -1;
    events->timer = true;
    strcpy(notification->comm, "prog");
    notification->maps = strdup("1000-2000 r-xp 00000000 08:01 5 /bin/prog\n");
    stage_notify(&stage, notification);
    struct task *task = tasks_find(stage.tasks, pid);
    assert_true(task && task_is_by_timer(task));
    return task;
}

/* The command is known by what it was started as. */
static void a_command_without_a_word_is_named(void **state)
{
    static const struct {
        const char *words[4], *comm, *cmdline;
        size_t size;
    } cases[] = {{{"/usr/bin/prog", "-x", "", NULL}, "prog", "/usr/bin/prog\0-x\0", 18},
                 {{"static", NULL}, "static", "static", 7}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct task *task = process(100 + i, PINJECT_ARM); /* before its exec */
        stage.kit.settings.command = (char **)(uintptr_t)cases[i].words;
        assert_true(task_is_armed(task) && task->generation_count == 0);
        task->process->root = true;
        tasks_end_timer(stage.tasks, task);
        assert_int_equal(task->generation_count, 1);
        const struct exec_generation *generation = &task->generations[0];
        assert_string_equal(generation->comm, cases[i].comm);
        assert_int_equal(generation->start_ns, task->start_ns);
        assert_non_null(generation->program);
        assert_string_equal(generation->program->exec, cases[i].words[0]);
        assert_int_equal(generation->program->cmdline_size, cases[i].size);
        assert_memory_equal(generation->program->cmdline, cases[i].cmdline, cases[i].size);
        assert_true(task->process->uncounted);
        task->process->root = false;
    }
}

/* Others are not the command; one that was started is what it says; and a collector by itself has none. */
static void others_are_not_named_so(void **state)
{
    static const char *words[] = {"/usr/bin/prog", NULL};
    (void)state;
    struct task *task = process(100, PINJECT_PROCESS);
    unsigned before = task->generation_count;
    for (int i = 0; i < 4; i++) {
        stage.kit.settings.command = i == 2 ? NULL : (char **)(uintptr_t)(words + (i == 3));
        task->state.life = i ? TASK_ARMED : TASK_RUNNING;
        task->process->root = i != 1;
        tasks_end_timer(stage.tasks, task);
        assert_int_equal(task->generation_count, before);
        assert_true(!before || !task->generations[0].program ||
                    strcmp(task->generations[0].program->exec, words[0]) != 0);
    }
    task->process->root = false;
}

static struct task *go_on_without_timer(int64_t result, bool announced)
{
    struct task *task = process(100, PINJECT_PROCESS);
    struct notification *notification = stage_notification(announced ? PINJECT_INHERIT_EXEC : PINJECT_SNAPSHOT, 100,
                                                           100, 1, T + 30);
    strcpy(notification->comm, "old");
    notification->exec = strdup("/bin/static");
    notification->result = (int)result;
    tasks_leave_timer(stage.tasks, notification);
    notification_free(notification);
    return task;
}

static void one_that_is_followed_goes_on(void **state)
{
    (void)state;
    const struct task *task = go_on_without_timer(0, true);
    assert_ptr_equal(tasks_find(stage.tasks, 100), task);
    assert_true(task->coverage == TASK_NOT_SAMPLED && task_is_live(task) && !task_has_left(task));
    assert_string_not_equal(task->generations[task->generation_count - 1].comm, "old");
}

static void one_that_is_not_followed_is_left(void **state)
{
    (void)state;
    struct kit_file file;
    const struct task *task = go_on_without_timer(0, true);
    assert_null(tasks_find(stage.tasks, 100));
    assert_true(task->coverage == TASK_NOT_SAMPLED && !task_is_live(task) && task_has_left(task) &&
                !task_has_ended(task)); /* it runs on */
    stage_close(&stage);
    assert_true(kit_read("out.100.100", &file));
    assert_int_equal(
        ((const struct pinject_item_task *)kit_item(&file, PINJECT_ITEM_TASK, 0))->flags & PINJECT_TASK_ENDED, 0);
    kit_file_free(&file);
}

static void what_did_not_come_about_changes_nothing(void **state)
{
    (void)state;
    const struct task *task = go_on_without_timer(-1, true);
    assert_true(task->coverage != TASK_NOT_SAMPLED && task_is_live(task) && !task_has_left(task));
    tasks_task_ended(stage.tasks, tasks_find(stage.tasks, 100), true);
    stage_close(&stage);
    task = go_on_without_timer(0, false); /* nobody announced it */
    assert_true(task->coverage != TASK_NOT_SAMPLED && task_is_live(task) && !task_has_left(task));
    /* Of one with events the kernel tells. */
    stage.kit.config.source = PINJECT_SOURCE_PERF;
    struct task *counted = stage_process(&stage, 300, 1, T, 1000);
    struct notification *notification = stage_notification(PINJECT_INHERIT_EXEC, 300, 300, 1, T + 30);
    tasks_leave_timer(stage.tasks, notification);
    assert_int_equal(counted->coverage, TASK_BY_EVENTS);
    notification->pid = notification->tid = 999; /* nobody */
    tasks_leave_timer(stage.tasks, notification);
    notification_free(notification);
}

/* A sample where nothing is known to be mapped lets /proc be asked; one where something is does not. */
static void samples_outside_let_us_look(void **state)
{
    (void)state;
    struct process *own = process(getpid(), PINJECT_PROCESS)->process;
    const struct task *task = own->tasks;
    struct {
        struct perf_event_header header;
        uint64_t id, ip;
    } sample = {{.type = PERF_RECORD_SAMPLE, .size = sizeof(sample)}, 0, 0x1800};
    char *maps = procfs_maps(getpid());
    struct space now;
    space_init(&now);
    assert_non_null(maps);
    assert_int_equal(space_add_maps(&now, maps, T), 0);
    assert_int_equal(space_add(&own->space, space_at(&now, 0)), 0); /* it is this program */
    stage.tasks->now_ns = monotonic_ns();
    own->maps_ns = own->maps_next_ns = stage.tasks->maps_next_ns = 0;
    size_t before = space_count(&own->space);
    tasks_meet_timer_sample(stage.tasks, task, &sample.header);
    assert_int_equal(own->maps_ns, 0);
    sample.ip = 0x10;
    tasks_meet_timer_sample(stage.tasks, task, &sample.header);
    assert_true(own->maps_ns > 0);
    assert_true(space_count(&own->space) > before);
    /* Not again at once. */
    uint64_t looked = own->maps_ns;
    tasks_meet_timer_sample(stage.tasks, task, &sample.header);
    assert_int_equal(own->maps_ns, looked);
    assert_true(own->maps_next_ns > looked);
    space_release(&now);
    free(maps);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_command_without_a_word_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_are_not_named_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_followed_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_not_followed_is_left, set_up_without_exec, tear_down),
        cmocka_unit_test_setup_teardown(what_did_not_come_about_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_outside_let_us_look, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
