/* SPDX-License-Identifier: MIT */
/* Tasks that nobody told of: what inherited events record of them, and what is found in /proc. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <pinject/format.h>
#include <stdlib.h>

#include "collector/found.h"
#include "collector/net.h"
#include "collector/procfs.h"
#include "test_tasks_kit.h"

#define T 2000000000ull
#define HEAD(type, misc, size) ((uint64_t)(type) | (uint64_t)(misc) << 32 | (uint64_t)(size) << 48)
#define PAIR(a, b) ((uint64_t)(uint32_t)(a) | (uint64_t)(uint32_t)(b) << 32)

enum { NET = 7, READINGS = 3 };

static struct stage stage;
static struct net_record *queue, **queue_end = &queue;
static uint64_t taken_before, lost_of_nets;
static const char *children, *stat_text; /* of /proc */
static uint64_t scheduled_ns;
static int open_status, net_status;
static unsigned opened, nets_laid;
static pid_t known_by_net;

static uint64_t clock_ns, clock_step; /* what each look at the clock takes */

/* ---- In the place of the kernel ---- */

uint64_t __wrap_tasks_now_ns(void);
uint64_t __wrap_tasks_now_ns(void)
{
    return clock_ns += clock_step;
}

bool __wrap_nets_live(const struct nets *nets);
bool __wrap_nets_live(const struct nets *nets)
{
    (void)nets;
    return true;
}

struct net_record *__wrap_nets_take(struct nets *nets, uint64_t before_ns, uint64_t *lost);
struct net_record *__wrap_nets_take(struct nets *nets, uint64_t before_ns, uint64_t *lost)
{
    struct net_record *all = queue;
    (void)nets;
    taken_before = before_ns;
    *lost += lost_of_nets;
    lost_of_nets = 0;
    queue = NULL;
    queue_end = &queue;
    return all;
}

const uint64_t *__wrap_nets_ids(const struct nets *nets);
const uint64_t *__wrap_nets_ids(const struct nets *nets)
{
    static const uint64_t ids[PLAN_EVENTS] = {901, 902, 903};
    (void)nets;
    return ids;
}

bool __wrap_nets_know(struct nets *nets, pid_t tid);
bool __wrap_nets_know(struct nets *nets, pid_t tid)
{
    (void)nets;
    return tid == known_by_net;
}

int __wrap_nets_open(struct nets *nets, pid_t pid, pid_t tid, bool on_exec);
int __wrap_nets_open(struct nets *nets, pid_t pid, pid_t tid, bool on_exec)
{
    (void)nets;
    assert_int_equal(pid, tid);
    assert_false(on_exec);
    nets_laid++;
    return net_status;
}

uint64_t __wrap_procfs_scheduled_ns(pid_t pid, pid_t tid);
uint64_t __wrap_procfs_scheduled_ns(pid_t pid, pid_t tid)
{
    (void)pid, (void)tid;
    return scheduled_ns;
}

char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *size);
char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *size)
{
    (void)pid, (void)limit, (void)size;
    const char *text = strstr(name, "/children") ? children : strstr(name, "/stat") ? stat_text : NULL;
    if (strstr(name, "/children"))
        children = NULL; /* of the first thread that is looked at */
    return text ? strdup(text) : NULL;
}

/* No thread of its own: it would be one of this process' family. */
bool __wrap_errands_do(struct errands *errands, struct errand *errand);
bool __wrap_errands_do(struct errands *errands, struct errand *errand)
{
    (void)errands;
    errand->run(errand);
    return true;
}

int __wrap_found_open(struct session *session, struct arrival *arrival);
int __wrap_found_open(struct session *session, struct arrival *arrival)
{
    (void)session;
    opened++;
    if (open_status < 0)
        return open_status;
    arrival->kind = arrival->pid == arrival->tid ? PINJECT_PROCESS : PINJECT_THREAD;
    arrival->found = true;
    stage_events(&stage, arrival, 10);
    return 0;
}

/* ---- Records of nets ---- */

struct writer {
    pid_t pid, tid;
    uint64_t net;
    unsigned event;
    bool root;
};

static void put(struct writer writer, uint64_t time_ns, const uint64_t *words, size_t size)
{
    struct net_record *kept = calloc(1, sizeof(*kept) + size);
    assert_non_null(kept);
    kept->time_ns = time_ns;
    kept->net = writer.net;
    kept->pid = writer.pid;
    kept->tid = writer.tid;
    kept->event = writer.event;
    kept->readings = READINGS;
    kept->root = writer.root;
    memcpy(kept->bytes, words, size);
    ((struct perf_event_header *)(void *)kept->bytes)->size = (uint16_t)size;
    *queue_end = kept;
    queue_end = &kept->next;
}
#define PUT(writer, time, ...) \
    put(writer, time, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}))
#define TRAILER(writer, time) PAIR((writer).pid, (writer).tid), time, 901

static void put_fork(struct writer writer, pid_t pid, pid_t tid, uint64_t time_ns)
{
    PUT(writer, time_ns, HEAD(PERF_RECORD_FORK, 0, 0), PAIR(pid, writer.pid), PAIR(tid, writer.tid), time_ns,
        TRAILER(writer, time_ns));
}

static void put_comm(struct writer writer, const char *eight, bool exec, uint64_t time_ns)
{
    uint64_t name;
    memcpy(&name, eight, sizeof(name));
    PUT(writer, time_ns, HEAD(PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, 0),
        PAIR(writer.pid, writer.tid), name, 0, TRAILER(writer, time_ns));
}

static void put_sample(struct writer writer, uint16_t misc, uint64_t time_ns)
{
    PUT(writer, time_ns, HEAD(PERF_RECORD_SAMPLE, misc, 0), 901, 0x1000, PAIR(writer.pid, writer.tid), time_ns, 1000000,
        1, 0x1000);
}

static void put_exit(struct writer writer, uint64_t time_ns)
{
    PUT(writer, time_ns, HEAD(PERF_RECORD_EXIT, 0, 0), PAIR(writer.pid, writer.pid), PAIR(writer.tid, writer.tid),
        time_ns, TRAILER(writer, time_ns));
}

/* The kit's read_format has no id. */
static void put_reading(struct writer writer, uint64_t value, uint64_t enabled, uint64_t running, uint64_t lost)
{
    PUT(writer, T, HEAD(PERF_RECORD_READ, 0, 0), PAIR(writer.pid, writer.tid), value, enabled, running, lost,
        TRAILER(writer, T));
}

static void take(void)
{
    tasks_take_nets(stage.tasks, true);
    assert_true(taken_before == UINT64_MAX);
}

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage.kit.session.nets = (struct nets *)&stage; /* looked at by nobody */
    stage_process(&stage, 100, 1, T, 5000);
    children = stat_text = NULL;
    scheduled_ns = opened = nets_laid = 0;
    open_status = net_status = 0;
    known_by_net = 0;
    clock_ns = T + 1000000000;
    clock_step = 0;
    stage.tasks->now_ns = T + 1000000000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage.kit.session.nets = NULL;
    stage_free(&stage);
    return 0;
}

static const struct writer root = {100, 100, NET, 0, true}, child = {200, 200, NET, 0, false},
                           thread = {200, 201, NET, 0, false};

static void tasks_come_and_go(void **state)
{
    struct kit_file file;
    (void)state;
    put_fork(root, 200, 200, T + 10);
    put_comm(child, "busybox", true, T + 20);
    put_sample(child, PERF_RECORD_MISC_USER, T + 30);
    put_fork(child, 200, 201, T + 40);
    put_sample(thread, PERF_RECORD_MISC_USER, T + 50);
    put_sample(thread, PERF_RECORD_MISC_USER, T + 60);
    take();
    struct task *first = tasks_find(stage.tasks, 200), *second = tasks_find(stage.tasks, 201);
    assert_true(first && second);
    assert_true(first->netted && first->net == NET && first->readings == READINGS && first->live);
    assert_int_equal(first->kind, PINJECT_FORK);
    assert_int_equal(first->process->ppid, 100);
    assert_int_equal(first->start_ns, T + 10);
    assert_string_equal(first->comm, "busybox");
    assert_int_equal(first->samples, 1);
    assert_int_equal(first->image_count, 2);
    assert_int_equal(second->kind, PINJECT_THREAD);
    assert_ptr_equal(second->process, first->process);
    assert_int_equal(second->parent_tid, 200);
    assert_int_equal(second->samples, 2);
    assert_null(unseen_find(&stage.tasks->unseen, 200));
    /* Each of three CPUs has a part of the counts; the time it was enabled is the same for all. */
    put_exit(thread, T + 70);
    put_reading(thread, 100, 900, 80, 1);
    put_reading(thread, 200, 950, 90, 2);
    take();
    assert_true(second->live && second->exiting);
    assert_int_equal(second->readings_seen, 2);
    struct writer other = thread;
    other.event = 1;
    put_reading(other, 4, 5, 6, 0);
    take();
    assert_null(tasks_find(stage.tasks, 201));
    put_exit(child, T + 80);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(child, 1000, 1000, 1000, 0);
    take();
    assert_null(tasks_find(stage.tasks, 200));
    stage_close(&stage);
    assert_int_equal(stage.tasks->stood_in, 0);
    assert_true(kit_read("out.200.201", &file));
    const struct pinject_item_task *task = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(task->source, PINJECT_SOURCE_NET);
    assert_int_equal(task->samples, 2);
    assert_int_equal(task->end_ns, T + 70);
    assert_int_equal(task->flags & PINJECT_TASK_ENDED, PINJECT_TASK_ENDED);
    const struct pinject_item_count *counts[3];
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(counts[i] = kit_item(&file, PINJECT_ITEM_COUNT, i));
    assert_true(counts[0]->value == 300 && counts[0]->enabled_ns == 950 && counts[0]->running_ns == 170);
    assert_true(counts[0]->lost == 3);
    assert_true(counts[1]->value == 4 && counts[1]->enabled_ns == 5 && counts[1]->running_ns == 6);
    assert_true(counts[2]->value == 0 && counts[2]->enabled_ns == 0);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 2);
    kit_file_free(&file);
    assert_true(kit_read("out.200.200", &file));
    counts[0] = kit_item(&file, PINJECT_ITEM_COUNT, 0);
    assert_int_equal(counts[0]->value, 3000);
    kit_file_free(&file);
}

/* Who is made while a net is laid has parts of two. */
static void first_announcement_counts(void **state)
{
    struct writer again = root, twin = child;
    (void)state;
    again.net = twin.net = NET + 1;
    put_fork(root, 200, 200, T + 10);
    put_fork(again, 200, 200, T + 11);
    put_sample(twin, PERF_RECORD_MISC_USER, T + 20); /* as the other net told already */
    put_sample(child, PERF_RECORD_MISC_USER, T + 20);
    take();
    assert_int_equal(tasks_find(stage.tasks, 200)->net, NET);
    assert_int_equal(tasks_find(stage.tasks, 200)->samples, 1);
    assert_int_equal(stage.tasks->seen, 2);
    assert_int_equal(tasks_find(stage.tasks, 200)->refusal, 0); /* nobody refused it events */
    /* Later the number is another task's. */
    put_fork(again, 200, 200, T + 10 + 10000000);
    take();
    assert_int_equal(tasks_find(stage.tasks, 200)->net, NET + 1);
    assert_int_equal(tasks_find(stage.tasks, 200)->samples, 0);
}

/* What a task with events of its own does is told by these, and what nobody announced is nobody. */
static void records_of_others_are_left_out(void **state)
{
    const struct writer own = {100, 100, NET, 0, false}, nobody = {300, 300, NET, 0, false};
    (void)state;
    put_sample(own, PERF_RECORD_MISC_USER, T + 20);
    put_sample(root, PERF_RECORD_MISC_USER, T + 20);
    put_comm(nobody, "nobody\0", false, T + 30);
    take();
    assert_int_equal(tasks_find(stage.tasks, 100)->samples, 0);
    assert_null(tasks_find(stage.tasks, 300));
    /* But when announcements were lost for want of room, who writes is there. */
    lost_of_nets = 1;
    put_exit(nobody, T + 40);
    take();
    assert_null(tasks_find(stage.tasks, 300));
    put_comm(nobody, "nobody\0", false, T + 50);
    put_sample((struct writer){300, 301, NET, 0, false}, PERF_RECORD_MISC_USER, T + 60);
    put_sample((struct writer){0, 302, NET, 0, false}, PERF_RECORD_MISC_USER, T + 60);
    put_sample((struct writer){300, 0, NET, 0, false}, PERF_RECORD_MISC_USER, T + 60);
    take();
    assert_int_equal(stage.tasks->net_lost, 1);
    assert_int_equal(tasks_find(stage.tasks, 300)->kind, PINJECT_FORK);
    assert_int_equal(tasks_find(stage.tasks, 301)->kind, PINJECT_THREAD);
    assert_int_equal(tasks_find(stage.tasks, 301)->parent_tid, 0); /* nobody knows */
    assert_int_equal(stage.tasks->seen, 3);
}

/* A thread that calls exec goes on with the number of its process. */
static void exec_of_a_thread(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    put_fork(child, 200, 201, T + 20);
    put_exit(child, T + 30);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(child, 1, 1, 1, 0);
    put_comm(child, "static\0", true, T + 40);
    take();
    assert_null(tasks_find(stage.tasks, 201));
    struct task *task = tasks_find(stage.tasks, 200);
    assert_non_null(task);
    assert_int_equal(task->start_ns, T + 20);
    assert_string_equal(task->comm, "static");
}

/* A timer's task that went on to where none is. */
static void samples_for_a_timer(void **state)
{
    (void)state;
    struct task *task = tasks_find(stage.tasks, 100);
    put_sample(root, PERF_RECORD_MISC_USER, T + 20);
    take();
    assert_int_equal(task->samples, 0);
    task->refusal = -EACCES;
    task->silent = true;
    put_sample(root, PERF_RECORD_MISC_USER, T + 30);
    put_sample(root, PERF_RECORD_MISC_KERNEL, T + 40);
    struct writer counter = root;
    counter.event = 1;
    put_sample(counter, PERF_RECORD_MISC_USER, T + 50);
    put_exit(root, T + 60);
    take();
    assert_int_equal(task->samples, 1);
    assert_true(task->live);
}

static void estimates_and_ends(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    put_fork(root, 200, 200, T + 10);
    take();
    struct task *task = tasks_find(tasks, 200);
    tasks_netted_estimate(tasks, task);
    assert_int_equal(tasks_clock(tasks, task->values), 0);
    scheduled_ns = 70;
    tasks_netted_estimate(tasks, task);
    scheduled_ns = 60;
    tasks_netted_estimate(tasks, task);
    assert_int_equal(tasks_clock(tasks, task->values), 70);
    assert_int_equal(task->values[tasks->clock].enabled_ns, 70);
    assert_int_equal(task->values[tasks->clock].running_ns, 70);
    put_exit(child, T + 20);
    put_reading(child, 50, 50, 50, 0); /* is what counts */
    take();
    assert_int_equal(tasks_clock(tasks, task->values), 50);
    scheduled_ns = 80;
    task->sampled_ns = 60;
    const unsigned readings = task->readings;
    task->readings = 1;
    assert_false(tasks_netted_estimate(tasks, task));
    assert_int_equal(tasks_clock(tasks, task->values), 50);
    /* One CPU's counts are missing: at least what was sampled, once; the scheduler tells of the dead no more. */
    task->readings = 2;
    assert_true(tasks_netted_estimate(tasks, task));
    assert_false(tasks_netted_estimate(tasks, task));
    assert_int_equal(tasks_clock(tasks, task->values), 60);
    task->readings = readings;
    task->values[tasks->clock].value = 50;
    /* Its last counts are waited for as long as it lives, and 200 ms more. */
    stat_text = "Name:\ta\nState:\tR (running)\n";
    assert_false(tasks_netted_gone(tasks, task));
    assert_int_equal(task->gone_ns, 0);
    for (const char *const *text = (const char *const[]){"Name:\ta\nState:\tZ (zombie)\n", "Name:\ta\nState:\tX (dead)\n", "Name:\ta\n", NULL}; ; text++) {
        uint64_t now = tasks->now_ns;
        stat_text = *text;
        task->gone_ns = 0;
        assert_false(tasks_netted_gone(tasks, task));
        assert_int_equal(task->gone_ns, now);
        tasks->now_ns += 200000000;
        assert_false(tasks_netted_gone(tasks, task));
        tasks->now_ns++;
        assert_true(tasks_netted_gone(tasks, task));
        if (!*text)
            break;
    }
}

/* One whose EXIT record never came is there as long as the kernel has such a task. */
static void ends_that_nobody_recorded(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    put_fork(root, 200, 200, T + 10);
    take();
    struct task *task = tasks_find(tasks, 200);
    task->pid = task->key = getpid();
    assert_false(tasks_netted_gone(tasks, task));
    assert_int_equal(task->gone_ns, 0);
    task->pid = task->key = 3999777; /* nobody */
    assert_false(tasks_netted_gone(tasks, task));
    assert_int_equal(task->gone_ns, tasks->now_ns);
    tasks->now_ns += 200000001;
    assert_true(tasks_netted_gone(tasks, task));
    task->pid = task->key = 200;
}

/* Its next program is not followed: it goes on by itself. */
static void programs_that_are_not_followed(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    take();
    const struct task *task = tasks_find(stage.tasks, 200);
    stage.kit.settings.follow = PINJECT_SESSION_ALL & ~PINJECT_SESSION_EXEC;
    put_comm(child, "another", true, T + 20);
    put_sample(child, PERF_RECORD_MISC_USER, T + 30);
    take();
    assert_null(tasks_find(stage.tasks, 200));
    assert_true(task->left && !task->ended);
    assert_int_equal(task->samples, 0);
}

/* ---- Strangers: with numbers that nobody has, since their threads are looked for in /proc ---- */

static void announced_children_are_adopted(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    const uint64_t old = tasks->now_ns - 500000000;
    unseen_announced(&tasks->unseen, 100, 3999500, 3999500, old, true);
    unseen_announced(&tasks->unseen, 100, 3999501, 3999501, tasks->now_ns - 400000000, true); /* waits for a CPU */
    unseen_announced(&tasks->unseen, 100, 3999502, 3999502, tasks->now_ns - 20000000, true);  /* is young */
    unseen_announced(&tasks->unseen, 100, 3999503, 3999503, old, false);                      /* is not followed */
    unseen_announced(&tasks->unseen, 100, 100, 3999504, tasks->now_ns - 30000000, true);  /* a thread */
    scheduled_ns = 4999999;
    tasks_adopt_strangers(tasks);
    assert_int_equal(opened, 2);
    assert_true(tasks_find(tasks, 3999500) && tasks_find(tasks, 3999504));
    assert_int_equal(tasks_find(tasks, 3999500)->kind, PINJECT_PROCESS);
    assert_int_equal(tasks_find(tasks, 3999500)->process->ppid, 100);
    assert_int_equal(tasks_find(tasks, 3999500)->start_ns, old);
    assert_int_equal(tasks_find(tasks, 3999504)->kind, PINJECT_THREAD);
    scheduled_ns = 5000000; /* it runs, and has not asked */
    tasks_adopt_strangers(tasks);
    assert_non_null(tasks_find(tasks, 3999501));
    assert_null(tasks_find(tasks, 3999502));
    assert_null(tasks_find(tasks, 3999503));
}

static void refused_strangers_are_tried_three_times(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    unseen_announced(&tasks->unseen, 100, 3999500, 3999500, tasks->now_ns - 600000000, true);
    open_status = -EACCES;
    for (unsigned i = 0; i < 5; i++)
        tasks_adopt_strangers(tasks);
    assert_int_equal(opened, 3);
    assert_int_equal(unseen_find(&tasks->unseen, 3999500)->error, -EACCES);
    assert_null(tasks_find(tasks, 3999500));
}

/* The children of each of its threads; those that are known, or told of by a net, are left alone. */
static void family_of_a_process(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    known_by_net = 3999602;
    children = "3999601 3999602 100 3999603 junk 3999604";
    tasks_adopt_family(tasks, getpid(), T + 5);
    assert_int_equal(opened, 2);
    assert_true(tasks_find(tasks, 3999601) && tasks_find(tasks, 3999603));
    assert_null(tasks_find(tasks, 3999602));
    assert_null(tasks_find(tasks, 3999604));
    assert_int_equal(tasks_find(tasks, 3999601)->start_ns, T + 5);
    assert_int_equal(tasks_find(tasks, 3999601)->parent_tid, getpid());
    assert_null(tasks->families);
    assert_false(tasks->adopting);
    /* While families are looked at, a further one waits for its turn; at the end none is left. */
    tasks->adopting = true;
    tasks_adopt_family(tasks, 3999605, T + 6);
    tasks_adopt_family(tasks, 3999606, T + 7);
    assert_int_equal(tasks->families->pid, 3999605);
    assert_int_equal(tasks->families_last->pid, 3999606);
    tasks_forget_families(tasks);
    assert_null(tasks->families);
}

/* A sweep has 20 ms for it: what is left is done in the next one. */
static void much_is_done_in_pieces(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    for (pid_t i = 0; i < 4; i++)
        unseen_announced(&tasks->unseen, 100, 3999500 + i, 3999500 + i, tasks->now_ns - 600000000, true);
    clock_step = 7000000; /* it is looked at before each child, and for the family of each */
    tasks_adopt_strangers(tasks);
    assert_int_equal(opened, 1);
    tasks_adopt_strangers(tasks);
    assert_int_equal(opened, 2);
    clock_step = 0;
    tasks_adopt_strangers(tasks);
    assert_int_equal(opened, 4);
    /* A family whose time is over waits at the end of the row, and is looked at from there on. */
    clock_step = 20000000;
    children = "3999601 3999602";
    tasks_adopt_family(tasks, getpid(), T + 5);
    assert_int_equal(opened, 4);
    assert_int_equal(tasks->families->pid, getpid());
    clock_step = 9000000;
    children = "3999601 3999602";
    tasks_adopt_strangers(tasks);
    assert_int_equal(opened, 4); /* ".", which is no thread */
    unsigned looked = tasks->families->looked;
    assert_true(looked > 0);
    clock_step = 0;
    tasks_adopt_strangers(tasks);
    assert_int_equal(opened, 6);
    assert_null(tasks->families);
}

static void nets_that_are_owed(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct process *process = tasks_find_process(tasks, 100);
    process->net_owed = 3;
    net_status = -EACCES;
    tasks_retry_net(tasks, process);
    tasks_retry_net(tasks, process);
    assert_int_equal(process->net_owed, 1);
    assert_int_equal(tasks->unseen.count, 0);
    tasks_retry_net(tasks, process);
    assert_int_equal(process->net_owed, 0);
    assert_false(process->net);
    assert_int_equal(tasks->unseen.count, 1);
    assert_string_equal(tasks->unseen.lines[0].reason, "program that cannot be injected: its children and threads are "
                                                       "not profiled (Permission denied)");
    assert_string_equal(tasks->unseen.lines[0].comm, "prog");
    process->net_owed = 2;
    net_status = 0;
    tasks_retry_net(tasks, process);
    assert_int_equal(process->net_owed, 0);
    assert_true(process->net);
}

/* A program that goes on without a word has a net laid under it, once. */
static void silent_programs_are_covered(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct task *task = tasks_find(tasks, 100);
    stage_comm(task, 100, 100, "quiet", true, T + 10);
    stage_mmap(task, "/bin/quiet", 0x5000, T + 11);
    tasks_drain(tasks, task);
    struct image *image = &task->images[task->image_count - 1];
    image->looked = true;
    image->looked_ns = 1;
    assert_false(image->named);
    tasks_cover_silent(tasks, task);
    assert_int_equal(nets_laid, 0); /* its clock says 5 us: it has only begun */
    unseen_announced(&tasks->unseen, 100, 3999700, 3999700, T + 20, true);
    net_status = -EMFILE;
    tasks_cover_silent(tasks, task);
    assert_int_equal(nets_laid, 1);
    assert_true(task->process->net_refused);
    assert_int_equal(tasks->unseen.count, 1);
    tasks_cover_silent(tasks, task);
    assert_int_equal(nets_laid, 1);
    task->process->net_refused = false;
    net_status = 0;
    image->named = true; /* it has spoken */
    tasks_cover_silent(tasks, task);
    assert_int_equal(nets_laid, 1);
    image->named = false;
    task->process->secure = true;
    tasks_cover_silent(tasks, task);
    assert_int_equal(nets_laid, 1);
    task->process->secure = false;
    tasks_cover_silent(tasks, task);
    assert_int_equal(nets_laid, 2);
    assert_true(task->process->net);
    tasks_cover_silent(tasks, task);
    assert_int_equal(nets_laid, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tasks_come_and_go),
        TEST(first_announcement_counts),
        TEST(records_of_others_are_left_out),
        TEST(exec_of_a_thread),
        TEST(samples_for_a_timer),
        TEST(estimates_and_ends),
        TEST(ends_that_nobody_recorded),
        TEST(programs_that_are_not_followed),
        TEST(announced_children_are_adopted),
        TEST(refused_strangers_are_tried_three_times),
        TEST(family_of_a_process),
        TEST(much_is_done_in_pieces),
        TEST(nets_that_are_owed),
        TEST(silent_programs_are_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
