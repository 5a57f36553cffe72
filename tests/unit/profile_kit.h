/* SPDX-License-Identifier: MIT */
/* Profiles from files that a test wrote, and helpers to find things in them. */
#ifndef TEST_PROFILE_KIT_H
#define TEST_PROFILE_KIT_H

#include "check.h"

#include <errno.h>
#include <fcntl.h>

#include "analyze/model/loader.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

#define USER   PERF_RECORD_MISC_USER
#define KERNEL PERF_RECORD_MISC_KERNEL
#define ENDED  (PINJECT_TASK_ENDED | PINJECT_TASK_STATUS)

/* The test program creates and removes it. */
static char directory[] = "/tmp/pinject-profile-XXXXXX";

static inline const char *in_directory(const char *name)
{
    static char paths[8][128];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, 128, "%s/%s", directory, name);
    return path;
}

static inline void begin(struct writer *writer, uint32_t pid, uint32_t tid)
{
    writer_init(writer, false, false);
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults");
    writer->pid = pid;
    writer->tid = tid;
}

static inline struct profile *load_writer(struct writer *writer, struct buffer *bytes)
{
    struct profile *profile = NULL;
    writer_finish(writer, bytes);
    assert_int_equal(profile_load_memory(bytes->data, bytes->size, NULL, &profile), 0);
    return profile;
}

static inline struct profile *load_paths(const char *const *paths, size_t count, const char *session)
{
    struct profile *profile = NULL;
    struct profile_options options = {.session = session};
    assert_int_equal(profile_load(paths, count, &options, &profile), 0);
    return profile;
}

static inline const struct profile_task *task_of(const struct profile *profile, int32_t tid)
{
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (profile->tasks[i].tid == tid)
            return &profile->tasks[i];
    fail_msg("no task %d", tid);
    return NULL;
}

static inline const struct profile_count *count_of(const struct profile *profile, const struct profile_task *task,
                                                   const char *event, uint32_t generation)
{
    for (uint32_t i = 0; i < task->count_count; i++)
        if (task->counts[i].generation == generation && strcmp(profile->events[task->counts[i].event].name, event) == 0)
            return &task->counts[i];
    return NULL;
}

/* A stack as "app+10 libc+20", leaf first; NULL module is "?". */
static inline const char *stack_text(const struct profile *profile, uint32_t index)
{
    static char text[512];
    const struct profile_stack *stack = &profile->stacks[index];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct profile_frame *frame = &profile->frames[stack->frames[i]];
        const char *path = frame->module ? frame->module->path : "?";
        const char *slash = strrchr(path, '/');
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s+%llx%s", i ? " " : "",
                                 slash ? slash + 1 : path, (unsigned long long)frame->offset, frame->kernel ? "k" : "");
    }
    return text;
}

static inline void expect_stack(const struct profile *profile, uint32_t entry, const char *text)
{
    assert_string_equal(stack_text(profile, profile->entries[entry].stack), text);
}

#endif
