/* SPDX-License-Identifier: MIT */
/*
 * spawn-places WAY DIRECTORY PROGRAM [ARGS...]: starts PROGRAM, whose path is relative to DIRECTORY, from the current
 * working directory in one of these ways, and ends with its status; 97 after a message: it could not be started.
 *
 *   chdir fchdir              posix_spawn with this file action
 *   chdir-twice               into DIRECTORY's parent, then into DIRECTORY
 *   fchdir-moved              by a descriptor that another action duplicates from it
 *   fchdir-opened             by a descriptor that another action opens
 *   search                    posix_spawnp with DIRECTORY in a relative PATH, after chdir to "/" and back
 *   execvp                    of a path of more than 256 bytes
 *   execlp-search             by a PATH whose earlier elements are long, files, directories, or not executable
 *   O_PATH                    fexecve of such a descriptor
 *   execveat                  from a descriptor of DIRECTORY
 *   syscall syscall-at        syscall(SYS_execve), syscall(SYS_execveat)
 *   descriptor                posix_spawn of /proc/self/fd/N, which is another file in the child than in the parent
 *   resetids                  posix_spawn with POSIX_SPAWN_RESETIDS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way, *directory;
static char **program;
static char path[PATH_MAX + 512];

static int way_is(const char *name)
{
    return strcmp(way, name) == 0;
}

static int ended(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid)
        return 96;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void add_directory(posix_spawn_file_actions_t *actions)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (way_is("chdir") || way_is("search"))
        posix_spawn_file_actions_addchdir_np(actions, directory);
    if (way_is("fchdir"))
        posix_spawn_file_actions_addfchdir_np(actions, fd);
    if (way_is("chdir-twice")) {
        char parent[PATH_MAX + 8];
        snprintf(parent, sizeof(parent), "%s/..", directory);
        posix_spawn_file_actions_addchdir_np(actions, parent);
        posix_spawn_file_actions_addchdir_np(actions, strrchr(directory, '/') + 1);
    }
    if (way_is("fchdir-moved")) {
        posix_spawn_file_actions_adddup2(actions, fd, 77);
        posix_spawn_file_actions_adddup2(actions, 0, fd);
        posix_spawn_file_actions_addfchdir_np(actions, 77);
    }
    if (way_is("fchdir-opened")) {
        posix_spawn_file_actions_addopen(actions, 77, directory, O_RDONLY, 0);
        posix_spawn_file_actions_addfchdir_np(actions, 77);
    }
}

static int spawn(void)
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_init(&actions);
    snprintf(path, sizeof(path), "./%s", program[0]);
    add_directory(&actions);
    if (way_is("descriptor")) {
        /* In the parent it is the file in the working directory. */
        int fd = open(program[0], O_RDONLY);
        char inside[PATH_MAX];
        snprintf(inside, sizeof(inside), "%s/%s", directory, program[0]);
        posix_spawn_file_actions_addopen(&actions, fd, inside, O_RDONLY, 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    if (way_is("resetids")) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_RESETIDS);
        snprintf(path, sizeof(path), "%s/%s", directory, program[0]);
    }
    char *const *envp = environ;
    if (way_is("search"))
        setenv("PATH", "/nonexistent:.", 1);
    int error = way_is("search") ? posix_spawnp(&pid, program[0], &actions, &attr, program, envp)
                                 : posix_spawn(&pid, path, &actions, &attr, program, envp);
    if (error) {
        fprintf(stderr, "%s: %s\n", way, strerror(error));
        return 97;
    }
    return ended(pid);
}

/* Makes a long path to the same file, by symbolic links. */
static void make_long_path(void)
{
    char name[200], at[PATH_MAX] = "";
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    for (int i = 0; i < 4; i++) {
        strcat(strcat(at, name), "/");
        mkdir(at, 0755);
    }
    strcat(at, "link");
    if (symlink(directory, at) != 0 && errno != EEXIST)
        perror("link");
    snprintf(path, sizeof(path), "./%s/%s", at, program[0]);
}

static void make_search_path(void)
{
    char list[3 * PATH_MAX], *at = list, name[PATH_MAX];
    FILE *file;
    mkdir("p1", 0755), mkdir("p2", 0755), mkdir("p3", 0755);
    snprintf(name, sizeof(name), "p1/%s", program[0]);
    mkdir(name, 0755);
    snprintf(name, sizeof(name), "p2/%s", program[0]);
    if ((file = fopen(name, "we"))) {
        fputs("#!/bin/sh\nexit 1\n", file);
        fclose(file);
        chmod(name, 0644);
    }
    snprintf(name, sizeof(name), "p3/%s", program[0]);
    if ((file = fopen(name, "we"))) {
        fputs("#!/nonexistent/interpreter\n", file);
        fclose(file);
        chmod(name, 0755);
    }
    at += sprintf(at, "PATH=p1:p2:p3:/nonexistent/");
    memset(at, 'x', 1000);
    at += 1000;
    snprintf(at, PATH_MAX, ":%s:/bin:/usr/bin", directory);
    putenv(strdup(list));
}

static void become(void)
{
    snprintf(path, sizeof(path), "%s/%s", directory, program[0]);
    if (way_is("execvp")) {
        make_long_path();
        execvp(path, program);
    } else if (way_is("execlp-search")) {
        make_search_path();
        execlp(program[0], program[0], program[1], (char *)NULL);
    } else if (way_is("O_PATH")) {
        fexecve(open(path, O_PATH | O_CLOEXEC), program, environ);
    } else if (way_is("execveat")) {
        execveat(open(directory, O_PATH | O_CLOEXEC), program[0], program, environ, AT_SYMLINK_NOFOLLOW);
    } else if (way_is("syscall")) {
        syscall(SYS_execve, path, program, environ);
    } else if (way_is("syscall-at")) {
        syscall(SYS_execveat, open(directory, O_PATH | O_CLOEXEC), program[0], program, environ, 0);
    }
    perror(way);
    _exit(97);
}

int main(int argc, char **argv)
{
    static const char *const execs[] = {"execvp", "execlp-search", "O_PATH", "execveat", "syscall", "syscall-at"};
    if (argc < 4)
        return 64;
    way = argv[1];
    directory = argv[2];
    program = argv + 3;
    for (size_t i = 0; i < sizeof(execs) / sizeof(execs[0]); i++)
        if (way_is(execs[i])) {
            pid_t pid = fork();
            if (pid == 0)
                become();
            return ended(pid);
        }
    return spawn();
}
