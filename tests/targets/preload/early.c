/* SPDX-License-Identifier: MIT */
/* What a library may do before main: threads, children, pointers into the environment. */
#include "early.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

const char *early_value;
int early_thread, early_child = -1;

static void *run(void *data)
{
    early_thread = *(int *)data;
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    int five = 5;
    early_value = getenv("EARLY");
    if (pthread_create(&thread, NULL, run, &five) == 0)
        pthread_join(thread, NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(6);
    waitpid(pid, &early_child, 0);
}
