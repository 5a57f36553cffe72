/* SPDX-License-Identifier: MIT */
/*
 * One perf.data out of many. merge.c: what is in it; merge_spool.c: its records in order; merge_features.c: the
 * sections around them.
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
 * The records of one file after another, each with its time in front, in a file without a name: they are merged from
 * there, so that memory is bound by the number of files, not of samples.
 */
struct merge_spool {
    FILE *to;
    const unsigned char *bytes; /* mapped, for reading */
    uint64_t size;
    uint64_t *ends;             /* of each file's part */
    size_t end_count, end_capacity;
    uint64_t last_ns;           /* of the file that is added */
    int error;
};

int merge_spool_open(struct merge_spool *spool, const char *directory);
void merge_spool_add(struct merge_spool *spool, uint64_t time_ns, const void *record, size_t size);
void merge_spool_end_file(struct merge_spool *spool);
/* 0 or -errno: all is there, and can be read. */
int merge_spool_finish(struct merge_spool *spool);
/*
 * Writes the records in order of time to TO (NULL: nowhere) without mappings that say again what is there already; how
 * many bytes they are in *RET_SIZE. 0 or -ENOMEM.
 */
int merge_spool_write(const struct merge_spool *spool, FILE *to, uint64_t *ret_size);
void merge_spool_close(struct merge_spool *spool);

struct merge {
    struct view *view;
    struct merge_event *events;
    size_t event_count, event_capacity;
    uint32_t *event_of;         /* by attr of the file that is read */
    size_t event_of_capacity;
    bool one_file;              /* its ids stay as they are */
    struct merge_spool spool;
    struct map tasks;           /* chosen ones by (pid, tid), when there is a filter */
    struct map_strings build_id_paths;
    struct feature_build_id *build_ids; /* by path; its path is not used */
    size_t build_id_capacity;
    size_t build_ids_told;      /* so many come from sections of the files */
    bool described;             /* the sections below are taken */
    bool whole;                 /* described by a file that has the command line */
    struct buffer texts;        /* HOSTNAME ... CPUID, CMDLINE as in the file */
    uint64_t first_ns, last_ns; /* of samples */
    bool sampled;
    uint64_t refused;           /* records left out: hardware traces and the like */
    const char *path;           /* of the file that is read */
    unsigned char *copy;        /* of a record, while its ids are replaced */
};

/* The size of each attr in the result: the oldest version of the structure that has all that is set in one of them, as
 * perf refuses a file of a later version than its own. At least that of Linux 3.19, which result files have. */
uint32_t merge_attr_size(const struct merge *merge);
/* Takes what FILE says of the machine and the DSOs. */
void merge_features_take(struct merge *merge, const struct file *file);
/* Takes the build-ids of the DSOs that were hit: perf before 5.12 reads none in mappings. After all files. */
void merge_features_take_dsos(struct merge *merge, const struct profile *profile);
/* The table of sections and the sections, to lie at OFFSET; BITS: as in the header. */
void merge_features_append(const struct merge *merge, uint64_t offset, struct buffer *to, uint64_t bits[4]);

#endif
