/* SPDX-License-Identifier: MIT */
/*
 * Merges many files into one perf.data. merge.c: events, tasks and the file; merge_spool.c: its records in order;
 * merge_features.c: the feature sections.
 */
#ifndef ANALYZE_EXPORT_MERGE_H
#define ANALYZE_EXPORT_MERGE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/read/file.h"
#include "analyze/view/map.h"
#include "analyze/view/view.h"
#include "common/buffer.h"

/* The same event in all files. */
struct merge_event {
    struct perf_event_attr attr;
    char *name;
    uint64_t *ids;
    size_t id_count, id_capacity;
};

/*
 * A temporary file without a name with the records of all files, one file after the other, each record with its time in
 * front. They are merged from there, so memory grows with the number of files, not of samples.
 */
struct merge_spool {
    FILE *to;
    const unsigned char *bytes; /* mapped, for reading */
    uint64_t size;
    uint64_t *ends; /* of each file's part */
    size_t end_count, end_capacity;
    uint64_t last_ns; /* of the file being added */
    int error;
};

int merge_spool_open(struct merge_spool *spool, const char *directory);
void merge_spool_add(struct merge_spool *spool, uint64_t time_ns, const void *record, size_t size);
void merge_spool_end_file(struct merge_spool *spool);
/* Makes the records readable. 0 or -errno, also of an earlier write. */
int merge_spool_finish(struct merge_spool *spool);
/*
 * Writes the records in order of time to TO (NULL: only computes their size), without repeated mappings. *ret_size:
 * their size in bytes. 0 or -ENOMEM.
 */
int merge_spool_write(const struct merge_spool *spool, FILE *to, uint64_t *ret_size);
void merge_spool_close(struct merge_spool *spool);

struct merge {
    struct view *view;
    struct merge_event *events;
    size_t event_count, event_capacity;
    uint32_t *event_of; /* by attr of the file being read */
    size_t event_of_capacity;
    bool one_file; /* there is only one: its ids stay as they are */
    struct merge_spool spool;
    struct map tasks; /* with a filter: selected ones, by (pid, tid) */
    struct map_strings build_id_paths;
    struct feature_build_id *build_ids; /* by path; the member path is not used */
    size_t build_id_capacity;
    size_t build_ids_told;       /* number of those from sections of the files */
    bool described;              /* the sections below were taken */
    bool whole;                  /* they are from a file that has the command line */
    struct buffer trace_formats; /* TRACING_DATA */
    struct buffer texts;         /* HOSTNAME ... CPUID, CMDLINE as in the file */
    uint64_t first_ns, last_ns;  /* of samples */
    bool sampled;
    uint64_t refused;    /* records left out: hardware traces and the like */
    const char *path;    /* of the file being read */
    unsigned char *copy; /* of a record, while its ids are replaced */
};

/* The size of each attr in the result: that of the oldest version of the structure with all members that are set, since
 * perf refuses files of a later version than its own. At least that of Linux 3.19, as in result files. */
uint32_t merge_attr_size(const struct merge *merge);
/* Takes the facts in FILE about the machine and the DSOs. False: it describes other tracepoints than a file before. */
bool merge_features_take(struct merge *merge, const struct file *file);
/* Takes the build-ids of the DSOs with samples, after all files: perf before 5.12 does not read those in mappings. */
void merge_features_take_dsos(struct merge *merge, const struct profile *profile);
/* Appends the table of sections and the sections, whose place in the file is OFFSET. BITS: as in the header. */
void merge_features_append(const struct merge *merge, uint64_t offset, struct buffer *to, uint64_t bits[4]);

#endif
