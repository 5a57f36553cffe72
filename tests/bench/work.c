/* SPDX-License-Identifier: MIT */
/*
 * A fixed amount of work on one CPU, whatever the machine. work MILLION: computes, prints a checksum. work switches N:
 * two threads on one CPU pass a byte to and fro, which takes N switches. work time FILE COMMAND...: runs COMMAND, and
 * writes the seconds that it took, and its CPU seconds, to FILE; returns its exit status.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];

static uint64_t __attribute__((noinline)) mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 29;
    return value;
}

static void *answer(void *argument)
{
    char byte;
    for (long i = *(const long *)argument; i > 0; i--)
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
            exit(1);
    return NULL;
}

static int make_switches(long count)
{
    long rounds = count / 2;
    pthread_t thread;
    cpu_set_t one;
    char byte = 0;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back) ||
        pthread_create(&thread, NULL, answer, &rounds))
        return 1;
    for (long i = rounds; i > 0; i--)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            return 1;
    return pthread_join(thread, NULL);
}

static double seconds_of(long seconds, long nanoseconds)
{
    return (double)seconds + (double)nanoseconds / 1e9;
}

static int time_command(const char *name, char **command)
{
    struct timespec before, after;
    struct rusage used;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &before);
    const pid_t pid = fork();
    if (pid == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &after);
    FILE *file = fopen(name, "w");
    if (!file)
        return 1;
    fprintf(file, "%.6f %.6f\n", seconds_of(after.tv_sec - before.tv_sec, after.tv_nsec - before.tv_nsec),
            seconds_of(used.ru_utime.tv_sec + used.ru_stime.tv_sec,
                       1000 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec)));
    return fclose(file) || !WIFEXITED(status) ? 1 : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "time"))
        return time_command(argv[2], argv + 3);
    if (argc == 3 && !strcmp(argv[1], "switches"))
        return make_switches(atol(argv[2]));
    uint64_t rounds = (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) * 1000000u, sum = 1;
    for (uint64_t i = 0; i < rounds; i++)
        sum += mix(sum + i);
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
