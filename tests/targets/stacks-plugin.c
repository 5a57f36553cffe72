/* SPDX-License-Identifier: MIT */
/* A library that stacks.c loads. */
void plugin_call(void (*function)(void));

static volatile int calls;

__attribute__((noinline)) static void again(void (*function)(void), int depth)
{
    volatile char room[100];
    room[0] = (char)depth;
    if (depth)
        again(function, depth - 1);
    else
        function();
    calls += room[0];
}

void plugin_call(void (*function)(void))
{
    again(function, 4);
    calls++;
}
