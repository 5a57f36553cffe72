/* SPDX-License-Identifier: MIT */
/*
 * Decides which files may be shown as source text. Debug information is not trusted: it can name any file, and a report
 * may be passed on to people who may not read that file.
 */
#ifndef ANALYZE_VIEW_SOURCE_RIGHTS_H
#define ANALYZE_VIEW_SOURCE_RIGHTS_H

#include <stdint.h>

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

#endif
