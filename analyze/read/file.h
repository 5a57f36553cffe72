/* SPDX-License-Identifier: MIT */
/*
 * One perf.data file: pinject's or perf's, of a disk or of a pipe, of either byte order, whole, growing or cut off.
 * Every byte is distrusted. Nothing here prints. One thread at a time for a struct file; different ones are
 * independent.
 */
#ifndef ANALYZE_READ_FILE_H
#define ANALYZE_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/read/arena.h"
#include "analyze/read/attr.h"
#include "analyze/read/feature.h"
#include "analyze/read/problem.h"
#include "analyze/read/record.h"
#include "analyze/read/source.h"

enum { FILE_RECORD_TYPES = 96 };

struct file {
    struct source source;
    struct source *parts; /* of a directory (perf record --threads): records alone, of one thread each */
    uint32_t part_count;
    struct arena arena;
    bool swap, pipe;
    uint64_t data_offset, data_size;   /* what of the data section is there */
    uint64_t missing;                  /* bytes that the header promises behind the end of the file */
    bool unfinished;                   /* the recorder never wrote the size of the data: it was killed */
    bool features_lost;                /* the table of the features is not there */
    struct attr_list attrs;
    struct features features;
    struct problem problem;            /* what is wrong with the data; "": nothing */

    /* Of the last file_records(): */
    uint64_t records[FILE_RECORD_TYPES]; /* by type; the last one: all others */
    uint64_t unread;                   /* bytes at the end of the data that are no whole record */
    uint64_t broken;                   /* records that are shorter than their event says */
    uint64_t unknown_event;            /* samples whose event is not in the file */
};

/*
 * Opens PATH (a file, or one of perf's directories: see directory.h) and reads header, events and features (a pipe's
 * have them among the records). 0, or -errno with the reason in PROBLEM. On failure there is nothing to release.
 */
int file_open(struct file *file, const char *path, struct problem *problem);
/* The same of BYTES, which must live as long. */
int file_open_memory(struct file *file, const void *bytes, size_t size, struct problem *problem);
void file_release(struct file *file);

/* RECORD is valid during the call. 0 to go on; anything else ends file_records(), which returns it. */
typedef int file_each(void *context, const struct record *record);

/*
 * All records in the order of their times (those without a time: as they stand in the file); afterwards problem,
 * unread, ... tell what was wrong. At most LIMIT bytes of data are read. 0, what EACH returned, or -ENOMEM.
 */
int file_records(struct file *file, uint64_t limit, file_each *each, void *context);

#endif
