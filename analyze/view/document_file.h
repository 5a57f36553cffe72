/* SPDX-License-Identifier: MIT */
/* The file that -o names, for commands that write a document rather than a report. */
#ifndef ANALYZE_VIEW_DOCUMENT_FILE_H
#define ANALYZE_VIEW_DOCUMENT_FILE_H

#include <stdio.h>

/* Opens PATH for writing; NULL after a message. A file of samples is not overwritten: 'flame -o out.*' means one easily. */
FILE *document_file_open(const char *path);
/* 0, or 1 after a message when not all could be written. */
int document_file_close(FILE *to, const char *path);

#endif
