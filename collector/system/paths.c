/* SPDX-License-Identifier: MIT */
#include "collector/system/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char *paths_segment_place(unsigned number)
{
    const char *temporary;
    switch (number) {
    case 0: return "/dev/shm";
    case 1: temporary = getenv("TMPDIR"); return temporary && temporary[0] == '/' ? temporary : NULL;
    case 2: return "/tmp";
    default: return NULL;
    }
}

int paths_absolute(const char *base, char *ret, size_t size)
{
    char directory[PATH_MAX], resolved[PATH_MAX];
    const char *slash = strrchr(base, '/');
    const char *name = slash ? slash + 1 : base;
    if (!name[0] || !strcmp(name, ".") || !strcmp(name, ".."))
        return -EINVAL;
    if ((size_t)(name - base) >= sizeof directory)
        return -ENAMETOOLONG;
    if (slash)
        snprintf(directory, sizeof directory, "%.*s", (int)(name - base), base);
    if (!realpath(slash ? directory : ".", resolved))
        return -errno;
    int length = snprintf(ret, size, "%s/%s", strcmp(resolved, "/") ? resolved : "", name);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

uint64_t paths_room(const char *file)
{
    char directory[PATH_MAX];
    struct statvfs space;
    const char *slash = strrchr(file, '/');
    const int length = slash == file ? 1 : slash ? (int)(slash - file) : 0;
    if (!length || length >= (int)sizeof directory)
        return UINT64_MAX;
    snprintf(directory, sizeof directory, "%.*s", length, file);
    if (statvfs(directory, &space) < 0 || !space.f_blocks || space.f_flag & ST_RDONLY) /* some count no blocks */
        return UINT64_MAX;
    return (uint64_t)(geteuid() == 0 ? space.f_bfree : space.f_bavail) * space.f_frsize;
}

int paths_outfile(const char *base, char *ret, char *directory, size_t size)
{
    struct stat status;
    size_t length = strlen(base);
    *directory = '\0';
    if (length >= size)
        return -ENAMETOOLONG;
    const bool named = length && base[length - 1] == '/';
    const bool is_directory = length && (named || (stat(base, &status) == 0 && S_ISDIR(status.st_mode)));
    if (!is_directory) {
        memcpy(ret, base, length + 1);
        return 0;
    }
    while (length > 1 && base[length - 1] == '/')
        length--;
    int written = snprintf(ret, size, "%.*s%sout", (int)length, base, length == 1 && *base == '/' ? "" : "/");
    snprintf(directory, size, "%.*s", (int)length, base);
    return written < 0 || (size_t)written >= size ? -ENAMETOOLONG : 0;
}

int paths_find_command(const char *name, char *ret, size_t size)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(ret, size, "%s", name) < (int)size && access(ret, R_OK) == 0 ? 0 : -ENOENT;
    for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
        const size_t length = strcspn(path, ":");
        const int wrote = snprintf(ret, size, "%.*s/%s", length ? (int)length : 1, length ? path : ".", name);
        if (wrote > 0 && wrote < (int)size && access(ret, R_OK | X_OK) == 0)
            return 0;
        path += length;
    }
    return -ENOENT;
}
