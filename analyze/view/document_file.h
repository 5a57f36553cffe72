/* SPDX-License-Identifier: MIT */
/* The file that -o names, for commands that write a document rather than a report. */
#ifndef ANALYZE_VIEW_DOCUMENT_FILE_H
#define ANALYZE_VIEW_DOCUMENT_FILE_H

#include <stdio.h>

struct document_file {
    FILE *to;
    const char *path;
    int fd, error; /* error: the first errno of a write */
};

/* Opens PATH, which must live on, for writing: 0, or -errno after a message. A file of samples is not overwritten:
 * 'flame -o out.*' means one easily. */
int document_file_open(struct document_file *file, const char *path);
/* 0, or 1 after a message when not all could be written. */
int document_file_close(struct document_file *file);

#endif
