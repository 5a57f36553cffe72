/* SPDX-License-Identifier: MIT */
#include "app.h"

__attribute__((noinline)) int inner(int x)
{
    return scale(x) ^ 0x55;
}

int shared_step(int x)
{
    total++;
    return inner(x) - inner(x + 1);
}

int other_name(int x) __attribute__((weak, alias("shared_step")));

int with_a_rather_long_name_that_is_cut_off_somewhere_in_narrow_tables(int x)
{
    return inner(x) * half(x);
}
