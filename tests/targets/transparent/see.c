/* SPDX-License-Identifier: MIT */
#include "see.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char **see_argv;
char see_me[4096];
extern char **environ;

void see_result(const char *what, long result)
{
    if (result < 0)
        printf("%s: %ld errno %d\n", what, result, errno);
    else
        printf("%s: %ld\n", what, result);
    fflush(stdout);
}

void see_file(const char *name)
{
    char path[256], bytes[8192];
    snprintf(path, sizeof(path), name[0] == '/' ? "%s" : "/proc/self/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    printf("%s: %s\n", name, fd < 0 ? "cannot be opened" : "");
    for (ssize_t got; fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0;)
        for (ssize_t i = 0; i < got; i++)
            putchar(bytes[i] ? bytes[i] : '\n');
    close(fd);
    fflush(stdout);
}

void see_open_numbers(const char *what)
{
    printf("%s: open", what);
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf(" %d", fd);
    puts("");
    fflush(stdout);
}

void see_child(const char *what, int pid)
{
    int status = -1;
    if (pid < 0)
        printf("%s: errno %d\n", what, errno);
    else if (waitpid(pid, &status, 0) != pid)
        printf("%s: wait errno %d\n", what, errno);
    else
        printf("%s: status %x\n", what, (unsigned)status);
    fflush(stdout);
}

static void *double_it(void *data)
{
    return (void *)((intptr_t)data * 2);
}

static int thread_works(void)
{
    pthread_t thread;
    void *result = NULL;
    int error = pthread_create(&thread, NULL, double_it, (void *)21);
    if (error == 0)
        error = pthread_join(thread, &result);
    return error ? error : (intptr_t)result == 42 ? 0 : 255;
}

void see_threads_and_forks(void)
{
    errno = 77;
    int error = thread_works();
    printf("thread: %d errno %d\n", error, errno);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(thread_works());
    printf("errno after fork: %d\n", pid < 0 ? 0 : errno);
    see_child("fork", pid);
    errno = 77;
    pid = _Fork();
    if (pid == 0)
        _exit(errno);
    see_child("_Fork", pid);
    pid = vfork();
    if (pid == 0)
        _exit(11);
    see_child("vfork", pid);
}

void see_exercise(void)
{
    char *leaf[] = {see_me, (char *)"leaf", NULL}, *missing[] = {(char *)"missing", NULL};
    see_threads_and_forks();
    pid_t pid = fork();
    if (pid == 0) {
        execv(see_me, leaf);
        _exit(errno);
    }
    see_child("fork, exec", pid);
    pid = vfork();
    if (pid == 0) {
        execvp("see-no-such-program", missing);
        execve(see_me, leaf, environ);
        _exit(errno);
    }
    see_child("vfork, exec", pid);
    int error = posix_spawn(&pid, see_me, NULL, NULL, leaf, environ);
    if (error == 0)
        see_child("posix_spawn", pid);
    else
        printf("posix_spawn: %d\n", error);
    see_result("system", system("exit 3"));
    FILE *pipe = popen("echo popen", "r");
    for (int byte; pipe && (byte = getc(pipe)) != EOF;)
        putchar(byte);
    see_result("pclose", pipe ? pclose(pipe) : -1);
    pid = waitpid(-1, NULL, WNOHANG | __WALL);
    printf("children left: %d\n", pid >= 0 || errno != ECHILD);
    fflush(stdout);
}

static int leaf(void)
{
    see_open_numbers("leaf");
    return thread_works() + 7;
}

int see_main(int argc, char **argv, const struct see_case *cases, size_t count)
{
    ssize_t size = readlink("/proc/self/exe", see_me, sizeof(see_me) - 1);
    see_argv = argv;
    if (argc < 2 || size <= 0)
        return 64;
    if (strcmp(argv[1], "leaf") == 0)
        return leaf();
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argv[1], "list") == 0)
            puts(cases[i].name);
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            printf("end of %s\n", cases[i].name);
            return 0;
        }
    }
    return strcmp(argv[1], "list") == 0 ? 0 : 64;
}
