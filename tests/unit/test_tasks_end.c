/* SPDX-License-Identifier: MIT */
/* What is left of tasks: nothing. */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>

#include "test_tasks_kit.h"

#define T 2000000000ull

static unsigned open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* The end of a session in the middle of everything: descriptors and rings of all tasks go, whatever became of them. */
static void test_released_unwritten(void **state)
{
    (void)state;
    struct stage stage;
    const void *rings[5];
    unsigned char pages[1 + STAGE_RING / 4096];
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    unsigned before = open_files();
    rings[0] = stage_process(&stage, 100, 1, T, 1000)->events->ring;
    rings[1] = stage_thread(&stage, 100, 101, T + 1, 1000)->events->ring;
    struct arrival *thread = stage_arrival(PINJECT_THREAD, 500, 501, 1, T + 20);
    rings[2] = stage_events(&stage, thread, 1000)->ring;
    stage_arrive(&stage, thread); /* its process is not known yet */
    assert_null(tasks_find(stage.tasks, 501));
    struct task *ended[] = {stage_thread(&stage, 100, 103, T + 2, 1000), stage_process(&stage, 200, 100, T + 3, 1000)};
    for (unsigned i = 0; i < 2; i++) {
        rings[3 + i] = ended[i]->events->ring;
        tasks_task_ended(stage.tasks, ended[i], true);
    }
    assert_int_equal(stage.tasks->live_count, 2);
    assert_non_null(stage.tasks->done);
    assert_non_null(stage.tasks->waiting);
    assert_int_equal(results_written(stage.kit.results), 0);
    assert_true(open_files() > before);
    tasks_release(stage.tasks);
    spent_unmap(&stage.kit.session);
    assert_int_equal(open_files(), before + 1); /* to the helper that reads files, which is the results' */
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(mincore((void *)(uintptr_t)rings[i], 4096, pages), -1);
        assert_int_equal(errno, ENOMEM);
    }
    assert_null(stage.tasks->live);
    assert_null(stage.tasks->done);
    assert_null(stage.tasks->waiting);
    assert_null(stage.tasks->graveyard);
    free(stage.tasks);
    close(stage.epoll);
    kit_free(&stage.kit);
}

/* Thousands of threads one after another leave nothing behind. */
static void test_many_threads(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *leader = stage_process(&stage, 100, 1, T, 1000);
    for (int i = 0; i < 300; i++) {
        struct task *task = stage_thread(&stage, 100, 101 + i, T + 10, 10);
        stage_sample(task, 0x1000, T + 20);
        tasks_task_ended(stage.tasks, task, true);
        tasks_write(stage.tasks, 1);
        tasks_bury(stage.tasks);
    }
    assert_null(stage.tasks->done);
    assert_null(stage.tasks->graveyard);
    assert_int_equal(stage.tasks->live_count, 1);
    assert_int_equal(leader->process->live, 1);
    assert_int_equal(stage.tasks->active_max, 2);
    assert_int_equal(results_written(stage.kit.results), 300);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 1000 + 300 * 10);
    stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_released_unwritten),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
