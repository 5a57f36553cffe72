/* SPDX-License-Identifier: MIT */
/* Lines of source files that may be shown. Each file is read once. */
#ifndef ANALYZE_VIEW_SOURCE_TEXT_H
#define ANALYZE_VIEW_SOURCE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Decides which files may be shown as source text. Debug information is not trusted: it can name any file, and a report
 * may be passed on to people who may not read that file.
 */

/* A source file as the debug information names it. */
struct source_place {
    const char *file;
    const char *directory; /* the compilation directory; NULL: unknown */
    const char *dso;       /* the file with the code; NULL: unknown */
};

/*
 * Opens a regular file for reading if it may be shown: any file below SYMFS ("": not given); else a file below the
 * compiled project or /usr that everybody may read who may read the DSO. The project is the nearest directory at or
 * above the compilation directory that is under version control, else the parent of the compilation directory; it is
 * never the user's home or a directory above that, unless that is the compilation directory. Returns the descriptor and
 * *ret_size; or -errno, with *ret_why if the file exists.
 */
int source_rights_open(const struct source_place *place, const char *symfs, uint64_t *ret_size, const char **ret_why);

struct source_texts;

/* SYMFS: prefix of every path, or NULL. */
struct source_texts *source_texts_new(const char *symfs);
void source_texts_free(struct source_texts *texts);
/* LINE (from 1) of the file of PLACE; NULL: not available. Valid until source_texts_free(). */
const char *source_texts_line(struct source_texts *texts, const struct source_place *place, uint32_t line);
/* Whether the file, if it was read, was changed after TIME. */
bool source_texts_changed(struct source_texts *texts, const struct source_place *place, time_t time);
/* Why an existing file is not shown; NULL: it is shown, or does not exist. */
const char *source_texts_why(struct source_texts *texts, const struct source_place *place);
/* The number of wanted files that do not exist, and the path of the first, which lives as long as TEXTS. */
size_t source_texts_missing(const struct source_texts *texts, const char **ret_first);

#endif
