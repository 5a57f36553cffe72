/* SPDX-License-Identifier: MIT */
/* Names and creation of result files below one directory. Context: the event loop's thread only. */
#ifndef COLLECTOR_OUTPUT_FILES_H
#define COLLECTOR_OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct files_name; /* private: how often a name was given */

struct files {
    char *base;       /* as the user typed it */
    size_t directory; /* length of its directory's part, with the '/'; 0: none */
    int directory_fd; /* descriptor of that directory: the path is resolved once, as it may be renamed while we run */
    mode_t mode;      /* of each file */
    bool unnamed;     /* the file system has files without a name (O_TMPFILE) that can be named later */
    int reserve;      /* a descriptor that is given up when all others are in use */
    uint16_t *given;  /* by tid: how often a name with it was given; NULL: no memory, names has all */
    struct files_name *names; /* names with a program, and those of tids that were given too often */
    uint64_t moved;           /* files of earlier sessions that were renamed to PATH.old */
};

/* Checks BASE by creating and removing a file beside it. 0 or -errno after report_error(). */
int files_init(struct files *files, const char *base, mode_t mode);
void files_release(struct files *files);
/* Does a session write, or will it write, files of BASE now, of whatever user, in whatever pid namespace? False if
 * its directory cannot be read. */
bool files_base_is_used(const char *base);
/* A name that this session has not used yet: BASE.PID.TID, followed by EXEC (may be NULL), then by ~1, ~2 ... if the
 * session has used that name (without EXEC: that tid) before. The caller frees *ret. */
int files_name(struct files *files, pid_t pid, pid_t tid, const char *exec, char **ret);
/* A file that has no name yet: if we are killed before files_create(), nothing is left. -EOPNOTSUPP if !unnamed. */
int files_open_unnamed(struct files *files);
/*
 * Gives PATH, which files_name() gave, to the file *FD of files_open_unnamed(); if *FD is -1, creates an empty file
 * PATH and sets *FD. A result file of ours at PATH becomes PATH.old and replaces an older one. Anything else (FIFO,
 * symbolic link, another user's or another kind of file) is left alone: -EEXIST. So is a result file while another
 * session with the same BASE runs, as it may be that session's: -EBUSY. 0 or -errno.
 */
int files_create(struct files *files, const char *path, int *fd);
/* Opens PATH again for writing, if it still is the file DEV, INO; else -ESTALE. */
int files_reopen(struct files *files, const char *path, dev_t dev, ino_t ino, int *ret_fd);
/* Does PATH still lead to the file FD? */
bool files_is_there(struct files *files, const char *path, int fd);
void files_remove(struct files *files, const char *path);
/* After closing a file: takes the reserve back if it was given up. */
void files_closed(struct files *files);

#endif
