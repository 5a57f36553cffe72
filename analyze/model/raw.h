/* SPDX-License-Identifier: MIT */
/* Reads the records of a profile's files again, as recorded, to write them into another file. */
#ifndef ANALYZE_MODEL_RAW_H
#define ANALYZE_MODEL_RAW_H

#include "analyze/model/profile.h"
#include "analyze/read/file.h"

/* Called file by file; each function returns 0 to go on. */
struct raw_visitor {
    int (*begin)(void *context, const char *path, const struct file *file);
    int (*each)(void *context, const struct file *file, const struct record *record); /* in order of time */
    int (*end)(void *context, const struct file *file);
};

/* The number of files of the session. The visitor gets fewer if one is gone. */
uint32_t raw_count(const struct profile *profile);
/* Visits all records. 0, what a function of VISITOR returned, or -ENOMEM. A file that cannot be read any more is
 * reported on stderr. */
int raw_records(struct profile *profile, const struct raw_visitor *visitor, void *context);

/* RECORD with its header. */
static inline const unsigned char *raw_bytes(const struct record *record)
{
    return record->payload - RECORD_HEADER;
}

#endif
