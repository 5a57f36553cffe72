/* SPDX-License-Identifier: MIT */
/* The records of a profile's files once more, as they were recorded: for who writes them into another file. */
#ifndef ANALYZE_MODEL_RAW_H
#define ANALYZE_MODEL_RAW_H

#include "analyze/model/profile.h"
#include "analyze/read/file.h"

/* All of them are called for one file after the other, and return 0 to go on. */
struct raw_visitor {
    int (*begin)(void *context, const char *path, const struct file *file);
    int (*each)(void *context, const struct file *file, const struct record *record); /* in order of time */
    int (*end)(void *context, const struct file *file);
};

/* How many files of the session there are: the visitor may be called for fewer, when one is gone. */
uint32_t raw_count(const struct profile *profile);
/* 0, what a function of VISITOR returned, or -ENOMEM. A file that cannot be read any more is named on stderr. */
int raw_records(struct profile *profile, const struct raw_visitor *visitor, void *context);

/* RECORD with its header. */
static inline const unsigned char *raw_bytes(const struct record *record)
{
    return record->payload - RECORD_HEADER;
}

#endif
