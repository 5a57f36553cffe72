/* SPDX-License-Identifier: MIT */
/* How programs start others, and what they do to their environment in between. */
#include "see.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void print_environ(const char *what)
{
    printf("%s:", what);
    for (char **at = environ; at && *at; at++)
        printf(" [%s]", *at);
    puts("");
    fflush(stdout);
    if (system("env | sort") != 0)
        puts("no system()");
}

static void own_variables(void)
{
    static char put[] = "PUT=1";
    const char *preload = getenv("LD_PRELOAD");
    printf("LD_PRELOAD is %s\n", preload ? preload : "not set");
    putenv(put);
    setenv("SET", "2", 1);
    unsetenv("HOME");
    put[4] = '3';
    print_environ("changed");
    see_exercise();
}

static void no_variables(void)
{
    clearenv();
    print_environ("cleared");
    see_exercise();
    putenv((char *)(uintptr_t) "ONLY=1");
    print_environ("one");
    see_exercise();
    environ = NULL;
    see_exercise();
}

static void own_preload(void)
{
    setenv("LD_PRELOAD", "libm.so.6", 1);
    print_environ("set");
    see_exercise();
    unsetenv("LD_PRELOAD");
    print_environ("unset");
    see_exercise();
    setenv("LD_PRELOAD", "", 1);
    see_exercise();
}

static void edited_in_place(void)
{
    static char *vector[] = {(char *)(uintptr_t) "A=1", (char *)(uintptr_t) "A=2", (char *)(uintptr_t) "nothing", NULL};
    environ = vector;
    print_environ("own vector");
    see_exercise();
    vector[1] = NULL;
    print_environ("cut");
}

static void empty_vectors(void)
{
    char *none[] = {NULL}, *leaf[] = {see_me, (char *)(uintptr_t) "leaf", NULL};
    pid_t pid = fork();
    if (pid == 0) {
        execve(see_me, leaf, none);
        _exit(errno);
    }
    see_child("no environment", pid);
    pid = fork();
    if (pid == 0) {
        execve(see_me, none, none);
        _exit(errno);
    }
    see_child("no arguments", pid);
    pid = fork();
    if (pid == 0) {
        char **volatile nothing = NULL;
        execve(see_me, nothing, nothing);
        _exit(errno);
    }
    see_child("no vectors", pid);
}

/* execvp walks over what is missing, forbidden, a directory or nonsense, before it finds the program. */
static void path_walk(void)
{
    char path[5000];
    mkdir("a", 0700), mkdir("a/prog", 0700), mkdir("b", 0700), mkdir("c", 0700);
    FILE *file = fopen("b/prog", "we");
    fputs("not executable\n", file);
    fclose(file);
    snprintf(path, sizeof(path), "/nonexistent:%s/x:a:b::c:", see_me);
    setenv("PATH", path, 1);
    for (int round = 0; round < 2; round++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execlp("prog", "prog", "leaf", (char *)NULL);
            _exit(errno);
        }
        see_child("walk", pid);
        if (symlink(see_me, "c/prog") != 0 && round == 0)
            puts("no link");
    }
    unsetenv("PATH");
    pid_t pid = vfork();
    if (pid == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(errno);
    }
    see_child("default path", pid);
}

static int starts_with(size_t bytes, int by_environ)
{
    enum { PIECE = 100000 };
    static char piece[PIECE], *vector[100], *leaf[] = {see_me, (char *)(uintptr_t) "leaf", NULL};
    size_t at = 0;
    memset(piece, 'x', sizeof(piece) - 1);
    piece[1] = '=';
    for (; bytes > PIECE; bytes -= PIECE)
        vector[at++] = piece;
    vector[at++] = piece + PIECE - bytes;
    vector[at] = NULL;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(99);
        if (by_environ)
            for (size_t i = 0; i < at; i++) {
                char name[16];
                snprintf(name, sizeof(name), "V%zu", i);
                setenv(name, vector[i], 1);
            }
        execve(see_me, leaf, by_environ ? environ : vector);
        _exit(errno == E2BIG ? 100 : 101);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

/* The largest environment that the kernel takes, to the byte, is the same. */
static void largest(int by_environ)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_STACK, &limit);
    size_t fits = 1000, too_large = 1000000;
    while (too_large - fits > 1) {
        size_t middle = (fits + too_large) / 2;
        int status = starts_with(middle, by_environ);
        if (status == 7)
            fits = middle;
        else
            too_large = middle;
        if (status != 7 && status != 100)
            printf("%zu bytes: status %d\n", middle, status);
    }
    printf("fits: %zu\n", fits);
}

static void largest_vector(void)
{
    largest(0);
}

static void largest_environ(void)
{
    largest(1);
}

static void *exec_from_thread(void *data)
{
    execl(see_me, see_me, "leaf", (char *)NULL);
    return data;
}

static void by_thread(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, i < 3 ? (void *(*)(void *))(uintptr_t)pause : exec_from_thread, NULL);
        pthread_join(threads[3], NULL);
        _exit(1);
    }
    see_child("by a thread", pid);
}

static void *after_main(void *data)
{
    pthread_join(*(pthread_t *)data, NULL);
    see_exercise();
    exit(6);
}

static void main_leaves(void)
{
    static pthread_t first;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        first = pthread_self();
        pthread_create(&thread, NULL, after_main, &first);
        pthread_exit(NULL);
    }
    see_child("main has left", pid);
}

static void at_the_end(void)
{
    see_exercise();
}

static void in_exit_handlers(void)
{
    atexit(at_the_end);
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {
        {"variables", own_variables},       {"no-variables", no_variables},       {"preload", own_preload},
        {"own-vector", edited_in_place},    {"empty-vectors", empty_vectors},     {"path-walk", path_walk},
        {"largest-vector", largest_vector}, {"largest-environ", largest_environ}, {"by-thread", by_thread},
        {"main-leaves", main_leaves},       {"exit-handlers", in_exit_handlers},
    };
    if (argc < 1)
        return 70;
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
