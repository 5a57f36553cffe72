/* SPDX-License-Identifier: MIT */
/* Processes, tasks, rings and clocks as the kernel keeps them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"

/* ---- Numbers ---- */

static pid_t new_number(void)
{
    for (int i = 0; i < sim.pids; i++) {
        sim.last_pid = sim.last_pid + 1 < sim.pids ? sim.last_pid + 1 : 2;
        if (!sim.used[sim.last_pid]) {
            sim.used[sim.last_pid] = true;
            return sim.last_pid;
        }
    }
    return 0;
}

struct sim_process *kernel_find(pid_t pid)
{
    struct sim_process *process = sim.processes;
    while (process && (process->pid != pid || process->gone))
        process = process->next;
    return process;
}

struct sim_task *kernel_find_task(pid_t tid)
{
    struct sim_task *task = sim.tasks;
    while (task && task->tid != tid)
        task = task->next;
    return task;
}

struct sim_process *kernel_of_pidfd(int pidfd)
{
    struct sim_process *process = sim.processes;
    while (process && process->pidfd != pidfd)
        process = process->next;
    return process;
}

/* ---- Rings ---- */

uint64_t kernel_pair(pid_t first, pid_t second)
{
    return (uint32_t)first | (uint64_t)(uint32_t)second << 32;
}

static bool put_bytes(struct sim_events *events, const void *bytes, size_t size)
{
    struct perf_event_mmap_page *page = events->attached.ring;
    unsigned char *data = (unsigned char *)page + sysconf(_SC_PAGESIZE);
    if (page->data_head + size - page->data_tail > events->attached.ring_size)
        return false;
    for (size_t i = 0; i < size; i++)
        data[(page->data_head + i) % events->attached.ring_size] = ((const unsigned char *)bytes)[i];
    page->data_head += size;
    return true;
}

/* The trailer: TID, TIME, IDENTIFIER. */
size_t kernel_make_record(unsigned char bytes[SIM_RECORD], const struct sim_record *record,
                          const struct sim_task *writer, uint64_t id)
{
    struct perf_event_header header = {.type = record->type, .misc = record->misc};
    size_t size = sizeof(header);
    memset(bytes, 0, SIM_RECORD);
    memcpy(bytes + size, record->words, 8 * record->count);
    size += 8 * record->count;
    if (record->string) {
        strcpy((char *)bytes + size, record->string);
        size += (strlen(record->string) + 8) & ~(size_t)7;
    }
    const uint64_t trailer[] = {kernel_pair(writer->process->pid, writer->tid), sim.now_ns, id};
    if (record->type != PERF_RECORD_SAMPLE) {
        memcpy(bytes + size, trailer, sizeof(trailer));
        size += sizeof(trailer);
    }
    header.size = (uint16_t)size;
    memcpy(bytes, &header, sizeof(header));
    return size;
}

static bool put(struct sim_events *events, const struct sim_record *record)
{
    unsigned char bytes[SIM_RECORD];
    return put_bytes(events, bytes, kernel_make_record(bytes, record, events->task, events->attached.ids[0]));
}

/* What found no room is told with the next record that does. */
static bool write_record(struct sim_events *events, const struct sim_record *record)
{
    if (!events || !events->attached.ring || events->hung_up || !events->enabled)
        return false;
    if (events->lost > events->lost_told) {
        const uint64_t words[] = {events->attached.ids[0], events->lost - events->lost_told};
        if (!put(events, &(struct sim_record){PERF_RECORD_LOST, 0, words, 2, NULL})) {
            events->lost++;
            return false;
        }
        events->lost_told = events->lost;
    }
    const bool written = put(events, record);
    events->lost += !written;
    return written;
}

static void write_sample(struct sim_task *task)
{
    const uint64_t ip = 0x1000 + sim_below(0x1000);
    const uint64_t words[] = {task->events->attached.ids[0],
                              ip,
                              kernel_pair(task->process->pid, task->tid),
                              sim.now_ns,
                              SIM_SAMPLE_NS,
                              1,
                              ip};
    task->events->sampled++;
    write_record(task->events, &(struct sim_record){PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, words, 7, NULL});
}

/* ---- Clocks ---- */

void kernel_run(struct sim_task *task, uint64_t ns)
{
    struct sim_events *events = task->events;
    sim.now_ns += ns;
    sim.given_ns += ns;
    task->cpu_ns += ns;
    task->slices++;
    task->process->cpu_ns += ns;
    task->process->switches++;
    if (task->cover)
        inherited_run(task, ns);
    if (!events || !events->enabled)
        return;
    if (task->root_of && sim_chance(250))
        inherited_sample(task);
    events->counted_ns += ns;
    events->slices++;
    for (; task->sample_ns <= events->counted_ns; task->sample_ns += SIM_SAMPLE_NS)
        write_sample(task);
}

uint64_t kernel_rusage(const struct sim_process *process)
{
    return process->cpu_ns + process->children_ns;
}

/* ---- Events ---- */

struct sim_events *kernel_attach(struct sim_task *task, bool armed)
{
    struct sim_events *events = calloc(1, sizeof(*events));
    struct attached *attached = &events->attached;
    attached->session = &sim.session;
    attached->tid = attached->key = task->tid;
    attached->pid = task->process->pid;
    attached->count = sim.config.count;
    attached->end_fd = attached->number = -1;
    events->serial = ++sim.serial;
    attached->fds = events->fds;
    attached->ids = events->ids;
    for (unsigned i = 0; i < attached->count; i++) {
        attached->fds[i] = (int)(1000000 + 8 * events->serial + i);
        attached->ids[i] = 16 * events->serial + i;
    }
    attached->ring_size = sim.faults.small_rings ? SIM_RING / 8 : SIM_RING;
    attached->ring = mmap(NULL, attached->ring_size + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    events->task = task;
    events->process = task->process;
    events->exit_ns = UINT64_MAX;
    events->enabled = !armed;
    events->next = sim.events;
    sim.events = events;
    task->events = events;
    task->had_events = true;
    task->sample_ns = SIM_SAMPLE_NS;
    return events;
}

struct sim_events *kernel_cover(struct sim_task *task, struct sim_set *set)
{
    struct sim_events *cover = calloc(1, sizeof(*cover));
    cover->attached.tid = task->tid;
    cover->attached.fds = cover->fds;
    cover->attached.ids = cover->ids;
    cover->attached.pid = task->process->pid;
    cover->set = set;
    cover->task = task;
    cover->process = task->process;
    cover->exit_ns = UINT64_MAX;
    cover->enabled = cover->freed = true;
    cover->next = sim.events;
    sim.events = cover;
    task->cover = cover;
    task->had_events = true;
    task->sample_ns = SIM_SAMPLE_NS;
    return cover;
}

/* They count no more; the collector sees that. */
static void hang_up(struct sim_task *task, bool ends)
{
    struct sim_events *events = task->events;
    const uint64_t words[] = {kernel_pair(task->process->pid, task->process->pid), kernel_pair(task->tid, task->tid),
                              sim.now_ns};
    if (ends || !task->cover || !task->cover->set->system_wide) /* the kernel takes nothing from such a set */
        inherited_end(task);
    if (!events)
        return;
    write_record(events, &(struct sim_record){PERF_RECORD_EXIT, 0, words, 3, NULL});
    events->hung_up = true;
    events->hung_up_ns = sim.now_ns;
    events->task = NULL;
    task->events = NULL;
}

/* ---- Starts ---- */

static struct sim_task *new_task(struct sim_process *process, pid_t tid)
{
    struct sim_task *task = calloc(1, sizeof(*task));
    task->process = process;
    task->tid = tid;
    task->start_ns = sim.now_ns;
    task->next = sim.tasks;
    if (task->next)
        task->next->prev = task;
    sim.tasks = task;
    sim.task_count++;
    process->tasks++;
    return task;
}

static void announce(struct sim_task *creator, struct sim_task *made)
{
    if (!creator)
        return;
    const uint64_t words[] = {kernel_pair(made->process->pid, creator->process->pid),
                              kernel_pair(made->tid, creator->tid), sim.now_ns};
    made->announced = write_record(creator->events, &(struct sim_record){PERF_RECORD_FORK, 0, words, 3, NULL}) &&
                      !creator->events->left;
    inherited_fork(creator, made);
}

struct sim_task *kernel_fork(struct sim_task *creator)
{
    const pid_t pid = sim.task_count < SIM_TASKS ? new_number() : 0;
    struct sim_process *process = pid ? calloc(1, sizeof(*process)) : NULL;
    if (!process)
        return NULL;
    process->pid = pid;
    process->pidfd = (int)(500000 + ++sim.serial);
    process->parent = creator ? creator->process : NULL;
    process->program = creator ? creator->process->program : SIM_INJECTABLE;
    process->next = sim.processes;
    sim.processes = process;
    struct sim_task *task = new_task(process, pid);
    task->creator = creator ? creator->tid : 0;
    strcpy(task->comm, creator ? creator->comm : "start");
    announce(creator, task);
    return task;
}

struct sim_task *kernel_thread(struct sim_task *creator)
{
    const pid_t tid = sim.task_count < SIM_TASKS ? new_number() : 0;
    if (!tid)
        return NULL;
    struct sim_task *task = new_task(creator->process, tid);
    task->creator = creator->tid;
    strcpy(task->comm, creator->comm);
    announce(creator, task);
    return task;
}

/* ---- Ends ---- */

static void remove_task(struct sim_task *task)
{
    hang_up(task, true);
    sim.unknown += task->announced && !task->had_events;
    *(task->prev ? &task->prev->next : &sim.tasks) = task->next;
    if (task->next)
        task->next->prev = task->prev;
    task->process->tasks--;
    if (task->tid != task->process->pid) /* the number of a process is free once that was waited for */
        sim.used[task->tid] = false;
    sim.task_count--;
    free(task);
}

static void note_exec(struct sim_events *events)
{
    if (events->enabled && events->exec_count < SIM_EXECS)
        events->execs[events->exec_count] = (struct sim_exec){sim.now_ns, events->counted_ns, events->snapshot};
    events->exec_count += events->enabled && events->exec_count <= SIM_EXECS;
    events->snapshot = events->reported = false;
    events->enabled = true;
}

static void write_exec(struct sim_task *task, const char *name)
{
    static const char *const paths[] = {"/opt/injectable", "/opt/static", "/opt/setuid", "/opt/cleaned"};
    const uint64_t words[] = {
        kernel_pair(task->process->pid, task->tid), 0x1000, 0x1000, 0, kernel_pair(8, 1), 99, 0, kernel_pair(5, 2)};
    const struct sim_record comm = {PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, words, 1, name};
    const struct sim_record mapping = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, words, 8,
                                       paths[task->process->program]};
    sim.now_ns++; /* the other threads have ended before */
    write_record(task->events, &comm);
    inherited_exec(task, &comm);
    if (task->process->program == SIM_SETUID)
        hang_up(task, false);
    write_record(task->events, &mapping);
    inherited_write(task, 0, &mapping);
}

void kernel_exec(struct sim_task *task, enum sim_program program, const char *name)
{
    struct sim_process *process = task->process;
    for (struct sim_task *other = sim.tasks, *next; other; other = next) {
        next = other->next;
        if (other == task || other->process != process)
            continue;
        if (other->events) /* what it ran last goes on in TASK */
            other->events->reported = false;
        remove_task(other);
    }
    if (task->tid != process->pid) {
        sim.used[task->tid] = false;
        task->tid = process->pid;
    }
    strcpy(task->comm, name);
    process->program = program;
    process->vforked = false;
    process->execs++;
    if (task->events)
        note_exec(task->events);
    if (task->cover)
        note_exec(task->cover);
    write_exec(task, name);
}

void kernel_exit_thread(struct sim_task *task)
{
    remove_task(task);
}

static void bury(struct sim_process *process)
{
    sim_say("process %d used %" PRIu64 " ns, with its children %" PRIu64, (int)process->pid, process->cpu_ns,
            kernel_rusage(process));
    process->gone = true;
    sim.used[process->pid] = false;
}

void kernel_exit(struct sim_process *process, int status, uint64_t cost_ns)
{
    for (struct sim_task *task = sim.tasks, *next; task; task = next) {
        next = task->next;
        if (task->process == process)
            remove_task(task);
    }
    process->zombie = true;
    process->end_ns = sim.now_ns;
    process->status = status;
    process->cpu_ns += cost_ns;
    process->exit_ns = cost_ns;
    sim.given_ns += cost_ns;
    /* The EXIT record comes before the parent can wait, and its own EXIT record after that: their times differ. */
    sim.now_ns += cost_ns ? cost_ns : 1;
    for (struct sim_process *child = sim.processes; child; child = child->next)
        if (child->parent == process) {
            child->parent = NULL;
            if (child->zombie && !child->gone)
                bury(child);
        }
    if (!process->parent && process != sim.root)
        bury(process);
}

struct sim_process *kernel_zombie_of(const struct sim_process *parent)
{
    struct sim_process *child = sim.processes;
    while (child && (child->parent != parent || !child->zombie || child->gone))
        child = child->next;
    return child;
}

void kernel_wait(struct sim_process *parent, struct sim_process *child)
{
    /* A process that is held for 2 s is settled before its parent's wait: then that is no more than likely. */
    sim.clean &= sim.now_ns < child->end_ns + 1000ull * SIM_MS;
    parent->children_ns += kernel_rusage(child);
    parent->children_switches += child->switches + child->children_switches;
    bury(child);
}

/* ---- A session ---- */

void kernel_init(void)
{
    sim.last_pid = (pid_t)(1 + sim_below((uint64_t)sim.pids - 2));
    sim.now_ns = 10ull * 1000 * SIM_MS;
    sim.used[0] = sim.used[1] = true;
}

void kernel_free(void)
{
    inherited_free_sets();
    while (sim.tasks) {
        struct sim_task *task = sim.tasks;
        sim.tasks = task->next;
        free(task);
    }
    while (sim.processes) {
        struct sim_process *process = sim.processes;
        sim.processes = process->next;
        free(process);
    }
    while (sim.events) {
        struct sim_events *events = sim.events;
        sim.events = events->next;
        if (events->attached.ring)
            munmap(events->attached.ring, events->attached.ring_size + (size_t)sysconf(_SC_PAGESIZE));
        free(events);
    }
}
