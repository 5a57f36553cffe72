/* SPDX-License-Identifier: MIT */
/* The same facts as pstack_text.c, as JSON; docs/STACKS.md lists the members. */
#include <inttypes.h>
#include <time.h>

#include "answer.h"
#include "common/clock.h"
#include "common/json.h"
#include "syscall_names.h"

static void write_frame(struct json *json, const struct target_frame *frame)
{
    json_object(json, NULL);
    json_string(json, "function", frame->function);
    json_string(json, "object", frame->dso); /* the older name */
    json_string(json, "dso", frame->dso);
    json_unsigned(json, "address", frame->address);
    json_unsigned(json, "ip", frame->ip);
    json_string(json, "file", frame->file);
    if (frame->line)
        json_unsigned(json, "line", frame->line);
    else
        json_null(json, "line");
    json_bool(json, "inlined", frame->inlined);
    json_end_object(json);
}

static void write_call(struct json *json, const struct target_thread *thread)
{
    if (!thread->in_call) {
        json_null(json, "system_call");
        return;
    }
    json_object(json, "system_call");
    json_string(json, "name", syscall_name(thread->call));
    json_signed(json, "number", thread->call);
    json_list(json, "arguments");
    for (unsigned i = 0; i < 6; i++)
        json_unsigned(json, NULL, thread->args[i]);
    json_end_list(json);
    json_string(json, "waits_for", thread->waits);
    json_end_object(json);
}

static void write_thread(struct json *json, const struct target *target, const struct target_thread *thread)
{
    char reason[ANSWER_REASON];
    answer_reason(target, thread, reason);
    json_object(json, NULL);
    json_signed(json, "tid", thread->tid);
    json_string(json, "name", thread->comm);
    json_string(json, "state", answer_state(thread->state));
    json_number(json, "cpu_s", (double)thread->cpu_ns / 1e9);
    json_string(json, "kernel_function", thread->wchan[0] ? thread->wchan : NULL);
    write_call(json, thread);
    json_bool(json, "stopped_for_a_moment", thread->look == LOOK_STOPPED);
    json_string(json, "incomplete", reason[0] ? reason : NULL);
    if (thread->holder)
        json_signed(json, "waits_for_thread", thread->holder);
    else
        json_null(json, "waits_for_thread");
    json_list(json, "frames");
    for (size_t i = 0; i < thread->frame_count; i++)
        write_frame(json, &thread->frames[i]);
    json_end_list(json);
    json_end_object(json);
}

static void write_target(struct json *json, const struct target *target)
{
    json_object(json, NULL);
    json_signed(json, "pid", target->pid);
    json_signed(json, "parent", target->ppid);
    json_string(json, "command", target->command);
    json_string(json, "state", answer_state(target->state));
    json_unsigned(json, "user", target->uid);
    json_number(json, "age_s", (double)target->age_ns / 1e9);
    json_number(json, "cpu_s", (double)target->cpu_ns / 1e9);
    json_list(json, "threads");
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].state)
            write_thread(json, target, &target->threads[i]);
    json_end_list(json);
    json_end_object(json);
}

void answer_json(const struct answer *answer, FILE *to)
{
    struct json json = {.to = to};
    json_object(&json, NULL);
    json_unsigned(&json, "version", 1);
    json_number(&json, "time", (double)clock_ns(CLOCK_REALTIME) / 1e9);
    json_list(&json, "deadlocks");
    for (size_t i = 0; i < answer->deadlock_count; i++) {
        const struct deadlock *deadlock = &answer->deadlocks[i];
        json_object(&json, NULL);
        json_signed(&json, "pid", deadlock->target->pid);
        json_list(&json, "threads");
        for (size_t t = 0; t < deadlock->count; t++)
            json_signed(&json, NULL, deadlock->target->threads[deadlock->threads[t]].tid);
        json_end_list(&json);
        json_end_object(&json);
    }
    json_end_list(&json);
    json_list(&json, "processes");
    for (size_t i = 0; i < answer->count; i++)
        if (answer->targets[i].state)
            write_target(&json, &answer->targets[i]);
    json_end_list(&json);
    json_list(&json, "missing");
    for (size_t i = 0; i < answer->count; i++)
        if (!answer->targets[i].state && !answer->targets[i].depth)
            json_signed(&json, NULL, answer->targets[i].pid);
    json_end_list(&json);
    json_end_object(&json);
    fputc('\n', to);
}
