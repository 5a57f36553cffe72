/* SPDX-License-Identifier: MIT */
/* The program of tests/data/symfs, which is looked at and never run. */
#include "app.h"

int total;
extern int shared_step(int x);

static int rare(int x)
{
    total -= x;
    return x * 3 + total;
}

int parse(int x) __asm__("_ZN3app5parseEi");
int parse(int x)
{
    int sum = 0;
    for (int i = 0; i < x; i++) {
        sum += scale(i);
	if (sum > 1000)
            sum -= half(sum);
    }
    return sum;
}

__attribute__((noinline)) static int walk(int depth)
{
    if (depth <= 0)
        return shared_step(depth);
    if (__builtin_expect(depth > 99, 0))
        return rare(depth);
    return walk(depth - 1) + scale(depth) + total;
}

int alias_of_main(int count) __attribute__((alias("main")));

int main(int count)
{
    for (int i = 0; i < count; i++)
        total += walk(i) + parse(i);
    return shared_step(total) + half(total);
}
