/* SPDX-License-Identifier: MIT */
/* exec: which program runs when, what it counted, where following ends. */
#include "check.h"

#include <pinject/format.h>
#include <sys/wait.h>

#include "collector/stacks/stacks.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/programs.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

static struct kit_file read_back(const char *path)
{
    struct kit_file file;
    assert_true(kit_read(path, &file));
    return file;
}

static const char *generation_comm(const struct kit_file *file, unsigned index)
{
    const struct pinject_item_generation *generation = kit_item(file, PINJECT_ITEM_GENERATION, index);
    return generation ? (const char *)(generation + 1) : "";
}

static const char *generation_exec(const struct kit_file *file, unsigned index)
{
    const char *comm = generation_comm(file, index);
    return comm + strlen(comm) + 1;
}

static void test_exec(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    task->process->trust = calloc(1, sizeof(*task->process->trust));
    stage_sample(task, 0x1000, T + 5);
    stage_comm(task, 100, 100, "ls", true, T + 10);
    stage_mmap(task, "/bin/ls", 0x5000, T + 11);
    stage_mmap(task, "/bin/before", 0x8000, T + 9); /* on another CPU: the exec ended it */
    stage_sample(task, 0x5000, T + 20);
    stage_generation(&stage, 100, T + 15, "/bin/ls", "ls -l");
    assert_int_equal(task->generation_count, 2);
    assert_null(task->process->trust); /* the next program's stacks may be others */
    assert_true(task->generations[1].named);
    assert_int_equal(space_count(&task->process->space), 1);
    assert_string_equal(space_at(&task->process->space, 0)->path, "/bin/ls");
    tasks_task_ended(stage.tasks, task, true);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.100");
    assert_string_equal(generation_comm(&file, 0), "prog");
    assert_string_equal(generation_comm(&file, 1), "ls");
    assert_string_equal(generation_exec(&file, 1), "/bin/ls");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 2);
    kit_file_free(&file);
    stage_free(&stage);
}

/* The records of a next exec may be in the ring before the message of this one: time tells which is which. */
static void test_late_message(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_comm(task, 100, 100, "a", true, T + 10);
    stage_mmap(task, "/bin/a", 0x5000, T + 11);
    stage_comm(task, 100, 100, "b", true, T + 20);
    stage_mmap(task, "/bin/b", 0x5000, T + 21);
    tasks_drain(stage.tasks, task);
    stage_generation(&stage, 100, T + 25, "/bin/b", "b");
    stage_generation(&stage, 100, T + 15, "./link-to-a", "a");
    assert_int_equal(task->generation_count, 3);
    assert_string_equal(task->generations[1].program->exec, "/bin/a"); /* the kernel knows better */
    assert_string_equal(task->generations[1].program->cmdline, "a");
    assert_string_equal(task->generations[2].program->exec, "/bin/b");
    assert_string_equal(task->process->program->exec, "/bin/b");
    /* Also after its end. */
    stage_comm(task, 100, 100, "c", true, T + 30);
    tasks_task_ended(stage.tasks, task, true);
    stage_generation(&stage, 100, T + 35, "/bin/c", "c");
    assert_string_equal(task->generations[3].program->exec, "/bin/c");
    stage_close(&stage);
    stage_free(&stage);
}

static void announce(struct stage *stage, uint64_t time_ns, const char *argument)
{
    struct notification *notification = stage_notification(PINJECT_INHERIT_EXEC, 100, 100, 1, time_ns);
    notification->exec = strdup("static");
    notification->cmdline = strdup(argument);
    notification->cmdline_size = strlen(argument) + 1;
    tasks_admit(stage->tasks, notification);
}

/*
 * What a program says of the next one, where that will not speak for itself: it may be taken before the exec is read,
 * in between, and afterwards. The arguments are those of that exec in any case, and not of the one behind it.
 */
static void test_announced_program(void **state)
{
    struct stage stage;
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 5000);
    announce(&stage, T + 1, "before");
    stage_comm(task, 100, 100, "a", true, T + 2);
    stage_mmap(task, "/bin/a", 0x1000, T + 3);
    tasks_drain(stage.tasks, task);
    assert_string_equal(task->generations[1].program->cmdline, "before");
    assert_null(task->process->announced);
    /* The exec was read, its first mapping was not. */
    stage_comm(task, 100, 100, "b", true, T + 12);
    tasks_drain(stage.tasks, task);
    announce(&stage, T + 11, "between");
    stage_mmap(task, "/bin/b", 0x1000, T + 13);
    tasks_drain(stage.tasks, task);
    assert_string_equal(task->generations[2].program->cmdline, "between");
    stage_comm(task, 100, 100, "c", true, T + 22);
    stage_mmap(task, "/bin/c", 0x1000, T + 23);
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->generations[3].program->cmdline_size, 0);
    announce(&stage, T + 21, "afterwards");
    assert_string_equal(task->generations[3].program->exec, "/bin/c");
    assert_string_equal(task->generations[3].program->cmdline, "afterwards");
    assert_true(task->generations[3].named);
    assert_ptr_equal(task->process->program, task->generations[3].program);
    assert_null(task->process->announced);
    /* Of the next one, while what is mapped is still this one's. */
    stage_comm(task, 100, 100, "d", true, T + 30);
    tasks_drain(stage.tasks, task);
    announce(&stage, T + 35, "of the next");
    stage_mmap(task, "/bin/d", 0x1000, T + 31);
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->generations[4].program->cmdline_size, 0);
    stage_comm(task, 100, 100, "e", true, T + 40);
    stage_mmap(task, "/bin/e", 0x1000, T + 41);
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->generations[4].program->cmdline_size, 0);
    assert_string_equal(task->generations[5].program->cmdline, "of the next");
    /* Who spoke for himself has said more. */
    stage_comm(task, 100, 100, "f", true, T + 50);
    stage_mmap(task, "/bin/f", 0x1000, T + 51);
    stage_generation(&stage, 100, T + 52, "/bin/f", "own");
    announce(&stage, T + 45, "another's");
    assert_string_equal(task->generations[6].program->cmdline, "own");
    stage_close(&stage);
    stage_free(&stage);
}

/* A program that never tells anything is known from what it mapped first. */
static void test_unreported_program(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_comm(task, 100, 100, "static", true, T + 10);
    stage_mmap(task, "/bin/static", 0x5000, T + 11);
    stage_mmap(task, "[vdso]", 0x9000, T + 12);
    tasks_task_ended(stage.tasks, task, true);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.100");
    assert_string_equal(generation_exec(&file, 1), "/bin/static");
    assert_non_null(kit_item(&file, PINJECT_ITEM_NOTE, 0));
    kit_file_free(&file);
    stage_free(&stage);
}

static struct task *arm(struct stage *stage, pid_t pid, pid_t ppid, uint64_t time_ns)
{
    struct notification *notification = stage_notification(PINJECT_ARM, pid, pid, ppid, time_ns);
    stage_events(stage, notification, 4000);
    stage_notify(stage, notification);
    return tasks_find(stage->tasks, pid);
}

static void test_armed(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage_process(&stage, 100, 1, T, 9000);
    struct task *task = arm(&stage, 101, 100, T + 5);
    assert_int_equal(stage.tasks->seen, 1);
    stage_sample(task, 0x5000, T + 9); /* between the start of its events and the record of the exec */
    stage_comm(task, 101, 101, "cc", true, T + 10);
    stage_mmap(task, "/bin/cc", 0x5000, T + 11);
    stage_exit(task, T + 50);
    tasks_task_ended(stage.tasks, task, true);
    stage_generation(&stage, 101, T + 20, "/bin/cc", "cc");
    assert_int_equal(stage.tasks->seen, 2);
    stage_close(&stage);
    struct kit_file file = read_back("out.101.101");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    assert_string_equal(generation_comm(&file, 0), "cc");
    assert_null(kit_item(&file, PINJECT_ITEM_GENERATION, 1));
    kit_file_free(&file);
    stage_free(&stage);
}

/*
 * The worker reads the first message of an exec generation when that has ended: it takes it for a new process, which
 * cannot be opened.
 */
static void test_message_of_the_dead(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage_process(&stage, 100, 1, T, 9000);
    struct notification *message = stage_notification(PINJECT_PROCESS, 101, 101, 100, T + 20);
    message->result = -3;
    message->exec = strdup("/bin/cc");
    message->cmdline = strdup("cc");
    message->cmdline_size = 3;
    stage_notify(&stage, message); /* before its process, even */
    struct task *task = arm(&stage, 101, 100, T + 5);
    assert_int_equal(task->generation_count, 1);
    struct task *other = arm(&stage, 102, 100, T + 5);
    stage_comm(other, 102, 102, "cc", true, T + 10);
    message = stage_notification(PINJECT_PROCESS, 102, 102, 100, T + 20);
    message->result = -3;
    message->exec = strdup("/bin/cc");
    stage_notify(&stage, message);
    assert_int_equal(other->generation_count, 1);
    assert_string_equal(other->generations[0].comm, "cc");
    assert_string_equal(other->generations[0].program->exec, "/bin/cc");
    assert_int_equal(stage.tasks->missed.count, 0);
    /* Nobody knows this one. */
    message = stage_notification(PINJECT_PROCESS, 103, 103, 100, T + 20);
    message->result = -3;
    stage_notify(&stage, message);
    assert_int_equal(stage.tasks->missed.count, 0);
    stage_close(&stage);
    assert_int_equal(stage.tasks->missed.count, 1);
    stage_free(&stage);
}

/* A child of vfork whose exec failed is no task; what it used is said. */
static void test_armed_for_nothing(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage_process(&stage, 100, 1, T, 9000);
    struct notification *notification = stage_notification(PINJECT_ARM, 101, 101, 100, T + 5);
    stage_events(&stage, notification, 0);
    stage_notify(&stage, notification);
    tasks_task_ended(stage.tasks, tasks_find(stage.tasks, 101), true);
    stage_reaped(&stage, 100, 101, 127 << 8, 60000, T + 50);
    stage_close(&stage);
    assert_int_equal(stage.tasks->seen, 1);
    assert_int_equal(access("out.101.101", F_OK), -1);
    assert_int_equal(stage.tasks->missed.count, 1);
    assert_int_equal(stage.tasks->missed.lines[0].cpu_ns, 60000);
    stage_free(&stage);
}

/*
 * A thread that calls exec becomes the process; the message of the new exec generation comes under the process' number.
 */
static void test_exec_of_a_thread(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *leader = stage_process(&stage, 100, 1, T, 1000);
    struct task *thread = stage_thread(&stage, 100, 105, T + 5, 1000);
    stage_comm(thread, 100, 100, "new", true, T + 10);
    stage_mmap(thread, "/bin/new", 0x5000, T + 11);
    tasks_task_ended(stage.tasks, leader, true);
    stage_generation(&stage, 100, T + 15, "/bin/new", "new");
    assert_int_equal(thread->generation_count, 2);
    assert_true(thread->generations[1].named);
    assert_ptr_equal(thread->process->main, thread);
    assert_ptr_equal(tasks_find(stage.tasks, 100), thread);
    /* Its old number is free, for somebody else. */
    struct task *other = stage_process(&stage, 105, 1, T + 20, 0);
    assert_true(task_is_live(thread));
    assert_ptr_equal(tasks_find(stage.tasks, 105), other);
    tasks_task_ended(stage.tasks, other, true);
    tasks_task_ended(stage.tasks, thread, true);
    stage_reaped(&stage, 1, 100, 5 << 8, 2000, T + 50);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 2000);
    struct kit_file file = read_back("out.100.105");
    assert_string_equal(generation_exec(&file, 1), "/bin/new");
    kit_file_free(&file);
    stage_free(&stage);
}

/* Without --follow-exec: counts as of the snapshot, nothing of the ring after the exec. */
static void test_not_followed(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_PTHREAD, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_sample(task, 0x1000, T + 3);
    stage_snapshot(&stage, 100, T + 4, 2222); /* of an exec that failed */
    stage_snapshot(&stage, 100, T + 9, 3333);
    stage_comm(task, 100, 100, "other", true, T + 10);
    stage_sample(task, 0x5000, T + 20);
    tasks_drain(stage.tasks, task);
    assert_null(tasks_find(stage.tasks, 100));
    assert_true(tids_has(&stage.tasks->left, 100)); /* it is not attached late */
    stage_close(&stage);
    assert_int_equal(stage.tasks->samples, 1);
    assert_int_equal(stage.tasks->attributed_ns, 3333);
    assert_int_equal(stage.tasks->alive, 0);
    assert_int_equal(stage.tasks->missed.count, 1);
    assert_string_equal(stage.tasks->missed.lines[0].comm, "other");
    struct kit_file file = read_back("out.100.100");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    assert_int_equal(((const struct pinject_item_task *)kit_item(&file, PINJECT_ITEM_TASK, 0))->end_ns, T + 10);
    kit_file_free(&file);
    stage_free(&stage);
}

/*
 * The record of its fork is read after its request, and after it left: it is not attached late. A later task with its
 * number is.
 */
static void test_left_before_its_fork(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK, false);
    struct task *parent = stage_process(&stage, 100, 1, T, 1000);
    struct task *task = stage_process(&stage, 200, 100, T + 5, 9000);
    stage_comm(task, 200, 200, "other", true, T + 10);
    tasks_drain(stage.tasks, task);
    assert_true(tids_has(&stage.tasks->left, 200));
    stage_fork(parent, 200, 200, T + 4);
    tasks_drain(stage.tasks, parent);
    assert_true(tids_has(&stage.tasks->left, 200));
    stage_fork(parent, 200, 200, T + 30);
    tasks_drain(stage.tasks, parent);
    assert_false(tids_has(&stage.tasks->left, 200));
    stage_close(&stage);
    stage_free(&stage);
}

/* The notification of a thread comes before the one of the program that its process runs by then. */
static void test_thread_before_the_exec_is_read(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 0);
    stage_comm(task, 100, 100, "next", true, T + 10);
    stage_mmap(task, "/bin/next", 0x4000, T + 11);
    struct task *thread = stage_thread(&stage, 100, 101, T + 20, 0);
    assert_string_equal(thread->generations[0].program->exec, "/bin/next");
    tasks_task_ended(stage.tasks, thread, true);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.101");
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 1);
    kit_file_free(&file);
    stage_free(&stage);
}

static uint64_t count_of(const struct kit_file *file)
{
    const struct pinject_item_count *item = kit_item(file, PINJECT_ITEM_COUNT, 0);
    assert_non_null(item);
    return item->value;
}

static void test_split(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, true);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_sample(task, 0x1000, T + 3);
    stage_snapshot(&stage, 100, T + 9, 4000);
    stage_comm(task, 100, 100, "ls", true, T + 10);
    stage_mmap(task, "/bin/ls", 0x5000, T + 11);
    stage_sample(task, 0x5000, T + 20);
    stage_sample(task, 0x5000, T + 21);
    tasks_drain(stage.tasks, task);
    stage_generation(&stage, 100, T + 15, "/bin/ls", "ls");
    tasks_task_ended(stage.tasks, task, true);
    stage_close(&stage);
    assert_int_equal(stage.tasks->samples, 3);
    assert_int_equal(stage.tasks->attributed_ns, 9000);
    struct kit_file file = read_back("out.100.100.1.prog");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    assert_int_equal(count_of(&file), 4000);
    const struct pinject_item_task *part = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(part->end_ns, T + 10); /* with its exec generation */
    assert_int_equal(part->flags & PINJECT_TASK_ENDED, PINJECT_TASK_ENDED);
    assert_string_equal(generation_comm(&file, 0), "prog");
    assert_null(kit_item(&file, PINJECT_ITEM_GENERATION, 1));
    kit_file_free(&file);
    file = read_back("out.100.100.2.ls");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 2);
    assert_int_equal(file.records[PERF_RECORD_COMM], 1);
    assert_int_equal(file.records[PERF_RECORD_MMAP2], 1);
    assert_int_equal(count_of(&file), 5000);
    assert_string_equal(generation_comm(&file, 0), "ls");
    kit_file_free(&file);
    stage_free(&stage);
}

/* Nobody says what the program is, and it maps nothing: its file has the name that the kernel knows. */
static void test_split_without_program(void **state)
{
    (void)state;
    struct stage stage;
    struct kit_file file;
    stage_new(&stage, PINJECT_SESSION_ALL, true);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_comm(task, 100, 100, "mystery", true, T + 10);
    stage_sample(task, 0x5000, T + 20);
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->file, FILE_UNNAMED);
    assert_int_equal(task->samples, 1);
    tasks_task_ended(stage.tasks, task, true);
    stage_close(&stage);
    file = read_back("out.100.100.2.mystery");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1); /* though it waited for the name */
    assert_int_equal(file.records[PERF_RECORD_COMM], 1);
    assert_string_equal(generation_comm(&file, 0), "mystery");
    assert_string_equal(generation_exec(&file, 0), "mystery");
    kit_file_free(&file);
    stage_free(&stage);
}

static void test_generations_without_end(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    for (unsigned i = 0; i < TASKS_GENERATIONS + 100; i++) {
        stage_comm(task, 100, 100, "again", true, T + 10 + i);
        tasks_drain(stage.tasks, task);
    }
    assert_int_equal(task->generation_count, TASKS_GENERATIONS);
    assert_int_equal(task->generations_more, 101);
    stage_close(&stage);
    stage_free(&stage);
}

/* A second message of an exec generation tells of a next one, where its exec record may be missing. */
static void test_message_without_its_record(void **state)
{
    static const unsigned generations[] = {1, 2, 2, 2};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        struct task *task = stage_process(&stage, 100, 1, T, 9000);
        task->coverage = i == 1 ? TASK_BY_COUNTERS : TASK_BY_EVENTS;
        task->lost_records = i == 2 ? 7 : 0;
        task->broken = i == 3;
        stage_generation(&stage, 100, T + 20, "/opt/next", "next -x");
        assert_int_equal(task->generation_count, generations[i]);
        const struct exec_generation *last = &task->generations[task->generation_count - 1];
        assert_true(last->named);
        assert_string_equal(last->program->exec, "/opt/next");
        assert_string_equal(last->program->cmdline, "next -x");
        assert_ptr_equal(task->process->program, last->program);
        assert_string_equal(last->comm, i ? "next" : "prog");
        assert_int_equal(last->start_ns, i ? T + 20 : T);
        stage_generation(&stage, 100, T + 20, "/opt/next", "next"); /* it comes twice */
        assert_int_equal(task->generation_count, generations[i]);
        assert_string_equal(last->program->cmdline, "next -x");
        if (i) { /* late, of the one before: that is known */
            stage_generation(&stage, 100, T + 10, "/opt/late", "late");
            assert_int_equal(task->generation_count, 2);
            assert_string_equal(task->generations[0].program->exec, "/opt/late");
            assert_string_equal(task->process->program->exec, "/opt/next");
        }
        stage_close(&stage);
        stage_free(&stage);
    }
}

/*
 * A thread of which nothing is known yet called exec, and has the number of the first thread, which has ended. Its
 * message makes no program of that one, even if records of that one were lost.
 */
static void test_message_of_an_unknown_thread(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_generation(&stage, 100, T + 1, "/opt/first", "first");
    task->lost_records = 2;
    stage_exit(task, T + 50);
    stage_generation(&stage, 100, T + 60, "/opt/next", "next");
    assert_int_equal(task->generation_count, 1);
    struct task *thread = stage_thread(&stage, 100, 101, T + 20, 5000);
    stage_comm(thread, 100, 100, "next", true, T + 51);
    tasks_drain(stage.tasks, thread);
    assert_ptr_equal(thread->process->main, thread);
    assert_int_equal(thread->key, 100);
    assert_int_equal(thread->process->exec_ns, T + 51);
    stage_close(&stage);
    stage_free(&stage);
}

/* A thread may be told of before the program that made it is. */
static void test_thread_before_its_program(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) { /* no ring; a record that was read; one that was not */
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        struct task *task = stage_process(&stage, 100, 1, T, 9000);
        struct task *before = stage_thread(&stage, 100, 101, T + 5, 1000);
        task->coverage = i == 0 ? TASK_BY_COUNTERS : TASK_BY_EVENTS;
        if (i)
            stage_comm(task, 100, 100, "next", true, T + 10);
        if (i == 1)
            tasks_drain(stage.tasks, task);
        struct task *thread = stage_thread(&stage, 100, 102, T + 20, 1000);
        tasks_drain(stage.tasks, task);
        stage_generation(&stage, 100, T + 15, "/opt/next", "next -x");
        assert_int_equal(task->generation_count, 2);
        assert_string_equal(task->generations[1].program->exec, "/opt/next");
        assert_int_equal(thread->generation_count, 1);
        assert_string_equal(thread->generations[0].program->exec, "/opt/next");
        assert_string_equal(thread->generations[0].program->cmdline, "next -x");
        assert_string_equal(before->generations[0].program->exec, "/bin/prog");
        stage_close(&stage);
        stage_free(&stage);
    }
}

/* In files of their own: its records wait for the name. */
static void test_split_thread_before_its_program(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, true);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_comm(task, 100, 100, "next", true, T + 10);
    tasks_drain(stage.tasks, task);
    struct task *thread = stage_thread(&stage, 100, 102, T + 20, 1000);
    stage_sample(thread, 0x5000, T + 21);
    tasks_drain(stage.tasks, thread);
    assert_int_equal(thread->file, FILE_UNNAMED);
    stage_generation(&stage, 100, T + 15, "/opt/next", "next -x");
    assert_int_equal(thread->file, FILE_BEGUN);
    stage_close(&stage);
    struct kit_file file = read_back("out.100.102.0.next");
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1);
    assert_string_equal(generation_exec(&file, 0), "/opt/next");
    kit_file_free(&file);
    stage_free(&stage);
}

/*
 * /proc is asked once for an exec generation whose preload object says nothing, and believed where nothing else is
 * known.
 */
static void test_looked_for_once(void **state)
{
    (void)state;
    struct stage stage;
    char self[256] = "", byte;
    int held[2]; /* the child ends with this process at the latest */
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    assert_int_equal(pipe(held), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(held[1]);
        _exit(read(held[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(held[0]);
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    struct task *task = stage_process(&stage, pid, 1, T, 9000);
    struct exec_generation *generation = &task->generations[0];
    tasks_look_for_programs(stage.tasks, task); /* it has said what it is */
    assert_string_equal(generation->program->exec, "/bin/prog");
    generation->named = false;
    task->kind = PINJECT_THREAD; /* its process speaks */
    tasks_look_for_programs(stage.tasks, task);
    assert_string_equal(generation->program->exec, "/bin/prog");
    task->kind = PINJECT_PROCESS;
    assert_false(generation->looked);
    tasks_look_for_programs(stage.tasks, task);
    assert_string_equal(generation->program->exec, self);
    assert_true(generation->looked && generation->resolved && !generation->named);
    /* What is known by other ways since then stays. */
    program_put(generation->program);
    generation->program = program_new("/bin/other", "other", 6);
    tasks_look_for_programs(stage.tasks, task);
    assert_string_equal(generation->program->exec, "/bin/other");
    /* Its next exec generation is looked for in its turn. */
    stage_comm(task, pid, pid, "next", true, T + 10);
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->generation_count, 2);
    tasks_look_for_programs(stage.tasks, task);
    assert_string_equal(task->generations[1].program->exec, self);
    /* It went on meanwhile: /proc told of the one or the other. */
    stage_comm(task, pid, pid, "more", true, T + 20);
    tasks_drain(stage.tasks, task);
    stage_comm(task, pid, pid, "last", true, T + 30);
    tasks_look_for_programs(stage.tasks, task);
    assert_int_equal(task->generation_count, 4);
    assert_null(task->generations[2].program);
    assert_null(task->generations[3].program);
    close(held[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    /* Nothing is to be had of one that is gone. */
    tasks_look_for_programs(stage.tasks, task);
    assert_null(task->generations[3].program);
    assert_true(task->generations[3].looked);
    stage_close(&stage);
    stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_late_message),
        cmocka_unit_test(test_announced_program),
        cmocka_unit_test(test_unreported_program),
        cmocka_unit_test(test_armed),
        cmocka_unit_test(test_message_of_the_dead),
        cmocka_unit_test(test_armed_for_nothing),
        cmocka_unit_test(test_exec_of_a_thread),
        cmocka_unit_test(test_not_followed),
        cmocka_unit_test(test_left_before_its_fork),
        cmocka_unit_test(test_thread_before_the_exec_is_read),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_generations_without_end),
        cmocka_unit_test(test_message_without_its_record),
        cmocka_unit_test(test_message_of_an_unknown_thread),
        cmocka_unit_test(test_looked_for_once),
        cmocka_unit_test(test_split_without_program),
        cmocka_unit_test(test_thread_before_its_program),
        cmocka_unit_test(test_split_thread_before_its_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
