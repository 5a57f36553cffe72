/* SPDX-License-Identifier: MIT */
/* A user's own preload object: stands before execve and pthread_create too, and says so. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Not in the profiler, which has inherited LD_PRELOAD like anybody. */
static void say(const char *text)
{
    if (strcmp(program_invocation_short_name, "pinject-run") == 0)
        return;
    if (write(1, text, strlen(text)) < 0)
        _exit(99);
}

__attribute__((visibility("default"))) int execve(const char *path, char *const argv[], char *const envp[])
{
    int (*next)(const char *, char *const *, char *const *);
    void *found = dlsym(RTLD_NEXT, "execve");
    memcpy(&next, &found, sizeof(next));
    say("user's execve\n");
    return next(path, argv, envp);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                                                          void *(*start)(void *), void *argument)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next, &found, sizeof(next));
    say("user's pthread_create\n");
    return next(thread, attr, start, argument);
}
