/* SPDX-License-Identifier: MIT */
/* An archive of symbols: a directory, or a tar file with that directory in it. */
#ifndef ANALYZE_VIEW_ARCHIVE_H
#define ANALYZE_VIEW_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/output_file.h"

/* The file that makes a directory an archive, and lists what is in it. */
#define ARCHIVE_INDEX "pinject-archive"
/* What the name of the directory ends in, so that panalyze finds it beside the results; or it is "symbols". */
#define ARCHIVE_SUFFIX ".symbols"

struct archive {
    const char *to;   /* as the user named it */
    bool is_tar;
    char *directory;        /* the directory's name in a tar file, or NULL */
    struct output_file tar; /* where DIRECTORY is not NULL */
    uint64_t bytes;         /* of the contents; of a tar file, once it is closed, its size */
    uint64_t files;
    mode_t rights;    /* of the files in it */
};

/* Whether PATH is one, as a directory or by the name of a tar file. */
bool archive_is(const char *path);
/* Adds to LIST[*COUNT] the archives in the directory of PATH; the list and their names are malloced. */
char **archive_find(char **list, size_t *count, const char *path);
/* Whether panalyze looks into a directory with this NAME. */
bool archive_is_found(const char *name);
/*
 * A tar file of such a directory in the directory of PATH, as far as it was not unpacked there; NULL: none. Owned by
 * the caller.
 */
char *archive_find_packed(const char *path);
/* The archive of the result file PATH: "out.symbols" of "out.12.12". Owned by the caller. */
char *archive_name(const char *path);

/* What a shell takes for the COUNT result files of which PATH is one: "out.*" of "out.12.12". Owned by the caller. */
char *archive_results(const char *path, size_t count);

/*
 * TO: NAME.tar, NAME.tar.gz, NAME.tgz or a directory, which is made, and may be an archive already. RIGHTS: of files,
 * as for output_file_open(). 0, or -errno after a message.
 */
int archive_open(struct archive *archive, const char *to, mode_t rights);
/* PLACE: a relative path without dots in it. 0, or -errno after a message. */
int archive_put(struct archive *archive, const char *place, const void *bytes, size_t size);
/* Removes the file PLACE, no directory, of an archive that is a directory. */
void archive_remove(const struct archive *archive, const char *place);
/* ERROR: what came before; a tar file has its name when it is whole, and only then. 0, or -errno after a message. */
int archive_close(struct archive *archive, int error);

#endif
