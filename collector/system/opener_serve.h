/* SPDX-License-Identifier: MIT */
/* The answers of opener.h: what is read of a file, and the helper process that reads it. */
#ifndef COLLECTOR_SYSTEM_OPENER_SERVE_H
#define COLLECTOR_SYSTEM_OPENER_SERVE_H

#include <stdint.h>
#include <sys/stat.h>

#include "collector/system/mapped_file.h"

enum opener_kind {
    OPENER_ID = 1,     /* the file's build id */
    OPENER_TABLES = 2, /* what unwinding needs of it, as a copy in memory */
};

struct opener_answer {
    int status; /* 0 or -errno: -ENOENT, it is not there; -ETIMEDOUT, given up; -EBUSY, refused */
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    uint8_t id_size; /* OPENER_ID, 0: none */
    uint8_t id[20];
    int fd; /* OPENER_TABLES: the file, or a copy of those parts that tables are in; closed after DONE */
};

/* Between the collector and a helper, over a socket. */
struct opener_wire {
    uint64_t ticket, ino, start, size;
    uint32_t kind, maj, min;
    int32_t pid;
    char path[4096];
};

struct opener_reply {
    uint64_t ticket;
    struct opener_answer answer;
};

/* As mapped_file_open(). */
typedef int opener_open(const struct mapped_file *file, struct stat *ret);

/* What FD, of STATUS, is; for OPENER_TABLES with FD in it, which is closed else. */
void opener_answer_file(enum opener_kind kind, int fd, const struct stat *status, struct opener_answer *answer);
/* The helper: answers what comes over SOCKET until nothing comes any more. */
_Noreturn void opener_serve(int socket, opener_open *open);

#endif
