/* SPDX-License-Identifier: MIT */
/* What collector/tasks asks of the kernel and of other subdirectories. The linker takes these functions. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/output/result.h"
#include "collector/records/kernelmap.h"
#include "collector/sources/attach_late.h"
#include "collector/sources/deferred_munmap.h"
#include "collector/sources/inherited.h"
#include "collector/sources/pressure.h"
#include "collector/sources/rings.h"
#include "collector/system/errand.h"
#include "collector/system/machine_time.h"
#include "collector/system/monotonic.h"
#include "collector/system/numbers.h"
#include "collector/system/pidfd.h"
#include "collector/system/procfs.h"
#include "collector/system/watch.h"
#include "collector/tasks/task_table.h"
#include "sim.h"

/* ---- Notifications ---- */

static void free_notification(struct notification *notification)
{
    pidfd_close(notification->pidfd);
    free(notification->values);
    free(notification->maps);
    free(notification->exec);
    free(notification->cmdline);
    sim.notifications_alive -= !notification->inherited; /* the collector makes those itself */
    free(notification);
}

void notification_free(struct notification *notification)
{
    if (notification)
        free_notification(notification);
}

uint64_t notification_text(const struct notification *notification)
{
    return notification->cmdline_size + (notification->maps ? strlen(notification->maps) : 0);
}

void world_notify(struct notification *notification)
{
    struct sim_notification *entry = calloc(1, sizeof(*entry)), **at = &sim.notifications;
    entry->notification = notification;
    /* Waits are told through slots that the event loop reads itself, others by workers. */
    const bool waits = sim.clean && notification->kind == PINJECT_REAPED;
    entry->due_ns = sim.now_ns + (waits ? 0 : sim_below(2 * SIM_MS));
    if (!waits && sim_chance(sim.faults.late))
        entry->due_ns += sim_below(sim.faults.late_ns);
    while (*at && (*at)->due_ns <= entry->due_ns)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

void world_drop(struct notification *notification)
{
    sim_say("lost: what %d tells (%u)", (int)notification->tid, notification->kind);
    free_notification(notification);
}

struct notification *world_take(bool all)
{
    struct notification *first = NULL, **end = &first;
    while (sim.notifications && (all || sim.notifications->due_ns <= sim.now_ns)) {
        struct sim_notification *entry = sim.notifications;
        sim.notifications = entry->next;
        *end = entry->notification;
        end = &entry->notification->next;
        sim_say("the collector hears of %d (%u), %" PRIu64 " us late", (int)entry->notification->tid,
                entry->notification->kind, (sim.now_ns - entry->notification->time_ns) / SIM_US);
        if (entry->notification->events)
            ((struct sim_events *)entry->notification->events)->delivered = true;
        free(entry);
    }
    return first;
}

/* ---- Events ---- */

void attach_read(const struct attached *attached, struct attach_value *values)
{
    const struct sim_events *events = (const struct sim_events *)attached;
    memset(values, 0, sim.config.count * sizeof(*values));
    values[0] = (struct attach_value){events->counted_ns, events->counted_ns, events->counted_ns, events->lost};
    values[1] = (struct attach_value){events->slices, events->counted_ns, events->counted_ns, 0};
}

void attach_retire(struct session *session, struct attached *attached)
{
    (void)session;
    (void)attached;
}

/* A task that lives loses its events; or it needs none that were opened for it. */
static void take_over(struct sim_events *events)
{
    struct sim_events *cover = events->task ? events->task->cover : NULL;
    const struct task *task = sim.collector->live;
    while (task && task->events != &events->attached)
        task = task->live_next;
    if (task && cover) {
        events->after = cover;
        return;
    }
    events->delivered &= task != NULL || events->files;
    if (cover)
        cover->delivered = true;
}

void attach_adopt_all(struct session *session)
{
    (void)session;
    for (struct sim_task *task = sim.tasks; task; task = task->next)
        if (task->events)
            inherited_adopt(NULL, task->process->pid, task->tid);
}

bool attach_disable(const struct attached *attached, uint64_t *ret_ns)
{
    *ret_ns = sim.now_ns;
    return !((const struct sim_events *)attached)->hung_up;
}

void attach_enable(const struct attached *attached)
{
    (void)attached; /* attach_disable() does not disable them here */
}

uint32_t attach_switches(const struct attached *attached)
{
    return (uint32_t)(40 * ((const struct sim_events *)attached)->slices);
}

void attach_free(struct attached *attached)
{
    struct sim_events *events = (struct sim_events *)attached;
    if (!events)
        return;
    if (events->freed)
        sim_fail("events %u are freed twice", (unsigned)events->serial);
    if (sim.wide && (!events->task || (events->task->cover && events->task->cover->set == sim.wide)))
        take_over(events);
    else if (events->task && !events->left && !sim.collector->closing)
        sim_fail("the events of %d are closed while it lives", (int)events->task->tid);
    events->freed = true;
    if (events->task)
        events->task->events = NULL;
    events->task = NULL;
}

bool attach_is_unplaced(const struct attached *attached)
{
    (void)attached;
    return false;
}

int attach_timer_event(const struct event_config *config)
{
    (void)config;
    return -1;
}

struct pinject_timer_head *rings_head(const struct rings *rings, int number)
{
    (void)rings;
    (void)number;
    return NULL;
}

void deferred_munmap_run(struct session *session)
{
    (void)session;
}

void pressure_queued(struct session *session)
{
    (void)session;
}

void pressure_written(struct session *session)
{
    (void)session;
}

/* ---- The kernel ---- */

uint64_t monotonic_ns(void)
{
    sim.read_ns += sim.faults.slow ? sim_below(2 * SIM_US) : 0;
    return sim.now_ns + sim.read_ns;
}

void machine_time_read(struct machine_time *ret)
{
    *ret = (struct machine_time){.at_ns = sim.now_ns};
}

int watch_add(int epoll, int fd, void *tag)
{
    (void)epoll;
    (void)tag;
    return fd < 0 ? -EINVAL : 0;
}

void watch_remove(int epoll, int fd)
{
    (void)epoll;
    (void)fd;
}

int pidfd_open_of(pid_t pid)
{
    struct sim_process *process = kernel_find(pid);
    if (!process)
        return -1;
    process->pidfds++;
    return process->pidfd;
}

void pidfd_close(int pidfd)
{
    struct sim_process *process = pidfd < 0 ? NULL : kernel_of_pidfd(pidfd);
    if (process && process->pidfds-- == 0)
        sim_fail("the pidfd of %d is closed too often", (int)process->pid);
}

bool pidfd_are_same(int one, int other)
{
    return one >= 0 && one == other;
}

bool pidfd_is_dead(int pidfd)
{
    const struct sim_process *process = kernel_of_pidfd(pidfd);
    return process && process->zombie;
}

bool pidfd_has_number(int pidfd)
{
    const struct sim_process *process = kernel_of_pidfd(pidfd);
    return process && !process->gone;
}

bool pidfd_status(int pidfd, int *ret)
{
    const struct sim_process *process = kernel_of_pidfd(pidfd);
    if (!process || !process->gone || !sim.has_status)
        return false;
    *ret = process->status;
    return true;
}

bool pidfd_clock(int pidfd, pid_t pid, uint64_t *ret_ns)
{
    const struct sim_process *process = kernel_of_pidfd(pidfd);
    (void)pid;
    if (!process || !process->zombie || process->gone)
        return false;
    *ret_ns = process->cpu_ns;
    return true;
}

bool numbers_hold(int pidfd, pid_t pid, pid_t tid)
{
    struct sim_process *process = kernel_find(pid);
    if (!process || (pidfd >= 0 && process->pidfd != pidfd))
        return false;
    const struct sim_task *task = kernel_find_task(tid);
    const bool hold = pid == tid || (task && task->process == process);
    process->unsure |= pidfd >= 0 && !hold;
    return hold;
}

bool numbers_are_anothers(int pidfd, pid_t pid)
{
    const struct sim_process *process = kernel_find(pid);
    return pidfd >= 0 && process && process->pidfd != pidfd;
}

bool numbers_process_is_gone(pid_t pid)
{
    return !kernel_find(pid);
}

bool numbers_task_is_gone(pid_t pid, pid_t tid)
{
    return !numbers_hold(-1, pid, tid);
}

void procfs_comm(pid_t pid, pid_t tid, char ret[16])
{
    const struct sim_task *task = kernel_find_task(tid);
    (void)pid;
    strcpy(ret, task ? task->comm : "");
}

uint64_t procfs_scheduled_ns(pid_t pid, pid_t tid)
{
    const struct sim_task *task = kernel_find_task(tid);
    return task && task->process->pid == pid ? task->cpu_ns : 0;
}

char *procfs_read(pid_t pid, const char *name, size_t limit, size_t *ret_size)
{
    pid_t tid;
    (void)limit;
    (void)ret_size;
    if (sscanf(name, "task/%d/status", &tid) != 1 || !numbers_hold(-1, pid, tid))
        return NULL;
    const struct sim_task *task = kernel_find_task(tid);
    return strdup(task ? "Name:\tsim\nState:\tR (running)\n" : "Name:\tsim\nState:\tZ (zombie)\n");
}

static const struct sim_task *first_task(pid_t pid)
{
    const struct sim_task *task = kernel_find_task(pid);
    return task && task->process->pid == pid ? task : NULL;
}

char *errands_exec(struct errands *errands, pid_t pid)
{
    const struct sim_task *task = first_task(pid);
    char *path = NULL;
    (void)errands;
    return task && asprintf(&path, "/opt/%s", task->comm) > 0 ? path : NULL;
}

char *errands_cmdline(struct errands *errands, pid_t pid, size_t *ret_size)
{
    const struct sim_task *task = first_task(pid);
    (void)errands;
    *ret_size = task ? strlen(task->comm) + 1 : 0;
    return task ? strdup(task->comm) : NULL;
}

char *errands_maps(struct errands *errands, pid_t pid)
{
    (void)errands;
    (void)pid;
    return NULL;
}

bool kernelmap_in_modules(struct kernelmap *map, const struct perf_event_header *record)
{
    (void)map;
    (void)record;
    return false;
}

void kernelmap_make_modules(struct kernelmap *map, const struct records_layout *layout,
                            const struct records_stamp *stamp, struct buffer *buffer)
{
    (void)map;
    (void)layout;
    (void)stamp;
    (void)buffer;
}

void kernelmap_release(struct kernelmap *map)
{
    (void)map;
}

/* ---- Stacks: samples have call chains ---- */

int stacks_new(const struct event_config *config, const struct records_layout *layout, struct dump_sizes *dumps,
               struct stacks **ret)
{
    (void)config;
    (void)layout;
    (void)dumps;
    *ret = NULL;
    return 0;
}

void stacks_free(struct stacks *stacks)
{
    (void)stacks;
}

const struct perf_event_header *stacks_take(struct stacks *stacks, const struct stack_owner *owner, unsigned event,
                                            const struct perf_event_header *record)
{
    (void)stacks;
    (void)owner;
    (void)event;
    return record;
}

void stacks_round(struct stacks *stacks, const struct stack_owner *owner, uint64_t lost, uint64_t filled, uint64_t size)
{
    (void)stacks;
    (void)owner;
    (void)lost;
    (void)filled;
    (void)size;
}

/* ---- Attaching late ---- */

void tasks_attach_trees(struct tasks *tasks)
{
    if (tasks->attaching)
        return;
    tasks->attaching = true;
    while (tasks->late_trees) {
        struct late_tree *tree = tasks->late_trees;
        const struct sim_process *process = kernel_find(tree->pid);
        tasks->late_trees = tree->next;
        for (struct sim_task *task = sim.tasks; process && task; task = task->next) {
            const bool thread = task->process == process, child = task->process->parent == process;
            if (!(thread || (child && task->tid == task->process->pid)) || task->events || task->cover ||
                tasks_find(tasks, task->tid) || tids_has(&tasks->left, task->tid))
                continue;
            script_attach_late(task, process->pid, tree->time_ns);
        }
        free(tree);
    }
    tasks->attaching = false;
}

void tasks_attach_tree(struct tasks *tasks, pid_t pid, uint64_t time_ns)
{
    if (tasks_add_tree(tasks, pid, time_ns))
        tasks_attach_trees(tasks);
}

/* In the simulator, programs ask. */
void tasks_attach_uncovered(struct tasks *tasks)
{
    (void)tasks;
}

void tasks_attach_untracked(struct tasks *tasks)
{
    struct untracked_task found[16];
    const struct missed_wanted wanted = {tasks->now_ns - 20 * SIM_MS, tasks->now_ns - 500 * SIM_MS, 5 * SIM_MS, 3};
    const size_t count = missed_untracked(&tasks->missed, &wanted, found, 16);
    tasks_attach_trees(tasks);
    for (size_t i = 0; i < count; i++) {
        struct sim_task *task = kernel_find_task(found[i].tid);
        missed_tried(&tasks->missed, found[i].tid);
        if (!task || task->process->pid != found[i].pid || task->start_ns > found[i].time_ns)
            missed_refused(&tasks->missed, found[i].tid, -ESRCH);
        else if (task->events || inherited_know(NULL, task->tid))
            missed_refused(&tasks->missed, found[i].tid, -EEXIST);
        else
            script_attach_late(task, found[i].parent, found[i].time_ns);
    }
}

void tasks_cover_unreported(struct tasks *tasks, struct task *task)
{
    (void)tasks;
    (void)task;
}

void tasks_retry_inherit(struct tasks *tasks, struct process *process)
{
    struct sim_task *task = kernel_find_task(process->pid);
    if (task && task->events && task->process->pid == process->pid && sim_chance(500)) {
        inherited_open_set(task, false);
        process->inherit_owed = 0;
        process->inherits = true;
        tasks_attach_tree(tasks, process->pid, tasks->now_ns);
        return;
    }
    if (--process->inherit_owed == 0)
        tasks_tell_no_inherit(tasks, process, -EPERM);
}

void tasks_retry_inherit_soon(struct tasks *tasks)
{
    tasks->owed_count = 0;
}

/* ---- Result files ---- */

struct result {
    pid_t pid, tid;
    uint64_t samples;
};

struct opener *results_opener(const struct results *results)
{
    (void)results;
    return NULL;
}

uint64_t results_written(const struct results *results)
{
    (void)results;
    return sim.files_done;
}

void results_expect(struct results *results, pid_t pid, const struct mapping *mapping, uint64_t now_ns)
{
    (void)results;
    (void)pid;
    (void)mapping;
    (void)now_ns;
}

int result_new(struct results *results, pid_t pid, pid_t tid, const char *exec, struct result **ret)
{
    (void)results;
    if (sim.split != (exec != NULL))
        sim_fail("a file of %d has the wrong kind of name", (int)tid);
    *ret = calloc(1, sizeof(**ret));
    (*ret)->pid = pid;
    (*ret)->tid = tid;
    sim.files_open++;
    return 0;
}

int result_record(struct result *result, const void *record, size_t size)
{
    const struct perf_event_header *header = record;
    if (header->size != size)
        sim_fail("a record of %d has the wrong size", (int)result->tid);
    result->samples += header->type == PERF_RECORD_SAMPLE;
    return 0;
}

size_t result_pending(const struct result *result)
{
    return result->samples;
}

int result_flush(struct result *result, const struct result_task *task, const struct result_coverage *coverage)
{
    (void)coverage;
    if (task->tid != result->tid)
        sim_fail("the file of %d is that of %d", (int)result->tid, (int)task->tid);
    return 0;
}

int result_read(struct result *result, const struct result_task *task)
{
    (void)result;
    (void)task;
    return 0;
}

int result_finish(struct result *result, const struct result_task *task, const struct result_coverage *coverage)
{
    (void)coverage;
    sim.files_open--;
    sim.files_done++;
    if (task->pid != result->pid || task->tid != result->tid)
        sim_fail("the file of %d is that of %d", (int)result->tid, (int)task->tid);
    collector_check_file(task, result->samples);
    free(result);
    return 0;
}
