/* SPDX-License-Identifier: MIT */
/*
 * A fixed amount of work on one CPU, whatever the machine. work MILLION: computes, prints a checksum. work switches N:
 * two threads on one CPU pass a byte to and fro, which takes N switches.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "switches"))
        return make_switches(atol(argv[2]));
    uint64_t rounds = (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) * 1000000u, sum = 1;
    for (uint64_t i = 0; i < rounds; i++)
        sum += mix(sum + i);
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
