/* SPDX-License-Identifier: MIT */
/* What the file actions of posix_spawn do to the directory from which the child finds its program. */
#ifndef PINJECT_PRELOAD_SPAWN_DIRECTORY_H
#define PINJECT_PRELOAD_SPAWN_DIRECTORY_H

#include <spawn.h>
#include <stdbool.h>

struct pinject_spawn_directory {
    int fd;           /* the child's working directory: AT_FDCWD, or a descriptor */
    bool own;         /* it was opened here and has to be closed */
    bool descriptors; /* descriptor numbers mean something else in the child */
};

/*
 * Finds the child's working directory after ACTIONS. 0, or -EINVAL: it cannot be known (a libc whose actions we cannot
 * read; a directory that the child opens itself). Context: any thread. ACTIONS may be NULL or wild.
 */
int pinject_spawn_directory_find(const posix_spawn_file_actions_t *actions,
                                 struct pinject_spawn_directory *ret_directory);
void pinject_spawn_directory_close(struct pinject_spawn_directory *directory);

/* Does PATH lead to an open descriptor? In the child it may be another one. */
bool pinject_spawn_names_descriptor(const char *path);

#endif
