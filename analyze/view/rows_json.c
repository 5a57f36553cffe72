/* SPDX-License-Identifier: MIT */
/* The rows of --by in the document of --json. */
#include <inttypes.h>

#include "analyze/view/event_group.h"
#include "analyze/view/memory.h"
#include "analyze/view/rows.h"
#include "analyze/view/text.h"

static void put_label(struct json *json, const struct view *view, struct histogram *histogram,
                      const struct histogram_row *row)
{
    const struct profile_task *task = &view->profile->tasks[row->task];
    if (histogram->by == BY_DSO) {
        json_string(json, "dso", names_dso(histogram->names, (uint32_t)row->key));
    } else if (histogram->by == BY_ADDRESS) {
        const struct names_place *place = names_frame(histogram->names, row->frame);
        json_unsigned(json, "address", place->address);
        json_string(json, "symbol", place->symbol);
        json_string(json, "dso", place->dso);
    } else if (histogram->by == BY_PROCESS) {
        json_signed(json, "pid", task->pid);
        json_string(json, "comm", task->comm);
    } else {
        json_string(json, "comm", (const char *)(uintptr_t)row->key);
    }
}

void rows_json_figures(struct json *json, const struct histogram_row *row, uint64_t whole)
{
    json_unsigned(json, "self_samples", row->self_samples);
    json_unsigned(json, "self_weight", row->self_weight);
    json_number(json, "self_percent", text_share(row->self_weight, whole));
    json_unsigned(json, "total_samples", row->total_samples);
    json_unsigned(json, "total_weight", row->total_weight);
    json_number(json, "total_percent", text_share(row->total_weight, whole));
}

static void put_row(struct json *json, const struct view *view, struct histogram *histogram,
                    const struct histogram_row *row)
{
    json_object(json, NULL);
    put_label(json, view, histogram, row);
    rows_json_figures(json, row, histogram->weight);
    event_group_json(json, view, histogram, row);
    json_end_object(json);
}

/* A list KEY of at most LIMIT rows. */
static void put_rows(struct json *json, struct view *view, const char *key, int by, uint64_t limit)
{
    struct histogram histogram;
    struct rows rows;
    histogram_init(&histogram, view->profile, view->names, by);
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        histogram_add(&histogram, &view->profile->entries[view->selection->entries[i]]);
    event_group_add(view, &histogram, EVENT_GROUP_ALL);
    histogram_sort(&histogram, view->settings->sort);
    rows_choose(&rows, view, &histogram, limit, by == view->settings->by ? view->settings->cum : 0);
    json_list(json, key);
    for (size_t i = 0; i < rows.count; i++)
        put_row(json, view, &histogram, rows.list[i]);
    json_end_list(json);
    rows_release(&rows);
    histogram_release(&histogram);
}

void rows_json(struct json *json, struct view *view)
{
    static const char *const keys[] = {[BY_DSO] = "objects", [BY_PROCESS] = "processes", [BY_ADDRESS] = "addresses"};
    const struct settings *settings = view->settings;
    const char *key = (size_t)settings->by < sizeof(keys) / sizeof(keys[0]) ? keys[settings->by] : NULL;
    uint64_t limit = settings->top ? settings->top : SETTINGS_ALL;
    if (key)
        put_rows(json, view, key, settings->by, limit);
    put_rows(json, view, "commands", BY_COMM, settings->by == BY_COMM ? limit : SETTINGS_ALL);
}
