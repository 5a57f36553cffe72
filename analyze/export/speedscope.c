/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own file format (file-format-schema.json), with profiles of type "sampled": one per task, heaviest
 * first, with its samples in order of time; with --aggregate one for all tasks.
 */
#include <stdlib.h>

#include "analyze/export/export.h"
#include "analyze/export/sample_list.h"
#include "analyze/export/tree.h"
#include "analyze/view/memory.h"
#include "common/json.h"

struct speedscope {
    struct view *view;
    struct output_file *out;
    struct json json;
    struct tree tree;
    uint32_t *path; /* from the leaf outwards */
    size_t path_capacity;
    uint64_t *weights;
    size_t weight_count, weight_capacity;
    uint64_t total;
};

static void put_stack(struct speedscope *speedscope, uint32_t node)
{
    size_t depth = 0;
    for (; node != TREE_ROOT; node = tree_parent(&speedscope->tree, node)) {
        speedscope->path = memory_grow(speedscope->path, &speedscope->path_capacity, depth + 1, sizeof(uint32_t));
        speedscope->path[depth++] = tree_label(&speedscope->tree, node);
    }
    json_list(&speedscope->json, NULL);
    while (depth-- > 0)
        json_unsigned(&speedscope->json, NULL, speedscope->path[depth]);
    json_end_list(&speedscope->json);
}

/* Consecutive samples with the same stack become one. */
static void put_sample(struct speedscope *speedscope, uint32_t node, uint64_t weight, uint32_t before)
{
    speedscope->total += weight;
    if (speedscope->weight_count && node == before) {
        speedscope->weights[speedscope->weight_count - 1] += weight;
        return;
    }
    speedscope->weights = memory_grow(speedscope->weights, &speedscope->weight_capacity, speedscope->weight_count + 1,
                                      sizeof(uint64_t));
    speedscope->weights[speedscope->weight_count++] = weight;
    put_stack(speedscope, node);
}

static void begin_profile(struct speedscope *speedscope, const char *name)
{
    const struct profile *profile = speedscope->view->profile;
    struct json *json = &speedscope->json;
    speedscope->weight_count = 0;
    speedscope->total = 0;
    json_object(json, NULL);
    json_string(json, "type", "sampled");
    json_string(json, "name", name);
    json_string(json, "unit", profile->events[profile->event].nanoseconds ? "nanoseconds" : "none");
    json_list(json, "samples");
}

static void end_profile(struct speedscope *speedscope)
{
    struct json *json = &speedscope->json;
    json_end_list(json);
    json_list(json, "weights");
    for (size_t i = 0; i < speedscope->weight_count; i++)
        json_unsigned(json, NULL, speedscope->weights[i]);
    json_end_list(json);
    json_unsigned(json, "startValue", 0);
    json_unsigned(json, "endValue", speedscope->total);
    json_end_object(json);
}

static void put_aggregate(struct speedscope *speedscope)
{
    const struct view *view = speedscope->view;
    begin_profile(speedscope, view->profile->event_count ? view->profile->events[view->profile->event].name : "all");
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        const struct profile_stack *stack = &view->profile->stacks[entry->stack];
        put_sample(speedscope, tree_add(&speedscope->tree, stack->frames, stack->depth), entry->weight, TREE_ROOT);
    }
    end_profile(speedscope);
}

static void put_task(struct speedscope *speedscope, const struct profile_task *task, const struct samples_item *items,
                     size_t count)
{
    char *name = memory_print("%s %d/%d", task->comm, task->pid, task->tid);
    begin_profile(speedscope, name);
    free(name);
    for (size_t i = 0; i < count; i++)
        put_sample(speedscope, items[i].node, items[i].weight, i ? items[i - 1].node : TREE_ROOT);
    end_profile(speedscope);
}

static int put_tasks(struct speedscope *speedscope)
{
    const struct view *view = speedscope->view;
    struct samples samples;
    int status = samples_collect(&samples, speedscope->view, speedscope->out, &speedscope->tree);
    size_t *first = memory_new((size_t)view->profile->task_count, sizeof(*first));
    for (size_t at = 0; at < samples.count; at = samples_end(&samples, at))
        first[samples.items[at].task] = at;
    for (uint32_t i = 0; i < view->selection->task_count && samples.count; i++) {
        const struct profile_task *task = &view->profile->tasks[view->selection->order[i]];
        const struct samples_item *items = &samples.items[first[task->index]];
        if (items->task == task->index && !output_file_is_over(speedscope->out))
            put_task(speedscope, task, items, samples_end(&samples, first[task->index]) - first[task->index]);
    }
    free(first);
    samples_release(&samples);
    return status;
}

static void put_frames(struct speedscope *speedscope)
{
    struct json *json = &speedscope->json;
    json_object(json, "shared");
    json_list(json, "frames");
    for (uint32_t i = 0; i < tree_label_count(&speedscope->tree); i++) {
        const struct tree_call *call = &speedscope->tree.calls[i];
        struct tree_function function = tree_function(&speedscope->tree, call->function);
        json_object(json, NULL);
        json_string(json, "name", function.symbol);
        json_string(json, "file", function.dso);
        json_end_object(json);
    }
    json_end_list(json);
    json_end_object(json);
}

int speedscope_write(struct view *view, struct output_file *out)
{
    struct speedscope speedscope = {.view = view, .out = out, .json = {.to = out->to}};
    struct json *json = &speedscope.json;
    int status = 0;
    tree_init(&speedscope.tree, view, true);
    json_object(json, NULL);
    json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_string(json, "exporter", "panalyze");
    json_unsigned(json, "activeProfileIndex", 0);
    json_list(json, "profiles");
    if (view->settings->aggregate)
        put_aggregate(&speedscope);
    else
        status = put_tasks(&speedscope);
    json_end_list(json);
    put_frames(&speedscope);
    json_end_object(json);
    tree_release(&speedscope.tree);
    free(speedscope.path);
    free(speedscope.weights);
    return status;
}
