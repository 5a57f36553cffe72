/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer.h"
#include "common/report.h"
#include "syscall_names.h"

enum { COMMAND_SHOWN = 160, TIDS_SHOWN = 8, WAITS_SHOWN = 3, FUNCTION_WIDTH = 36, FUNCTION_MAX = 160 };

const char *answer_state(char state)
{
    switch (state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "in uninterruptible sleep";
    case 'T': return "stopped by a signal";
    case 't': return "stopped by a tracer";
    case 'Z': return "zombie";
    case 'I': return "idle";
    default: return "ended";
    }
}

/* Prints untrusted text without anything that could control the terminal. */
static void put_safe(FILE *to, const char *text, size_t most)
{
    char safe[4 * 4096];
    size_t size = strnlen(text, 4096);
    fputs(report_safe(safe, most < sizeof(safe) ? most : sizeof(safe), text, size), to);
}

static void put_time(FILE *to, uint64_t ns)
{
    const uint64_t s = ns / UINT64_C(1000000000);
    if (s >= 86400)
        fprintf(to, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        fprintf(to, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        fprintf(to, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else if (s >= 1)
        fprintf(to, "%.2f s", (double)ns / 1e9);
    else
        fprintf(to, "%.2f ms", (double)ns / 1e6);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* ---- Reasons ---- */

static void refusal_text(const struct target *target, char ret[ANSWER_REASON])
{
    char *text = target_read(getpid(), 0, "../sys/kernel/yama/ptrace_scope");
    const int scope = text ? atoi(text) : 0;
    free(text);
    if (target->tracer)
        snprintf(ret, ANSWER_REASON,
                 "process %d (a debugger, or strace) already traces this process; end the tracer first",
                 (int)target->tracer);
    else if (scope == 1)
        snprintf(
            ret, ANSWER_REASON,
            "kernel.yama.ptrace_scope is 1, which lets processes trace only their descendants; run this as root, or "
            "type: sudo sysctl kernel.yama.ptrace_scope=0");
    else if (scope >= 2)
        snprintf(ret, ANSWER_REASON, "kernel.yama.ptrace_scope is %d: %s", scope,
                 scope == 2 ? "run this as root" : "no process may trace until the next boot");
    else
        snprintf(ret, ANSWER_REASON, "%s",
                 geteuid() == 0 ? "root is not allowed to trace here: CAP_SYS_PTRACE is missing"
                                : "the process belongs to another user, or has more rights than you; run this as root");
}

static void failure_text(const struct target *target, int error, char ret[ANSWER_REASON])
{
    if (error == -EPERM || error == -EACCES)
        refusal_text(target, ret);
    else
        snprintf(ret, ANSWER_REASON, "%s",
                 error == -EBUSY     ? "the thread did not stop within 1 s"
                 : error == -ENOEXEC ? "the process runs a 32-bit program, whose stacks cannot be read"
                 : error == -ESRCH   ? "the process has no memory: it is exiting, or it is a kernel thread"
                                     : strerror(-error));
}

void answer_reason(const struct target *target, const struct target_thread *thread, char ret[ANSWER_REASON])
{
    ret[0] = '\0';
    if (thread->look == LOOK_NONE || (thread->error && thread->end != UNWIND_BOTTOM)) {
        if (thread->error)
            failure_text(target, thread->error, ret);
        return;
    }
    if (thread->spared)
        snprintf(ret, ANSWER_REASON, "the thread was not stopped: a stop could change the result or time limit of %s",
                 syscall_name(thread->call));
    else if (thread->end != UNWIND_BOTTOM)
        snprintf(ret, ANSWER_REASON, "%s",
                 thread->end == UNWIND_TRUNCATED  ? "the stack is deeper than the part that was copied"
                 : thread->end == UNWIND_TOO_DEEP ? "the stack has more than 1024 frames"
                 : thread->end == UNWIND_NO_TABLE ? "the code has no unwind tables"
                 : thread->state == 'D' ? "unwinding needs the thread's registers, and the thread cannot be stopped now"
                                        : "the stack is corrupt from here on");
}

/* ---- Threads ---- */

static bool is_first(const struct target *target, size_t index)
{
    return target->threads[index].same_as == index;
}

/* "thread 12", or for threads with the same stack "3 threads (12, 13, 14)". */
static void put_threads(FILE *to, const struct target *target, size_t first)
{
    size_t count = 0, shown = 0;
    for (size_t i = first; i < target->thread_count; i++)
        count += target->threads[i].same_as == first;
    const struct target_thread *thread = &target->threads[first];
    if (count == 1) {
        fprintf(to, "thread %d", (int)thread->tid);
    } else {
        fprintf(to, "%zu threads (", count);
        for (size_t i = first; i < target->thread_count && shown < TIDS_SHOWN; i++)
            if (target->threads[i].same_as == first)
                fprintf(to, "%s%d", shown++ ? ", " : "", (int)target->threads[i].tid);
        fputs(count > shown ? ", ...)" : ")", to);
    }
    bool alike = true;
    for (size_t i = first; i < target->thread_count; i++)
        alike &= target->threads[i].same_as != first || strcmp(target->threads[i].comm, thread->comm) == 0;
    if (alike && strcmp(thread->comm, target->comm) != 0) {
        fputc(' ', to);
        put_safe(to, thread->comm, 64);
    }
}

static void put_waits(FILE *to, const struct target *target, size_t first)
{
    unsigned shown = 0;
    const char *last = NULL;
    for (size_t i = first; i < target->thread_count; i++) {
        const char *waits = target->threads[i].waits;
        if (target->threads[i].same_as != first || !waits || (last && strcmp(last, waits) == 0))
            continue;
        if (shown == WAITS_SHOWN) {
            fputs("; and others", to);
            return;
        }
        fputs(shown++ ? "; or " : " for ", to);
        put_safe(to, waits, 512);
        last = waits;
    }
}

static void put_doing(FILE *to, const struct target *target, size_t first)
{
    const struct target_thread *thread = &target->threads[first];
    const char *name = thread->in_call ? syscall_name(thread->call) : NULL;
    if (thread->state == 'T' || thread->state == 't')
        fputs(answer_state(thread->state), to);
    if (name && thread->call == SYS_restart_syscall)
        fputs(thread->state == 'T' || thread->state == 't' ? ", in a restarted system call"
                                                           : "waits in a restarted system call",
              to);
    else if (name)
        fprintf(to, "%s %s", thread->state == 'T' || thread->state == 't' ? ", in" : "waits in", name);
    else if (thread->in_call)
        fprintf(to, "waits in system call %ld", thread->call);
    else if (thread->state == 'R' || (thread->look == LOOK_STOPPED && thread->state == 'S'))
        fputs("runs", to);
    else if (thread->state != 'T' && thread->state != 't')
        fputs(answer_state(thread->state), to);
    if (thread->in_call)
        put_waits(to, target, first);
    if (thread->state == 'D')
        fputs(", and cannot be interrupted", to);
    if (thread->wchan[0]) {
        fputs(" [", to);
        put_safe(to, thread->wchan, 64);
        fputc(']', to);
    }
}

static void put_frame(FILE *to, const struct target_frame *frame)
{
    char name[FUNCTION_MAX], place[4096], safe[FUNCTION_MAX], address[32];
    snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
    snprintf(name, sizeof(name), "%s", frame->function ? frame->function : address);
    report_safe(safe, sizeof(safe) - 12, name, strlen(name));
    if (frame->inlined)
        strcat(safe, " (inlined)");
    if (frame->file && frame->line)
        snprintf(place, sizeof(place), "%s:%" PRIu32, base_of(frame->file), frame->line);
    else if (frame->dso)
        snprintf(place, sizeof(place), "%s", base_of(frame->dso));
    else
        snprintf(place, sizeof(place), "%s", frame->unmapped ? "not mapped" : "generated code");
    fprintf(to, "      %-*s  ", FUNCTION_WIDTH, safe);
    put_safe(to, place, 512);
    fputc('\n', to);
}

static void put_thread(FILE *to, const struct target *target, size_t first)
{
    const struct target_thread *thread = &target->threads[first];
    char reason[ANSWER_REASON];
    fputs("  ", to);
    put_threads(to, target, first);
    fputs(": ", to);
    put_doing(to, target, first);
    fputc('\n', to);
    for (size_t i = 0; i < thread->frame_count; i++)
        put_frame(to, &thread->frames[i]);
    answer_reason(target, thread, reason);
    if (reason[0])
        fprintf(to, "      (%s: %s)\n", thread->frame_count ? "callers are missing" : "no stack", reason);
}

/* ---- Processes ---- */

static const struct target *target_of(const struct answer *answer, pid_t pid)
{
    for (size_t i = 0; i < answer->count; i++)
        if (answer->targets[i].pid == pid)
            return &answer->targets[i];
    return NULL;
}

static void put_zombie(FILE *to, const struct answer *answer, const struct target *target)
{
    const struct target *parent = target_of(answer, target->ppid);
    fprintf(to, "  has ended, but its parent has not waited for it: process %d", (int)target->ppid);
    if (parent) {
        fputc(' ', to);
        put_safe(to, parent->comm, 64);
    }
    fputc('\n', to);
}

static bool refused_alike(const struct target *target)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].look != LOOK_NONE || target->threads[i].error != target->threads[0].error)
            return false;
    return target->thread_count > 0 && target->threads[0].error != 0;
}

static void put_target(FILE *to, const struct answer *answer, const struct target *target)
{
    char reason[ANSWER_REASON];
    const struct passwd *user = getpwuid(target->uid);
    fprintf(to, "%d ", (int)target->pid);
    put_safe(to, target->command, COMMAND_SHOWN);
    fprintf(to, "\n  ");
    if (answer->tree && target->depth)
        fprintf(to, "child of %d, ", (int)target->ppid);
    fprintf(to, "user %s, %zu thread%s, started ", user ? user->pw_name : "unknown", target->thread_count,
            target->thread_count == 1 ? "" : "s");
    put_time(to, target->age_ns);
    fputs(" ago, ", to);
    put_time(to, target->cpu_ns);
    fputs(" of CPU time\n", to);
    if (target->state == 'Z' && target->via == target->pid) {
        put_zombie(to, answer, target);
        return;
    }
    if (refused_alike(target)) {
        answer_reason(target, &target->threads[0], reason);
        fprintf(to, "  %s; its stacks cannot be read: %s\n", answer_state(target->state), reason);
        return;
    }
    for (size_t i = 0; i < target->thread_count; i++)
        if (is_first(target, i) && target->threads[i].state)
            put_thread(to, target, i);
}

static void put_deadlock(FILE *to, const struct deadlock *deadlock)
{
    const struct target *target = deadlock->target;
    fprintf(to, "Deadlock in process %d ", (int)target->pid);
    put_safe(to, target->comm, 64);
    fputs(":\n", to);
    for (size_t i = 0; i < deadlock->count; i++) {
        const struct target_thread *thread = &target->threads[deadlock->threads[i]];
        fprintf(to, "  thread %d", (int)thread->tid);
        if (strcmp(thread->comm, target->comm) != 0) {
            fputc(' ', to);
            put_safe(to, thread->comm, 64);
        }
        fputs(" waits for ", to);
        put_safe(to, thread->waits, 512);
        fputc('\n', to);
    }
    fputc('\n', to);
}

void answer_text(const struct answer *answer, FILE *to)
{
    bool some = false;
    for (size_t i = 0; i < answer->deadlock_count; i++)
        put_deadlock(to, &answer->deadlocks[i]);
    for (size_t i = 0; i < answer->count; i++) {
        const struct target *target = &answer->targets[i];
        if (!target->state && target->depth)
            continue;
        if (some)
            fputc('\n', to);
        some = true;
        if (target->state)
            put_target(to, answer, target);
        else
            fprintf(to, "%d: no such process\n", (int)target->pid);
    }
}
