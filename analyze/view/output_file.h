/* SPDX-License-Identifier: MIT */
/*
 * Where a document goes: stdout, a pipe or device, or a file that appears under its name only when all of it is there.
 * Until then it has no name, or, where the file system cannot do that, a name of its own that is removed on failure.
 */
#ifndef ANALYZE_VIEW_OUTPUT_FILE_H
#define ANALYZE_VIEW_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct output_file_zip;

struct output_file {
    FILE *to;              /* what is written here arrives */
    int fd;
    const char *name;            /* for messages */
    char *path;                  /* the final name; NULL: fd is written to directly */
    char *temporary;             /* the name meanwhile, NULL: none */
    struct output_file_zip *zip; /* NULL: written as it is */
    uint64_t bytes;              /* that were written to the file */
    int error;                   /* first errno of a write */
};

enum output_file_flags { OUTPUT_FILE_GZIP = 1, OUTPUT_FILE_BINARY = 2 };

/* Who may read what is made for all to see, a picture; the umask takes away from that. */
#define OUTPUT_FILE_SHARED ((mode_t)0666)

/*
 * PATH "-" or NULL: stdout, which is refused for binary output when it is a terminal. FLAGS: enum output_file_flags.
 * RIGHTS: of a new file, less the umask's. 0, or -errno after a message; then there is nothing to close.
 */
int output_file_open(struct output_file *out, const char *path, unsigned flags, mode_t rights);
/* Rights for a file in which the samples of PATHS[COUNT] are: nobody may read it who may not read all of these. */
mode_t output_file_rights(const char *const *paths, size_t count);
/* Whether PATH is a recording, which nobody means to replace by something else: "-o out.*" names one. */
bool output_file_holds_samples(const char *path);
/* Whether nothing that is written arrives any more. */
bool output_file_is_over(const struct output_file *out);
/*
 * Ends the output; with GOOD it gets its name, else nothing of it is left. 0; 1 after a message when it could not be
 * written; 141 when the reader of a pipe left.
 */
int output_file_close(struct output_file *out, bool good);

#endif
