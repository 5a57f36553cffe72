/* SPDX-License-Identifier: MIT */
/*
 * The parts of a result file around its records: header and attrs in front, feature sections behind. What is the same
 * in all files of a session is built once. Context: the event loop's thread only.
 */
#ifndef COLLECTOR_FEATURES_H
#define COLLECTOR_FEATURES_H

#include <stddef.h>
#include <stdint.h>

#include "collector/machine.h"
#include "collector/result.h"
#include "common/buffer.h"
#include "common/perfdata.h"

enum { FEATURES_BUILDID_SETS = 64 };

/* A section's bytes, 8-aligned in constant. */
struct features_part {
    unsigned bit;
    size_t offset, size;
};

struct features_buildids {
    uint64_t key; /* of the set of modules */
    uint64_t built_ns;
    struct buffer bytes;
};

struct features {
    const struct session *session;
    struct machine machine;
    size_t attrs_at;                           /* offset of the attrs: behind the ids */
    size_t front;                              /* bytes before the data: room for all events of the plan */
    struct perf_event_attr attrs[PLAN_EVENTS]; /* as the files have them */
    struct buffer constant;                    /* sections that are the same in every file */
    struct features_part parts[16];            /* of constant, in bit order */
    unsigned part_count;
    struct buffer names; /* EVENT_DESC's strings, one for each event */
    size_t name_at[PLAN_EVENTS + 1];
    struct buffer kernel; /* record with the kernel's mapping */
    bool kernel_known;
    struct buffer arguments; /* what the user typed, each with its NUL */
    uint32_t argument_count;
    struct buildids *buildids;
    struct features_buildids sets[FEATURES_BUILDID_SETS];
};

int features_init(struct features *features, const struct session *session);
void features_release(struct features *features);
/* What every file begins with: the mapping of the kernel, or nothing. */
const struct buffer *features_kernel(struct features *features);
/* Events of the plan that a task with IDS has in its file, as a bit set: at least the first. */
uint64_t features_events(const struct features *features, const uint64_t ids[PLAN_EVENTS]);
/* The header of such a task's file, without data and features. */
void features_header(const struct features *features, const uint64_t ids[PLAN_EVENTS], struct perfdata_header *ret);
/* The same, ids and attrs into FRONT[features->front]. */
void features_front(const struct features *features, const uint64_t ids[PLAN_EVENTS], unsigned char *front);
/* One READ record for each event's count. */
void features_reads(const struct features *features, const struct result_task *task, struct buffer *to);
/* The table of sections and the sections, to lie at OFFSET of the file; BITS: as in the header. */
void features_sections(struct features *features, const struct result_task *task,
                       const struct result_coverage *coverage, const char *note, uint64_t offset, struct buffer *to,
                       uint64_t bits[4]);

#endif
