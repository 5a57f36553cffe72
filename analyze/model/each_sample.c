/* SPDX-License-Identifier: MIT */
/* The second pass: gives the samples one by one. */
#include <errno.h>
#include <inttypes.h>

#include "analyze/model/loader.h"
#include "analyze/read/trace_format.h"
#include "common/perfdata.h"
#include "common/report.h"

struct pass {
    struct loader *loader;
    profile_each *each;
    profile_each_record *each_record; /* or NULL */
    void *context;
    uint64_t *ips;
    uint32_t capacity;
    uint32_t frames, events;      /* how many the first pass found: views have arrays of these sizes */
    const struct file *file;      /* the one that is read */
    struct trace_formats formats; /* of its tracepoints, read at the first one's sample */
    bool formats_known;
    struct buffer trace;
    uint64_t strange; /* samples of the file with a frame or event beyond them */
};

/* Whether the first pass found the sample's frames and event; if not, the file has changed since. */
static bool was_in_first_pass(const struct pass *pass, uint32_t event)
{
    const struct chain *chain = &pass->loader->chain;
    for (uint32_t i = 0; i < chain->count; i++)
        if (chain->frames[i] >= pass->frames)
            return false;
    for (uint32_t i = 0; i < pass->loader->value_count; i++)
        if (pass->loader->values[i].event >= pass->events)
            return false;
    return event < pass->events;
}

/* The fields of a tracepoint's sample. 0 or -ENOMEM. */
static int print_trace(struct pass *pass, const struct record *sample, const char **ret)
{
    const struct features *features = &pass->file->features;
    *ret = NULL;
    if (!sample->raw || sample->attr->perf.type != PERF_TYPE_TRACEPOINT ||
        !feature_present(features, PERFDATA_TRACING_DATA))
        return 0;
    if (!pass->formats_known) {
        pass->formats_known = true;
        if (trace_formats_read(features->sections[PERFDATA_TRACING_DATA], &pass->loader->store.arena, &pass->formats) ==
            -ENOMEM)
            return -ENOMEM;
    }
    const struct trace_event *event = trace_formats_find(&pass->formats, sample->attr->perf.config);
    if (!event)
        return 0;
    buffer_clear(&pass->trace);
    trace_event_print(&pass->formats, event, sample->raw, sample->raw_size, &pass->trace);
    buffer_append(&pass->trace, "", 1);
    *ret = (const char *)pass->trace.data;
    return buffer_failed(&pass->trace) ? -ENOMEM : 0;
}

static int deliver_sample(void *context, uint32_t task, uint32_t event, const char *comm, const struct record *sample,
                          const struct chain_place *place)
{
    struct pass *pass = context;
    struct loader *loader = pass->loader;
    for (uint32_t i = 0; i < loader->chain.count; i++) {
        if (arena_room(&pass->ips, &pass->capacity, i, sizeof(*pass->ips)) < 0)
            return -ENOMEM;
        pass->ips[i] = loader->chain.wanted[i].frame.ip;
    }
    /* New data of a changed file may have moved the arrays. */
    loader_show(loader);
    if (!was_in_first_pass(pass, event)) {
        pass->strange++;
        return 0;
    }
    const char *trace;
    if (print_trace(pass, sample, &trace) < 0)
        return -ENOMEM;
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
        .values = loader->values,
        .value_count = loader->value_count,
        .trace = trace,
        .record = sample,
        .place = place,
    };
    return pass->each(pass->context, &shown);
}

static int deliver_other(void *context, uint32_t task, const char *comm, const struct record *record)
{
    struct pass *pass = context;
    struct profile *profile = &pass->loader->profile;
    const struct profile_record shown = {
        .task = task == LOOKUP_NONE ? NULL : &profile->tasks[task], .comm = comm, .record = record};
    return pass->each_record(pass->context, &shown);
}

static int read_file(struct pass *pass, struct input *input, struct file *file, replay_each *each)
{
    pass->strange = 0;
    pass->file = file;
    pass->formats_known = false;
    pass->formats = (struct trace_formats){0};
    const struct replay_calls calls = {
        .each = each, .record = pass->each_record ? deliver_other : NULL, .context = pass};
    int status = replay_file(pass->loader, input, file, &calls);
    if (pass->strange) {
        pass->loader->profile.files_bad++;
        report_error("%s: the file changed while panalyze read it; %" PRIu64 " of its samples are left out",
                     input->path, pass->strange);
    }
    return status;
}

static int read_inputs_again(struct pass *pass, replay_each *each)
{
    struct loader *loader = pass->loader;
    int status = 0;
    pass->frames = loader->profile.frame_count;
    pass->events = loader->profile.event_count;
    for (uint32_t i = 0; status == 0 && i < loader->input_count; i++) {
        struct input *input = &loader->inputs[i];
        struct file file;
        if (input->task_count == 0)
            continue;
        status = loader_open_again(loader, input, &file);
        if (status == 0) {
            status = read_file(pass, input, &file, each);
            file_release(&file);
        } else if (status == -ESTALE) {
            status = 0;
        }
    }
    return status;
}

int profile_samples(struct profile *profile, profile_each *each, void *context)
{
    return profile_records(profile, each, NULL, context);
}

int profile_records(struct profile *profile, profile_each *each, profile_each_record *each_record, void *context)
{
    struct pass pass = {.loader = profile->loader, .each = each, .each_record = each_record, .context = context};
    int status = read_inputs_again(&pass, deliver_sample);
    free(pass.ips);
    buffer_release(&pass.trace);
    return status;
}

static int add_entry(void *context, uint32_t task, uint32_t event, const char *comm, const struct record *sample,
                     const struct chain_place *place)
{
    (void)place;
    struct pass *pass = context;
    const struct chain *chain = &pass->loader->chain;
    struct store *store = &pass->loader->store;
    struct profile_entry entry = {.task = task, .event = event, .comm = comm, .samples = 1, .weight = sample->period};
    loader_show(pass->loader);
    if (!was_in_first_pass(pass, event)) {
        pass->strange++;
        return 0;
    }
    if (event != pass->loader->profile.event)
        return 0;
    uint64_t hash = store_stack_hash(chain->frames, chain->count, chain->truncated);
    entry.stack = store_stack(store, hash, chain->frames, chain->count, chain->truncated);
    if (entry.stack == LOOKUP_NONE)
        return -ENOMEM;
    return store_sample(&store->entries, store_sample_hash(&entry), &entry);
}

int profile_add_entries(struct profile *profile, const bool *wanted)
{
    struct loader *loader = profile->loader;
    struct pass pass = {.loader = loader};
    loader->wanted = wanted;
    /* The lookups of stacks and entries of the first pass are gone, so everything is added as new. */
    int status = read_inputs_again(&pass, add_entry);
    loader->wanted = NULL;
    lookup_release(&loader->store.stacks.lookup);
    lookup_release(&loader->store.entries.lookup);
    loader_show(loader);
    profile->entries = loader->store.entries.items;
    profile->entry_count = loader->store.entries.count;
    return status;
}
