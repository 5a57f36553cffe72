/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry: a file as profile_load() and profile_samples() meet it. Built without libFuzzer (READER_MAIN), it
 * mutates the files that are its arguments itself, always in the same way: reader ROUNDS FILE...
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/loader.h"
#include "common/buffer.h"
#include "common/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Looks at everything that a view would look at. */
static uint64_t walk(const struct profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->entry_count; i++) {
        const struct profile_stack *stack = &profile->stacks[profile->entries[i].stack];
        sum += profile->tasks[profile->entries[i].task].samples + profile->events[profile->entries[i].event].samples;
        sum += strlen(profile->entries[i].comm);
        for (uint32_t j = 0; j < stack->depth; j++) {
            const struct profile_frame *frame = &profile->frames[stack->frames[j]];
            sum += frame->offset + (frame->module ? strlen(frame->module->path) : 0);
        }
    }
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        sum += strlen(task->comm) + strlen(task->exec) + strlen(task->file);
        for (uint32_t j = 0; j < task->cmdline_count; j++)
            sum += strlen(task->cmdline[j]);
        for (uint32_t j = 0; j < task->count_count; j++)
            sum += task->counts[j].scaled + strlen(profile->events[task->counts[j].event].name);
        for (uint32_t j = 0; j < task->count_count; j++)
            if (task->counts[j].image != UINT32_MAX)
                sum += strlen(task->images[task->counts[j].image].comm);
    }
    return sum;
}

static int each(void *context, const struct profile_sample *sample)
{
    const struct profile *profile = *(struct profile **)context;
    uint64_t sum = strlen(sample->comm) + strlen(profile->events[sample->event].name) + strlen(sample->task->comm);
    for (uint32_t i = 0; i < sample->depth; i++)
        sum += profile->frames[sample->frames[i]].offset + sample->ips[i];
    return sum == UINT64_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile *profile = NULL;
    if (profile_load_memory(data, size, NULL, &profile) < 0)
        return 0;
    /* Said, so that no compiler leaves out what nobody looks at. */
    if (walk(profile) == UINT64_MAX)
        puts("an unlikely profile");
    profile_samples(profile, each, &profile);
    profile_free(profile);
    return 0;
}

#ifdef READER_MAIN

static uint64_t state = 0x2545f4914f6cdd1dull;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* One to eight bytes set to something that numbers like to be, or a piece copied over another, or the end cut off. */
static size_t mutate(unsigned char *bytes, size_t size)
{
    static const uint64_t values[] = {0,          1,          7,          8,          0xff,   0xffff,
                                      0x7fffffff, 0xffffffff, UINT64_MAX, 1ull << 63, 0x1000, 250};
    for (uint64_t i = next() % 6 + 1; i > 0; i--) {
        size_t at = next() % size, width = 1u << next() % 4;
        uint64_t value = next() % 4 ? values[next() % (sizeof(values) / sizeof(values[0]))] : next();
        if (width > size - at)
            width = size - at;
        if (next() % 8)
            memcpy(bytes + at, &value, width);
        else
            memmove(bytes + at, bytes + next() % (size - width + 1), width);
    }
    return next() % 16 ? size : next() % size + 1;
}

static void run(const char *path, unsigned long rounds)
{
    struct buffer file = BUFFER_INIT;
    if (buffer_read_file(&file, path, 1u << 20) < 0 || file.size == 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    for (unsigned long i = 0; i < rounds; i++) {
        unsigned char *copy = malloc(file.size);
        memcpy(copy, file.data, file.size);
        size_t size = mutate(copy, file.size);
        /* What a sanitizer says is about this one: */
        unsigned char *exact = realloc(copy, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    buffer_release(&file);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    /* Thousands of damaged files: what is said of each is of no interest here. */
    if (!freopen("/dev/null", "w", stderr))
        return 1;
    for (int i = 2; i < argc; i++)
        run(argv[i], rounds);
    printf("%lu rounds of %d files\n", rounds, argc - 2);
    return 0;
}

#endif
