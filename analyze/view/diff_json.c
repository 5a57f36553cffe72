/* SPDX-License-Identifier: MIT */
/* The document of 'diff --json'. docs/panalyze.md describes it; names are never changed, only added. */
#include <math.h>
#include <stdlib.h>

#include "analyze/view/diff.h"
#include "analyze/view/heading.h"
#include "analyze/view/json.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

static void side_object(struct json *json, const char *key, const struct view *view, const struct noise_side *side)
{
    char id[33];
    char *command = heading_command(view->profile);
    profile_session_text(&view->profile->session, id);
    json_object(json, key);
    json_string(json, "command", command);
    json_string(json, "session", view->profile->session.ours ? id : NULL);
    json_unsigned(json, "files", view->profile->files_read);
    json_unsigned(json, "tasks", view->selection->task_count);
    json_unsigned(json, "samples", side->all.samples);
    json_unsigned(json, "weight", side->all.weight);
    json_unsigned(json, "lost", view->selection->lost);
    json_end_object(json);
    free(command);
}

static void sum_object(struct json *json, const char *key, const struct noise_side *side, const struct noise_sum *sum)
{
    json_object(json, key);
    json_unsigned(json, "samples", sum->samples);
    json_unsigned(json, "weight", sum->weight);
    json_number(json, "percent", text_share(sum->weight, side->all.weight));
    json_end_object(json);
}

static void changes(struct json *json, const struct compare *compare, const struct compare_row *row)
{
    double weight = noise_of_weight(compare->sides, row->sums), share = noise_of_share(compare->sides, row->sums);
    sum_object(json, "a", &compare->sides[0], &row->sums[0]);
    sum_object(json, "b", &compare->sides[1], &row->sums[1]);
    json_number(json, "weight_change", (double)row->sums[1].weight - (double)row->sums[0].weight);
    json_number(json, "weight_sigmas", weight);
    json_bool(json, "weight_noise", noise_is(weight, row->sums));
    json_number(json, "points_change", compare_share_change(compare, row));
    json_number(json, "points_sigmas", share);
    json_bool(json, "points_noise", noise_is(share, row->sums));
}

static void function_names(struct json *json, const struct compare *compare, const struct compare_row *row)
{
    json_string(json, "symbol", compare_text(compare, row->first));
    json_string(json, "dso", compare_text(compare, row->second));
}

static void command_names(struct json *json, const struct compare *compare, const struct compare_row *row)
{
    json_string(json, "comm", compare_text(compare, row->first));
    json_string(json, "executable", *compare_text(compare, row->second) ? compare_text(compare, row->second) : NULL);
}

/* The frames come innermost first, the command is where they end. */
static void stack_names(struct json *json, const struct compare *compare, const struct compare_row *row)
{
    const struct compare_row *stacks = compare->tables[COMPARE_STACK].rows;
    const struct compare_row *functions = compare->tables[COMPARE_FUNCTION].rows;
    json_list(json, "frames");
    for (; row->first; row = &stacks[row->first - 1]) {
        json_object(json, NULL);
        function_names(json, compare, &functions[row->second]);
        json_end_object(json);
    }
    json_end_list(json);
    command_names(json, compare, &compare->tables[COMPARE_COMM].rows[row->second]);
}

static void rows_list(struct json *json, const struct view *view, const struct compare *compare, enum compare_by by)
{
    static const char *const keys[] = {"commands", "objects", "functions", "stacks"};
    const struct settings *settings = view->settings;
    size_t count;
    uint32_t *order = compare_order(compare, by, settings->diff_sort == DIFF_BY_SHARE, &count);
    json_list(json, keys[by]);
    for (size_t i = 0; i < count && (!settings->top || i < settings->top); i++) {
        const struct compare_row *row = &compare->tables[by].rows[order[i]];
        json_object(json, NULL);
        if (by == COMPARE_COMM)
            command_names(json, compare, row);
        else if (by == COMPARE_OBJECT)
            json_string(json, "dso", compare_text(compare, row->first));
        else if (by == COMPARE_FUNCTION)
            function_names(json, compare, row);
        else
            stack_names(json, compare, row);
        changes(json, compare, row);
        json_end_object(json);
    }
    json_end_list(json);
    free(order);
}

void diff_json(struct view *view, struct compare *compare)
{
    const struct profile_event *event = &view->profile->events[view->profile->event];
    struct json json = {.to = view->output->to};
    int wanted = diff_wanted(view->settings);
    json_object(&json, NULL);
    json_string(&json, "schema", "pinject.diff/1");
    json_string(&json, "event", event->name);
    json_bool(&json, "nanoseconds", event->nanoseconds);
    json_string(&json, "compared", compare->total ? "total" : "self");
    side_object(&json, "a", view, &compare->sides[0]);
    side_object(&json, "b", view->other, &compare->sides[1]);
    json_object(&json, "noise");
    json_number(&json, "sigmas", NOISE_SIGMAS);
    json_unsigned(&json, "least_samples", NOISE_LEAST_SAMPLES);
    json_string(&json, "weight", "difference of two Poisson counts");
    json_string(&json, "points", "difference of two proportions, pooled variance");
    json_end_object(&json);
    for (int by = 0; by < COMPARE_KINDS; by++)
        if (wanted == DIFF_ALL || wanted == by)
            rows_list(&json, view, compare, (enum compare_by)by);
    json_end_object(&json);
}
