/* SPDX-License-Identifier: MIT */
#include "collector/launch/place.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Our cgroup, as the line "0::/PATH" has it: below the root of our cgroup namespace. */
static bool read_cgroup(char *ret, size_t size)
{
    char line[PATH_MAX + 8];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        found = !strncmp(line, "0::/", 4) && strlen(line + 3) < size;
    }
    if (file)
        fclose(file);
    if (found)
        strcpy(ret, line + 3);
    return found;
}

/* Where the whole hierarchy is mounted. */
static bool find_mount(char *ret, size_t size)
{
    char line[2 * PATH_MAX], root[PATH_MAX], place[PATH_MAX];
    bool found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %4095s %4095s", root, place) == 2 &&
                !strcmp(root, "/") && !strchr(place, '\\') && strlen(place) < size;
    if (file)
        fclose(file);
    if (found)
        strcpy(ret, place);
    return found;
}

static bool join(const char *mount, const char *group)
{
    char path[2 * PATH_MAX + 16];
    snprintf(path, sizeof path, "%s%s/cgroup.procs", mount, group);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool joined = write(fd, "0", 1) == 1;
    close(fd);
    return joined;
}

/* A group that has groups with limits below it takes no processes, except the root. */
static void leave_cgroup(void)
{
    char group[PATH_MAX], mount[PATH_MAX];
    if (!read_cgroup(group, sizeof group) || !group[1] || !find_mount(mount, sizeof mount))
        return;
    for (char *slash; (slash = strrchr(group, '/'));) {
        *slash = '\0';
        if (join(mount, group))
            return;
    }
}

void place_leave(void)
{
    (void)!chdir("/");
    leave_cgroup();
}
