/* SPDX-License-Identifier: MIT */
/* From notifications and rings to files: one address space, several threads, forks, ends. */
#include "check.h"

#include <pinject/format.h>

#include <sys/mman.h>

#include "collector/sources/inherited_private.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/task_view.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

static struct kit_file read_back(const char *path)
{
    struct kit_file file;
    assert_true(kit_read(path, &file));
    return file;
}

static const struct pinject_item_task *task_item(const struct kit_file *file)
{
    const struct pinject_item_task *item = kit_item(file, PINJECT_ITEM_TASK, 0);
    assert_non_null(item);
    return item;
}

/* A process from its start to its end, with its status and the cost of its end. */
static void test_process(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *parent = stage_process(&stage, 100, 1, T, 5000000);
    struct task *task = stage_process(&stage, 101, 100, T + 10, 3000000);
    assert_non_null(parent);
    for (int i = 0; i < 5; i++)
        stage_sample(task, 0x1234, T + 100 + (uint64_t)i);
    stage_exit(task, T + 200);
    tasks_task_ended(stage.tasks, task, true);
    assert_null(tasks_find(stage.tasks, 101));
    assert_int_equal(access("out.101.101", F_OK), -1); /* held for its parent's wait */
    stage_reaped(&stage, 100, 101, 7 << 8, 3500000, T + 300);
    stage_close(&stage);
    assert_int_equal(stage.tasks->seen, 2);
    assert_int_equal(stage.tasks->samples, 5);
    assert_int_equal(stage.tasks->alive, 1);
    assert_int_equal(stage.tasks->attributed_ns, 5000000 + 3500000);
    assert_int_equal(stage.tasks->exit_ns, 500000);
    struct kit_file file = read_back("out.101.101");
    const struct pinject_item_task *item = task_item(&file);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 5);
    assert_int_equal(file.records[PERF_RECORD_COMM], 1);
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 1);
    assert_int_equal(file.records[PERF_RECORD_EXIT], 1);
    assert_int_equal(item->flags, PINJECT_TASK_ENDED | PINJECT_TASK_STATUS | PINJECT_TASK_EXIT_COST);
    assert_int_equal(item->status, 7 << 8);
    assert_int_equal(item->exit_ns, 500000);
    assert_int_equal(item->end_ns, T + 200);
    assert_int_equal(item->samples, 5);
    assert_int_equal(item->ppid, 100);
    kit_file_free(&file);
    file = read_back("out.100.100");
    assert_int_equal(task_item(&file)->flags & PINJECT_TASK_ENDED, 0);
    kit_file_free(&file);
    stage_free(&stage);
}

static void put_sample(struct task *task, uint64_t id, uint64_t period, uint64_t time_ns)
{
    const uint64_t ip = 0x1234;
    uint64_t words[] = {0, id, ip, (uint64_t)task->tid << 32 | (uint32_t)task->pid, time_ns, period, 1, ip};
    const struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = sizeof(words)};
    memcpy(words, &header, sizeof(header));
    stage_put(task, words, sizeof(words));
}

enum { ID_AT = 8, PERIOD_AT = 40 };

/* The word at OFFSET of the INDEX-th sample of FILE; 0: there is none. */
static uint64_t word_of(const struct kit_file *file, unsigned index, size_t offset)
{
    const unsigned char *at = file->bytes + file->header.data.offset, *end = at + file->header.data.size;
    struct perf_event_header record;
    for (; at < end; at += record.size) {
        uint64_t word;
        memcpy(&record, at, sizeof(record));
        memcpy(&word, at + offset, sizeof(word));
        if (record.type == PERF_RECORD_SAMPLE && index-- == 0)
            return word;
    }
    return 0;
}

/* The kernel writes what it counts until the next sample: each sample gets what was counted since the one before. */
static void test_periods_of_a_frequency(void **state)
{
    static const uint64_t told[] = {5, 7, 3}, wanted[] = {1, 5, 7};
    (void)state;
    for (int next = 0; next < 2; next++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        stage.kit.config.events[0].period_is_next = next;
        struct task *one = stage_process(&stage, 100, 1, T, 5000000), *other = stage_thread(&stage, 100, 101, T + 1, 9);
        for (unsigned i = 0; i < 3; i++) {
            put_sample(one, one->ids[0], told[i], T + 100 + i);
            put_sample(other, other->ids[0], told[i], T + 100 + i);
        }
        stage_close(&stage);
        for (int file = 0; file < 2; file++) {
            struct kit_file read = read_back(file ? "out.100.101" : "out.100.100");
            for (unsigned i = 0; i < 3; i++)
                assert_int_equal(word_of(&read, i, PERIOD_AT), next ? wanted[i] : told[i]);
            assert_int_equal(word_of(&read, 3, PERIOD_AT), 0);
            kit_file_free(&read);
        }
        stage_free(&stage);
    }
}

/* The kernel may write the id of another event of the same kind into a sample: that of an inherited set. */
static void test_sample_with_an_id_of_others(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    assert_int_equal(stage.kit.config.sampling, 1);
    struct task *task = stage_process(&stage, 100, 1, T, 5000000);
    const uint64_t own = task->ids[0];
    put_sample(task, own, 3, T + 100);
    put_sample(task, 987654321, 3, T + 101);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.100");
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(word_of(&file, i, ID_AT), own);
    assert_int_equal(word_of(&file, 2, ID_AT), 0);
    kit_file_free(&file);
    stage_free(&stage);
}

/* Where several events sample, the inherited sets know which of them has the id; an id that nobody knows is a loss. */
static void test_ids_of_several_events(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct config_event *events = stage.kit.config.events;
    const struct config_event counted = events[1];
    events[1] = events[0];
    memcpy(events[1].name, counted.name, sizeof(counted.name));
    events[1].attr.config = counted.attr.config;
    events[0].nanoseconds = events[1].nanoseconds = false; /* clocks do not mix up ids */
    stage.kit.config.sampling = 2;
    records_layout_init(&stage.tasks->layout, &stage.kit.config);
    struct inherited_sets *sets = inherited_new(&stage.kit.session);
    assert_non_null(sets);
    stage.kit.session.inherited_sets = sets;
    struct root_ids *ids = inherited_roots_add(&sets->roots, 100, 4); /* of two CPUs */
    const uint64_t own[] = {100001, 100002}, told[] = {76, 77, 78, 79};
    memcpy(ids->ids, told, sizeof(told));
    struct task *task = stage_process(&stage, 100, 1, T, 5000000);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(task->ids[i % 2], own[i % 2]);
        put_sample(task, told[i], 3, T + 100 + 3 * i);
        put_sample(task, own[i % 2], 3, T + 101 + 3 * i);
        put_sample(task, 987654321, 3, T + 102 + 3 * i);
        if (i == 1)
            inherited_roots_end(&sets->roots, ids);
    }
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->unsettled, 4);
    assert_int_equal(task->lost_records, 0); /* no other record is missing */
    assert_true(stage.tasks->layout.lost_known);
    struct task_view view;
    static const struct attach_value values[CONFIG_EVENTS];
    task_view_init(stage.tasks, task, task->generation_count, values, &view);
    assert_int_equal(view.task.lost, 4);
    task_view_release(&view);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.100");
    for (unsigned i = 0; i < 4; i++)
        for (unsigned two = 0; two < 2; two++)
            assert_int_equal(word_of(&file, 2 * i + two, ID_AT), own[i % 2]);
    assert_int_equal(word_of(&file, 8, ID_AT), 0);
    kit_file_free(&file);
    stage.kit.session.inherited_sets = NULL;
    inherited_free(sets);
    stage_free(&stage);
}

/* Only software events mix up their ids, and the clocks do not: if there is one such event, it is meant. */
static void test_ids_of_the_only_event(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct config_event *events = stage.kit.config.events;
    events[1].samples = true;
    events[1].attr.sample_type = events[0].attr.sample_type;
    stage.kit.config.sampling = 2;
    records_layout_init(&stage.tasks->layout, &stage.kit.config);
    struct task *task = stage_process(&stage, 100, 1, T, 5000000);
    put_sample(task, task->ids[0], 3, T + 100);
    put_sample(task, 987654321, 3, T + 101);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.100");
    assert_int_equal(word_of(&file, 0, ID_AT), 100001);
    assert_int_equal(word_of(&file, 1, ID_AT), 100002);
    assert_int_equal(word_of(&file, 2, ID_AT), 0);
    kit_file_free(&file);
    stage_free(&stage);
}

/* What one thread maps explains the samples of all; a late thread gets what was mapped before. */
static void test_threads_share_mappings(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *leader = stage_process(&stage, 100, 1, T, 1000);
    struct task *early = stage_thread(&stage, 100, 101, T + 10, 1000);
    stage_mmap(leader, "/lib/plugin.so", 0x7000, T + 20);
    tasks_drain(stage.tasks, leader);
    struct task *late = stage_thread(&stage, 100, 102, T + 30, 1000);
    assert_int_equal(stage.tasks->threads, 2);
    assert_string_equal(late->comm, "prog");
    tasks_task_ended(stage.tasks, early, true);
    tasks_task_ended(stage.tasks, late, true);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.101");
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 2);
    kit_file_free(&file);
    file = read_back("out.100.102");
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 2);
    assert_int_equal(task_item(&file)->parent_tid, 100);
    kit_file_free(&file);
    stage_free(&stage);
}

/* A plugin that comes back to its place is told once, unless something else was there in between. */
static void test_mapped_again(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *leader = stage_process(&stage, 100, 1, T, 1000);
    struct task *thread = stage_thread(&stage, 100, 101, T + 10, 1000);
    stage_mmap(leader, "/lib/plugin.so", 0x7000, T + 20);
    stage_mmap(leader, "/lib/plugin.so", 0x7000, T + 25);
    tasks_drain(stage.tasks, leader);
    stage_mmap(thread, "/lib/plugin.so", 0x7000, T + 30);
    tasks_drain(stage.tasks, thread);
    assert_int_equal(space_count(&leader->process->space), 2);
    stage_mmap(leader, "/lib/other.so", 0x7000, T + 40);
    stage_mmap(leader, "/lib/plugin.so", 0x7000, T + 50);
    stage_mmap(leader, "/lib/plugin.so", 0x7000, T + 60);
    tasks_drain_process(stage.tasks, leader->process);
    tasks_task_ended(stage.tasks, thread, true);
    tasks_task_ended(stage.tasks, leader, true);
    stage_close(&stage);
    for (int tid = 100; tid <= 101; tid++) {
        char path[32];
        snprintf(path, sizeof(path), "out.100.%d", tid);
        struct kit_file file = read_back(path);
        assert_int_equal(file.records[PERF_RECORD_MMAP2], 4); /* the program, plugin, other, plugin */
        kit_file_free(&file);
    }
    stage_free(&stage);
}

/* A fork has the mappings of its parent at that moment, drained or not; not those of later. */
static void test_fork(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *parent = stage_process(&stage, 100, 1, T, 1000);
    stage_mmap(parent, "/lib/before.so", 0x7000, T + 20);
    stage_fork(parent, 101, 101, T + 25);
    stage_mmap(parent, "/lib/after.so", 0x9000, T + 40);
    /* its parent may be init by now */
    struct notification *notification = stage_notification(PINJECT_FORK, 101, 101, 1, T + 30);
    notification->parent_tid = 100;
    stage_events(&stage, notification, 1000);
    stage_notify(&stage, notification);
    struct task *child = tasks_find(stage.tasks, 101);
    assert_non_null(child);
    assert_int_equal(child->ppid, 100);
    assert_string_equal(child->comm, "prog");
    assert_int_equal(stage.tasks->missed.children, 0); /* it asked */
    stage_close(&stage);
    struct kit_file file = read_back("out.101.101");
    const struct pinject_item_generation *generation = kit_item(&file, PINJECT_ITEM_GENERATION, 0);
    assert_string_equal((const char *)(generation + 1), "prog");
    assert_int_equal(generation->arguments, 1);
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 2); /* the program, and what came before the fork */
    assert_non_null(memmem(file.bytes, file.size, "/lib/before.so", 15));
    assert_null(memmem(file.bytes, file.size, "/lib/after.so", 14));
    kit_file_free(&file);
    stage_free(&stage);
}

/* The notification of a fork comes when its parent has called exec, once to ten times. Its program is still known. */
static void test_fork_before_execs(void **state)
{
    (void)state;
    for (unsigned execs = 1; execs <= 10; execs++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        struct task *parent = stage_process(&stage, 100, 1, T, 1000);
        for (unsigned i = 0; i < 10; i++) {
            char path[24];
            snprintf(path, sizeof(path), "/bin/program%u", i);
            stage_comm(parent, 100, 100, "next", true, T + 100 * i + 10);
            stage_mmap(parent, path, 0x7000, T + 100 * i + 20);
        }
        const uint64_t made_ns = T + 100 * (10 - execs - 1) + 50;
        struct notification *notification = stage_notification(PINJECT_FORK, 101, 101, 100,
                                                               execs < 10 ? made_ns : T + 5);
        stage_events(&stage, notification, 1000);
        stage_notify(&stage, notification);
        stage_close(&stage);
        struct kit_file file = read_back("out.101.101");
        for (unsigned i = 0; i < 10; i++) {
            char path[24];
            snprintf(path, sizeof(path), "/bin/program%u", i);
            /* Of more execs at once, it has no mappings, rather than another program's. */
            const bool has = execs <= PROCESS_FORMER && i == 10 - execs - 1;
            assert_int_equal(memmem(file.bytes, file.size, path, strlen(path) + 1) != NULL, has);
        }
        kit_file_free(&file);
        stage_free(&stage);
    }
}

/* Workers answer before they tell: a child may come first, and the wait for a process before the process. */
static void test_out_of_order(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct notification *fork = stage_notification(PINJECT_FORK, 101, 101, 100, T + 30);
    fork->parent_tid = 100;
    stage_events(&stage, fork, 1000);
    stage_notify(&stage, fork);
    struct notification *thread = stage_notification(PINJECT_THREAD, 100, 102, 1, T + 20);
    stage_events(&stage, thread, 1000);
    stage_notify(&stage, thread);
    stage_reaped(&stage, 100, 101, 0, 1500, T + 90);
    assert_null(tasks_find(stage.tasks, 101));
    assert_null(tasks_find(stage.tasks, 102));
    stage_process(&stage, 100, 1, T, 1000);
    assert_non_null(tasks_find(stage.tasks, 101));
    assert_non_null(tasks_find(stage.tasks, 102));
    assert_int_equal(space_count(&tasks_find(stage.tasks, 101)->process->space), 1);
    assert_true(tasks_find_process(stage.tasks, 101)->waited);
    assert_null(stage.tasks->waiting);
    /* Nobody waits for ever: its process never comes. */
    thread = stage_notification(PINJECT_THREAD, 500, 501, 1, T + 20);
    stage_events(&stage, thread, 1000);
    stage_notify(&stage, thread);
    stage.tasks->now_ns += 1000000000;
    tasks_notify(stage.tasks, NULL);
    assert_non_null(tasks_find(stage.tasks, 501));
    stage_close(&stage);
    stage_free(&stage);
}

static void test_never_asked(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    stage_fork(task, 101, 101, T + 5);
    stage_fork(task, 100, 102, T + 6);
    tasks_drain(stage.tasks, task);
    stage_reaped(&stage, 100, 101, 0, 777, T + 90);
    stage.tasks->now_ns += 1000000000;
    tasks_notify(stage.tasks, NULL);
    stage_close(&stage);
    assert_int_equal(stage.tasks->missed.count, 2);
    assert_int_equal(stage.tasks->missed.lines[0].cpu_ns + stage.tasks->missed.lines[1].cpu_ns, 777);
    stage_free(&stage);
}

/* Who has no ring announces nobody: what it made must not stand for who has the same number later. */
static void test_never_asked_with_a_number_again(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    for (pid_t tid = 102; tid <= 103; tid++) {
        struct notification *thread = stage_notification(PINJECT_THREAD, 100, tid, 1, T + (uint64_t)tid);
        struct attached *events = stage_events(&stage, thread, 1000);
        thread->parent_tid = tid - 1;
        munmap(events->ring, STAGE_RING + (size_t)sysconf(_SC_PAGESIZE));
        events->ring = NULL;
        stage_notify(&stage, thread);
    }
    assert_int_equal(tasks_find(stage.tasks, 102)->coverage, TASK_BY_COUNTERS);
    tasks_task_ended(stage.tasks, tasks_find(stage.tasks, 103), true);
    stage_fork(task, 103, 103, T + 500);
    tasks_drain(stage.tasks, task);
    assert_int_equal(stage.tasks->missed.children, 1);
    stage_close(&stage);
    assert_int_equal(stage.tasks->missed.count, 1);
    stage_free(&stage);
}

static void test_refused(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct notification *notification = stage_notification(PINJECT_PROCESS, 100, 100, 1, T);
    notification->result = -13;
    strcpy(notification->comm, "su");
    stage_notify(&stage, notification);
    assert_int_equal(stage.tasks->missed.count, 1);
    assert_string_equal(stage.tasks->missed.lines[0].comm, "su");
    assert_int_equal(stage.tasks->seen, 0);
    stage_close(&stage);
    stage_free(&stage);
}

/* A ring that makes no sense is given up and counted, the counters stay. */
static void test_hostile_ring(void **state)
{
    (void)state;
    struct stage stage;
    uint64_t nonsense[2] = {0, 0};
    struct perf_event_header cut = {.type = PERF_RECORD_MMAP2, .size = 16};
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    memcpy(nonsense, &cut, sizeof(cut));
    stage_put(task, nonsense, sizeof(nonsense));
    tasks_drain(stage.tasks, task);
    assert_int_equal(stage.tasks->broken_rings, 1);
    assert_false(task->broken);
    memset(nonsense, 0, sizeof(nonsense));
    stage_put(task, nonsense, sizeof(nonsense));
    tasks_drain(stage.tasks, task);
    assert_true(task->broken);
    stage_sample(task, 1, T + 5);
    tasks_drain(stage.tasks, task);
    tasks_task_ended(stage.tasks, task, true);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.100");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 0);
    kit_file_free(&file);
    stage_free(&stage);
}

/* A number that is used again is another task. */
static void test_number_again(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    tasks_task_ended(stage.tasks, task, true);
    stage_process(&stage, 100, 1, T + 100, 2000);
    stage_process(&stage, 100, 1, T + 200, 3000); /* the end of the second one was not even seen */
    stage_close(&stage);
    assert_int_equal(stage.tasks->seen, 3);
    assert_int_equal(stage.tasks->attributed_ns, 6000);
    assert_int_equal(access("out.100.100", F_OK), 0);
    assert_int_equal(access("out.100.100~1", F_OK), 0);
    assert_int_equal(access("out.100.100~2", F_OK), 0);
    stage_free(&stage);
}

/* Notifications of one moment are taken in the order in which they happened. */
static void test_sorted(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    tasks_task_ended(stage.tasks, task, true);
    struct notification *again = stage_notification(PINJECT_PROCESS, 100, 100, 1, T + 50);
    stage_events(&stage, again, 2000);
    again->next = stage_notification(PINJECT_REAPED, 100, 1, 1, T + 40);
    again->next->status = 9;
    stage_notify(&stage, again);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.100");
    assert_int_equal(task_item(&file)->flags & PINJECT_TASK_STATUS, PINJECT_TASK_STATUS);
    assert_int_equal(task_item(&file)->status, 9);
    kit_file_free(&file);
    file = read_back("out.100.100~1");
    assert_int_equal(task_item(&file)->flags & PINJECT_TASK_STATUS, 0);
    kit_file_free(&file);
    stage_free(&stage);
}

/* Whom nobody waited for is in nobody's rusage. */
static void test_orphans(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *parent = stage_process(&stage, 100, 1, T, 1000);
    struct task *waited = stage_process(&stage, 101, 100, T + 1, 20);
    struct task *missed = stage_process(&stage, 102, 100, T + 1, 300);
    struct task *orphan = stage_process(&stage, 103, 100, T + 1, 4000);
    stage_process(&stage, 104, 100, T + 1, 50000);
    tasks_task_ended(stage.tasks, waited, true);
    stage_reaped(&stage, 100, 101, 0, 20, T + 10);
    tasks_task_ended(stage.tasks, missed, true);
    tasks_task_ended(stage.tasks, parent, true);
    stage_reaped(&stage, 1, 100, 0, 1320, T + 20);
    tasks_task_ended(stage.tasks, orphan, true);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 55320);
    assert_int_equal(stage.tasks->unwaited_ns, 0); /* its parent's rusage has room for the one that nobody waited for */
    assert_int_equal(stage.tasks->orphans_ns, 54000); /* with the one that still lives */
    assert_int_equal(stage.tasks->alive, 1);
    stage_free(&stage);
}

/* The end of a child may be met after its parent's, though it was before: it was waited for. */
static void test_no_orphan(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *parent = stage_process(&stage, 100, 1, T, 1000);
    struct task *early = stage_process(&stage, 101, 100, T + 1, 20);
    struct task *late = stage_process(&stage, 102, 100, T + 1, 300);
    stage_exit(early, T + 5);
    stage_exit(parent, T + 6);
    stage_exit(late, T + 7);
    tasks_task_ended(stage.tasks, parent, true);
    tasks_task_ended(stage.tasks, early, true);
    tasks_task_ended(stage.tasks, late, true);
    assert_false(tasks_find_process(stage.tasks, 101)->orphan);
    assert_true(tasks_find_process(stage.tasks, 102)->orphan);
    stage_close(&stage);
    assert_int_equal(stage.tasks->orphans_ns, 300);
    stage_free(&stage);
}

/* As the preload object does: threads of the first process always, of others where that is wanted. */
static void test_whom_it_follows(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK, false);
    stage.tasks->root = 100;
    const struct records_task own = {.pid = 100, .ppid = 100, .tid = 101, .ptid = 100};
    const struct records_task other = {.pid = 200, .ppid = 200, .tid = 201, .ptid = 200};
    const struct records_task child = {.pid = 300, .ppid = 200, .tid = 300, .ptid = 200};
    assert_true(tasks_follows(stage.tasks, &own));
    assert_false(tasks_follows(stage.tasks, &other));
    assert_true(tasks_follows(stage.tasks, &child));
    stage_close(&stage);
    stage_free(&stage);
    stage_new(&stage, PINJECT_SESSION_PTHREAD, false);
    assert_true(tasks_follows(stage.tasks, &other));
    assert_false(tasks_follows(stage.tasks, &child));
    stage_close(&stage);
    stage_free(&stage);
}

/* Children never waited for (SIGCHLD ignored) are in no rusage; what is said of the tree is completed by them. */
static void test_unwaited(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *parent = stage_process(&stage, 100, 1, T, 10000000);
    struct task *child = stage_process(&stage, 101, 100, T + 1, 300000000);
    struct task *grandchild = stage_process(&stage, 102, 101, T + 2, 40000000);
    tasks_task_ended(stage.tasks, grandchild, true);
    tasks_task_ended(stage.tasks, child, true);
    tasks_task_ended(stage.tasks, parent, true);
    stage_reaped(&stage, 1, 100, 0, 10000000, T + 20);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 350000000);
    assert_int_equal(stage.tasks->unwaited_ns, 340000000);
    stage_free(&stage);
}

/* An orphan takes along whom it waited for: they are in its rusage alone. */
static void test_orphans_children(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *parent = stage_process(&stage, 100, 1, T, 1000);
    struct task *orphan = stage_process(&stage, 101, 100, T + 1, 4000);
    struct task *child = stage_process(&stage, 102, 101, T + 2, 50000);
    struct task *waited = stage_process(&stage, 103, 102, T + 3, 600000);
    tasks_task_ended(stage.tasks, waited, true);
    stage_reaped(&stage, 102, 103, 0, 600000, T + 10);
    tasks_task_ended(stage.tasks, child, true);
    stage_reaped(&stage, 101, 102, 0, 650000, T + 20);
    tasks_task_ended(stage.tasks, parent, true);
    stage_reaped(&stage, 1, 100, 0, 1000, T + 30);
    tasks_task_ended(stage.tasks, orphan, true);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 655000);
    assert_int_equal(stage.tasks->orphans_ns, 654000);
    stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_periods_of_a_frequency),
        cmocka_unit_test(test_sample_with_an_id_of_others),
        cmocka_unit_test(test_ids_of_several_events),
        cmocka_unit_test(test_ids_of_the_only_event),
        cmocka_unit_test(test_threads_share_mappings),
        cmocka_unit_test(test_mapped_again),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_before_execs),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_never_asked),
        cmocka_unit_test(test_never_asked_with_a_number_again),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hostile_ring),
        cmocka_unit_test(test_number_again),
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_no_orphan),
        cmocka_unit_test(test_whom_it_follows),
        cmocka_unit_test(test_unwaited),
        cmocka_unit_test(test_orphans_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
