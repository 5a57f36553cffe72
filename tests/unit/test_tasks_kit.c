/* SPDX-License-Identifier: MIT */
#include "test_tasks_kit.h"

#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/sources/attach_table.h"
#include "collector/sources/deferred_munmap.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks_init.h"

void stage_new(struct stage *stage, unsigned follow, bool split)
{
    memset(stage, 0, sizeof(*stage));
    kit_new(&stage->kit, KIT_SAMPLING);
    stage->kit.settings.follow = follow;
    stage->kit.settings.split = split;
    attach_table_init(&stage->kit.session.table);
    deferred_munmap_init(&stage->kit.session.deferred_munmap);
    assert_int_equal(kit_start(&stage->kit, "out"), 0);
    stage->epoll = epoll_create1(EPOLL_CLOEXEC);
    stage->tasks = calloc(1, sizeof(*stage->tasks));
    assert_non_null(stage->tasks);
    assert_int_equal(tasks_init(stage->tasks, &stage->kit.session, stage->kit.results, stage->epoll), 0);
}

void stage_free(struct stage *stage)
{
    tasks_release(stage->tasks);
    free(stage->tasks);
    close(stage->epoll);
    kit_free(&stage->kit);
}

struct notification *stage_notification(uint32_t kind, pid_t pid, pid_t tid, pid_t ppid, uint64_t time_ns)
{
    struct notification *notification = calloc(1, sizeof(*notification));
    assert_non_null(notification);
    notification->kind = kind;
    notification->pid = pid;
    notification->tid = tid;
    notification->ppid = ppid;
    notification->time_ns = time_ns;
    notification->pidfd = -1;
    return notification;
}

/* Each read takes one or two of its copies. */
static int counter(uint64_t value)
{
    const uint64_t words[4] = {value, value, value, 0};
    int fd = memfd_create("counter", MFD_CLOEXEC);
    for (int i = 0; i < 64; i++)
        assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

struct attached *stage_events(struct stage *stage, struct notification *notification, uint64_t value)
{
    struct attached *events = attach_new(stage->kit.config.count);
    assert_non_null(events);
    events->session = &stage->kit.session;
    events->tid = events->key = notification->tid;
    events->pid = notification->pid;
    events->end_fd = events->number = -1;
    for (unsigned i = 0; i < events->count; i++) {
        events->fds[i] = counter(value);
        events->ids[i] = 1000ull * (unsigned)notification->tid + i + 1;
    }
    events->ring_size = STAGE_RING;
    events->ring = mmap(NULL, STAGE_RING + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(events->ring != MAP_FAILED);
    notification->events = events;
    return events;
}

void stage_notify(struct stage *stage, struct notification *notification)
{
    tasks_notify(stage->tasks, notification);
}

struct task *stage_process(struct stage *stage, pid_t pid, pid_t ppid, uint64_t time_ns, uint64_t clock_ns)
{
    static const char maps[] = "1000-2000 r-xp 00000000 08:01 5 /bin/prog\n";
    struct notification *notification = stage_notification(PINJECT_PROCESS, pid, pid, ppid, time_ns);
    stage_events(stage, notification, clock_ns);
    strcpy(notification->comm, "prog");
    notification->maps = strdup(maps);
    notification->exec = strdup("/bin/prog");
    notification->cmdline = strdup("prog");
    notification->cmdline_size = 5;
    stage_notify(stage, notification);
    return tasks_find(stage->tasks, pid);
}

struct task *stage_thread(struct stage *stage, pid_t pid, pid_t tid, uint64_t time_ns, uint64_t clock_ns)
{
    struct notification *notification = stage_notification(PINJECT_THREAD, pid, tid, 1, time_ns);
    stage_events(stage, notification, clock_ns);
    notification->parent_tid = pid;
    stage_notify(stage, notification);
    return tasks_find(stage->tasks, tid);
}

void stage_put(struct task *task, const void *record, size_t size)
{
    struct perf_event_mmap_page *page = task->events->ring;
    unsigned char *data = (unsigned char *)page + sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < size; i++)
        data[(page->data_head + i) % STAGE_RING] = ((const unsigned char *)record)[i];
    page->data_head += size;
}

/* HEADER, words, string, and the sample_id of the kit's event configuration: TID, TIME, IDENTIFIER. */
static void put(struct task *task, struct perf_event_header header, const uint64_t *words, size_t count,
                const char *string, pid_t pid, pid_t tid, uint64_t time_ns)
{
    unsigned char record[512] = {0};
    size_t size = sizeof(header), length = string ? (strlen(string) + 8) & ~(size_t)7 : 0;
    memcpy(record + size, words, 8 * count);
    size += 8 * count;
    if (string)
        strcpy((char *)record + size, string);
    size += length;
    uint64_t trailer[3] = {(uint32_t)pid | (uint64_t)(uint32_t)tid << 32, time_ns, task->ids[0]};
    memcpy(record + size, trailer, sizeof(trailer));
    header.size = (uint16_t)(size + sizeof(trailer));
    memcpy(record, &header, sizeof(header));
    stage_put(task, record, header.size);
}

static uint64_t pair(pid_t a, pid_t b)
{
    return (uint32_t)a | (uint64_t)(uint32_t)b << 32;
}

void stage_comm(struct task *task, pid_t pid, pid_t tid, const char *name, bool exec, uint64_t time_ns)
{
    uint64_t words[] = {pair(pid, tid)};
    put(task, (struct perf_event_header){.type = PERF_RECORD_COMM, .misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0},
        words, 1, name, pid, tid, time_ns);
}

void stage_mmap(struct task *task, const char *path, uint64_t start, uint64_t time_ns)
{
    uint64_t words[] = {pair(task->pid, task->tid), start, 0x1000, 0, pair(8, 1), 99, 0, pair(5, 2)};
    put(task, (struct perf_event_header){.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER}, words, 8, path,
        task->pid, task->tid, time_ns);
}

void stage_fork(struct task *task, pid_t pid, pid_t tid, uint64_t time_ns)
{
    uint64_t words[] = {pair(pid, task->pid), pair(tid, task->tid), time_ns};
    put(task, (struct perf_event_header){.type = PERF_RECORD_FORK}, words, 3, NULL, task->pid, task->tid, time_ns);
}

void stage_exit(struct task *task, uint64_t time_ns)
{
    uint64_t words[] = {pair(task->pid, task->pid), pair(task->tid, task->tid), time_ns};
    put(task, (struct perf_event_header){.type = PERF_RECORD_EXIT}, words, 3, NULL, task->pid, task->tid, time_ns);
}

/* IDENTIFIER, IP, TID, TIME, PERIOD, CALLCHAIN. */
void stage_sample(struct task *task, uint64_t ip, uint64_t time_ns)
{
    uint64_t words[] = {0, task->ids[0], ip, pair(task->pid, task->tid), time_ns, 1000000, 1, ip};
    struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = sizeof(words)};
    memcpy(words, &header, sizeof(header));
    stage_put(task, words, sizeof(words));
}

void stage_snapshot_of(struct stage *stage, pid_t pid, pid_t tid, uint64_t time_ns, uint64_t value)
{
    struct notification *notification = stage_notification(PINJECT_SNAPSHOT, pid, tid, 1, time_ns);
    notification->values = calloc(CONFIG_EVENTS, sizeof(*notification->values));
    for (unsigned i = 0; i < stage->kit.config.count; i++)
        notification->values[i] = (struct attach_value){.value = value, .enabled_ns = value, .running_ns = value};
    stage_notify(stage, notification);
}

void stage_snapshot(struct stage *stage, pid_t tid, uint64_t time_ns, uint64_t value)
{
    stage_snapshot_of(stage, tid, tid, time_ns, value);
}

void stage_generation(struct stage *stage, pid_t tid, uint64_t time_ns, const char *exec, const char *argument)
{
    struct notification *notification = stage_notification(PINJECT_GENERATION, tid, tid, 1, time_ns);
    notification->exec = strdup(exec);
    notification->cmdline = strdup(argument);
    notification->cmdline_size = strlen(argument) + 1;
    stage_notify(stage, notification);
}

void stage_reaped(struct stage *stage, pid_t waiter, pid_t child, int status, uint64_t cpu_ns, uint64_t time_ns)
{
    struct notification *notification = stage_notification(PINJECT_REAPED, child, waiter, 1, time_ns);
    notification->status = status;
    notification->utime_ns = cpu_ns;
    stage_notify(stage, notification);
}

void stage_close(struct stage *stage)
{
    tasks_close(stage->tasks);
    tasks_finish_root(stage->tasks, NULL);
}
