/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "analyze/model/loader.h"

/* A file of perf is a session of its own; its id stays the same while the file is unchanged. */
static void foreign_id(const struct file *file, uint8_t *id)
{
    uint64_t parts[2] = {lookup_mix(lookup_mix(1, file->source.device), file->source.inode),
                         lookup_mix(lookup_mix(2, file->source.modified_ns), file->source.size)};
    memcpy(id, parts, sizeof(parts));
}

void session_of_file(const struct file *file, struct session_seen *ret, bool *ret_ours)
{
    struct pinject_item_session item;
    *ret = (struct session_seen){0};
    *ret_ours = ret->ours = ours_session(file, &item);
    if (ret->ours) {
        memcpy(ret->id, item.id, sizeof(ret->id));
        ret->start_realtime_ns = item.start_realtime_ns;
        ret->start_ns = item.start_ns;
        return;
    }
    ret->lost = file->ours_lost;
    if (!ret->lost)
        foreign_id(file, ret->id);
    ret->start_realtime_ns = file->features.wall_ns ? file->features.wall_ns : file->source.modified_ns;
}

static const char *clock_of(const struct attr_list *attrs)
{
    if (attrs->count == 0 || !attrs->items[0].perf.use_clockid)
        return "perf";
    switch (attrs->items[0].perf.clockid) {
    case CLOCK_MONOTONIC: return "monotonic";
    case CLOCK_MONOTONIC_RAW: return "monotonic_raw";
    case CLOCK_REALTIME: return "realtime";
    case CLOCK_BOOTTIME: return "boottime";
    case CLOCK_TAI: return "tai";
    default: return "unknown";
    }
}

static int take_texts(struct loader *loader, const struct features *features)
{
    struct profile_session *session = &loader->profile.session;
    const struct {
        const char **to, *from;
    } texts[] = {{&session->hostname, features->hostname},
                 {&session->osrelease, features->osrelease},
                 {&session->arch, features->arch},
                 {&session->cpudesc, features->cpudesc}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (!*texts[i].to || !(*texts[i].to)[0])
            *texts[i].to = store_string(&loader->store, texts[i].from);
        if (!*texts[i].to)
            return -ENOMEM;
    }
    return 0;
}

/* Files of perf have fewer facts about the session. */
static int take_foreign(struct loader *loader, const struct file *file, const struct session_seen *seen)
{
    struct profile_session *session = &loader->profile.session;
    const struct features *features = &file->features;
    memcpy(session->id, seen->id, sizeof(session->id));
    session->start_realtime_ns = seen->start_realtime_ns;
    /* Pipes, and files of a killed recorder, do not have it. */
    session->start_ns = features->sample_first_ns ? features->sample_first_ns : loader->first_sample_ns;
    session->version = store_string(&loader->store, features->version);
    session->event_reason = store_string(&loader->store, "");
    session->arguments = arena_take(&loader->store.arena, features->argument_count * sizeof(char *));
    if (!session->version || !session->event_reason || !session->arguments)
        return -ENOMEM;
    const char **arguments = (const char **)session->arguments;
    for (uint32_t i = 0; i < features->argument_count; i++)
        if (!(arguments[i] = store_string(&loader->store, features->arguments[i])))
            return -ENOMEM;
    session->argument_count = features->argument_count;
    session->exclude_kernel = file->attrs.count > 0;
    for (uint32_t i = 0; i < file->attrs.count; i++)
        session->exclude_kernel &= file->attrs.items[i].perf.exclude_kernel;
    return 0;
}

static int take_kernel_id(struct loader *loader, const struct features *features)
{
    struct profile_session *session = &loader->profile.session;
    for (uint32_t i = 0; i < features->build_id_count && session->kernel_build_id_size == 0; i++) {
        const struct feature_build_id *item = &features->build_ids[i];
        if (item->size == 0 || strncmp(item->path, "[kernel.kallsyms]", 17) != 0)
            continue;
        session->kernel_build_id = arena_copy(&loader->store.arena, item->id, item->size);
        if (!session->kernel_build_id)
            return -ENOMEM;
        session->kernel_build_id_size = item->size;
    }
    return 0;
}

int session_take(struct loader *loader, const struct file *file, bool ours)
{
    struct profile_session *session = &loader->profile.session;
    int status = take_texts(loader, &file->features);
    if (status == 0 && ours)
        status = ours_take_session(loader, file);
    else if (status == 0) {
        struct session_seen seen;
        bool unused;
        session_of_file(file, &seen, &unused);
        status = take_foreign(loader, file, &seen);
    }
    if (session->cpus == 0)
        session->cpus = file->features.cpus;
    if (session->memory_bytes == 0 && file->features.memory_kb <= UINT64_MAX / 1024)
        session->memory_bytes = file->features.memory_kb * 1024;
    if (!session->clock && file->attrs.count > 0)
        session->clock = clock_of(&file->attrs);
    return status < 0 ? status : take_kernel_id(loader, &file->features);
}
