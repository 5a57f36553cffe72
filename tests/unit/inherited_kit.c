/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "inherited_kit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/sources/attach_late.h"
#include "collector/system/numbers.h"
#include "collector/system/procfs.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/task_stacks.h"

struct stage stage;
static struct inherited_record *queue, **queue_end = &queue;
uint64_t taken_before, lost_of_sets;
const char *children, *stat_text; /* of /proc */
uint64_t scheduled_ns;
int open_status, inherit_status;
unsigned opened, inherited_laid;
pid_t root_of_set, known_by_set, number_given_away, forgotten, made_by, made_one;
bool laid_by_pidfd, looks_hang, part_alone;
unsigned errands_begun, at_once;
struct notification last_wanted;

uint64_t clock_ns, clock_step;

/* ---- In the place of the kernel ---- */

uint64_t __wrap_monotonic_ns(void);
uint64_t __wrap_monotonic_ns(void)
{
    return clock_ns += clock_step;
}

bool __wrap_inherited_live(const struct inherited_sets *sets);
bool __wrap_inherited_live(const struct inherited_sets *sets)
{
    (void)sets;
    return true;
}

struct inherited_record *__wrap_inherited_take(struct inherited_sets *sets, uint64_t before_ns, uint64_t *lost);
struct inherited_record *__wrap_inherited_take(struct inherited_sets *sets, uint64_t before_ns, uint64_t *lost)
{
    struct inherited_record *all = queue;
    (void)sets;
    taken_before = before_ns;
    *lost += lost_of_sets;
    lost_of_sets = 0;
    queue = NULL;
    queue_end = &queue;
    return all;
}

void __wrap_inherited_forget(struct inherited_sets *sets, pid_t tid);
void __wrap_inherited_forget(struct inherited_sets *sets, pid_t tid)
{
    (void)sets;
    forgotten = tid;
}

bool __wrap_inherited_is_root(struct inherited_sets *sets, pid_t pid);
bool __wrap_inherited_is_root(struct inherited_sets *sets, pid_t pid)
{
    (void)sets;
    return pid == root_of_set;
}

void __wrap_inherited_made_by(struct inherited_sets *sets, pid_t creator, pid_t tid);
void __wrap_inherited_made_by(struct inherited_sets *sets, pid_t creator, pid_t tid)
{
    (void)sets;
    made_by = creator;
    made_one = tid;
}

const uint64_t *__wrap_inherited_ids(const struct inherited_sets *sets);
const uint64_t *__wrap_inherited_ids(const struct inherited_sets *sets)
{
    static const uint64_t ids[CONFIG_EVENTS] = {901, 902, 903};
    (void)sets;
    return ids;
}

bool __wrap_inherited_know(struct inherited_sets *sets, pid_t tid);
bool __wrap_inherited_know(struct inherited_sets *sets, pid_t tid)
{
    (void)sets;
    return tid == known_by_set;
}

int __wrap_inherited_open_of(struct inherited_sets *sets, pid_t pid, pid_t tid, int pidfd, enum inherit_root does);
int __wrap_inherited_open_of(struct inherited_sets *sets, pid_t pid, pid_t tid, int pidfd, enum inherit_root does)
{
    (void)sets;
    laid_by_pidfd = pidfd >= 0;
    assert_int_equal(pid, tid);
    assert_int_equal(does, INHERIT_RUNS);
    inherited_laid++;
    return inherit_status;
}

bool __real_numbers_hold(int pidfd, pid_t pid, pid_t tid);
bool __wrap_numbers_hold(int pidfd, pid_t pid, pid_t tid);
bool __wrap_numbers_hold(int pidfd, pid_t pid, pid_t tid)
{
    return pid != number_given_away && __real_numbers_hold(pidfd, pid, tid);
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

/* No thread of its own: it would be one of the process tree. */
bool __wrap_errands_do(struct errands *errands, struct errand *errand);
bool __wrap_errands_do(struct errands *errands, struct errand *errand)
{
    (void)errands;
    errands_begun++;
    (looks_hang ? errand->abandoned : errand->run)(errand);
    return !looks_hang;
}

int __wrap_attach_late_open(struct session *session, struct notification *notification);
int __wrap_attach_late_open(struct session *session, struct notification *notification)
{
    (void)session;
    opened++;
    last_wanted = *notification;
    if (notification->pidfd >= 0) {
        close(notification->pidfd);
        notification->pidfd = -1;
    }
    if (open_status < 0)
        return open_status;
    notification->kind = notification->pid == notification->tid ? PINJECT_PROCESS : PINJECT_THREAD;
    notification->attached_late = true;
    stage_events(&stage, notification, 10);
    return 0;
}

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

/* ---- Records of inherited sets ---- */

void put(struct writer writer, uint64_t time_ns, const uint64_t *words, size_t size)
{
    struct inherited_record *kept = calloc(1, sizeof(*kept) + size);
    assert_non_null(kept);
    kept->time_ns = time_ns;
    kept->inherited_set = writer.inherited_set;
    kept->pid = writer.pid;
    kept->tid = writer.tid;
    kept->event = writer.event;
    kept->readings = READINGS;
    kept->root = writer.root;
    kept->part = part_alone;
    memcpy(kept->bytes, words, size);
    ((struct perf_event_header *)(void *)kept->bytes)->size = (uint16_t)size;
    *queue_end = kept;
    queue_end = &kept->next;
}

void put_fork(struct writer writer, pid_t pid, pid_t tid, uint64_t time_ns)
{
    PUT(writer, time_ns, HEAD(PERF_RECORD_FORK, 0, 0), PAIR(pid, writer.pid), PAIR(tid, writer.tid), time_ns,
        TRAILER(writer, time_ns));
}

void put_comm(struct writer writer, const char *eight, bool exec, uint64_t time_ns)
{
    uint64_t name;
    memcpy(&name, eight, sizeof(name));
    PUT(writer, time_ns, HEAD(PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, 0), PAIR(writer.pid, writer.tid),
        name, 0, TRAILER(writer, time_ns));
}

void put_sample(struct writer writer, uint16_t misc, uint64_t time_ns)
{
    PUT(writer, time_ns, HEAD(PERF_RECORD_SAMPLE, misc, 0), 901, 0x1000, PAIR(writer.pid, writer.tid), time_ns, 1000000,
        1, 0x1000);
}

void put_exit(struct writer writer, uint64_t time_ns)
{
    PUT(writer, time_ns, HEAD(PERF_RECORD_EXIT, 0, 0), PAIR(writer.pid, writer.pid), PAIR(writer.tid, writer.tid),
        time_ns, TRAILER(writer, time_ns));
}

/* The kit's read_format has no id. */
void put_reading(struct writer writer, uint64_t value, uint64_t enabled, uint64_t running, uint64_t lost)
{
    PUT(writer, T, HEAD(PERF_RECORD_READ, 0, 0), PAIR(writer.pid, writer.tid), value, enabled, running, lost,
        TRAILER(writer, T));
}

void take(void)
{
    const uint64_t batch = stage.tasks->batch;
    tasks_take_inherited(stage.tasks, true);
    assert_true(taken_before == UINT64_MAX);
    assert_int_equal(stage.tasks->batch, batch + 1); /* rings that its records refer to are read anew */
}

int inherited_set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage.kit.session.inherited_sets = (struct inherited_sets *)&stage; /* looked at by nobody */
    stage_process(&stage, 100, 1, T, 5000);
    children = stat_text = NULL;
    scheduled_ns = opened = inherited_laid = 0;
    open_status = inherit_status = 0;
    known_by_set = number_given_away = forgotten = made_by = made_one = 0;
    laid_by_pidfd = looks_hang = part_alone = false;
    errands_begun = at_once = 0;
    clock_ns = T + 1000000000;
    clock_step = 0;
    stage.tasks->now_ns = T + 1000000000;
    return 0;
}

int inherited_tear_down(void **state)
{
    (void)state;
    stage.kit.session.inherited_sets = NULL;
    stage_free(&stage);
    return 0;
}

const struct writer root = {100, 100, SET, 0, true}, child = {200, 200, SET, 0, false},
                    thread = {200, 201, SET, 0, false};
