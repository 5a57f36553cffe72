/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyze/model/json_document.h"
#include "analyze/model/loader.h"
#include "common/report.h"

struct loader *loader_new(void)
{
    struct loader *loader = calloc(1, sizeof(*loader));
    if (!loader)
        return NULL;
    loader->profile.loader = loader;
    loader->dumps = (struct dumps){.store = &loader->store, .symfs = ""};
    if (chain_init(&loader->chain, &loader->store) < 0) {
        loader_free(loader);
        return NULL;
    }
    return loader;
}

void loader_free(struct loader *loader)
{
    if (!loader)
        return;
    for (uint32_t i = 0; i < loader->task_count; i++)
        task_free(loader->tasks[i]);
    for (uint32_t i = 0; i < loader->input_count; i++)
        free(loader->inputs[i].tasks);
    thread_pool_free(loader->pool);
    chain_release(&loader->chain);
    dumps_release(&loader->dumps);
    store_release(&loader->store);
    lookup_release(&loader->task_lookup);
    free(loader->profile.tasks);
    free(loader->tasks);
    free(loader->inputs);
    free(loader->sessions);
    free(loader->place_of_task);
    free(loader->missed);
    free(loader->jit_dumps);
    free(loader->notes);
    free(loader->round_times);
    free(loader->values);
    free(loader);
}

void profile_free(struct profile *profile)
{
    loader_free(profile ? profile->loader : NULL);
}

int loader_open(const struct input *input, struct file *file, struct problem *problem)
{
    return input->bytes ? file_open_memory(file, input->bytes, input->size, problem)
                        : file_open(file, input->path, problem);
}

int loader_open_again(struct loader *loader, const struct input *input, struct file *file)
{
    struct problem problem = {""};
    int status = loader_open(input, file, &problem);
    if (status == -ENOMEM)
        return status;
    if (status == 0 && file->source.device == input->device && file->source.inode == input->inode)
        return 0;
    loader->profile.files_bad++;
    if (status < 0) {
        report_error("%s: %s", input->path, problem.text);
    } else {
        report_error("%s: the file was replaced while panalyze read it; its records are left out", input->path);
        file_release(file);
    }
    return -ESTALE;
}

static int find_session(struct loader *loader, const struct session_seen *seen, uint32_t *ret)
{
    for (uint32_t i = 0; i < loader->session_count; i++) {
        if (memcmp(loader->sessions[i].id, seen->id, sizeof(seen->id)) == 0) {
            *ret = i;
            return 0;
        }
    }
    if (arena_room(&loader->sessions, &loader->session_capacity, loader->session_count, sizeof(*seen)) < 0)
        return -ENOMEM;
    loader->sessions[loader->session_count] = *seen;
    *ret = loader->session_count++;
    return 0;
}

static int take_first_record(void *context, const struct record *record)
{
    struct input *input = context;
    if (!(record->has & PERF_SAMPLE_TID) || !record->time)
        return 0;
    input->pid = (int32_t)record->pid;
    input->tid = (int32_t)record->tid;
    input->start_ns = record->time;
    return 1;
}

/* A file that lost its items: each of its records names the task. */
static int look_at_records(struct input *input, struct file *file)
{
    enum { ENOUGH_BYTES = 64 * 1024 };
    const struct attr_list *attrs = &file->attrs;
    int status = file_records(file, ENOUGH_BYTES, take_first_record, input);
    if (!attrs->items[0].perf.use_clockid || attrs->items[0].perf.clockid != CLOCK_MONOTONIC)
        input->start_ns = 0; /* not comparable with the sessions */
    return status < 0 ? status : 0;
}

/* What the file of TASK says of the time of its session. */
static void note_end(struct session_seen *session, const struct file *file, const struct pinject_item_task *task)
{
    session->complete |= ours_complete(file);
    if (task->end_ns > session->end_ns)
        session->end_ns = task->end_ns;
}

int loader_look(struct loader *loader, struct input *input, struct problem *problem)
{
    struct file file;
    input->session = LOOKUP_NONE;
    int status = loader_open(input, &file, problem);
    if (status < 0)
        return status;
    struct session_seen seen;
    struct pinject_item_task task;
    bool ours;
    session_of_file(&file, &seen, &ours);
    seen.path = input->path;
    input->own = ours && ours_task(&file, &task);
    if (input->own) {
        input->pid = task.pid;
        input->tid = task.tid;
        input->start_ns = task.start_ns;
        seen.base = choose_base(input);
    }
    input->device = file.source.device;
    input->inode = file.source.inode;
    input->bytes_to_read = file.source.size;
    input->limit = UINT64_MAX;
    status = find_session(loader, &seen, &input->session);
    if (status == 0)
        loader->sessions[input->session].files++;
    if (status == 0 && input->own)
        note_end(&loader->sessions[input->session], &file, &task);
    input->lost = seen.lost;
    if (status == 0 && input->lost)
        status = look_at_records(input, &file);
    file_release(&file);
    return status < 0 ? problem_set(problem, status, "out of memory") : 0;
}

void loader_describe(const struct file *file, struct problem *ret)
{
    ret->text[0] = '\0';
    if (file->missing)
        problem_set(ret, 0,
                    "the file is truncated: %" PRIu64
                    " bytes are missing at its end, including its feature sections; the rest is read",
                    file->missing);
    else if (file->problem.text[0])
        problem_set(ret, 0, "%s", file->problem.text);
    else if (file->unfinished)
        problem_set(
            ret, 0,
            "the file is not complete, because its recorder still runs or was killed; the part written so far is read");
    else if (file->ours_lost)
        problem_set(ret, 0,
                    "the file is truncated or damaged: its feature section 250 (pinject's own data) is missing; the "
                    "records are read");
    else if (file->features_lost)
        problem_set(ret, 0, "the table of features in this file is damaged; the rest of the file is read");
    else if (file->unread && !file->pipe)
        problem_set(ret, 0, "the file ends in the middle of a record: the last %" PRIu64 " bytes are not read",
                    file->unread);
    else if (file->unread)
        problem_set(ret, 0, "the file is truncated in the middle of a record; the records before it are read");
    else if (file->broken)
        problem_set(ret, 0, "the file has %" PRIu64 " damaged records, which are left out", file->broken);
    else if (file->unknown_event)
        problem_set(ret, 0, "the file does not describe the events of %" PRIu64 " samples; these samples are left out",
                    file->unknown_event);
}

int loader_take(struct loader *loader, struct input *input, struct file *file, bool talk)
{
    struct problem problem;
    int status = replay_file(loader, input, file, NULL);
    if (status < 0)
        return status;
    input->limit = file->data_size;
    loader_describe(file, &problem);
    if (problem.text[0] && talk)
        report_warning("%s: %s", input->path, problem.text);
    loader->profile.files_read++;
    loader->profile.files_truncated += file->missing > 0 || file->ours_lost;
    return session_take(loader, file, input->own || loader->sessions[input->session].ours);
}

enum { OTHERS_SHOWN = 3 }; /* names in the message about files that are no profiles */

/* Puts the files of a task in the order of its exec generations. */
static int compare_inputs(const void *left, const void *right)
{
    const struct input *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

static bool is_given_twice(const struct loader *loader, const struct lookup *lookup, uint64_t hash,
                           const struct input *input)
{
    struct lookup_walk walk = lookup_start(lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (loader->inputs[i].device == input->device && loader->inputs[i].inode == input->inode)
            return true;
    return false;
}

/* One message for all files that are no profiles ("out.*" may match others). If none is a profile, it adds advice. */
static void report_other_files(const struct loader *loader, const uint32_t shown[OTHERS_SHOWN], uint32_t others)
{
    const char *more = others > OTHERS_SHOWN ? ", ..." : "";
    const char *remedy = others == loader->input_count
                             ? "; 'pinject-run -- COMMAND' and 'perf record' write perf.data files"
                             : "";
    if (others == 1 && !loader->inputs[shown[0]].bytes && document_is(loader->inputs[shown[0]].path))
        report_error("%s: the file is JSON, not a perf.data file; only 'panalyze diff' reads JSON reports",
                     loader->inputs[shown[0]].path);
    else if (others == 1)
        report_error("%s: the file is not a perf.data file%s", loader->inputs[shown[0]].path, remedy);
    else if (others == 2)
        report_error("2 files are not perf.data files: %s, %s%s", loader->inputs[shown[0]].path,
                     loader->inputs[shown[1]].path, remedy);
    else if (others)
        report_error("%u files are not perf.data files: %s, %s, %s%s%s", others, loader->inputs[shown[0]].path,
                     loader->inputs[shown[1]].path, loader->inputs[shown[2]].path, more, remedy);
}

/* A file that is given twice ("out.* out.1.1") counts once. */
static int look_at_inputs(struct loader *loader)
{
    struct lookup lookup = {0};
    uint32_t others = 0, shown[OTHERS_SHOWN];
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < loader->input_count; i++) {
        struct input *input = &loader->inputs[i];
        struct problem problem = {""};
        status = loader_look(loader, input, &problem);
        if (status == -ENOEXEC && others < OTHERS_SHOWN)
            shown[others] = i;
        if (status == -ENOEXEC)
            others++;
        else if (status < 0 && status != -ENOMEM)
            report_error("%s: %s", input->path, problem.text);
        if (status < 0 && status != -ENOMEM) {
            loader->profile.files_bad++;
            status = 0;
            continue;
        }
        uint64_t hash = lookup_mix(lookup_mix(6, input->device), input->inode);
        if (status == 0 && !input->bytes && is_given_twice(loader, &lookup, hash, input)) {
            loader->sessions[input->session].files--;
            input->session = LOOKUP_NONE;
        } else if (status == 0) {
            status = lookup_add(&lookup, hash, i);
        }
    }
    report_other_files(loader, shown, others);
    lookup_release(&lookup);
    return status;
}

static int take_inputs(struct loader *loader, uint32_t session)
{
    int status = 0;
    for (uint32_t i = 0; i < loader->input_count; i++)
        if (loader->inputs[i].session == session)
            loader->bytes_total += loader->inputs[i].bytes_to_read;
    for (uint32_t i = 0; status == 0 && i < loader->input_count; i++) {
        struct input *input = &loader->inputs[i];
        struct problem problem = {""};
        struct file file;
        if (input->session != session)
            continue;
        status = loader_open(input, &file, &problem);
        if (status < 0 && status != -ENOMEM) {
            report_error("%s: %s", input->path, problem.text);
            loader->profile.files_bad++;
            input->session = LOOKUP_NONE;
            status = 0;
            continue;
        }
        if (status == 0) {
            status = loader_take(loader, input, &file, true);
            loader->bytes_done += input->bytes_to_read;
            file_release(&file);
        }
    }
    return status;
}

static void choose_merge(struct loader *loader, const struct profile_options *options, uint32_t session)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < loader->input_count; i++)
        bytes += loader->inputs[i].session == session ? loader->inputs[i].bytes_to_read : 0;
    loader->merged = options->merged_foreign && loader->sessions[session].ours ? PROFILE_BY_TASK : options->merged;
    if (loader->merged == PROFILE_BY_TASK && options->merge_above && bytes > options->merge_above)
        loader->merged = PROFILE_BY_STACK;
}

static int load_session(struct loader *loader, const struct profile_options *options)
{
    uint32_t session;
    int status = look_at_inputs(loader);
    if (status < 0)
        return status;
    if (loader->session_count == 0)
        return -ENOENT;
    status = choose_session(loader, options ? options->session : NULL, &session);
    if (status < 0)
        return status;
    qsort(loader->inputs, loader->input_count, sizeof(*loader->inputs), compare_inputs);
    loader->counts_only = options && options->counts_only;
    loader->rounds_wanted = options && options->rounds;
    loader->data_wanted = options && options->data;
    loader->branches_shown = options && options->branches;
    if (options) {
        loader->progress = options->progress;
        loader->progress_context = options->progress_context;
    }
    loader->profile.session.ours = loader->sessions[session].ours;
    loader->profile.session.items_lost = loader->sessions[session].lost;
    if (options)
        choose_merge(loader, options, session);
    if (options && options->symfs)
        loader->dumps.symfs = options->symfs;
    if (options)
        loader->dumps.unwinder = options->unwinder;
    if (options && options->debug_path_count) {
        loader->dumps.debug_paths = options->debug_paths;
        loader->dumps.debug_path_count = options->debug_path_count;
    }
    status = take_inputs(loader, session);
    if (status == 0)
        status = thread_pool_finish(loader->pool);
    thread_pool_free(loader->pool);
    loader->pool = NULL;
    if (status < 0)
        return status;
    if (loader->profile.files_read == 0)
        return -ENOENT;
    status = finish_profile(loader);
    return status < 0 ? status : profile_select_event(&loader->profile, options ? options->event : NULL);
}

static int load_inputs(const struct input *inputs, size_t count, const struct profile_options *options,
                       struct profile **ret)
{
    struct loader *loader = loader_new();
    int status = loader && count < LOOKUP_NONE ? 0 : -ENOMEM;
    if (status == 0) {
        loader->inputs = calloc(count ? count : 1, sizeof(*inputs));
        status = loader->inputs ? 0 : -ENOMEM;
    }
    if (status == 0) {
        loader->pool = thread_pool_new(&loader->chain, thread_pool_size(options ? options->threads : 1));
        status = loader->pool ? 0 : -ENOMEM;
    }
    if (status == 0) {
        memcpy(loader->inputs, inputs, count * sizeof(*inputs));
        loader->input_count = (uint32_t)count;
        for (uint32_t i = 0; status == 0 && i < loader->input_count; i++) {
            loader->inputs[i].path = store_string(&loader->store, inputs[i].path);
            status = loader->inputs[i].path ? 0 : -ENOMEM;
        }
    }
    if (status == 0)
        status = load_session(loader, options);
    if (status == -ENOMEM)
        report_error("out of memory");
    if (status < 0)
        loader_free(loader);
    else
        *ret = &loader->profile;
    return status;
}

int profile_load(const char *const *paths, size_t count, const struct profile_options *options, struct profile **ret)
{
    struct input *inputs = calloc(count ? count : 1, sizeof(*inputs));
    if (!inputs) {
        report_error("out of memory");
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        inputs[i].path = paths[i];
    int status = load_inputs(inputs, count, options, ret);
    free(inputs);
    return status;
}

int profile_load_memory(const void *bytes, size_t size, const struct profile_options *options, struct profile **ret)
{
    const struct input input = {.path = "memory", .bytes = bytes ? bytes : "", .size = size};
    return load_inputs(&input, 1, options, ret);
}
