/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model/loader.h"
#include "analyze/read/feature_facts.h"
#include "common/report.h"

struct info {
    struct profile_file shown; /* first: profile_file_free() gets this address */
    struct loader *loader;
    struct problem problem;
};

static int list_features(struct info *info, const struct features *features)
{
    struct arena *arena = &info->loader->store.arena;
    const char **names = arena_take(arena, FEATURE_BITS * sizeof(*names));
    if (!names)
        return -ENOMEM;
    for (uint32_t number = 0; number < FEATURE_BITS; number++) {
        char other[16];
        snprintf(other, sizeof(other), "feature_%" PRIu32, number);
        if (!feature_present(features, number))
            continue;
        const char *name = feature_name(number);
        if (!name && !(name = store_string(&info->loader->store, other)))
            return -ENOMEM;
        names[info->shown.feature_count++] = name;
    }
    info->shown.feature_names = names;
    return 0;
}

static int list_facts(struct info *info, const struct features *features)
{
    struct arena *arena = &info->loader->store.arena;
    struct feature_facts facts = {0};
    int status = feature_facts_read(features, arena, &facts);
    struct profile_fact *shown = status == 0 ? arena_take(arena, facts.count * sizeof(*shown)) : NULL;
    if (status == 0 && !shown)
        status = -ENOMEM;
    for (uint32_t i = 0; status == 0 && i < facts.count; i++) {
        const struct feature_fact *fact = &facts.items[i];
        shown[i] = (struct profile_fact){feature_name(fact->feature), fact->item, fact->name, fact->text, fact->number};
    }
    info->shown.facts = shown;
    info->shown.fact_count = status == 0 ? facts.count : 0;
    feature_facts_release(&facts);
    return status;
}

static int fill_info(struct info *info, const struct file *file)
{
    struct profile_file *shown = &info->shown;
    const struct profile *profile = &info->loader->profile;
    _Static_assert(sizeof(shown->records) == sizeof(file->records), "as many types of records");
    shown->size = file->source.size;
    shown->data_size = file->data_size;
    shown->parts = file->part_count;
    for (uint32_t i = 0; i < file->part_count; i++) {
        shown->size += file->parts[i].size;
        shown->data_size += file->parts[i].size;
    }
    shown->ours = feature_present(&file->features, PINJECT_FEATURE);
    shown->swapped = file->swap;
    shown->pipe = file->pipe;
    memcpy(shown->records, file->records, sizeof(shown->records));
    shown->truncated_bytes = file->unread;
    shown->missing_bytes = file->missing;
    shown->session = &profile->session;
    shown->events = profile->events;
    shown->event_count = profile->event_count;
    shown->tasks = profile->tasks;
    shown->task_count = profile->task_count;
    loader_describe(file, &info->problem);
    shown->problem = info->problem.text;
    int status = list_features(info, &file->features);
    return status < 0 ? status : list_facts(info, &file->features);
}

static int load_info(struct info *info, const char *path, struct problem *problem)
{
    struct loader *loader = info->loader;
    struct file file;
    loader->inputs = calloc(1, sizeof(*loader->inputs));
    if (!loader->inputs)
        return -ENOMEM;
    loader->input_count = 1;
    loader->counts_only = true;
    struct input *input = &loader->inputs[0];
    input->path = info->shown.path = store_string(&loader->store, path);
    int status = input->path ? loader_look(loader, input, problem) : -ENOMEM;
    if (status == 0)
        status = loader_open(input, &file, problem);
    if (status < 0)
        return status;
    loader->profile.session.ours = loader->sessions[input->session].ours;
    loader->profile.session.items_lost = input->lost;
    status = loader_take(loader, input, &file, false);
    if (status == 0)
        status = finish_profile(loader);
    if (status == 0)
        status = profile_select_event(&loader->profile, NULL);
    if (status == 0)
        status = fill_info(info, &file);
    file_release(&file);
    return status;
}

int profile_file_load(const char *path, struct profile_file **ret)
{
    struct info *info = calloc(1, sizeof(*info));
    struct problem problem = {""};
    int status = -ENOMEM;
    if (info)
        info->loader = info->shown.loader = loader_new();
    if (info && info->loader)
        status = load_info(info, path, &problem);
    if (status < 0) {
        report_error("%s: %s", path, problem.text[0] ? problem.text : "out of memory");
        profile_file_free(info ? &info->shown : NULL);
        return status;
    }
    *ret = &info->shown;
    return 0;
}

void profile_file_free(struct profile_file *file)
{
    if (!file)
        return;
    loader_free(file->loader);
    free(file);
}
