/* SPDX-License-Identifier: MIT */
/* The state that every view gets. Each view returns an exit status. */
#ifndef ANALYZE_VIEW_VIEW_H
#define ANALYZE_VIEW_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/lines.h"
#include "analyze/view/names.h"
#include "analyze/view/output.h"
#include "analyze/view/select.h"
#include "analyze/view/settings.h"

/* diff: all runs of both sides; the runs before come first. */
struct view_runs {
    struct view *views;
    size_t counts[2];
};

struct json;

struct view {
    const struct settings *settings;
    struct output *output;
    const char *const *paths; /* of the input files */
    size_t path_count;
    /* NULL in views that read no profile: */
    struct profile *profile;
    struct names *names;
    struct selection *selection;
    const struct view_runs *runs; /* diff: this is the first of them; NULL elsewhere */
    bool inlined;                 /* call chains show inlined functions */
    struct lines *lines;          /* NULL: the view needs none */
    /* Writes more members of the document of --json; NULL: none. */
    void (*members)(void *context, struct json *json);
    void *members_context;
};

int view_report(struct view *view);
int view_tree(struct view *view);
int view_counts(struct view *view);
int view_info(struct view *view);
int view_summary(struct view *view);
int view_annotate(struct view *view);
int view_top(struct view *view);
int view_flame(struct view *view);
int view_diff(struct view *view);
int view_archive(struct view *view);
/*
 * The document of --json, the same for report, tree and counts. WITH_TASK_FUNCTIONS: each task also has its functions.
 */
int view_document(struct view *view, bool with_task_functions);

#endif
