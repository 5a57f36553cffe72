/* SPDX-License-Identifier: MIT */
/* The second pass: one sample after the other. */
#include <errno.h>
#include <inttypes.h>

#include "analyze/model/loader.h"
#include "common/report.h"

struct pass {
    struct loader *loader;
    profile_each *each;
    void *context;
    uint64_t *ips;
    uint32_t capacity;
    uint32_t frames, events;     /* that the first pass has found: views have made room for these */
    uint64_t strange;            /* samples of the file that have others */
};

/* Whether the first pass has seen all that the sample is of; else its file has changed since. */
static bool is_known(const struct pass *pass, uint32_t event)
{
    const struct chain *chain = &pass->loader->chain;
    for (uint32_t i = 0; i < chain->count; i++)
        if (chain->frames[i] >= pass->frames)
            return false;
    return event < pass->events;
}

static int give_sample(void *context, uint32_t task, uint32_t event, const char *comm, const struct record *sample)
{
    struct pass *pass = context;
    struct loader *loader = pass->loader;
    for (uint32_t i = 0; i < loader->chain.count; i++) {
        if (arena_room(&pass->ips, &pass->capacity, i, sizeof(*pass->ips)) < 0)
            return -ENOMEM;
        pass->ips[i] = loader->chain.wanted[i].frame.ip;
    }
    /* What a changed file brought may have moved the tables. */
    loader_show(loader);
    if (!is_known(pass, event)) {
        pass->strange++;
        return 0;
    }
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

static int read_again(struct pass *pass, struct input *input, struct file *file)
{
    pass->strange = 0;
    int status = replay_file(pass->loader, input, file, give_sample, pass);
    if (pass->strange) {
        pass->loader->profile.files_bad++;
        report_error("%s: changed while it was read: %" PRIu64 " of its samples are left out", input->path,
                     pass->strange);
    }
    return status;
}

int profile_samples(struct profile *profile, profile_each *each, void *context)
{
    struct loader *loader = profile->loader;
    struct pass pass = {.loader = loader, .each = each, .context = context, .frames = profile->frame_count,
                        .events = profile->event_count};
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < loader->input_count; i++) {
        struct input *input = &loader->inputs[i];
        struct file file;
        if (input->task_count == 0)
            continue;
        status = loader_open_again(loader, input, &file);
        if (status == 0) {
            status = read_again(&pass, input, &file);
            file_release(&file);
        } else if (status == -ESTALE) {
            status = 0;
        }
    }
    free(pass.ips);
    return status;
}
