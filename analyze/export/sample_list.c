/* SPDX-License-Identifier: MIT */
#include "analyze/export/sample_list.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "common/report.h"

struct collect {
    struct samples *samples;
    struct view *view;
    struct output_file *out;
    struct tree *tree;
};

static int collect_sample(void *context, const struct profile_sample *sample)
{
    struct collect *collect = context;
    const struct view *view = collect->view;
    struct samples *samples = collect->samples;
    if (sample->event != view->profile->event || !view->selection->tasks[sample->task->index] ||
        !select_comm(view->settings, sample->comm))
        return 0;
    if (output_file_is_over(collect->out))
        return 1;
    samples->items = memory_grow(samples->items, &samples->capacity, samples->count + 1, sizeof(*samples->items));
    samples->items[samples->count++] = (struct samples_item){
        .time_ns = sample->time_ns,
        .weight = sample->period,
        .node = tree_add(collect->tree, sample->frames, sample->depth),
        .task = sample->task->index,
    };
    return 0;
}

static int compare_samples(const void *left, const void *right)
{
    const struct samples_item *a = left, *b = right;
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

int samples_collect(struct samples *samples, struct view *view, struct output_file *out, struct tree *tree)
{
    struct collect collect = {samples, view, out, tree};
    *samples = (struct samples){0};
    int status = profile_samples(view->profile, collect_sample, &collect);
    if (status < 0) {
        report_error("the samples could not be read a second time: %s", strerror(-status));
        return 1;
    }
    if (samples->count)
        qsort(samples->items, samples->count, sizeof(*samples->items), compare_samples);
    return 0;
}

void samples_release(struct samples *samples)
{
    free(samples->items);
    *samples = (struct samples){0};
}

size_t samples_end(const struct samples *samples, size_t from)
{
    size_t at = from;
    while (at < samples->count && samples->items[at].task == samples->items[from].task)
        at++;
    return at;
}
