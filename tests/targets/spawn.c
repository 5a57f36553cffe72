/* SPDX-License-Identifier: MIT */
/*
 * spawn MODE PROGRAM [ARGS...]: starts PROGRAM in one of libc's ways, waits for it, prints "spawned pid N status N
 * MODE" on stderr, and ends with its status. Modes that replace the process (exec-*) do not return.
 *
 *   execl execle execlp execv execve execvp execvpe fexecve execveat      fork, then this
 *   exec-execve ...                                                        the same without fork
 *   vfork-execve vfork-execvp ...                                          vfork, then this
 *   posix_spawn posix_spawnp system popen
 *   clean-execve   fork + execve with only PATH in envp      clean-posix_spawn
 *   null-execve    fork + execve with envp NULL              clearenv   clearenv() in the child, then execv
 *   missing        execv of a program that does not exist, then of PROGRAM
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The list forms get a fixed number of arguments: MOST of them, with NULL after the last one. */
#define MOST    8
#define LIST(a) (a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7], (char *)NULL

static char *clean[] = {(char *)"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

/* Returns only on failure. */
static void become(const char *how, char **all, char **envp)
{
    const char *program = all[0];
    char *args[MOST + 1] = {NULL};
    for (int i = 0; i < MOST && all[i]; i++)
        args[i] = all[i];
    if (strcmp(how, "execl") == 0)
        execl(program, LIST(args));
    else if (strcmp(how, "execle") == 0)
        execle(program, LIST(args), envp);
    else if (strcmp(how, "execlp") == 0)
        execlp(program, LIST(args));
    else if (strcmp(how, "execv") == 0)
        execv(program, args);
    else if (strcmp(how, "execve") == 0)
        execve(program, args, envp);
    else if (strcmp(how, "execvp") == 0)
        execvp(program, args);
    else if (strcmp(how, "execvpe") == 0)
        execvpe(program, args, envp);
    else if (strcmp(how, "fexecve") == 0)
        fexecve(open(program, O_RDONLY | O_CLOEXEC), args, envp);
    else if (strcmp(how, "execveat") == 0)
        execveat(AT_FDCWD, program, args, envp, 0);
    else
        errno = EINVAL;
}

static int spawned(pid_t pid, const char *mode)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 96;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    fprintf(stderr, "spawned pid %d status %d %s\n", (int)pid, code, mode);
    return code;
}

static int by_fork(const char *mode, const char *how, char **args, char **envp)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (strcmp(mode, "clearenv") == 0)
            clearenv();
        if (strcmp(mode, "missing") == 0)
            execv("/nonexistent/program", args);
        become(how, args, envp);
        _exit(errno == ENOENT ? 127 : 126);
    }
    return pid < 0 ? 97 : spawned(pid, mode);
}

static int by_vfork(const char *mode, const char *how, char **args, char **envp)
{
    pid_t pid = vfork();
    if (pid == 0) {
        become(how, args, envp);
        _exit(errno == ENOENT ? 127 : 126);
    }
    return pid < 0 ? 97 : spawned(pid, mode);
}

static int by_spawn(const char *mode, char **args, char **envp, int search)
{
    pid_t pid;
    int error = search ? posix_spawnp(&pid, args[0], NULL, NULL, args, envp)
                       : posix_spawn(&pid, args[0], NULL, NULL, args, envp);
    if (error) {
        fprintf(stderr, "%s: %s\n", mode, strerror(error));
        return 97;
    }
    return spawned(pid, mode);
}

static int by_shell(const char *mode, char **args)
{
    char line[4096] = "";
    for (size_t used = 0; *args && used < sizeof(line); args++)
        used += (size_t)snprintf(line + used, sizeof(line) - used, "'%s' ", *args);
    fflush(NULL);
    int status;
    if (strcmp(mode, "system") == 0) {
        status = system(line);
    } else {
        FILE *pipe = popen(line, "r");
        if (!pipe)
            return 97;
        for (int byte; (byte = getc(pipe)) != EOF;)
            putchar(byte);
        status = pclose(pipe);
    }
    fprintf(stderr, "spawned pid 0 status %d %s\n", WEXITSTATUS(status), mode);
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 64;
    const char *mode = argv[1];
    char **args = argv + 2;
    if (strncmp(mode, "exec-", 5) == 0) {
        become(mode + 5, args, environ);
        perror(mode);
        return 127;
    }
    if (strncmp(mode, "vfork-", 6) == 0)
        return by_vfork(mode, mode + 6, args, environ);
    if (strcmp(mode, "posix_spawn") == 0 || strcmp(mode, "posix_spawnp") == 0)
        return by_spawn(mode, args, environ, mode[11] == 'p');
    if (strcmp(mode, "clean-posix_spawn") == 0)
        return by_spawn(mode, args, clean, 0);
    if (strcmp(mode, "system") == 0 || strcmp(mode, "popen") == 0)
        return by_shell(mode, args);
    if (strcmp(mode, "clean-execve") == 0)
        return by_fork(mode, "execve", args, clean);
    if (strcmp(mode, "null-execve") == 0)
        return by_fork(mode, "execve", args, NULL);
    if (strcmp(mode, "clearenv") == 0 || strcmp(mode, "missing") == 0)
        return by_fork(mode, "execv", args, environ);
    return by_fork(mode, mode, args, environ);
}
