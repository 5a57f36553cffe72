/* SPDX-License-Identifier: MIT */
#include "collector/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *paths_segment_place(unsigned number)
{
    const char *temporary;
    switch (number) {
    case 0:
        return "/dev/shm";
    case 1:
        temporary = getenv("TMPDIR");
        return temporary && temporary[0] == '/' ? temporary : NULL;
    case 2:
        return "/tmp";
    default:
        return NULL;
    }
}

int paths_absolute(const char *base, char *ret, size_t size)
{
    char folder[PATH_MAX], resolved[PATH_MAX];
    const char *slash = strrchr(base, '/');
    const char *name = slash ? slash + 1 : base;
    if (!name[0] || !strcmp(name, ".") || !strcmp(name, ".."))
        return -EINVAL;
    if ((size_t)(name - base) >= sizeof folder)
        return -ENAMETOOLONG;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(name - base), base);
    if (!realpath(slash ? folder : ".", resolved))
        return -errno;
    int length = snprintf(ret, size, "%s/%s", strcmp(resolved, "/") ? resolved : "", name);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}
