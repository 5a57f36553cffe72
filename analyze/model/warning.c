/* SPDX-License-Identifier: MIT */
/* Warnings about what a perf.data file has and the report does not show, or only in part. The report has each once. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "analyze/model/loader.h"
#include "common/perfdata.h"

#define MOST_NOTES 1000

int warning_add(struct loader *loader, const char *text)
{
    const char *note = store_string(&loader->store, text);
    if (!note)
        return -ENOMEM;
    for (uint32_t i = 0; i < loader->note_count; i++)
        if (loader->notes[i] == note)
            return 0;
    if (loader->note_count >= MOST_NOTES)
        return 0;
    if (arena_room(&loader->notes, &loader->note_capacity, loader->note_count, sizeof(note)) < 0)
        return -ENOMEM;
    loader->notes[loader->note_count++] = note;
    return 0;
}

/* Adds the note "COUNT WHAT", unless COUNT is 0. */
static int count_warning(struct loader *loader, uint64_t count, const char *what)
{
    char text[300];
    if (count == 0)
        return 0;
    snprintf(text, sizeof(text), "%" PRIu64 " %s", count, what);
    return warning_add(loader, text);
}

/* Whether samples can have branch stacks. With PERF_SAMPLE_BRANCH_CALL_STACK they are call chains. */
static bool has_branches(const struct file *file)
{
    bool found = false;
    for (uint32_t i = 0; i < file->attrs.count; i++) {
        const struct perf_event_attr *perf = &file->attrs.items[i].perf;
        found |= (perf->sample_type & PERF_SAMPLE_BRANCH_STACK) &&
                 !(perf->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
    }
    return found && (file->records[PERF_RECORD_SAMPLE] || file->records[PERFDATA_RECORD_COMPRESSED]);
}

static int warning_dumps(struct loader *loader)
{
    const uint64_t *ends = loader->dumps.ends;
    uint64_t all = loader->dumps.left;
    char text[300];
    for (unsigned i = 0; i < UNWIND_ENDS; i++)
        all += ends[i];
    uint64_t early = ends[UNWIND_NO_TABLE] + ends[UNWIND_BAD_MEMORY];
    int status = 0;
    if (ends[UNWIND_TRUNCATED]) {
        snprintf(text, sizeof(text),
                 "%" PRIu64 " of %" PRIu64 " stacks are deeper than the part of the stack that was recorded: their "
                 "outermost callers are missing (raise SIZE in perf record --call-graph dwarf,SIZE)",
                 ends[UNWIND_TRUNCATED], all);
        status = warning_add(loader, text);
    }
    if (status == 0 && early) {
        snprintf(text, sizeof(text),
                 "%" PRIu64 " of %" PRIu64 " stacks could not be unwound completely: %" PRIu64 " ended in code with "
                 "a missing unwind table or file, %" PRIu64 " ended at memory that was not recorded",
                 early, all, ends[UNWIND_NO_TABLE], ends[UNWIND_BAD_MEMORY]);
        status = warning_add(loader, text);
    }
    if (status == 0 && loader->dumps.left) {
        snprintf(text, sizeof(text),
                 "%" PRIu64 " of %" PRIu64 " stack dumps cannot be unwound: they were recorded on another architecture "
                 "or without registers; only their first frame is shown",
                 loader->dumps.left, all);
        status = warning_add(loader, text);
    }
    return status;
}

int warning_file(struct loader *loader, const struct file *file)
{
    int status = warning_dumps(loader);
    if (status == 0 && !loader->branches_shown && has_branches(file))
        status = warning_add(loader, "branch stacks were recorded; 'panalyze report --by branch' shows them");
    if (status == 0)
        status = count_warning(loader, file->records[PERF_RECORD_AUX] + file->records[PERFDATA_RECORD_AUXTRACE],
                               "records of hardware traces (AUX) are not decoded");
    if (status == 0)
        status = count_warning(
            loader, loader->guest_samples,
            "samples are from virtual machine guests; panalyze has no function names for the code of guests");
    return status;
}
