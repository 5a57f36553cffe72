/* SPDX-License-Identifier: MIT */
/*
 * One perf.data file: of pinject or perf, in file or pipe format, of either byte order, complete, growing or cut off.
 * Its bytes are not trusted. Nothing here prints. One thread at a time may use a struct file; different ones are
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
    struct source *parts; /* of a directory (perf record --threads): only records, of one thread each */
    uint32_t part_count;
    struct arena arena;
    bool swap, pipe;
    uint64_t data_offset, data_size; /* the part of the data section that the file has */
    uint64_t missing;                /* bytes of the data section, by the header, beyond the end of the file */
    bool unfinished;                 /* the recorder did not write the size of the data: it was killed */
    bool features_lost;              /* feature sections are missing */
    bool ours_lost;                  /* the missing ones include PINJECT_FEATURE: the file is of a run of pinject */
    struct attr_list attrs;
    struct features features;
    bool whole;             /* file_records() also gives FINISHED_ROUND and COMPRESSED, which concern only itself */
    struct problem problem; /* what is wrong with the data; "": nothing */

    /* Of the last file_records(): */
    uint64_t records[FILE_RECORD_TYPES]; /* by type; the last counts all other types */
    uint64_t unread;                     /* bytes left at the end of the data: no whole record, or damaged */
    uint64_t broken;                     /* records that are shorter than the fields of their event */
    uint64_t unknown_event;              /* samples whose event is not in the file */
};

/*
 * Opens PATH (a file, a directory of perf's: see directory.h, or "-": see standard_input.h) and reads header, events and features. In pipe format
 * events and features are among the records, so file_records() reads them. 0, or -errno with the reason in PROBLEM. On
 * failure there is nothing to release.
 */
int file_open(struct file *file, const char *path, struct problem *problem);
/* The same for a file in memory. BYTES must stay valid until file_release(). */
int file_open_memory(struct file *file, const void *bytes, size_t size, struct problem *problem);
void file_release(struct file *file);

/* RECORD is valid during the call. 0 to go on; anything else ends file_records(), which returns it. */
typedef int file_each(void *context, const struct record *record);

/*
 * Calls EACH for all records in order of time; records without a time come when they are read. Afterwards problem,
 * unread, ... say what was wrong. Reads at most LIMIT bytes of data. 0, what EACH returned, or -ENOMEM.
 */
int file_records(struct file *file, uint64_t limit, file_each *each, void *context);

#endif
