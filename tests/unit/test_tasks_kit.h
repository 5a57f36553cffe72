/* SPDX-License-Identifier: MIT */
/* Tasks without a kernel: rings in memory, counters in files, fake notifications. */
#ifndef TEST_TASKS_KIT_H
#define TEST_TASKS_KIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/sources/rings.h"
#include "collector/tasks/tasks.h"
#include "test_result_kit.h"

enum { STAGE_RING = 65536 };

struct stage {
    struct kit kit;
    struct tasks *tasks;
    int epoll;
};

void stage_new(struct stage *stage, unsigned follow, bool split);
void stage_free(struct stage *stage);

/* A notification of KIND without events. */
struct notification *stage_notification(uint32_t kind, pid_t pid, pid_t tid, pid_t ppid, uint64_t time_ns);
/* Gives NOTIFICATION events: counters with VALUE (also as their enabled time in ns), and a ring. */
struct attached *stage_events(struct stage *stage, struct notification *notification, uint64_t value);
/* Gives NOTIFICATION to the tasks. */
void stage_notify(struct stage *stage, struct notification *notification);
/* A new process, or thread, whose notification has events. */
struct task *stage_process(struct stage *stage, pid_t pid, pid_t ppid, uint64_t time_ns, uint64_t clock_ns);
struct task *stage_thread(struct stage *stage, pid_t pid, pid_t tid, uint64_t time_ns, uint64_t clock_ns);

/* Write the kernel's records into the ring of TASK. */
void stage_comm(struct task *task, pid_t pid, pid_t tid, const char *name, bool exec, uint64_t time_ns);
void stage_mmap(struct task *task, const char *path, uint64_t start, uint64_t time_ns);
void stage_fork(struct task *task, pid_t pid, pid_t tid, uint64_t time_ns);
void stage_exit(struct task *task, uint64_t time_ns);
void stage_sample(struct task *task, uint64_t ip, uint64_t time_ns);
void stage_put(struct task *task, const void *record, size_t size);

/* A snapshot of the counters of the task: each is VALUE. Of a thread, or of a first thread. */
void stage_snapshot_of(struct stage *stage, pid_t pid, pid_t tid, uint64_t time_ns, uint64_t value);
void stage_snapshot(struct stage *stage, pid_t tid, uint64_t time_ns, uint64_t value);
void stage_generation(struct stage *stage, pid_t tid, uint64_t time_ns, const char *exec, const char *argument);
void stage_reaped(struct stage *stage, pid_t waiter, pid_t child, int status, uint64_t cpu_ns, uint64_t time_ns);
/* Ends the session. */
void stage_close(struct stage *stage);

#endif
