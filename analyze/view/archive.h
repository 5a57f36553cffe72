/* SPDX-License-Identifier: MIT */
/* A symbol archive: a directory, or a tar file that contains this directory. */
#ifndef ANALYZE_VIEW_ARCHIVE_H
#define ANALYZE_VIEW_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/output_file.h"

/* The file that marks a directory as an archive and lists its contents. */
#define ARCHIVE_INDEX "pinject-archive"
/* panalyze finds an archive beside the results if its name ends in this, or is "symbols". */
#define ARCHIVE_SUFFIX ".symbols"

struct archive {
    const char *to; /* as the user gave it */
    bool is_tar;
    char *directory;        /* the directory's name in a tar file, or NULL */
    struct output_file tar; /* if `directory` is not NULL */
    uint64_t bytes;         /* of the contents; of a tar file after it is closed: its size */
    uint64_t files;
    mode_t rights; /* of the files in it */
};

/* Whether PATH is an archive: a directory with the index, or a tar file by its name. */
bool archive_is(const char *path);
/* Adds to LIST[*COUNT] the archives in the directory of PATH; the list and their names are malloced. */
char **archive_find(char **list, size_t *count, const char *path);
/* Whether panalyze looks for an archive in a directory with this NAME. */
bool archive_is_found(const char *name);
/*
 * A tar file of an archive in the directory of PATH that is not unpacked there; NULL: none. Owned by the caller.
 */
char *archive_find_packed(const char *path);
/* The archive of the result file PATH: "out.symbols" of "out.12.12". Owned by the caller. */
char *archive_name(const char *path);

/* The shell pattern for the COUNT result files that PATH is one of: "out.*" for "out.12.12". Owned by the caller. */
char *archive_results(const char *path, size_t count);

/*
 * TO: NAME.tar, NAME.tar.gz, NAME.tgz or a directory, which is created or is an archive already. RIGHTS: of files, as
 * for output_file_open(). 0, or -errno after a message.
 */
int archive_open(struct archive *archive, const char *to, mode_t rights);
/* Adds a file at PLACE, a relative path without "." and "..". 0, or -errno after a message. */
int archive_put(struct archive *archive, const char *place, const void *bytes, size_t size);
/* Removes the file PLACE (no directory) from an archive that is a directory. */
void archive_remove(const struct archive *archive, const char *place);
/* ERROR: 0, or the error so far: then a tar file is discarded, and its name does not appear. 0, or -errno after a
 * message. */
int archive_close(struct archive *archive, int error);

#endif
