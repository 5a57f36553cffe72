/* SPDX-License-Identifier: MIT */
/*
 * An output file: stdout, a pipe or device, or a file that appears under its name only when it is complete. Until then
 * it has no name or, if the file system does not support that, a temporary name, which is removed on failure.
 */
#ifndef ANALYZE_VIEW_OUTPUT_FILE_H
#define ANALYZE_VIEW_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct output_file_zip;

struct output_file {
    FILE *to; /* to write to */
    int fd;
    const char *name;            /* for messages */
    char *path;                  /* the final name; NULL: fd is written to directly */
    char *temporary;             /* the temporary name; NULL: none */
    struct output_file_zip *zip; /* NULL: no compression */
    uint64_t bytes;              /* written to the file so far */
    int error;                   /* first errno of a write */
};

enum output_file_flags { OUTPUT_FILE_GZIP = 1, OUTPUT_FILE_BINARY = 2 };

/* Rights of a file that everybody may read, such as a picture; the umask reduces them. */
#define OUTPUT_FILE_SHARED ((mode_t)0666)

/*
 * PATH "-" or NULL: stdout; a terminal is refused for binary output. FLAGS: enum output_file_flags. RIGHTS: of a new
 * file, reduced by the umask. 0, or -errno after a message; then there is nothing to close.
 */
int output_file_open(struct output_file *out, const char *path, unsigned flags, mode_t rights);
/* Rights for a file with samples of PATHS[COUNT]: only users who may read all of these may read it. */
mode_t output_file_rights(const char *const *paths, size_t count);
/* Whether PATH is a recording, which must not be replaced by mistake: "-o out.*" expands to some. */
bool output_file_holds_samples(const char *path);
/* Whether further output is useless, since the reader exited or a write failed. */
bool output_file_is_over(const struct output_file *out);
/*
 * Ends the output. GOOD: the file gets its name, else it is removed. 0; 1 after a message: it could not be written;
 * 141: the reader of a pipe exited.
 */
int output_file_close(struct output_file *out, bool good);

#endif
