/* SPDX-License-Identifier: MIT */
/* Files that several processes map. Their pages are allocated from the start, as touching a missing one kills. */
#ifndef COLLECTOR_SYSTEM_SHARED_FILE_H
#define COLLECTOR_SYSTEM_SHARED_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Makes PATH, which must not exist, with SIZE bytes of zeros. Nobody else may open it yet. A descriptor, or -errno. */
int shared_file_create(const char *path, size_t size);
/* The same without a path: it lives as long as a descriptor or a mapping of it. */
int shared_file_nameless(size_t size);
/* Gives it MODE, and to USER. 0, or -errno: it still is ours. */
int shared_file_give(int fd, uid_t user, mode_t mode);
/* Can a file be given to USER? 0 or -errno. */
int shared_file_can_give(uid_t user);

#endif
