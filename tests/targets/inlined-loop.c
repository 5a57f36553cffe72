/* SPDX-License-Identifier: MIT */
/* Two levels of inlined functions that take all of the time. Each test compiles it with its own options. */
#include <stdio.h>

static inline __attribute__((always_inline)) unsigned step(unsigned s, unsigned i)
{
    return (s * 1664525u + i) ^ s >> 13;
}

static inline __attribute__((always_inline)) unsigned inner(unsigned s, unsigned i)
{
    for (unsigned j = 0; j < 64; j++)
        s = step(s, i + j);
    return s;
}

__attribute__((noinline)) unsigned outer(unsigned n);
__attribute__((noinline)) unsigned outer(unsigned n)
{
    unsigned s = 1;
    for (unsigned i = 0; i < n; i++)
        s ^= inner(s, i);
    return s;
}

int main(void)
{
    printf("%u\n", outer(1000000));
    return 0;
}
