/* SPDX-License-Identifier: MIT */
extern int total;

static inline int half(int x)
{
    return x / 2;
}

static inline __attribute__((always_inline)) int scale(int x)
{
    int y = half(x) + 7;
    total += y;
    return y * x;
}
