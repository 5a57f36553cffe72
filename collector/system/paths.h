/* SPDX-License-Identifier: MIT */
/* Where sessions are, and paths as the collector keeps them. */
#ifndef COLLECTOR_SYSTEM_PATHS_H
#define COLLECTOR_SYSTEM_PATHS_H

#include <stddef.h>
#include <stdint.h>

#define PATHS_SEGMENT_PREFIX "pinject-"
enum { PATHS_SEGMENT_PLACES = 3 };

/* The directories in which a segment may be, best first; NULL: not on this machine (TMPDIR unset). */
const char *paths_segment_place(unsigned number);

/*
 * BASE made absolute with the working directory and resolved directories. 0 or -errno (-ENOENT: its directory does not
 * exist, -EINVAL: empty or a directory).
 */
int paths_absolute(const char *base, char *ret, size_t size);

/*
 * What BASE means: if it is a directory ("DIR/", or an existing one), "out" in it. Writes that to RET, and the name of
 * the directory to DIRECTORY; "": it is none. Both have SIZE bytes. 0 or -ENAMETOOLONG
 */
int paths_outfile(const char *base, char *ret, char *directory, size_t size);

/* Bytes that this user can write in the file system of the absolute path FILE. UINT64_MAX: that is not known. */
uint64_t paths_room(const char *file);

/* The file that execvp(NAME) would try first: 0, or -ENOENT. */
int paths_find_command(const char *name, char *ret, size_t size);

#endif
