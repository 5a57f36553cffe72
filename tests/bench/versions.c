/* SPDX-License-Identifier: MIT */
/* Twenty functions, each with 0.7 of the work of the one before, and one that waits for memory: versions FACTOR. The
 * second one has FACTOR times its work: 18 % of the program. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES (1u << 25)

#define FUNCTION(number)                                                                    \
    static uint64_t __attribute__((noinline)) work##number(uint64_t value, uint64_t rounds) \
    {                                                                                       \
        for (uint64_t i = 0; i < rounds; i++)                                               \
            value = value * 6364136223846793005u + 1442695040888963407u + number;           \
        return value;                                                                       \
    }
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)
FUNCTION(8)
FUNCTION(9)
FUNCTION(10)
FUNCTION(11)
FUNCTION(12)
FUNCTION(13)
FUNCTION(14)
FUNCTION(15)
FUNCTION(16)
FUNCTION(17)
FUNCTION(18)
FUNCTION(19)

static uint64_t (*const functions[])(uint64_t, uint64_t) = {work0,  work1,  work2,  work3,  work4,  work5,  work6,
                                                            work7,  work8,  work9,  work10, work11, work12, work13,
                                                            work14, work15, work16, work17, work18, work19};

static uint64_t __attribute__((noinline)) chase(const unsigned char *memory, uint64_t value, uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++) {
        value = value * 6364136223846793005u + 1;
        value += memory[(value >> 33) % BYTES];
    }
    return value;
}

int main(int argc, char **argv)
{
    double factor = argc > 1 ? strtod(argv[1], NULL) : 1;
    unsigned char *memory = calloc(BYTES, 1);
    uint64_t value = 1;
    if (!memory)
        return 1;
    for (size_t i = 0; i < BYTES; i++)
        memory[i] = (unsigned char)(i * 7);
    for (int round = 0; round < 120; round++) {
        double rounds = 5000000;
        for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++, rounds *= 0.7)
            value = functions[i](value, (uint64_t)(i == 1 ? rounds * factor : rounds));
        value = chase(memory, value, 30000);
    }
    printf("%llx\n", (unsigned long long)value);
    free(memory);
    return 0;
}
