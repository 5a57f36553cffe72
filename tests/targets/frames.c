/* SPDX-License-Identifier: MIT */
/* Every function has a frame pointer, also leaf functions. Usage: frames ROUNDS */
#include <stdlib.h>

static volatile unsigned long sink;

static void leaf(void)
{
    for (unsigned long i = 0; i < 100000; i++)
        sink += i * i;
}

static int down(int depth)
{
    if (depth == 0) {
        leaf();
        return 1;
    }
    return down(depth - 1) + depth;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    for (long i = 0; i < rounds; i++)
        sink += (unsigned long)down(10);
    return 0;
}
