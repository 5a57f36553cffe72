/* SPDX-License-Identifier: MIT */
/* A fixed amount of work on one CPU, whatever the machine: work MILLION. Prints a checksum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t __attribute__((noinline)) mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 29;
    return value;
}

int main(int argc, char **argv)
{
    uint64_t rounds = (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) * 1000000u, sum = 1;
    for (uint64_t i = 0; i < rounds; i++)
        sum += mix(sum + i);
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
