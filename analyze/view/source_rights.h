/* SPDX-License-Identifier: MIT */
/*
 * Which files may be shown as source text. Debug information is written by others: it can name any file, and a report
 * travels further than what only its reader may see.
 */
#ifndef ANALYZE_VIEW_SOURCE_RIGHTS_H
#define ANALYZE_VIEW_SOURCE_RIGHTS_H

#include <stdint.h>

/* A source file as the debug information names it. */
struct source_place {
    const char *file;
    const char *directory; /* in which it was compiled, as it says; NULL: unknown */
    const char *dso;       /* the file that has the code; NULL: unknown */
};

/*
 * Opens a regular file for reading that may be shown: below SYMFS (""; not given), whatever it is; else below the
 * project that was compiled, or below /usr, when everybody who may read the DSO may read it too. The project is
 * the nearest directory around the compilation directory that is under version control, else the one above it; never
 * the user's home or what is around that, unless it was compiled there. The descriptor and *ret_size; or -errno, with
 * *ret_why where the file is there.
 */
int source_rights_open(const struct source_place *place, const char *symfs, uint64_t *ret_size, const char **ret_why);

#endif
