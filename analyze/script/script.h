/* SPDX-License-Identifier: MIT */
/* panalyze script: every sample, and with --all every record, as text or JSON. */
#ifndef ANALYZE_SCRIPT_SCRIPT_H
#define ANALYZE_SCRIPT_SCRIPT_H

#include "analyze/view/view.h"
#include "common/json.h"

struct sample_fields;

/* The view; returns an exit status. */
int script_view(struct view *view);

struct script_cgroup {
    uint64_t id;
    char *path;
};

struct script {
    struct view *view;
    uint64_t shown;
    struct json json; /* for --json */
    /* The paths of cgroups, from their records so far. */
    struct script_cgroup *cgroups;
    size_t cgroup_count, cgroup_capacity;
};

/* NULL: the recording does not say. */
const char *script_cgroup_path(const struct script *script, uint64_t id);
/* The frames of SAMPLE as usual, one a line, with the parts of settings->fields (0: all). */
void script_print_frames(struct script *script, const struct profile_sample *sample);

/* "main+0x12" of the code at ADDRESS, which the branch stack of SAMPLE has; "[unknown]". The caller frees it. *RET_DSO:
 * its DSO. */
char *script_branch_end(struct script *script, const struct profile_sample *sample, uint64_t address,
                        const char **ret_dso);

/* script_text.c: the fields of -F. 0; -ENODATA after a message: SAMPLE does not have one of them; or -EBADMSG. */
int script_text(struct script *script, const struct profile_sample *sample);
/* script_json.c: an object of the list. 0 or -EBADMSG. */
int script_json(struct script *script, const struct profile_sample *sample);

/* script_record.c */
void script_record_text(struct script *script, const struct profile_record *record);
void script_record_json(struct script *script, const struct profile_record *record);

#endif
