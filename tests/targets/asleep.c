/* SPDX-License-Identifier: MIT */
/*
 * asleep N: makes N children by fork, and N threads, one after the other. Each sets a flag and then sleeps. Polls their
 * state in /proc until they sleep (S), as test programs do to see that a task waits, and prints how many were seen
 * asleep before they had set the flag: "early: FORKS THREADS".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t *flag;
static int ends[2];

/* 'S', 'R' ...; '?': unknown. */
static char state_of(pid_t pid, pid_t tid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *at = strrchr(text, ')');
    return at ? at[2] : '?';
}

static void sleep_until_told(void)
{
    char byte;
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    (void)!read(ends[0], &byte, 1);
}

/* Whether the task is seen asleep before it sets the flag. */
static int is_early(pid_t pid, pid_t tid)
{
    char state;
    while ((state = state_of(pid, tid)) != 'S')
        if (state == '?')
            exit(98);
    int early = !__atomic_load_n(flag, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST))
        usleep(100);
    return early;
}

static int fork_one(void)
{
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    pid_t child = fork();
    if (child == 0) {
        sleep_until_told();
        _exit(0);
    }
    int early = is_early(child, child);
    (void)!write(ends[1], "", 1);
    waitpid(child, NULL, 0);
    return early;
}

static void *run(void *unused)
{
    (void)unused;
    sleep_until_told();
    return NULL;
}

/* The other task of this process. */
static pid_t other_task(void)
{
    pid_t other = 0;
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    while (tasks && (entry = readdir(tasks)))
        if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid())
            other = atoi(entry->d_name);
    if (tasks)
        closedir(tasks);
    return other;
}

static int start_one(void)
{
    pthread_t thread;
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        exit(99);
    int early = is_early(getpid(), other_task());
    (void)!write(ends[1], "", 1);
    pthread_join(thread, NULL);
    return early;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 200, forks = 0, threads = 0;
    flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (flag == MAP_FAILED || pipe2(ends, O_CLOEXEC) < 0)
        return 99;
    for (int i = 0; i < count; i++) {
        forks += fork_one();
        threads += start_one();
    }
    printf("early: %d %d\n", forks, threads);
    return 0;
}
