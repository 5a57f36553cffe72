/* SPDX-License-Identifier: MIT */
/* A program with functions of its own in libc's place: each is called as often as without us. */
#include "see.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAP = 64 << 20 };
static char heap[HEAP] __attribute__((aligned(16)));
static size_t used;
static unsigned allocated, freed, asked, threads, forks, waits, execs;

/* The size stands before the memory; nothing is ever given back. */
void *malloc(size_t size)
{
    size_t room = (size + 31) & ~(size_t)15, at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
    __atomic_fetch_add(&allocated, 1, __ATOMIC_RELAXED);
    if (size > HEAP || at + room > HEAP)
        return NULL;
    memcpy(heap + at, &size, sizeof(size));
    return heap + at + 16;
}

void free(void *memory)
{
    if (memory)
        __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

void *calloc(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

void *realloc(void *memory, size_t size)
{
    size_t old = 0;
    void *bigger = malloc(size);
    if (memory)
        memcpy(&old, (char *)memory - 16, sizeof(old));
    return bigger && memory ? memcpy(bigger, memory, old < size ? old : size) : bigger;
}

/* bash has one. */
char *getenv(const char *name)
{
    extern char **environ;
    size_t length = strlen(name);
    asked++;
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}

static void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *data)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = next_of("pthread_create");
    memcpy(&next, &found, sizeof(found));
    threads++;
    return next(thread, attr, start, data);
}

pid_t fork(void)
{
    pid_t (*next)(void);
    void *found = next_of("fork");
    memcpy(&next, &found, sizeof(found));
    forks++;
    return next();
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    pid_t (*next)(pid_t, int *, int);
    void *found = next_of("waitpid");
    memcpy(&next, &found, sizeof(found));
    waits++;
    return next(pid, status, options);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    int (*next)(const char *, char *const[], char *const[]);
    void *found = next_of("execve");
    memcpy(&next, &found, sizeof(found));
    execs++;
    return next(path, argv, envp);
}

static void report(const char *when)
{
    printf("%s: allocated %u freed %u asked %u threads %u forks %u waits %u execs %u\n", when, allocated, freed, asked,
           threads, forks, waits, execs);
}

static void own_functions(void)
{
    report("main");
    see_exercise();
    report("end");
}

static int begun;

static void *copy_it(void *data)
{
    (void)data;
    return strdup("x");
}

/* Before main: a child and a thread by functions that are the program's own. */
__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(3);
    if (waitpid(pid, &status, 0) == pid && status == 3 << 8)
        begun += 1;
    if (pthread_create(&thread, NULL, copy_it, NULL) == 0 && pthread_join(thread, NULL) == 0)
        begun += 2;
}

/* After main: once more, with the output closed by then. */
__attribute__((destructor)) static void end(void)
{
    static const char text[] = "child of a destructor\n";
    if (!see_argv || !see_argv[1] || strcmp(see_argv[1], "list") == 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        _exit(write(1, text, sizeof(text) - 1) < 0);
    waitpid(pid, NULL, 0);
}

static void around_main(void)
{
    printf("before main %d\n", begun);
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {{"functions", own_functions}, {"around-main", around_main}};
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
