/* SPDX-License-Identifier: MIT */
/*
 * Files of perf stat record: STAT records with what each event has counted so far, on a CPU or for a thread of the
 * THREAD_MAP before them. With -I a STAT_ROUND follows the counts of each interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/replay.h"
#include "common/perfdata.h"

enum {
    CONFIG_SCALE = 2,   /* PERF_STAT_CONFIG_TERM__SCALE */
    ROUND_INTERVAL = 0, /* PERF_STAT_ROUND_TYPE__INTERVAL */
    COMM_SIZE = 16,
    THREAD_ENTRY = 8 + COMM_SIZE, /* a thread in a THREAD_MAP */
};

struct stat_change {
    struct task *task;
    struct task_reading reading; /* since the round before */
};

static int take_threads(struct stat_state *state, const struct record *record)
{
    struct cursor payload = record_cursor(record);
    uint64_t count = cursor_u64(&payload);
    if (payload.failed || count > cursor_left(&payload) / THREAD_ENTRY)
        return 0;
    state->thread_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (arena_room(&state->threads, &state->thread_capacity, state->thread_count, sizeof(*state->threads)) < 0)
            return -ENOMEM;
        struct stat_thread *thread = &state->threads[state->thread_count++];
        thread->tid = (int32_t)cursor_u64(&payload);
        memcpy(thread->comm, cursor_bytes(&payload, COMM_SIZE), COMM_SIZE);
    }
    return 0;
}

static void take_config(struct stat_state *state, const struct record *record)
{
    struct cursor payload = record_cursor(record);
    for (uint64_t left = cursor_u64(&payload); left > 0 && cursor_left(&payload) >= 16; left--) {
        uint64_t tag = cursor_u64(&payload), value = cursor_u64(&payload);
        if (tag == CONFIG_SCALE)
            state->unscaled = value == 0;
    }
}

/* The thread at AT of the map. The file does not say which process it belongs to. */
static uint32_t find_thread(struct replay *replay, uint32_t at)
{
    static const struct stat_thread all = {.tid = -1};
    const struct stat_state *state = &replay->stat;
    const struct stat_thread *thread = at < state->thread_count ? &state->threads[at] : &all;
    uint32_t index = threads_get(replay, thread->tid, thread->tid);
    if (index == LOOKUP_NONE)
        return LOOKUP_NONE;
    const char *comm = thread->tid < 0 ? store_string(&replay->loader->store, "system wide")
                       : *thread->comm ? store_text(&replay->loader->store, thread->comm, COMM_SIZE)
                                       : replay->threads[index].comm;
    return comm && threads_rename(replay, index, comm) == 0 ? index : LOOKUP_NONE;
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now; /* a smaller count was reset */
}

static int note_change(struct stat_state *state, struct task *task, const struct task_reading *reading)
{
    struct task_reading before = {0};
    for (uint32_t i = 0; i < task->reading_count; i++)
        if (task->readings[i].event == reading->event && task->readings[i].id == reading->id)
            before = task->readings[i];
    if (arena_room(&state->changes, &state->change_capacity, state->change_count, sizeof(*state->changes)) < 0)
        return -ENOMEM;
    struct stat_change *change = &state->changes[state->change_count++];
    *change = (struct stat_change){task, *reading};
    change->reading.value = since(reading->value, before.value);
    change->reading.enabled_ns = since(reading->enabled_ns, before.enabled_ns);
    change->reading.running_ns = since(reading->running_ns, before.running_ns);
    return 0;
}

static int take_count(struct replay *replay, const struct record *record)
{
    struct stat_state *state = &replay->stat;
    struct cursor payload = record_cursor(record);
    struct task_reading reading = {.id = cursor_u64(&payload), .multiplexed = true};
    cursor_u32(&payload); /* CPU: each has an id of its own */
    uint32_t thread = cursor_u32(&payload);
    reading.value = cursor_u64(&payload);
    reading.enabled_ns = cursor_u64(&payload);
    reading.running_ns = cursor_u64(&payload);
    const struct attr *attr = attr_with_id(&replay->file->attrs, reading.id);
    if (payload.failed || !attr)
        return 0;
    uint32_t index = find_thread(replay, thread);
    if (index == LOOKUP_NONE)
        return -ENOMEM;
    struct task *task = threads_task(replay, &replay->threads[index]);
    if (!task)
        return 0;
    if (state->unscaled && reading.running_ns)
        reading.enabled_ns = reading.running_ns;
    reading.event = replay_event(replay, attr);
    if (reading.event == LOOKUP_NONE || (replay->loader->rounds_wanted && note_change(state, task, &reading) < 0))
        return -ENOMEM;
    return task_add_reading(task, &reading, false);
}

static int take_round(struct replay *replay, const struct record *record)
{
    struct stat_state *state = &replay->stat;
    struct cursor payload = record_cursor(record);
    uint64_t type = cursor_u64(&payload), time = cursor_u64(&payload);
    int status = 0;
    if (payload.failed)
        return 0;
    for (uint32_t i = 0; status == 0 && type == ROUND_INTERVAL && i < state->change_count; i++)
        status = rounds_take(replay->loader, state->changes[i].task, time, &state->changes[i].reading);
    state->change_count = 0;
    state->end_ns = time;
    return status;
}

int stat_take(struct replay *replay, const struct record *record)
{
    if (replay->own != LOOKUP_NONE)
        return 0;
    switch (record->type) {
    case PERFDATA_RECORD_THREAD_MAP: return take_threads(&replay->stat, record);
    case PERFDATA_RECORD_STAT_CONFIG: take_config(&replay->stat, record); return 0;
    case PERFDATA_RECORD_STAT: return take_count(replay, record);
    case PERFDATA_RECORD_STAT_ROUND: return take_round(replay, record);
    default: return 0;
    }
}

void stat_finish(struct replay *replay)
{
    /* Times are since the start of the counting. */
    for (uint32_t i = 0; replay->stat.end_ns && i < replay->thread_count; i++) {
        struct task *task = threads_task(replay, &replay->threads[i]);
        if (task && !task->shown.end_ns)
            task->shown.end_ns = replay->stat.end_ns;
    }
}

void stat_release(struct stat_state *state)
{
    free(state->threads);
    free(state->changes);
}
