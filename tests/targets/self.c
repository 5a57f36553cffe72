/* SPDX-License-Identifier: MIT */
/*
 * self: prints what a process can see of itself and a profiler might change, one item per line:
 *   fd N TARGET | env NAME=VALUE (in order) | tasks N | SigBlk: ... SigIgn: ... SigCgt: ... | children N | errno N
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static void list_fds(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        char path[64], goal[4096];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t size = readlink(path, goal, sizeof(goal) - 1);
        if (size < 0)
            continue;
        goal[size] = '\0';
        /* The inode of a pipe or socket differs between runs. */
        char *colon = strstr(goal, ":[");
        if (colon)
            *colon = '\0';
        printf("fd %d %s\n", fd, goal);
    }
}

static void count_tasks(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    if (directory)
        closedir(directory);
    printf("tasks %d\n", count);
}

static void show_status(void)
{
    static const char *const wanted[] = {
        "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:", "NoNewPrivs:", "Seccomp:", "TracerPid:"};
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status))
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                fputs(line, stdout);
    if (status)
        fclose(status);
}

static void show_children(void)
{
    char text[256] = "";
    FILE *children = fopen("/proc/thread-self/children", "re");
    if (children) {
        if (!fgets(text, sizeof(text), children))
            text[0] = '\0';
        fclose(children);
    }
    printf("children '%s'\n", text);
}

int main(void)
{
    int first = errno;
    list_fds();
    for (char **entry = environ; *entry; entry++)
        printf("env %s\n", *entry);
    count_tasks();
    show_status();
    show_children();
    printf("errno %d\n", first);
    return 0;
}
