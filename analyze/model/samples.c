/* SPDX-License-Identifier: MIT */
/* The second pass: one sample after the other. */
#include <errno.h>

#include "analyze/model/loader.h"

struct pass {
    struct loader *loader;
    profile_each *each;
    void *context;
    uint64_t *ips;
    uint32_t capacity;
};

static int give_sample(void *context, uint32_t task, uint32_t event, const char *comm, const struct record *sample)
{
    struct pass *pass = context;
    struct loader *loader = pass->loader;
    for (uint32_t i = 0; i < loader->chain.count; i++) {
        if (arena_room(&pass->ips, &pass->capacity, i, sizeof(*pass->ips)) < 0)
            return -ENOMEM;
        pass->ips[i] = loader->chain.wanted[i].frame.ip;
    }
    /* A file that grew or changed meanwhile may have brought new frames. */
    loader_show(loader);
    const struct profile_sample shown = {
        .task = &loader->profile.tasks[task],
        .event = event,
        .time_ns = sample->time,
        .cpu = sample->cpu,
        .ip = sample->ip,
        .period = sample->period,
        .comm = comm,
        .frames = loader->chain.frames,
        .ips = pass->ips,
        .depth = loader->chain.count,
    };
    return pass->each(pass->context, &shown);
}

int profile_samples(struct profile *profile, profile_each *each, void *context)
{
    struct loader *loader = profile->loader;
    struct pass pass = {.loader = loader, .each = each, .context = context};
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < loader->input_count; i++) {
        struct input *input = &loader->inputs[i];
        struct file file;
        if (input->task_count == 0)
            continue;
        status = loader_open_again(input, &file);
        if (status == 0) {
            status = replay_file(loader, input, &file, give_sample, &pass);
            file_release(&file);
        } else if (status == -ESTALE) {
            status = 0;
        }
    }
    free(pass.ips);
    return status;
}
