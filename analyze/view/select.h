/* SPDX-License-Identifier: MIT */
/* Which tasks and samples the filters leave. */
#ifndef ANALYZE_VIEW_SELECT_H
#define ANALYZE_VIEW_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/names.h"
#include "analyze/view/settings.h"

struct selection {
    bool *tasks;       /* by index: shown */
    uint64_t *samples; /* by task: of the shown event */
    uint64_t *weights;
    uint32_t *order;     /* shown tasks, heaviest first */
    uint32_t task_count; /* shown ones */
    uint32_t *entries;   /* chosen ones, those of one task together: see first */
    uint32_t entry_count;
    uint32_t *first; /* by task, one more than tasks: where its entries start */
    uint32_t *others; /* --group: the same of the other sampled events; else none */
    uint32_t other_count;
    uint32_t *first_other;
    uint64_t total_samples, total_weight, lost;
    bool filtered;
};

/*
 * With whole_samples also --object and --symbol choose samples, by where they hit; otherwise these two choose lines
 * only. Without entries (counts only) samples and weights are the tasks' own.
 */
struct selection *select_new(const struct profile *profile, const struct settings *settings, struct names *names,
                             bool whole_samples);
void select_free(struct selection *selection);

/* The frames of the chosen samples, by index; NULL: all there are. Owned by the caller. */
bool *select_frames(const struct selection *selection, const struct profile *profile);

/* Whether some filter chooses tasks. */
bool select_by_task(const struct settings *settings);
bool select_comm(const struct settings *settings, const char *comm);
bool select_task(const struct settings *settings, const struct profile_task *task);
/* By --object and --symbol. */
bool select_dso(const struct settings *settings, const char *dso);
bool select_symbol(const struct settings *settings, const char *symbol);
/* Whether STACK passes where --object and --symbol say. */
bool select_stack(const struct settings *settings, struct names *names, uint32_t stack);
bool select_place(const struct settings *settings, const char *dso, const char *symbol);
/* Whether the stack of any of ENTRIES[COUNT] does, or there is no such filter. */
bool select_finds(const struct settings *settings, const struct profile *profile, struct names *names,
                  const uint32_t *entries, uint32_t count);
/* Says that nothing does; the exit status. HINT: which function may have been meant, as suggest_hint() has it. */
int select_refuse(const struct settings *settings, const char *hint);

#endif
