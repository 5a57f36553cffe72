/* SPDX-License-Identifier: MIT */
/* The document of 'diff --json'; docs/panalyze.md describes it. Names are never changed, only added. */
#include <math.h>
#include <stdlib.h>

#include "analyze/view/diff.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/json.h"

/* Of the first run. */
static void session_strings(struct json *json, const struct view *view)
{
    char id[33];
    char *command = heading_command(view->profile);
    profile_session_text(&view->profile->session, id);
    json_string(json, "command", command);
    json_string(json, "session", view->profile->session.ours ? id : NULL);
    free(command);
}

static void side_object(struct json *json, const char *key, const struct view *view, const struct compare *compare,
                        int side)
{
    uint64_t files = 0, tasks = 0, lost = 0, incomplete = 0, unwritten = 0;
    for (size_t i = 0; i < compare->runs[side]; i++) {
        const struct view *run = diff_run(view, side, i);
        files += run->profile->files_read;
        tasks += run->selection->task_count;
        lost += run->selection->lost;
        incomplete += run->profile->session.incomplete_files;
        unwritten += run->profile->session.unwritten_samples;
    }
    json_object(json, key);
    session_strings(json, diff_run(view, side, 0));
    json_unsigned(json, "runs", compare->runs[side]);
    json_unsigned(json, "files", files);
    json_unsigned(json, "tasks", tasks);
    json_unsigned(json, "samples", compare->sides[side].all.samples);
    json_unsigned(json, "weight", compare->sides[side].all.weight);
    json_list(json, "run_weights");
    for (size_t i = 0; i < compare->runs[side]; i++)
        json_unsigned(json, NULL, compare->run_weights[(side ? compare->runs[0] : 0) + i]);
    json_end_list(json);
    json_list(json, "other_cpus");
    for (size_t i = 0; i < compare->runs[side]; i++) {
        const double others = heading_others(&diff_run(view, side, i)->profile->session);
        if (others < 0)
            json_null(json, NULL);
        else
            json_number(json, NULL, others);
    }
    json_end_list(json);
    json_unsigned(json, "lost", lost);
    json_unsigned(json, "incomplete_files", incomplete);
    json_unsigned(json, "unwritten_samples", unwritten);
    json_end_object(json);
}

static void sum_object(struct json *json, const char *key, const struct noise_sum *sum, double share)
{
    json_object(json, key);
    json_unsigned(json, "samples", sum->samples);
    json_unsigned(json, "weight", sum->weight);
    json_number(json, "percent", share);
    json_end_object(json);
}

static const char *verdict_word(enum compare_verdict verdict)
{
    static const char *const words[] = {"noise", "unknown", "changed"};
    return words[verdict];
}

/* An unknown LIMIT is written as null. */
static void verdict_members(struct json *json, const char *verdict_key, enum compare_verdict verdict,
                            const char *limit_key, double limit)
{
    json_string(json, verdict_key, verdict_word(verdict));
    if (isfinite(limit))
        json_number(json, limit_key, limit);
    else
        json_string(json, limit_key, NULL);
}

/* With several runs: which figure decides. */
static void judgement_members(struct json *json, const struct compare_row *row)
{
    json_string(json, "judged_by", !compare_judged(row) ? NULL : row->by_points ? "points" : "weight");
    json_bool(json, "changed", row->changed);
}

static void change_members(struct json *json, const struct compare *compare, const struct compare_row *row)
{
    double weight = noise_of_weight(compare->sides, row->sums), share = noise_of_share(compare->sides, row->sums);
    sum_object(json, "a", &row->sums[0], row->shares[0]);
    sum_object(json, "b", &row->sums[1], row->shares[1]);
    json_number(json, "weight_change", compare_weight_change(compare, row->sums));
    json_number(json, "weight_sigmas", weight);
    json_bool(json, "weight_noise", noise_is(weight, row->sums));
    verdict_members(json, "weight_verdict", compare_weight_verdict(compare, row), "weight_limit", row->weight_limit);
    json_number(json, "points_change", row->points);
    json_number(json, "points_sigmas", share);
    json_bool(json, "points_noise", noise_is(share, row->sums));
    verdict_members(json, "points_verdict", compare_points_verdict(compare, row), "points_limit", row->points_limit);
    judgement_members(json, row);
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

/* The frames come innermost first; the command is the end of the stack. */
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

/* In the order of enum compare_by. "objects": the older name of DSOs, the only one for the list. */
static const char *const by_keys[] = {"commands", "objects", "functions", "stacks"};

static void rows_list(struct json *json, const struct view *view, const struct compare *compare, enum compare_by by)
{
    const struct settings *settings = view->settings;
    size_t count;
    uint32_t *order = compare_order(compare, by, settings->diff_sort == DIFF_BY_SHARE, &count);
    json_list(json, by_keys[by]);
    for (size_t i = 0; i < count && (!settings->top || i < settings->top); i++) {
        const struct compare_row *row = &compare->tables[by].rows[order[i]];
        json_object(json, NULL);
        if (by == COMPARE_COMM)
            command_names(json, compare, row);
        else if (by == COMPARE_DSO)
            json_string(json, "dso", compare_text(compare, row->first));
        else if (by == COMPARE_FUNCTION)
            function_names(json, compare, row);
        else
            stack_names(json, compare, row);
        change_members(json, compare, row);
        json_end_object(json);
    }
    json_end_list(json);
    free(order);
}

/* The facts of the text about the total and the number of runs. */
static void summary_members(struct json *json, const struct view *view, const struct compare *compare)
{
    const struct noise_sum sums[2] = {compare->sides[0].all, compare->sides[1].all};
    double explained;
    json_number(json, "weight_change", compare_weight_change(compare, sums));
    verdict_members(json, "weight_verdict", compare_verdict(compare), "weight_limit",
                    compare->apart ? INFINITY : compare->limit);
    json_bool(json, "loaded", diff_loaded(view));
    json_bool(json, "apart", compare->apart);
    if (diff_explained(view, compare, COMPARE_FUNCTION, &explained))
        json_number(json, "explained_change", explained);
    else
        json_null(json, "explained_change");
    json_object(json, "runs_wanted");
    for (int by = 0; by < COMPARE_KINDS; by++)
        if (compare->tables[by].runs_wanted > 0)
            json_unsigned(json, by_keys[by], (uint64_t)compare->tables[by].runs_wanted);
    if (compare->tables[COMPARE_DSO].runs_wanted > 0)
        json_unsigned(json, "dsos", (uint64_t)compare->tables[COMPARE_DSO].runs_wanted);
    json_end_object(json);
}

static void programs_list(struct json *json, const struct versions *versions, int side)
{
    const struct versions_set *programs = &versions->programs;
    json_list(json, side ? "b" : "a");
    for (uint32_t i = 0; versions_unclear(versions) && i < programs->names.count; i++)
        if (versions_alone(versions, programs, i, side))
            json_string(json, NULL, programs->names.texts[i]);
    json_end_list(json);
}

static void pair_object(struct json *json, const struct versions_set *set)
{
    if (!set->pair)
        return;
    json_object(json, NULL);
    json_string(json, "a", versions_of_pair(set, 0));
    json_string(json, "b", versions_of_pair(set, 1));
    json_string(json, "name", set->pair);
    json_end_object(json);
}

/* Programs that only one side has: the two that are compared with each other, or all, if that is not known. */
static void versions_members(struct json *json, const struct versions *versions)
{
    json_list(json, "versions");
    pair_object(json, &versions->programs);
    pair_object(json, &versions->scripts);
    json_end_list(json);
    json_object(json, "not_paired");
    programs_list(json, versions, 0);
    programs_list(json, versions, 1);
    json_end_object(json);
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
    side_object(&json, "a", view, compare, 0);
    side_object(&json, "b", view, compare, 1);
    versions_members(&json, &compare->versions);
    summary_members(&json, view, compare);
    json_list(&json, "not_compared");
    for (size_t i = 0; i < compare->gone_count; i++) {
        json_object(&json, NULL);
        json_string(&json, "dso", compare_text(compare, compare->gone[i].dso));
        json_string(&json, "why", compare->gone[i].why);
        json_unsigned(&json, "a", compare->gone[i].weights[0]);
        json_unsigned(&json, "b", compare->gone[i].weights[1]);
        json_end_object(&json);
    }
    json_end_list(&json);
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
