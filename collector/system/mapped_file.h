/* SPDX-License-Identifier: MIT */
/*
 * Opens a file that a target has mapped. Its path is the target's choice, in the target's root, and anything may be
 * there by now. Only the regular file that was mapped is ever opened, so no device and no FIFO notices us. It may still
 * block if a file system's server does not answer: opener.h does it beside the event loop.
 */
#ifndef COLLECTOR_SYSTEM_MAPPED_FILE_H
#define COLLECTOR_SYSTEM_MAPPED_FILE_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A mapping as the kernel reports it. */
struct mapped_file {
    pid_t pid; /* a process that has it mapped; 0: unknown, or it has ended */
    uint32_t maj, min;
    uint64_t ino;
    uint64_t start, size; /* where; 0: not known */
    const char *path;     /* begins with '/' */
};

/* Opens it for reading; RET is what fstat says. -ENOENT: it was not found, or is no regular file. */
int mapped_file_open(const struct mapped_file *file, struct stat *ret);

/*
 * The same, if it cannot block: all of the path is in the kernel's cache, and the file is on a local file system of a
 * disk. -EAGAIN: that is not sure. Context: one thread at a time.
 */
int mapped_file_open_local(const struct mapped_file *file, struct stat *ret);

#endif
