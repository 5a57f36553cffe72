/* SPDX-License-Identifier: MIT */
/* What each record of a ring changes, and whose turn it is to be read: with a clock that the test moves. */
#include "check.h"

#include <pinject/format.h>

#include "collector/tasks/finish.h"
#include "collector/tasks/task_stacks.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

static struct stage stage;
static struct tasks *tasks;
static uint64_t now_ns, step_ns; /* the clock goes on by a step with each look */

uint64_t __wrap_monotonic_ns(void);
uint64_t __wrap_monotonic_ns(void)
{
    return now_ns += step_ns;
}

/* The preload object of a task that a timer samples tells no mappings: they are looked for. Of nobody else. */
static unsigned met;

void __wrap_tasks_meet_timer_sample(struct tasks *of, const struct task *task, const struct perf_event_header *record);
void __wrap_tasks_meet_timer_sample(struct tasks *of, const struct task *task, const struct perf_event_header *record)
{
    assert_ptr_equal(of, tasks);
    assert_true(task_is_by_timer(task) && record->type == PERF_RECORD_SAMPLE);
    met++;
}

static unsigned at_once; /* samples of rings that are read to their ends */

const struct perf_event_header *__real_tasks_unwind(struct tasks *of, struct task *task, unsigned event,
                                                    const struct perf_event_header *record);
const struct perf_event_header *__wrap_tasks_unwind(struct tasks *of, struct task *task, unsigned event,
                                                    const struct perf_event_header *record);
const struct perf_event_header *__wrap_tasks_unwind(struct tasks *of, struct task *task, unsigned event,
                                                    const struct perf_event_header *record)
{
    at_once += of->at_once;
    return __real_tasks_unwind(of, task, event, record);
}

static int set_up(void **state)
{
    (void)state;
    now_ns = T;
    at_once = 0;
    step_ns = 0;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    tasks = stage.tasks;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_free(&stage);
    return 0;
}

/* ---- Records ---- */

static void put_lost(struct task *task, uint32_t type, uint64_t count)
{
    uint64_t words[6] = {0};
    unsigned size = 1;
    if (type == PERF_RECORD_LOST)
        words[size++] = 0xbad; /* an id */
    words[size++] = count;
    words[size++] = (uint32_t)task->pid | (uint64_t)(uint32_t)task->tid << 32;
    words[size++] = T + 50;
    words[size++] = task->ids[0];
    struct perf_event_header header = {.type = type, .size = (uint16_t)(8 * size)};
    memcpy(words, &header, sizeof(header));
    stage_put(task, words, 8 * size);
}

static void loss_is_what_such_records_say(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000), *thread = stage_thread(&stage, 100, 101, T, 1000);
    put_lost(task, PERF_RECORD_LOST, 40);
    tasks_drain(tasks, task);
    assert_int_equal(task->lost_records, 40);
    put_lost(task, PERF_RECORD_LOST_SAMPLES, 2);
    tasks_drain(tasks, task);
    assert_int_equal(task->lost_records, 42);
    /* No other record does, nor one that we do not know. */
    put_lost(task, 200, 7);
    stage_sample(task, 0x1000, T + 60);
    stage_comm(task, 100, 100, "name", false, T + 61);
    stage_mmap(task, "/bin/lib", 0x5000, T + 62);
    stage_mmap(task, "/bin/lib", 0x5000, T + 62); /* known */
    stage_fork(task, 100, 101, T + 63);
    stage_exit(task, T + 64);
    tasks_drain(tasks, task);
    stage_exit(thread, T + 64);
    tasks_drain(tasks, thread);
    assert_int_equal(task->lost_records, 42);
    assert_int_equal(thread->lost_records, 0);
    tasks_task_ended(tasks, thread, true);
    tasks_task_ended(tasks, task, true);
    stage_close(&stage);
    struct kit_file file;
    assert_true(kit_read("out.100.100", &file));
    assert_int_equal(file.records[PERF_RECORD_LOST], 1);
    assert_int_equal(file.records[PERF_RECORD_LOST_SAMPLES], 1);
    assert_int_equal(file.records[200], 1);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    assert_int_equal(file.records[PERF_RECORD_FORK], 1);
    assert_int_equal(file.records[PERF_RECORD_EXIT], 1);
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 2); /* with that of its begin */
    assert_int_equal(file.records[PERF_RECORD_COMM], 2);
    kit_file_free(&file);
}

/* The end of another task counts as long as the task's own is not told. */
static void its_own_end_counts(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000), *thread = stage_thread(&stage, 100, 101, T, 1000);
    const struct task other = {.pid = 100, .tid = 105, .events = task->events, .ids = task->ids};
    struct task as_other = other;
    stage_exit(&as_other, T + 10);
    tasks_drain(tasks, task);
    assert_int_equal(task->end_ns, T + 10);
    stage_exit(&as_other, T + 20);
    tasks_drain(tasks, task);
    assert_int_equal(task->end_ns, T + 10);
    stage_exit(task, T + 30);
    tasks_drain(tasks, task);
    assert_int_equal(task->end_ns, T + 30);
    stage_exit(&as_other, T + 40);
    tasks_drain(tasks, task);
    assert_int_equal(task->end_ns, T + 30);
    assert_int_equal(thread->end_ns, 0);
    tasks_task_ended(tasks, task, true);
    assert_int_equal(task->end_ns, T + 30);
    stage_close(&stage);
}

static void samples_have_first_and_last(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    static const uint64_t times[] = {30, 20, 50, 40};
    static const uint64_t firsts[] = {30, 20, 20, 20}, lasts[] = {30, 30, 50, 50};
    for (unsigned i = 0; i < 4; i++) {
        stage_sample(task, 0x1000, T + times[i]);
        tasks_drain(tasks, task);
        assert_int_equal(task->samples, i + 1);
        assert_int_equal(task->first_sample_ns, T + firsts[i]);
        assert_int_equal(task->last_sample_ns, T + lasts[i]);
        assert_int_equal(met, 0);
        assert_int_equal(task->sampled_ns, 0); /* not asked of one with events of its own */
    }
    stage_close(&stage);
}

/* --saturate-smpl-buffer: each task has as many at most, and those that have so many are counted. */
static void samples_of_a_task_end(void **state)
{
    struct kit_file file;
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000), *thread = stage_thread(&stage, 100, 101, T, 1000);
    stage.kit.settings.saturate = 3;
    for (unsigned i = 0; i < 5; i++)
        stage_sample(task, 0x1000, T + 10 + i);
    stage_comm(task, 100, 100, "name", false, T + 20);
    for (unsigned i = 0; i < 2; i++)
        stage_sample(thread, 0x1000, T + 10 + i);
    tasks_drain(tasks, task);
    tasks_drain(tasks, thread);
    assert_int_equal(task->samples, 3);
    assert_int_equal(task->last_sample_ns, T + 12);
    assert_int_equal(thread->samples, 2);
    assert_int_equal(tasks->saturated, 1);
    stage_sample(thread, 0x1000, T + 30);
    tasks_drain(tasks, thread);
    assert_int_equal(tasks->saturated, 2);
    tasks_task_ended(tasks, thread, true);
    tasks_task_ended(tasks, task, true);
    stage_close(&stage);
    assert_int_equal(tasks->saturated, 2);
    assert_int_equal(tasks->lost, 0);
    assert_true(kit_read("out.100.100", &file));
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 3);
    assert_int_equal(file.records[PERF_RECORD_COMM], 2);
    kit_file_free(&file);
}

/* A thread may name another: it is that one's name, and in that one's file. */
static void names_that_others_give(void **state)
{
    struct kit_file file;
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000), *thread = stage_thread(&stage, 100, 101, T, 1000);
    stage_comm(task, 100, 101, "worker", false, T + 10);
    stage_comm(task, 100, 999, "nobody", false, T + 11);
    tasks_drain(tasks, task);
    assert_string_equal(task->comm, "prog");
    assert_string_equal(task->generations[0].comm, "prog");
    assert_string_equal(thread->comm, "worker");
    assert_string_equal(thread->generations[0].comm, "worker"); /* it has had no other */
    stage_comm(task, 100, 100, "main", false, T + 12);
    tasks_drain(tasks, task);
    assert_string_equal(task->comm, "main");
    assert_string_equal(task->generations[0].comm, "prog"); /* that is the program's */
    tasks_task_ended(tasks, thread, true);
    tasks_task_ended(tasks, task, true);
    stage_close(&stage);
    assert_true(kit_read("out.100.101", &file));
    assert_int_equal(file.records[PERF_RECORD_COMM], 2); /* with that of its begin */
    kit_file_free(&file);
    assert_true(kit_read("out.100.100", &file));
    assert_int_equal(file.records[PERF_RECORD_COMM], 4);
    kit_file_free(&file);
}

static void sample_of_kernel(struct task *task, uint64_t ip)
{
    uint64_t words[] = {0, task->ids[0], ip, 100 | (uint64_t)(uint32_t)task->tid << 32, T + 50, 1000000, 1, ip};
    struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL, .size = sizeof(words)};
    memcpy(words, &header, sizeof(header));
    stage_put(task, words, sizeof(words));
    tasks_drain(tasks, task);
}

/* Modules of the kernel are mapped where one was met, and once. */
static void modules_where_they_are_met(void **state)
{
    struct kit_file file;
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000), *thread = stage_thread(&stage, 100, 101, T, 1000);
    struct kernelmap *map = &tasks->kernel;
    kernelmap_release(map);
    map->read = true;
    map->modules = calloc(2, sizeof(*map->modules));
    map->count = 2;
    map->start = 0xffffffffc0000000;
    map->end = 0xffffffffc0003000;
    for (unsigned i = 0; i < 2; i++) {
        map->modules[i] = (struct kernelmap_module){.start = map->start + 0x2000 * i, .size = 0x1000};
        strcpy(map->modules[i].name, "[module]");
    }
    stage_sample(task, map->start, T + 40); /* not of the kernel */
    tasks_drain(tasks, task);
    sample_of_kernel(task, map->start - 1);
    assert_false(task->modules_mapped);
    sample_of_kernel(task, map->start);
    assert_true(task->modules_mapped && !thread->modules_mapped);
    sample_of_kernel(task, map->end - 1);
    assert_int_equal(task->samples, 4);
    tasks_task_ended(tasks, thread, true);
    tasks_task_ended(tasks, task, true);
    stage_close(&stage);
    assert_true(kit_read("out.100.100", &file));
    const unsigned with = file.records[PERF_RECORD_MMAP];
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 4);
    kit_file_free(&file);
    assert_true(kit_read("out.100.101", &file));
    assert_int_equal(with, file.records[PERF_RECORD_MMAP] + 2);
    kit_file_free(&file);
}

/* What a thread mapped before another's exec is nothing of the new program. */
static void mappings_from_before_an_exec(void **state)
{
    struct kit_file file;
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000), *thread = stage_thread(&stage, 100, 101, T, 1000);
    struct space *space = &task->process->space;
    stage_comm(task, 100, 100, "new", true, T + 20);
    tasks_drain(tasks, task);
    assert_int_equal(space_count(space), 0);
    stage_mmap(thread, "/bin/old", 0x7000, T + 19);
    tasks_drain(tasks, thread);
    assert_int_equal(space_count(space), 0);
    stage_mmap(task, "/bin/new", 0x9000, T + 20);
    tasks_drain(tasks, task);
    assert_int_equal(space_count(space), 1);
    tasks_task_ended(tasks, thread, true);
    tasks_task_ended(tasks, task, true);
    stage_close(&stage);
    assert_true(kit_read("out.100.100", &file));
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 2); /* of its first program, and the new one */
    kit_file_free(&file);
    assert_true(kit_read("out.100.101", &file)); /* it has its own nevertheless */
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 3);
    kit_file_free(&file);
}

/* More than 1 MiB of records does not wait for the next sweep. */
static void much_that_is_new_is_written(void **state)
{
    enum { SAMPLES = 1000, SAMPLE = 64 };
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    while (task->file != FILE_ON_DISK) {
        const size_t pending = result_pending(task->result);
        for (unsigned i = 0; i < SAMPLES; i++)
            stage_sample(task, 0x1000, T + 100);
        tasks_drain(tasks, task);
        assert_int_equal(task->file == FILE_ON_DISK, pending + SAMPLES * SAMPLE > 1 << 20);
        assert_int_equal(result_pending(task->result), task->file == FILE_ON_DISK ? 0 : pending + SAMPLES * SAMPLE);
    }
    assert_int_equal(access("out.100.100", F_OK), 0);
    tasks_task_ended(tasks, task, true);
    stage_close(&stage);
}

/* ---- Turns ---- */

enum { THREADS = 6 };
static struct task *all[THREADS];

static void new_threads(void)
{
    all[0] = stage_process(&stage, 100, 1, T, 1000);
    for (pid_t i = 1; i < THREADS; i++)
        all[i] = stage_thread(&stage, 100, 100 + i, T, 1000);
}

/* How many samples of each of the threads were read, as digits. */
static const char *read_of_all(void)
{
    static char text[THREADS + 1];
    for (unsigned i = 0; i < THREADS; i++)
        text[i] = (char)('0' + all[i]->samples % 10);
    return text;
}

static void sample_each(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        stage_sample(all[i], 0x1000, T + 100);
}

static void begin_round(void)
{
    tasks->round++;
    tasks_drain_rest(tasks);
}

/* Each ring takes its time of the process' share, however few records it has. */
static void threads_share_a_round(void **state)
{
    (void)state;
    new_threads();
    tasks->share_ns = 10;
    sample_each();
    step_ns = 4;
    begin_round();
    for (unsigned i = 0; i < THREADS; i++)
        tasks_drain_some(tasks, all[i]);
    assert_string_equal(read_of_all(), "111000"); /* 4, 8, 12: then it is spent */
    assert_int_equal(all[0]->process->spent_ns, 12);
    assert_int_equal(tasks->unread_count, 3);
    assert_ptr_equal(tasks->unread, all[3]);
    for (unsigned i = 3; i < THREADS; i++)
        tasks_drain_some(tasks, all[i]); /* in the same round: nothing */
    assert_string_equal(read_of_all(), "111000");
    assert_int_equal(tasks->unread_count, 3);
    step_ns = 5;
    begin_round();
    assert_string_equal(read_of_all(), "111110");
    assert_int_equal(all[0]->process->spent_ns, 10);
    assert_int_equal(tasks->unread_count, 1);
    assert_true(tasks_is_unread(tasks, all[5]) && !tasks_is_unread(tasks, all[4]));
    /* What has to be read is read, and counts. */
    tasks_drain(tasks, all[5]);
    assert_string_equal(read_of_all(), "111111");
    assert_int_equal(all[0]->process->spent_ns, 15);
    begin_round();
    assert_int_equal(tasks->unread_count, 0);
    assert_null(tasks->unread);
    assert_null(tasks->unread_last);
    step_ns = 0;
    stage_close(&stage);
}

/* Another process has its own. */
static void processes_do_not_share(void **state)
{
    (void)state;
    new_threads();
    struct task *other = stage_process(&stage, 200, 1, T, 1000);
    tasks->share_ns = 1;
    sample_each();
    stage_sample(other, 0x1000, T + 100);
    step_ns = 1;
    begin_round();
    for (unsigned i = 0; i < THREADS; i++)
        tasks_drain_some(tasks, all[i]);
    tasks_drain_some(tasks, other);
    assert_string_equal(read_of_all(), "100000");
    assert_int_equal(other->samples, 1);
    for (unsigned i = 1; i < THREADS; i++) {
        assert_int_equal(tasks->unread_count, THREADS - i);
        begin_round();
    }
    assert_string_equal(read_of_all(), "111111");
    assert_int_equal(tasks->unread_count, 0);
    step_ns = 0;
    stage_close(&stage);
}

/* A look at the clock each 32 records: where it is spent then, the rest of the ring waits. */
static void a_long_ring_is_read_in_parts(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    tasks->share_ns = 2;
    for (unsigned i = 0; i < 100; i++)
        stage_sample(task, 0x1000, T + 100 + i);
    step_ns = 1;
    begin_round();
    tasks_drain_some(tasks, task);
    assert_int_equal(task->samples, 64);
    assert_true(tasks_is_unread(tasks, task));
    begin_round();
    assert_int_equal(task->samples, 100);
    assert_false(tasks_is_unread(tasks, task));
    assert_int_equal(at_once, 0);
    for (unsigned i = 0; i < 100; i++)
        stage_sample(task, 0x1000, T + 200 + i);
    tasks_drain(tasks, task); /* whatever it takes */
    assert_int_equal(task->samples, 200);
    assert_int_equal(at_once, 100);
    assert_false(tasks->at_once);
    step_ns = 0;
    stage_close(&stage);
}

/* Its time is over at the record with which it leaves: it has ended, and nothing of its ring waits. */
static void one_that_leaves_does_not_wait(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    stage.kit.settings.follow &= ~(unsigned)PINJECT_SESSION_EXEC;
    tasks->share_ns = 1;
    for (unsigned i = 1; i < 32; i++)
        stage_sample(task, 0x1000, T + 100 + i);
    stage_comm(task, 100, 100, "next", true, T + 200);
    step_ns = 1;
    begin_round();
    tasks_drain_some(tasks, task);
    assert_int_equal(task->samples, 31);
    assert_true(task_has_left(task));
    assert_false(task_is_live(task));
    assert_false(tasks_is_unread(tasks, task));
    assert_int_equal(tasks->unread_count, 0);
    step_ns = 0;
    stage_close(&stage);
}

/* With --stat, a task that the first one makes is counted with it: nothing is told of it, and nobody waits for it. */
static void a_whole_tree_has_one_task(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    stage.kit.config.whole_tree = true;
    stage_fork(task, 100, 101, T + 10);
    stage_fork(task, 102, 102, T + 11);
    tasks_drain(tasks, task);
    assert_null(missed_find(&tasks->missed, 101));
    assert_null(missed_find(&tasks->missed, 102));
    stage_exit(task, T + 20);
    tasks_task_ended(tasks, task, true);
    stage_close(&stage);
    struct kit_file file;
    assert_true(kit_read("out.100.100", &file));
    assert_int_equal(file.records[PERF_RECORD_FORK], 0);
    assert_int_equal(file.records[PERF_RECORD_EXIT], 1);
    kit_file_free(&file);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(loss_is_what_such_records_say), TEST(its_own_end_counts),
        TEST(samples_have_first_and_last),   TEST(names_that_others_give),
        TEST(modules_where_they_are_met),    TEST(mappings_from_before_an_exec),
        TEST(much_that_is_new_is_written),   TEST(threads_share_a_round),
        TEST(processes_do_not_share),        TEST(a_long_ring_is_read_in_parts),
        TEST(one_that_leaves_does_not_wait), TEST(samples_of_a_task_end),
        TEST(a_whole_tree_has_one_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
