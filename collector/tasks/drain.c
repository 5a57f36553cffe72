/* SPDX-License-Identifier: MIT */
#include "collector/tasks/drain.h"

#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/system/monotonic.h"
#include "collector/tasks/generations.h"
#include "collector/tasks/mappings.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_stacks.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/timer_records.h"

/* Records between two looks at the clock. */
enum { LOOKS = 32 };

/* The CPU time of an inherited task is estimated by that, if its counts do not come. */
static void add_sampled(const struct tasks *tasks, struct task *task, const struct perf_event_header *record)
{
    const unsigned event = records_event(&tasks->layout, task->ids, record);
    if (task_is_inherited(task) && (int)event == tasks->clock)
        task->sampled_ns += records_period(&tasks->layout, event, record);
}

static void take_sample(struct tasks *tasks, struct task *task, const struct perf_event_header *record)
{
    unsigned event = records_event(&tasks->layout, task->ids, record);
    uint64_t time_ns = records_time(&tasks->layout, event, record);
    if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL && !task->modules_mapped &&
        kernelmap_in_modules(&tasks->kernel, record))
        tasks_map_modules(tasks, task);
    task->samples++;
    if (task_is_saturated(task, tasks->session->settings)) {
        tasks->saturated++;
        task->limit_lost = task->lost_records;
    }
    add_sampled(tasks, task, record);
    if (!task->first_sample_ns || time_ns < task->first_sample_ns)
        task->first_sample_ns = time_ns;
    if (time_ns > task->last_sample_ns)
        task->last_sample_ns = time_ns;
}

/* A mapping goes to the files of all threads of the address space: each file has to explain its own samples. False:
 * not to the task's own file, which has it. */
static bool take_mmap(struct tasks *tasks, struct task *task, const struct perf_event_header *record, uint64_t time_ns)
{
    struct records_mmap map = records_parse_mmap(record);
    map.values.time_ns = time_ns;
    struct mapping *mapping = mapping_new(&map.values, map.path);
    if (!mapping) {
        tasks->missed.uncounted++;
        return true;
    }
    if (mapping->data) {
        tasks_take_data(tasks, task, mapping);
        mapping_put(mapping);
        return false;
    }
    tasks_guess_program(tasks, task, mapping);
    const bool known = tasks_knows_mapping(tasks, task, mapping, record->size);
    mapping_put(mapping);
    return !known;
}

bool tasks_follows(const struct tasks *tasks, const struct records_task *made)
{
    const uint32_t children = PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK, follow = tasks->session->settings->follow;
    if (made->pid == made->ppid) /* a thread: always followed in the first process, as in the preload object */
        return made->pid == tasks->root || follow & PINJECT_SESSION_PTHREAD;
    return (follow & children) == children;
}

static void take_fork(struct tasks *tasks, const struct task *creator, const struct perf_event_header *record)
{
    struct records_task made = records_parse_task(record);
    bool followed = tasks_follows(tasks, &made);
    if (!missed_has_requested(&tasks->missed, made.tid)) /* its number is in use again */
        tids_remove(&tasks->left, made.tid);
    /* A system-wide set has a record of that, too; and a creator that ended before it has tasks that came into it. */
    if (!task_is_inherited(creator) && !session_system_wide(tasks->session))
        inherited_made_by(tasks->session->inherited_sets, made.ptid, made.tid);
    if (!followed || !task_is_inherited(creator)) /* tasks in an inherited set send no request */
        missed_announced(&tasks->missed, made.ppid, made.pid, made.tid, made.time_ns, followed);
}

/* False: nothing more of the ring is wanted. */
static bool take_comm(struct tasks *tasks, struct task *task, const struct perf_event_header *record, uint64_t time_ns)
{
    struct records_comm comm = records_parse_comm(record);
    if (comm.exec)
        return tasks_exec(tasks, task, time_ns, &comm);
    /* A thread may name another one, whose own ring then has no record of it. */
    struct task *named = comm.tid == task->key ? task : tasks_find(tasks, comm.tid);
    if (named) {
        strncpy(named->comm, comm.name, sizeof(named->comm) - 1);
        if (named->generation_count == 1 && named->kind == PINJECT_THREAD)
            memcpy(named->generations[0].comm, named->comm, sizeof(named->comm));
    }
    if (named && named != task)
        tasks_put_record(tasks, named, record, record->size);
    return true;
}

/* A sample with a stack dump, as a sample with a call chain. */
static const struct perf_event_header *unwind_record(struct tasks *tasks, struct task *task,
                                                     const struct perf_event_header *record)
{
    unsigned event = records_event(&tasks->layout, task->ids, record);
    const struct perf_event_header *sample = tasks_unwind(tasks, task, event, record);
    tasks->broken_rings += !sample;
    return sample;
}

/* A copy that can be changed: the record may lie in the ring. */
static struct perf_event_header *copy_record(struct tasks *tasks, const struct perf_event_header *record)
{
    struct perf_event_header *copy = (struct perf_event_header *)(void *)tasks->scratch;
    if (record != copy)
        memcpy(copy, record, record->size);
    return copy;
}

/* The event that an inherited set has under ID; -1: none. A root has another number if it called exec since. */
static int find_in_sets(const struct tasks *tasks, const struct task *task, uint64_t id)
{
    struct inherited_sets *sets = tasks->session->inherited_sets;
    int event = inherited_event_of_root(sets, task->tid, id);
    if (event < 0 && task->key != task->tid)
        event = inherited_event_of_root(sets, task->key, id);
    return event >= 0 ? event : inherited_event_of_root(sets, 0, id); /* it has a part of an earlier task's set */
}

/*
 * When a software event happens, the kernel fills in the fields of a sample once for all events of the task that sample
 * it: a task with events of its own that is the root of an inherited set may get the set's id in its own ring (seen
 * with Linux 6.18), and so may a task that another profiler samples, too. RECORD gets the id of the task's event. NULL:
 * nobody knows whose it is.
 */
static const struct perf_event_header *settle_id(struct tasks *tasks, struct task *task,
                                                 const struct perf_event_header *record)
{
    const uint64_t id = records_id(&tasks->layout, record);
    if (!id || task_is_inherited(task) || task_is_by_timer(task) ||
        records_find_event(&tasks->layout, task->ids, id) >= 0)
        return record;
    int event = tasks->config->sampling == 1 ? 0 : find_in_sets(tasks, task, id);
    if (event < 0)
        event = event_config_find_shared(tasks->config);
    if (event < 0)
        return NULL;
    struct perf_event_header *copy = copy_record(tasks, record);
    records_set_id(&tasks->layout, task->ids[event], copy);
    return copy;
}

/*
 * Where the kernel writes what is counted until the next sample (event_rate_is_next()), RECORD gets what was counted
 * since the one before: what that said, and 1 for the first. Inherited events start with their creator's period, and
 * each CPU has its own: their samples stay as they are. Where periods change, attach_weigh() says what was counted.
 * 1; 0: the record is to be left out; -EINVAL: it makes no sense.
 */
static int settle_period(struct tasks *tasks, struct task *task, const struct perf_event_header **record)
{
    const unsigned event = records_event(&tasks->layout, task->ids, *record);
    const bool own = !task_is_inherited(task) && !task_is_by_timer(task);
    if (task_is_by_cpus(tasks, task)) /* the kernel says it */
        return 1;
    if (event_config_varies(&tasks->config->events[event]))
        return attach_weigh(own ? task->events : NULL, tasks->config, &tasks->layout, event, record, tasks->scratch);
    if (!tasks->config->events[event].period_is_next || !own)
        return 1;
    if (!task->next_periods)
        task->next_periods = calloc(tasks->config->sampling, sizeof(*task->next_periods));
    if (!task->next_periods)
        return 1;
    const uint64_t period = task->next_periods[event] ? task->next_periods[event] : 1;
    task->next_periods[event] = records_period(&tasks->layout, event, *record);
    struct perf_event_header *copy = copy_record(tasks, *record);
    records_set_period(&tasks->layout, event, period, copy);
    *record = copy;
    return 1;
}

void tasks_take_sample(struct tasks *tasks, struct task *task, const struct perf_event_header *record)
{
    if (task_is_by_timer(task))
        tasks_meet_timer_sample(tasks, task, record);
    const bool saturated = task_is_saturated(task, tasks->session->settings);
    record = settle_id(tasks, task, record);
    task->unsettled += !record && !saturated;
    if (!record)
        return;
    const int settled = settle_period(tasks, task, &record);
    tasks->broken_rings += settled < 0;
    if (saturated && settled > 0)
        add_sampled(tasks, task, record);
    record = settled > 0 && !saturated ? unwind_record(tasks, task, record) : NULL;
    if (!record)
        return;
    take_sample(tasks, task, record);
    tasks_tell_data(tasks, task, records_event(&tasks->layout, task->ids, record), record);
    tasks_put_record(tasks, task, record, record->size);
}

bool tasks_take_record(struct tasks *tasks, struct task *task, const struct perf_event_header *record)
{
    /* A timer's record lacks fields of the kernel's records: its own check adds them first. */
    if ((task_is_by_timer(task) && !tasks_check_timer_record(tasks, task, tasks->scratch)) ||
        !records_check(&tasks->layout, record)) {
        tasks->broken_rings++;
        return true;
    }
    uint64_t time_ns = records_time(&tasks->layout, 0, record);
    if (record->type == PERF_RECORD_SAMPLE && !task_is_by_timer(task)) { /* a timer follows the stack itself */
        tasks_take_sample(tasks, task, record);
        return true;
    }
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        tasks_meet_timer_sample(tasks, task, record);
        if (task_is_saturated(task, tasks->session->settings))
            return true;
        take_sample(tasks, task, record);
        break;
    case PERF_RECORD_COMM:
        if (!take_comm(tasks, task, record, time_ns))
            return false;
        break;
    case PERF_RECORD_MMAP2:
        if (!take_mmap(tasks, task, record, time_ns))
            return true;
        break;
    case PERF_RECORD_FORK:
        if (tasks->config->whole_tree) /* what is made is counted with its creator */
            return true;
        take_fork(tasks, task, record);
        break;
    case PERF_RECORD_EXIT:
        if (records_parse_task(record).tid == task->key || !task->end_ns)
            task->end_ns = time_ns;
        break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES: task->lost_records += records_parse_lost(record); break;
    default: break;
    }
    tasks_put_record(tasks, task, record, record->size);
    return true;
}

/* ---- Rings ---- */

/*
 * What one process writes may take long to read: each mapping goes to all of its threads and is compared with all
 * others. So it has its share of the time in a round.
 */
bool tasks_has_time(const struct tasks *tasks, struct process *process)
{
    if (process->round != tasks->round)
        process->spent_ns = 0;
    process->round = tasks->round;
    return process->spent_ns < tasks->share_ns;
}

/* ALL: without a time limit. False: there is more. */
static bool read_ring(struct tasks *tasks, struct task *task, bool all)
{
    struct process *process = task->process;
    const struct perf_event_header *record;
    uint64_t before = monotonic_ns();
    bool time = true, at_once = tasks->at_once;
    tasks->at_once = all;
    for (unsigned i = 1; time && !task_has_left(task); i++) {
        record = pinject_ring_next(&task->ring, tasks->scratch);
        if (!record)
            break;
        if (!tasks_take_record(tasks, task, record))
            tasks_step(tasks, task, TASK_EVENT_LEAVE);
        if (i % LOOKS)
            continue;
        uint64_t now = monotonic_ns();
        process->spent_ns += now - before;
        before = now;
        time = all || process->spent_ns < tasks->share_ns;
    }
    tasks->at_once = at_once;
    process->spent_ns += monotonic_ns() - before;
    return time;
}

enum tasks_ring tasks_drain_ring(struct tasks *tasks, struct task *task, bool all)
{
    struct pinject_ring *ring = &task->ring;
    bool done = true;
    if (!task_is_live(task) || task_is_inherited(task) || !ring->page || task_has_left(task) || task->broken)
        return TASKS_RING_DONE;
    if (!tasks_has_time(tasks, task->process) && !all)
        return TASKS_RING_MORE;
    if (pinject_ring_begin(ring)) {
        tasks_begin_round(tasks, task, ring->head - ring->tail, ring->size);
        done = read_ring(tasks, task, all);
        pinject_ring_end(ring);
    }
    if (ring->broken) {
        task->broken = true;
        tasks->broken_rings++;
    }
    if (task_has_left(task))
        return TASKS_RING_LEFT;
    if (task->result && result_pending(task->result) > TASKS_PENDING_MAX)
        tasks_flush(tasks, task);
    return done ? TASKS_RING_DONE : TASKS_RING_MORE;
}
