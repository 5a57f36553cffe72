/* SPDX-License-Identifier: MIT */
#include "analyze/view/source_rights.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/sym/elf_file.h"
#include "analyze/view/memory.h"

/* PATH and ROOT must not have symbolic links, "." or "..". */
static bool is_below(const char *path, const char *root)
{
    size_t size = strlen(root);
    if (strcmp(root, "/") == 0)
        return true;
    return strncmp(path, root, size) == 0 && path[size] == '/';
}

/* The path of the file that was opened. */
static bool real_path(int fd, char ret[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, ret, PATH_MAX);
    if (size <= 0 || size >= PATH_MAX || ret[0] != '/')
        return false;
    ret[size] = '\0';
    return true;
}

static bool is_versioned(const char *directory)
{
    static const char *const marks[] = {".git", ".hg", ".svn", ".bzr", ".jj"};
    bool found = false;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !found; i++) {
        char *mark = memory_print("%s/%s", directory, marks[i]);
        found = access(mark, F_OK) == 0;
        free(mark);
    }
    return found;
}

/* Cuts off the last part. False: this reaches the root, the home directory, or a directory above that. */
static bool go_up(char *directory, const char *home)
{
    char *slash = strrchr(directory, '/');
    if (!slash || slash == directory)
        return false;
    *slash = '\0';
    return !home || (strcmp(home, directory) != 0 && !is_below(home, directory));
}

/* The directory of the project with the compilation directory DIRECTORY; NULL: unknown. Owned by the caller. */
static char *project_of(const char *directory)
{
    char *start = directory && directory[0] == '/' ? realpath(directory, NULL) : NULL;
    const char *variable = getenv("HOME");
    char *home = variable && variable[0] == '/' ? realpath(variable, NULL) : NULL;
    char *project = NULL;
    if (start && strcmp(start, "/") != 0) {
        char *at = memory_text(start);
        bool found = is_versioned(at);
        while (!found && go_up(at, home))
            found = is_versioned(at);
        if (!found) {
            free(at);
            at = memory_text(start);
            found = go_up(at, home);
        }
        project = found ? memory_text(at) : memory_text(start);
        free(at);
    }
    free(home);
    free(start);
    return project;
}

/* Directories without source files, but with secret ones. */
static bool is_system(const char *path)
{
    static const char *const roots[] = {"/etc", "/proc", "/sys", "/dev", "/run", "/boot"};
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
        if (is_below(path, roots[i]))
            return true;
    return false;
}

static bool is_in_project(const char *path, const char *directory)
{
    char *project = project_of(directory);
    /* Hidden files and directories may have keys and histories. */
    bool inside = project && is_below(path, project) && !strstr(path + strlen(project), "/.");
    free(project);
    return inside;
}

/* Whether some users may read the DSO, but not this file. */
static bool is_more_private(int fd, const char *dso)
{
    struct stat file, code;
    return fstat(fd, &file) < 0 || !dso || stat(dso, &code) < 0 || (code.st_mode & 0044 & ~file.st_mode);
}

static int refuse_source(int fd, const char *why, const char **ret_why)
{
    close(fd);
    *ret_why = why;
    return -EACCES;
}

static int open_below(const char *symfs, const char *file, uint64_t *ret_size, const char **ret_why)
{
    char path[PATH_MAX], *full = memory_print("%s/%s", symfs, file), *root = realpath(symfs, NULL);
    int fd = root ? elf_file_open_regular(full, 0, ret_size) : -ENOENT;
    if (fd >= 0 && (!real_path(fd, path) || !is_below(path, root)))
        fd = refuse_source(fd, "it leads out of --symfs", ret_why);
    free(root);
    free(full);
    return fd;
}

int source_rights_open(const struct source_place *place, const char *symfs, uint64_t *ret_size, const char **ret_why)
{
    char path[PATH_MAX];
    *ret_why = NULL;
    int fd = symfs[0] ? open_below(symfs, place->file, ret_size, ret_why) : -ENOENT;
    if (fd >= 0 || *ret_why)
        return fd;
    /* A relative path, with an unknown directory. */
    if (place->file[0] != '/')
        return -ENOENT;
    fd = elf_file_open_regular(place->file, 0, ret_size);
    if (fd < 0)
        return fd;
    if (!real_path(fd, path) || is_system(path) ||
        (!is_below(path, "/usr") && !is_in_project(path, place->directory)))
        return refuse_source(fd, "it lies outside of the project that was compiled; --symfs=/ shows it", ret_why);
    if (is_more_private(fd, place->dso))
        return refuse_source(fd, "not everybody who may read the program may read it; --symfs=/ shows it", ret_why);
    return fd;
}
