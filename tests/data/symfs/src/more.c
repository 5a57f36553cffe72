/* SPDX-License-Identifier: MIT */
/* A second unit: functions in other sections and in two parts, and one in another that is inlined in two levels. */
#include "app.h"

struct pair {
    int first, second;
    struct pair *next;
};

static const char *const words[] = {"one", "two"};
int shared_step(int x);
int from_outside(const char *word);

__attribute__((cold, noinline)) static int fail(int x)
{
    return from_outside(words[x & 1]) - total;
}

static inline __attribute__((always_inline)) int both(const struct pair *pair)
{
    return scale(pair->first) + scale(pair->second);
}

int sum_of_pairs(const struct pair *pair)
{
    int sum = 0;
    for (; pair; pair = pair->next) {
        if (__builtin_expect(pair->first < 0, 0))
            sum += fail(pair->first) * 3;
        sum += both(pair);
    }
    return sum;
}

__attribute__((section(".text.elsewhere"))) int elsewhere(int x)
{
    struct pair pair = {x, half(x), 0};
    return both(&pair) + from_outside(words[0]);
}
