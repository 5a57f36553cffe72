/* SPDX-License-Identifier: MIT */
/* The tasks and samples that the filters select. */
#ifndef ANALYZE_VIEW_SELECT_H
#define ANALYZE_VIEW_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/names.h"
#include "analyze/view/settings.h"

struct view;

struct selection {
    bool *tasks;       /* by index: shown */
    uint64_t *samples; /* by task: of the shown event */
    uint64_t *weights;
    uint32_t *order;     /* shown tasks, heaviest first */
    uint32_t task_count; /* shown ones */
    uint32_t *entries;   /* selected ones, grouped by task: see `first` */
    uint32_t entry_count;
    uint32_t *first;  /* by task, and one more: where its entries start */
    uint32_t *others; /* --group: entries of the other sampled events; else none */
    uint32_t other_count;
    uint32_t *first_other;
    uint64_t total_samples, total_weight, lost;
    bool filtered;
};

/*
 * WHOLE_SAMPLES: --dso and --symbol, too, select samples, by their leaf; otherwise these two only select lines of
 * the output. Without entries (counts only) samples and weights are those of the tasks.
 */
struct selection *select_new(const struct profile *profile, const struct settings *settings, struct names *names,
                             bool whole_samples);
void select_free(struct selection *selection);

/* The frames of the selected samples, by index; NULL: all. Owned by the caller. */
bool *select_frames(const struct selection *selection, const struct profile *profile);

/* Looks up the frames of the selected samples at once, by threads: lines if view->lines is set; else names, with those
 * of inlined functions if the view shows them. */
void view_symbolize(struct view *view);

/* Whether a filter selects tasks. */
bool select_by_task(const struct settings *settings);
bool select_comm(const struct settings *settings, const char *comm);
bool select_task(const struct settings *settings, const struct profile_task *task);
/* By --dso and --symbol. */
bool select_dso(const struct settings *settings, const char *dso);
bool select_symbol(const struct settings *settings, const char *symbol);
/* Whether a frame of STACK matches --dso and --symbol. */
bool select_stack(const struct settings *settings, struct names *names, uint32_t stack);
bool select_place(const struct settings *settings, const char *dso, const char *symbol);
/* Whether the stack of any of ENTRIES[COUNT] matches, or there is no such filter. */
bool select_finds(const struct settings *settings, const struct profile *profile, struct names *names,
                  const uint32_t *entries, uint32_t count);
/* Reports that nothing matches; returns the exit status. HINT: as from suggest_hint(). */
int select_refuse(const struct settings *settings, const char *hint);

/* Suggestions of functions that --symbol may have meant, if no sample matches it. */

/* The base name: "finalize" for "symbol_table::finalize(bool)", "finalize.part.0" and "__finalize@@V1"; "" if nothing
 * is left. Owned by the caller. */
char *suggest_base(const char *symbol);
/* "; did you mean 'a::f', 'b::f' or 'f'?": the heaviest functions with the base name of the first --symbol;
 * LEAVES_ONLY: only leaves of samples. "": there is none. Owned by the caller. */
char *suggest_hint(struct view *view, bool leaves_only);
/* Reports that nothing matches --dso and --symbol; returns the exit status. */
int suggest_refuse(struct view *view);

#endif
