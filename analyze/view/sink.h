/* SPDX-License-Identifier: MIT */
/*
 * Where a document goes: stdout, a pipe or device, or a file that appears under its name only when all of it is there.
 * Until then it has no name, or, where the file system cannot do that, a name of its own that is removed on failure.
 */
#ifndef ANALYZE_VIEW_SINK_H
#define ANALYZE_VIEW_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct sink_zip;

struct sink {
    FILE *to;              /* what is written here arrives */
    int fd;
    const char *name;      /* for messages */
    char *path;            /* the final name; NULL: fd is written to directly */
    char *temporary;       /* the name meanwhile, NULL: none */
    struct sink_zip *zip;  /* NULL: written as it is */
    uint64_t bytes;        /* that were written to the file */
    int error;             /* first errno of a write */
};

enum sink_flags { SINK_GZIP = 1, SINK_BINARY = 2 };

/* Who may read what is made for all to see, a picture; the umask takes away from that. */
#define SINK_SHARED ((mode_t)0666)

/*
 * PATH "-" or NULL: stdout, which is refused for binary output when it is a terminal. FLAGS: enum sink_flags. RIGHTS:
 * of a new file, less the umask's. 0, or -errno after a message; then there is nothing to close.
 */
int sink_open(struct sink *sink, const char *path, unsigned flags, mode_t rights);
/* Rights for a file in which the samples of PATHS[COUNT] are: nobody may read it who may not read all of these. */
mode_t sink_rights(const char *const *paths, size_t count);
/* Whether PATH is a recording, which nobody means to replace by something else: "-o out.*" names one. */
bool sink_holds_samples(const char *path);
/* Whether nothing that is written arrives any more. */
bool sink_is_over(const struct sink *sink);
/*
 * Ends the output; with GOOD it gets its name, else nothing of it is left. 0; 1 after a message when it could not be
 * written; 141 when the reader of a pipe left.
 */
int sink_close(struct sink *sink, bool good);

#endif
